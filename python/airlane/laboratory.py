"""Runs of scenarios."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from . import _airlane
from .content import Content, Trace
from .progress import Progress, shown
from .result import Result
from .scenario import Scenario, ScenarioLike

#: A capacity: a trace, or the path of a file or of a folder of files.
TraceLike = Trace | str | os.PathLike[str]


def run(
    scenario: ScenarioLike,
    *,
    set: Mapping[str, Any] | None = None,
    seeds: Iterable[int] | None = None,
    trace: TraceLike | Mapping[str, TraceLike] | None = None,
    content: Content | str | os.PathLike[str] | None = None,
    over_time: Literal["drawn", "all"] = "drawn",
    tls: bool = False,
    jobs: int | None = None,
    progress: Progress = None,
) -> Result:
    """Run a scenario under each of its schemes and seeds, in virtual time.

    The figures are those of ``airlane run`` with the same seeds, bit for bit. Other threads of
    Python go on meanwhile; Ctrl-C stops.

    Args:
        scenario: One, the name of a built-in one, a path, or its keys.
        set: Changes to the scenario by key, such as ``{"link.rate_bps": 6e6}``.
        seeds: Seeds in the place of the scenario's.
        trace: Capacity in the place of the scenario's, or one for each access by its name.
        content: Videos in the place of those that come with Airlane.
        over_time: Runs whose :meth:`Result.series` are kept: those that the report draws, which are
            the first seed of the first three cases, or all.
        tls: Protect packets with TLS 1.3 instead of a null cipher with the same sizes.
        jobs: Worlds at once; by default one per core.
        progress: True for a bar on the standard error, False for none, or a function of the name of
            the work and its done part, 0 to 1. By default a bar if the standard error is a terminal.

    Raises:
        InputError: The input is invalid. It names the key.
        Fault: A fault of Airlane.

    Example:
        >>> import airlane
        >>> result = airlane.run("bulk", set={"duration_s": 4}, seeds=[1])
        >>> result.rows.column_names
        ['experiment', 'case', 'scheme', 'seed', 'metric', 'unit', 'value']
    """
    whole = with_changes(scenario, set, seeds)
    traces = places_of(trace)
    folder = os.fspath(content) if content is not None else None
    start = time.perf_counter()
    with shown(progress) as report:
        outcome = _airlane.run(
            whole._source(),
            {
                "jobs": jobs,
                "all_over_time": over_time == "all",
                "traces": traces,
                "content": folder,
                "tls": tls,
                "command": command_of(whole, "run", traces, folder, tls),
                "progress": report,
            },
        )
    return Result(outcome, time.perf_counter() - start)


def with_changes(
    scenario: ScenarioLike, set: Mapping[str, Any] | None, seeds: Iterable[int] | None
) -> Scenario:
    """Return a scenario with changes to it and other seeds."""
    changes = dict(set or {})
    if seeds is not None:
        changes["seeds"] = [int(seed) for seed in seeds]
    whole = Scenario.of(scenario)
    return whole.set(changes) if changes else whole


def command_of(
    scenario: Scenario,
    verb: str,
    traces: Iterable[tuple[str | None, str, str | None]],
    content: str | None,
    tls: bool,
) -> list[str]:
    """Return the words of the command that does the same."""
    words = ["airlane", verb, *scenario.command[2:]]
    for access, path, column in traces:
        place = f"{path}#{column}" if column else path
        words += ["--trace", f"{access}={place}" if access else place]
    words += ["--content", content] if content else []
    return [*words, "--tls"] if tls else words


def places_of(
    trace: TraceLike | Mapping[str, TraceLike] | None,
) -> list[tuple[str | None, str, str | None]]:
    """Return access, path and column of each trace; the access is None where the scenario has one."""
    given = trace if isinstance(trace, Mapping) else {None: trace} if trace is not None else {}
    return [(access, *place_of(one)) for access, one in given.items()]


def place_of(trace: TraceLike) -> tuple[str, str | None]:
    """Return path and column of a trace, which ``FILE#COLUMN`` has too."""
    path, found, column = os.fspath(trace).rpartition("#")
    return (path, column) if found else (column, None)
