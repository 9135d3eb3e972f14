"""Results of runs."""

from __future__ import annotations

import html
import json
import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from . import _airlane
from .errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


class Result:
    """Figures of the runs of a scenario.

    In a notebook it draws the report.
    """

    def __init__(self, outcome: _airlane.RunOutcome, wall_s: float) -> None:
        self._outcome = outcome
        #: Time that the runs took, seconds.
        self.wall_s = wall_s

    @cached_property
    def rows(self) -> pa.Table:
        """Figures, a row each, as ``rows`` of ``summary.json``.

        Columns: ``experiment``, ``case`` (with the participant behind a ``/`` if the figure is of
        one), ``scheme``, ``seed``, ``metric``, ``unit`` (empty for counts and shares) and ``value``.
        The buffers are those that the laboratory filled: nothing is copied.
        """
        return pa.table(self._outcome.rows())

    @cached_property
    def runs(self) -> pa.Table:
        """Runs: ``experiment``, ``case``, ``scheme``, ``seed`` and ``packet_hash``."""
        return pa.table(self._outcome.runs())

    def to_pandas(self) -> pd.DataFrame:
        """Return :attr:`rows` as a data frame of pandas."""
        return self.rows.to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """Return :attr:`rows` as a data frame of polars."""
        import polars as pl

        frame = pl.from_arrow(self.rows)
        assert isinstance(frame, pl.DataFrame)
        return frame

    def values(self, metric: str) -> pa.Table:
        """Return the rows of a metric, such as ``"qoe"``."""
        import pyarrow.compute as pc

        found = self.rows.filter(pc.field("metric") == metric)
        if found.num_rows == 0:
            known = sorted(set(self.rows.column("metric").to_pylist()))
            raise InputError.of(f'no metric "{metric}"', f"expected one of {', '.join(known)}")
        return found

    @property
    def panels(self) -> dict[str, str]:
        """Quantities that :meth:`series` has: title and unit by name."""
        panels = self._outcome.panels()
        return {name: f"{title}, {unit}" if unit else title for name, title, unit in panels}

    def series(self, name: str) -> pa.Table:
        """Return a quantity over time, such as ``"queue"`` or ``"rate"``.

        Columns: ``case``, ``scheme``, ``seed``, ``name`` of the participant or link, ``time_s``
        since the start of the run, and ``value`` in the unit that :attr:`panels` tells. Values that
        were not measured are null. Of the first seed of the first three cases, or of all runs if
        the result is of ``run(..., over_time="all")``.
        """
        known = self.panels
        if name not in known:
            raise InputError.of(f'no series "{name}"', f"expected one of {', '.join(known)}")
        return pa.table(self._outcome.series(name))

    @property
    def summary(self) -> dict[str, Any]:
        """The content of ``summary.json``, as ``airlane run`` writes it."""
        summary: dict[str, Any] = json.loads(self._outcome.summary_json())
        return summary

    @property
    def scenario(self) -> str:
        """Name of the scenario."""
        return self._outcome.scenario()

    @property
    def verdict(self) -> str:
        """One sentence that says what came out, computed from the figures."""
        return self._outcome.verdict()

    @property
    def failed(self) -> int:
        """Number of sessions and transfers that failed."""
        return self._outcome.failed()

    @property
    def virtual_s(self) -> float:
        """Virtual time of all runs together, seconds."""
        return self._outcome.virtual_s()

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the report, one HTML file that needs no network, and return its path."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self._outcome.html(), "utf-8")
        return path

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Leave what ``airlane run`` leaves, without ``run.json``, and return the folder."""
        folder = Path(folder)
        self.report(folder / "report.html")
        (folder / "summary.json").write_text(self._outcome.summary_json(), "utf-8")
        (folder / "report.json.gz").write_bytes(self._outcome.report_json_gz())
        return folder

    def __repr__(self) -> str:
        runs, rows = self.runs.num_rows, self.rows.num_rows
        return f"Result({self.scenario!r}, runs={runs}, rows={rows})\n{self._outcome.table()}"

    def _repr_html_(self) -> str:
        return framed(self._outcome.html(), f"Report of {self.scenario}")


def framed(page: str, title: str) -> str:
    """Return a page in a frame, which shares nothing with the notebook around it."""
    return (
        f'<iframe srcdoc="{html.escape(page, quote=True)}" title="{html.escape(title)}" '
        'style="width:100%;height:40em;border:1px solid #8884" sandbox="allow-scripts"></iframe>'
    )
