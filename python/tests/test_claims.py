"""Claims and their measurement."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import airlane


def test_claims_are_a_table() -> None:
    claims = airlane.claims().to_pandas()
    assert {"minerva", "octopus", "cupid", "plum", "fbdt"} <= set(claims.system)
    octopus = airlane.claims("octopus").to_pandas()
    assert octopus.id.str.startswith("octopus.").all() and octopus.draws.min() > 0


def test_a_claim_is_measured_and_taken_over(tmp_path: Path) -> None:
    def measure() -> airlane.ClaimResult:
        return airlane.reproduce(
            "plum", only=["plum.fig5"], quick=True, out=tmp_path, progress=False
        )

    first = measure()
    claims = first.claims.to_pylist()
    assert [claim["id"] for claim in claims] == ["plum.fig5", "plum.fig5.airtime"]
    assert all(claim["measured"] > 0.5 for claim in claims)
    assert first.rows.num_rows > 0 and "iframe" in first._repr_html_()
    again = measure()
    assert again.summary == first.summary
    info = json.loads((tmp_path / "run.json").read_text())
    assert info["runs_reused"] == info["runs_planned"]
    with pytest.raises(airlane.InputError, match="expected one of"):
        airlane.reproduce("nothing")


def test_a_cluster_that_loses_a_worker_comes_to_the_same_verdicts(
    cluster: Any, tmp_path: Path
) -> None:
    killed: list[int] = []

    def kill_one(name: str, part: float) -> None:
        """Kill the first process that is seen at a task, as the kernel does for want of memory."""
        for entry in Path("/proc").glob("[0-9]*") if not killed else ():
            try:
                title = (entry / "cmdline").read_text()
            except OSError:
                continue
            if title.startswith("ray::plum.fig5"):
                os.kill(int(entry.name), signal.SIGKILL)
                killed.append(int(entry.name))
                return

    def measure(out: Path, on: str | None, progress: Any) -> airlane.ClaimResult:
        return airlane.reproduce(
            "plum", only=["plum.fig5"], quick=True, out=out, on=on, progress=progress
        )

    there = measure(tmp_path / "there", "auto", kill_one)
    here = measure(tmp_path / "here", None, False)
    assert killed, "no worker was seen at work"
    assert there.summary == here.summary and there.failed == here.failed
    entries = (there.folder / "reproduce.journal.jsonl").read_text().splitlines()[1:]
    keys = [json.loads(entry)["entry"]["key"] for entry in entries]
    assert len(keys) == len(set(keys)) == len(here.summary["runs"]), "nothing lost, nothing twice"


def test_the_module_measures_claims(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "airlane", "reproduce", "octopus", "--only", "nothing"]
    wrong = subprocess.run([*words, "--out", str(tmp_path)], capture_output=True, text=True)
    assert wrong.returncode == 2 and "expected one of octopus." in wrong.stderr
