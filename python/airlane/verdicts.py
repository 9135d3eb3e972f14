"""Results of measured claims."""

from __future__ import annotations

import json
import tempfile
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from .result import framed


class ClaimResult:
    """Verdicts on claims, with the figures that they are made of."""

    def __init__(
        self,
        folder: Path,
        table: str,
        line: str,
        scratch: tempfile.TemporaryDirectory[str] | None,
    ) -> None:
        #: Folder with ``summary.json``, ``report.html`` and a page for each claim.
        self.folder = folder
        self._table = table
        self._line = line
        # The folder is gone with this object.
        self._scratch = scratch

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The content of ``summary.json``."""
        summary: dict[str, Any] = json.loads((self.folder / "summary.json").read_text("utf-8"))
        return summary

    @cached_property
    def claims(self) -> pa.Table:
        """Claims, a row each.

        Columns: ``id``, ``statement``, ``paper``, ``measured``, ``low`` and ``high`` (the 95 %
        interval; null below ten draws), ``unit``, ``n`` (independent draws) and ``verdict``:
        ``holds``, ``fails``, ``undecided`` or ``reported``.
        """
        rows = []
        for claim in self.summary["claims"]:
            low, high = claim["ci95"] or (None, None)
            paper = claim["paper"]
            row = {name: claim[name] for name in ("id", "statement", "measured", "unit", "n", "verdict")}
            text = "-".join(map(str, paper)) if isinstance(paper, list) else str(paper)
            rows.append({**row, "paper": text, "low": low, "high": high})
        schema = pa.schema(
            [
                ("id", pa.string()),
                ("statement", pa.string()),
                ("paper", pa.string()),
                ("measured", pa.float64()),
                ("low", pa.float64()),
                ("high", pa.float64()),
                ("unit", pa.string()),
                ("n", pa.int64()),
                ("verdict", pa.string()),
            ]
        )
        return pa.Table.from_pylist(rows, schema=schema)

    @cached_property
    def rows(self) -> pa.Table:
        """Figures, a row each, with the columns of :attr:`airlane.Result.rows`."""
        schema = pa.schema(
            [(name, pa.string()) for name in ("experiment", "case", "scheme")]
            + [("seed", pa.int64())]
            + [(name, pa.string()) for name in ("metric", "unit")]
            + [("value", pa.float64())]
        )
        return pa.Table.from_pylist(self.summary["rows"], schema=schema)

    def __repr__(self) -> str:
        return f"{self._table}\n{self._line}"

    def _repr_html_(self) -> str:
        return framed((self.folder / "report.html").read_text("utf-8"), "Claims")
