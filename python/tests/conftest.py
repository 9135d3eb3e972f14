"""What tests of the package share."""

from __future__ import annotations

import os
from pathlib import Path

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
