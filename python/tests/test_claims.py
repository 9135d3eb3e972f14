"""Claims and their measurement."""

from __future__ import annotations

import json
from pathlib import Path

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
