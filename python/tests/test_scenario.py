"""Scenarios in code and from TOML: the messages of the command line, traces and content from arrays."""

from __future__ import annotations

import pickle
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import airlane


def test_what_is_wrong_is_said_as_the_command_says_it(tmp_path: Path, command: Path) -> None:
    text = 'name = "x"\n[link]\nrate_bp = 6e6\nrtt_s = 0.02\n[[bulk]]\n'
    file = tmp_path / "x.toml"
    file.write_text(text)
    words = [str(command), "run", str(file), "--out", str(tmp_path / "out")]
    said = subprocess.run(words, capture_output=True, text=True)
    assert said.returncode == 2
    with pytest.raises(airlane.InputError) as found:
        airlane.Scenario.from_file(file)
    assert said.stderr == f"airlane: {found.value}\n"
    error = found.value
    assert (error.key, error.line, error.file) == ("link.rate_bp", 3, str(file))
    assert "did you mean" in str(error) and isinstance(error, ValueError)


def test_keys_in_code_are_checked_when_it_is_made() -> None:
    with pytest.raises(airlane.InputError) as found:
        scheme = [{"name": "cubic"}]
        airlane.Scenario(name="x", link={"rate_bps": -1, "rtt_s": 0.02}, scheme=scheme, bulk=[{}])
    assert found.value.key == "link.rate_bps"
    with pytest.raises(airlane.InputError) as found:
        airlane.Scenario.builtin("bulk").set({"link.rtt": 0.1})
    assert found.value.key == "link.rtt"
    with pytest.raises(airlane.InputError, match="link.rate_bps: a value of type object"):
        airlane.Scenario(name="x", link={"rate_bps": object()})
    with pytest.raises(airlane.InputError, match="expected one of"):
        airlane.Scenario.builtin("nothing")


def test_it_is_the_same_in_code_from_toml_and_from_a_file(
    short: airlane.Scenario, tmp_path: Path
) -> None:
    file = tmp_path / "short.toml"
    short.save(file)
    rows = airlane.run(short, seeds=[1], progress=False).rows
    assert airlane.run(file, seeds=[1], progress=False).rows.equals(rows)
    text = airlane.Scenario.from_toml(file.read_text())
    assert airlane.run(text, seeds=[1], progress=False).rows.equals(rows)
    assert pickle.loads(pickle.dumps(short)) == short and hash(text) != hash(short)
    assert short.set({"link.rate_bps": np.float64(4e6)}).changes == ("link.rate_bps=4000000.0",)
    assert short.command[:3] == ["airlane", "run", "short.toml"]


def test_built_in_ones_and_keys_are_listed() -> None:
    assert {"four-viewers", "bulk", "call"} <= set(airlane.scenarios())
    keys = airlane.keys().to_pandas().set_index("key")
    assert "bit" in keys.loc["link.rate_bps", "value"]
    assert airlane.Scenario.builtin("four-viewers").title == "Four viewers, one link"


def test_a_trace_is_an_array_or_a_frame(short: airlane.Scenario) -> None:
    time_s = np.arange(0, 10, 0.5)
    slow = airlane.Trace(time_s, np.full(20, 2e6))
    frame = pd.DataFrame({"time_s": time_s, "rate_bps": np.full(20, 6e6)})
    fast = airlane.Trace.from_frame(frame)

    def goodput(trace: airlane.Trace) -> float:
        result = airlane.run(short, seeds=[1], trace=trace, progress=False)
        return float(np.sum(result.values("goodput_bps").column("value").to_numpy()) / 2)

    assert goodput(slow) < 2.0e6 < goodput(fast) < 6.0e6
    with pytest.raises(airlane.InputError, match="time_s: times that do not rise"):
        airlane.Trace([0, 2, 1], [1e6, 1e6, 1e6])
    with pytest.raises(airlane.InputError, match="expected as many"):
        airlane.Trace([0, 1], [1e6])
    with pytest.raises(airlane.InputError, match="--trace"):
        airlane.run(short, trace={"nowhere": slow}, progress=False)


def test_content_is_arrays() -> None:
    rng = np.random.default_rng(7)
    sizes = np.outer([1e5, 4e5, 1.2e6], rng.uniform(0.8, 1.2, 60)).astype(int)
    vmaf = np.repeat([[45.0], [75.0], [94.0]], 60, axis=1)
    content = airlane.Content().add("walk", sizes, {"vmaf": vmaf}, title="A walk")
    scenario = airlane.Scenario.builtin("four-viewers").set(duration_s=30, viewer=[{}])
    result = airlane.run(scenario, seeds=[1], content=content, progress=False)
    assert "A walk" in result.report(Path(content.__fspath__()) / "r.html").read_text()
    with pytest.raises(airlane.InputError, match=r"quality.vmaf: shape \(3, 2\)"):
        airlane.Content().add("walk", sizes, {"vmaf": vmaf[:, :2]})
    broken = airlane.Content().add("walk", -sizes, {"vmaf": vmaf})
    with pytest.raises(airlane.InputError, match="size_bytes"):
        airlane.run(scenario, content=broken, progress=False)
