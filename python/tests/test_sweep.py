"""Sweeps: those of the command, resumable, and the same on a cluster from which a worker is lost."""

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

GRID = {"link.rate_bps": [4e6, 8e6], "link.rtt_s": [0.02, 0.08]}


def test_it_leaves_what_the_command_leaves(
    short: airlane.Scenario, tmp_path: Path, command: Path
) -> None:
    file = tmp_path / "short.toml"
    short.save(file)
    grid = [f"--grid={key}={','.join(map(str, values))}" for key, values in GRID.items()]
    words = [str(command), "sweep", str(file), *grid, "--out", str(tmp_path / "a"), "--quiet"]
    subprocess.run(words, check=True, capture_output=True)
    result = airlane.sweep(file, grid=GRID, out=tmp_path / "b", progress=False)
    tables = [(tmp_path / name / "sweep.csv").read_text() for name in ("a", "b")]
    assert tables[0] == tables[1]
    assert result.rows.column_names[:2] == list(GRID)
    assert result.rows.num_rows == tables[0].count("\n") - 1
    assert set(result.to_pandas()["link.rate_bps"]) == {4e6, 8e6}
    with pytest.raises(airlane.InputError, match="link.rtt"):
        airlane.sweep(file, grid={"link.rtt": [1]})


def test_it_goes_on_where_it_was_stopped(short: airlane.Scenario, tmp_path: Path) -> None:
    whole = airlane.sweep(short, grid=GRID, out=tmp_path / "whole", progress=False).rows

    class Enough(Exception):
        pass

    # The first world is in the journal as soon as some of the work is done.
    def stop(name: str, part: float) -> None:
        if part > 0.3:
            raise Enough

    long = {"grid": GRID, "out": tmp_path / "parts", "jobs": 1}
    try:
        airlane.sweep(short, **long, progress=stop)  # type: ignore[arg-type]
    except Enough:
        pass
    parts = airlane.sweep(short, **long, progress=False)  # type: ignore[arg-type]
    assert parts.rows.equals(whole)
    info = json.loads((tmp_path / "parts" / "run.json").read_text())
    assert info["runs_finished"] == info["runs_planned"] == 16


def test_the_module_is_a_command(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "airlane", "sweep", "bulk", "--grid", "link.rate_bps=4e6,8e6"]
    words += ["--set", "duration_s=3", "--seeds", "1", "--out", str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "report.html").exists() and "Report:" in done.stdout
    wrong = subprocess.run([*words, "--set", "x=1"], capture_output=True, text=True)
    assert wrong.returncode == 2 and "x: unknown key" in wrong.stderr


def test_a_cluster_that_is_not_there_is_no_fault(
    short: airlane.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray = pytest.importorskip("ray")
    words = [sys.executable, "-m", "airlane", "sweep", "bulk", "--grid", "link.rate_bps=4e6"]
    words += ["--ray", "nowhere", "--out", str(tmp_path / "out"), "--quiet"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 2 and "expected local, auto" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr

    def refuse(**_: Any) -> None:
        raise ConnectionError("no answer")

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", refuse)
    with pytest.raises(airlane.ClusterError, match="no Ray at auto: no answer"):
        airlane.sweep(short, grid=GRID, on="auto", out=tmp_path / "there", progress=False)


def test_a_cluster_gives_the_same_bits(
    cluster: Any, short: airlane.Scenario, tmp_path: Path
) -> None:
    assert len(cluster.nodes()) == 2
    trace = airlane.Trace([0, 1, 2, 3], [3e6, 9e6, 5e6, 7e6])
    grid = {"link.rtt_s": [0.02, 0.08]}
    short.save(tmp_path / "short.toml")
    short = airlane.Scenario.from_file(tmp_path / "short.toml")
    assert short.as_text() != short and short.as_text().toml == short.toml
    here = airlane.sweep(short, grid=grid, trace=trace, progress=False)
    there = airlane.sweep(short, grid=grid, trace=trace, on="auto", out=tmp_path, progress=False)
    assert there.rows.equals(here.rows)
    assert (tmp_path / "summary.json").read_text() == (here.folder / "summary.json").read_text()


def test_a_lost_worker_costs_its_tasks_only(
    cluster: Any, short: airlane.Scenario, tmp_path: Path
) -> None:
    marker = str(tmp_path / "killed")

    class Kills(airlane.Controller):
        """It ends the process of its first connection, as the kernel does for want of memory."""

        def __init__(self, mtu: int, seed: int) -> None:
            super().__init__(mtu, seed)
            if not os.path.exists(marker):
                with open(marker, "w") as file:
                    file.write(str(os.getpid()))
                os.kill(os.getpid(), signal.SIGKILL)

        def window(self) -> float:
            return 20 * self.mtu

    scheme = [{"name": "cubic"}, {"name": "kills", "controller": Kills}]
    scenario = short.set(scheme=scheme)
    out = tmp_path / "out"
    there = airlane.sweep(scenario, grid=GRID, on="auto", out=out, progress=False)
    assert int(Path(marker).read_text()) != os.getpid()
    here = airlane.sweep(scenario, grid=GRID, progress=False)
    assert there.rows.equals(here.rows), "nothing is lost"
    entries = (out / "sweep.journal.jsonl").read_text().splitlines()[1:]
    keys = [json.loads(entry)["entry"]["key"] for entry in entries]
    assert len(keys) == len(set(keys)) == 16, "and nothing counts twice"


def test_what_is_wrong_on_a_worker_comes_back(cluster: Any, short: airlane.Scenario) -> None:
    class Broken(airlane.Controller):
        def window(self) -> float:
            raise LookupError("not here")

    scheme = [{"name": "broken", "controller": Broken}]
    with pytest.raises(airlane.SchemeError, match=r"LookupError in Broken\.window at .*not here"):
        airlane.sweep(short.set(scheme=scheme), grid=GRID, on="auto", progress=False)
