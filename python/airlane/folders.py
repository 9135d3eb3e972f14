"""Commands in their folders: run here or on a cluster, and finished whatever happens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from . import cluster
from .progress import Progress, Report, shown


class Folder(cluster.Folder, Protocol):
    """A command in its folder, whose worlds run here or elsewhere."""

    def run(self, jobs: int | None, progress: Report | None) -> None: ...
    def finish(self, stopped: bool) -> tuple[str, str, int]: ...


def complete(
    folder: Folder,
    spec: Callable[[], cluster.WorkerSpec],
    on: str | None,
    jobs: int | None,
    progress: Progress,
) -> tuple[str, str, int]:
    """Run what a folder lacks, and return table, line and number of failures.

    What has finished is written after a stop too.
    """
    stopped = True
    try:
        with shown(progress) as report:
            if on is None:
                folder.run(jobs, report)
            else:
                cluster.run(folder, spec(), on, jobs, report)
        stopped = False
    finally:
        outcome = folder.finish(stopped)
    return outcome
