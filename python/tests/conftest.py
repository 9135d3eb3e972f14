"""What tests of the package share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import airlane


@pytest.fixture(scope="session")
def command() -> Path:
    """The program `airlane` of the same build."""
    return Path(os.environ["AIRLANE_BIN"])


@pytest.fixture(scope="session")
def short() -> airlane.Scenario:
    """A scenario of two downloads that runs in a moment."""
    return airlane.Scenario(
        name="short",
        title="Two downloads",
        duration_s=6,
        seeds=[1, 2],
        link={"rate_bps": 8e6, "rtt_s": 0.04},
        scheme=[{"name": "cubic"}, {"name": "bbr", "controller": "bbr"}],
        bulk=[{"count": 2}],
    )


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """Two nodes of one core each, in processes of their own."""
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
    try:
        yield ray
    finally:
        ray.shutdown()
        cluster.shutdown()
