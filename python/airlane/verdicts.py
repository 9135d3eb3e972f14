"""Claims, their measurement, and the verdicts on them."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from . import _airlane, cluster, folders
from .content import Content
from .progress import Progress
from .result import framed


class ClaimResult:
    """Verdicts on claims, with the figures that they are made of."""

    def __init__(
        self,
        folder: Path,
        table: str,
        line: str,
        failed: int,
        scratch: tempfile.TemporaryDirectory[str] | None,
    ) -> None:
        #: Folder with ``summary.json``, ``report.html`` and a page for each claim.
        self.folder = folder
        #: Number of claims that fail.
        self.failed = failed
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
        ``holds``, ``fails``, ``undecided``, ``not_measured`` (a stop left it out) or ``reported``.
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


def claims(system: str | None = None) -> pa.Table:
    """Return the claims that Airlane measures, of one system or of all.

    Columns: ``system``, ``id``, ``source`` (where the paper states it), ``statement``,
    ``statistic``, ``rule``, ``draws`` and ``seeds`` per draw.
    """
    table = pa.table(_airlane.claims())
    if system is None:
        return table
    import pyarrow.compute as pc

    return table.filter(pc.field("system") == system)


def reproduce(
    system: str,
    *,
    only: Iterable[str] = (),
    quick: bool = False,
    out: str | os.PathLike[str] | None = None,
    fresh: bool = False,
    content: Content | str | os.PathLike[str] | None = None,
    on: str | None = None,
    jobs: int | None = None,
    progress: Progress = None,
) -> ClaimResult:
    """Measure claims of a paper and judge them by rules that were written before.

    The figures are the same, bit for bit, whoever measured them and in whatever order. Each world is
    written to the journal in ``out`` as it finishes: the same call goes on where one was stopped.

    Args:
        system: ``"minerva"``, ``"octopus"``, ``"cupid"``, ``"plum"``, ``"fbdt"`` or ``"all"``.
        only: Ids of claims, or what ids begin with before a dot.
        quick: Fewer draws, too few for most verdicts, and not those of verdicts.
        out: Folder for page, ``summary.json`` and journal, from which the next call goes on. By
            default a new one that is gone with the result.
        fresh: Run everything anew instead of taking over what the folder's journal has.
        content: Videos in the place of those that come with Airlane.
        on: This machine or a cluster of Ray, as of :func:`sweep`.
        jobs: Worlds at once, as of :func:`sweep`.
        progress: As of :func:`run`.
    """
    scratch = tempfile.TemporaryDirectory(prefix="airlane-") if out is None else None
    folder = Path(scratch.name if scratch is not None else out or ".")
    wanted = [only] if isinstance(only, str) else list(only)
    videos = os.fspath(content) if content is not None else None
    command = ["airlane", "reproduce", system]
    command += [word for one in wanted for word in ("--only", one)]
    command += ["--quick"] if quick else []
    command += ["--content", videos] if videos else []
    options: _airlane.ReproduceOptions = {
        "system": system,
        "only": wanted,
        "quick": quick,
        "content": videos,
        "command": command,
    }
    found = _airlane.ReproduceFolder(options, os.fspath(folder), fresh)
    table, line, failed = folders.complete(
        found, lambda: cluster.ReproduceSpec.of(options), on, jobs, progress
    )
    return ClaimResult(folder, table, line, failed, scratch)
