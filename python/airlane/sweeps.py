"""Sweeps: a scenario under every combination of some values, here or on a cluster."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from . import _airlane, _toml, cluster, folders
from .content import Content
from .laboratory import TraceLike, command_of, places_of, with_changes
from .progress import Progress
from .result import framed
from .scenario import ScenarioLike


class SweepResult:
    """Figures of a sweep."""

    def __init__(
        self,
        folder: Path,
        table: str,
        line: str,
        failed: int,
        scratch: tempfile.TemporaryDirectory[str] | None,
    ) -> None:
        #: Folder with ``summary.json``, ``sweep.csv``, ``report.html`` and the journal.
        self.folder = folder
        #: Number of sessions and transfers that failed.
        self.failed = failed
        self._table = table
        self._line = line
        # The folder is gone with this object.
        self._scratch = scratch

    @cached_property
    def rows(self) -> pa.Table:
        """Figures, a row each.

        Columns: a column for each key of the grid, then ``case``, ``scheme``, ``seed``, ``metric``,
        ``unit`` (empty for counts and shares) and ``value``.
        """
        from pyarrow import csv

        texts = {name: pa.string() for name in ("case", "scheme", "metric", "unit")}
        kinds = {**texts, "seed": pa.int64(), "value": pa.float64()}
        convert = csv.ConvertOptions(column_types=kinds, strings_can_be_null=False)
        return csv.read_csv(self.folder / "sweep.csv", convert_options=convert)

    def to_pandas(self) -> Any:
        """Return :attr:`rows` as a data frame of pandas."""
        return self.rows.to_pandas()

    def __repr__(self) -> str:
        return f"{self._table}\n{self._line}"

    def _repr_html_(self) -> str:
        return framed((self.folder / "report.html").read_text("utf-8"), "Sweep")


def sweep(
    scenario: ScenarioLike,
    *,
    grid: Mapping[str, Iterable[Any]],
    set: Mapping[str, Any] | None = None,
    seeds: Iterable[int] | None = None,
    trace: TraceLike | Mapping[str, TraceLike] | None = None,
    content: Content | str | os.PathLike[str] | None = None,
    tls: bool = False,
    out: str | os.PathLike[str] | None = None,
    fresh: bool = False,
    on: str | None = None,
    jobs: int | None = None,
    progress: Progress = None,
) -> SweepResult:
    """Run a scenario under every combination of the values of a grid.

    The results are the same, bit for bit, whoever ran them and in whatever order. Each world is
    written to the journal in ``out`` as it finishes: the same call goes on where one was stopped.

    Args:
        scenario: One, the name of a built-in one, a path, or its keys.
        grid: Values by key, such as ``{"link.rate_bps": [4e6, 10e6]}``.
        set: Changes to all cells, by key.
        seeds: Seeds in the place of the scenario's.
        trace: Capacity in the place of the scenario's, or one for each access by its name.
        content: Videos in the place of those that come with Airlane.
        tls: Protect packets with TLS 1.3 instead of a null cipher with the same sizes.
        out: Folder for journal, ``summary.json``, ``sweep.csv`` and page. By default a new one that
            is gone with the result.
        fresh: Run everything anew instead of taking over what the folder's journal has.
        on: None: on this machine's cores. ``"local"``: on a Ray of this machine. ``"auto"`` or
            ``"ray://HOST:10001"``: on that cluster of Ray, whose nodes have this version of the
            package.
        jobs: Worlds at once; by default one per core. With Ray: tasks at once; by default one per
            core of the cluster.
        progress: As of :func:`run`.

    Example:
        >>> import airlane
        >>> result = airlane.sweep(
        ...     "bulk",
        ...     grid={"link.rate_bps": [5e6, 10e6]},
        ...     set={"duration_s": 3},
        ...     seeds=[1],
        ... )
        >>> result.rows.column_names[:3]
        ['link.rate_bps', 'case', 'scheme']
    """
    whole = with_changes(scenario, set, seeds)
    axes = [
        f"{key}={','.join(_toml.value(value, key) for value in values)}"
        for key, values in grid.items()
    ]
    traces = places_of(trace)
    folder = os.fspath(content) if content is not None else None
    command = command_of(whole, "sweep", traces, folder, tls)
    command += [word for axis in axes for word in ("--grid", axis)]
    options: _airlane.SweepOptions = {
        "grid": axes,
        "traces": traces,
        "content": folder,
        "tls": tls,
        "command": command,
    }
    scratch = tempfile.TemporaryDirectory(prefix="airlane-") if out is None else None
    where = Path(scratch.name if scratch is not None else out or ".")
    # A class of the same name may have changed since the journal was written.
    fresh = fresh or whole.has_classes
    found = _airlane.SweepFolder(whole._source(), options, os.fspath(where), fresh)
    table, line, failed = folders.complete(
        found, lambda: cluster.SweepSpec.of(whole, options), on, jobs, progress
    )
    return SweepResult(where, table, line, failed, scratch)
