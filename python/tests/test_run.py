"""Runs: the same bits as the command, tables without a copy, reports, stops."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import airlane

COLUMNS = ["experiment", "case", "scheme", "seed", "metric", "unit", "value"]


def test_it_gives_what_the_command_writes(tmp_path: Path, command: Path) -> None:
    options = ["--set", "duration_s=8", "--set", "link.rate_bps=6e6", "--set", "seeds=[3,4]"]
    words = [str(command), "run", "four-viewers", *options, "--out", str(tmp_path), "--quiet"]
    subprocess.run(words, check=True, capture_output=True)
    written = (tmp_path / "summary.json").read_text()
    changes = {"duration_s": 8, "link.rate_bps": 6e6}
    result = airlane.run("four-viewers", set=changes, seeds=range(3, 5), progress=False)
    assert result.rows.to_pylist() == json.loads(written)["rows"]
    assert result.runs.to_pylist() == json.loads(written)["runs"]
    assert {**result.summary, "commit": ""} == {**json.loads(written), "commit": ""}


def test_tables_are_those_that_were_filled(short: airlane.Scenario) -> None:
    result = airlane.run(short, progress=False)
    rows = result.rows
    assert rows.column_names == COLUMNS
    assert rows.schema.field("value").type == pa.float64() and rows.num_rows > 50
    # Who reads a table twice reads the same buffers: nothing is copied on the way.
    filled = result._outcome.rows()
    values = [pa.table(filled).column("value").chunk(0).buffers()[1] for _ in range(2)]
    assert values[0].address == values[1].address and len(filled) == rows.num_rows
    frame = result.to_pandas()
    assert set(frame.scheme) == {"cubic", "bbr"} and set(frame.seed) == {1, 2}
    assert result.to_polars().shape == frame.shape
    goodput = result.values("goodput_bps").column("value").to_numpy()
    assert np.all((goodput > 1e6) & (goodput < 8e6))
    with pytest.raises(airlane.InputError, match='no metric "speed"; expected one of'):
        result.values("speed")


def test_series_are_over_time(short: airlane.Scenario) -> None:
    result = airlane.run(short, progress=False)
    assert "queue" in result.panels
    queue = result.series("queue").to_pandas()
    assert list(queue.columns) == ["case", "scheme", "seed", "name", "time_s", "value"]
    assert set(queue.seed) == {1}, "the report draws the first seed"
    whole = airlane.run(short, over_time="all", progress=False).series("queue").to_pandas()
    assert set(whole.seed) == {1, 2}
    drawn = whole[whole.seed == 1].reset_index(drop=True)
    assert drawn.equals(queue)
    with pytest.raises(airlane.InputError, match="no series"):
        result.series("weather")


def test_reports_are_one_file(short: airlane.Scenario, tmp_path: Path) -> None:
    result = airlane.run(short, progress=False)
    page = result.report(tmp_path / "new" / "report.html").read_text()
    assert "<html" in page and "Two downloads" in page
    assert 'src="http' not in page
    assert "iframe" in result._repr_html_() and "cubic" in repr(result)
    folder = result.save(tmp_path / "results")
    assert json.loads((folder / "summary.json").read_text()) == result.summary


def test_progress_is_told_and_other_threads_go_on(short: airlane.Scenario) -> None:
    parts: list[float] = []
    turns = 0
    done = threading.Event()

    def count() -> None:
        nonlocal turns
        while not done.is_set():
            turns += 1
            done.wait(0.001)

    other = threading.Thread(target=count)
    other.start()
    airlane.run(short.set(duration_s=40), jobs=1, progress=lambda _, part: parts.append(part))
    done.set()
    other.join()
    assert parts == sorted(parts) and parts[-1] <= 1
    assert turns > len(parts)


def test_a_fault_of_the_progress_function_stops_the_run(short: airlane.Scenario) -> None:
    def fail(name: str, part: float) -> None:
        raise KeyError(name)

    with pytest.raises(KeyError):
        airlane.run(short.set(duration_s=36000), progress=fail)


def test_a_signal_stops_it() -> None:
    script = (
        "import airlane\n"
        "def say(name, part): print('runs', flush=True)\n"
        "airlane.run('bulk', set={'duration_s': 36000}, progress=say)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "runs\n"
    os.kill(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert errors.rstrip().endswith("KeyboardInterrupt") and process.returncode != 0
