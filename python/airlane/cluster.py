"""Sweeps on Ray: tasks of a few seconds, each of some worlds of a sweep."""

from __future__ import annotations

import os
import tempfile
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import _airlane
from .errors import AirlaneError
from .scenario import Scenario

#: Time that a task is to take, seconds: long beside its overhead, and not much to lose.
TASK_S = 3.0
#: Tasks that wait beside each that runs.
QUEUED_PER_TASK = 1
#: Times that a task is started again after its worker was lost.
MAX_RETRIES = 10

World = tuple[int, str, int]
#: Files of a sweep by their place in it: traces and content.
Files = dict[str, bytes]


def run(
    folder: _airlane.SweepFolder,
    scenario: Scenario,
    options: _airlane.SweepOptions,
    on: str,
    jobs: int | None,
    progress: Callable[[str, float], None] | None,
) -> None:
    """Run the pending worlds of a sweep on a cluster, and add their results to its journal."""
    import ray

    pending = deque(folder.pending())
    if not pending:
        return
    started = _connect(ray, on)
    try:
        slots = jobs or max(1, int(ray.cluster_resources().get("CPU", 1)))
        files, told = _packed(options)
        # Each node has them once. A scenario of a file goes as its text.
        shared = ray.put((scenario.as_text(), told, files))
        key = os.urandom(8).hex()
        # A task that Ray starts again after its worker was lost gives the same bits.
        task = ray.remote(num_cpus=1, max_retries=MAX_RETRIES, retry_exceptions=False)(_work)
        _drive(ray, task, (key, shared), folder, pending, slots, progress)
    finally:
        if started:
            ray.shutdown()


def _connect(ray: Any, on: str) -> bool:
    """Connect to a cluster; True if it is to be left again."""
    if ray.is_initialized():
        return False
    address = None if on == "local" else on
    ray.init(address=address, log_to_driver=False, logging_level="ERROR", include_dashboard=None)
    return True


def _drive(
    ray: Any,
    task: Any,
    shared: tuple[str, Any],
    folder: _airlane.SweepFolder,
    pending: deque[World],
    slots: int,
    progress: Callable[[str, float], None] | None,
) -> None:
    total = sum(units for _, _, units in pending)
    done = 0
    # Seconds per virtual millisecond; the first tasks have one world each.
    pace: float | None = None
    running: dict[Any, list[World]] = {}
    try:
        while pending or running:
            while pending and len(running) < slots * (1 + QUEUED_PER_TASK):
                batch = [pending.popleft()]
                fair = len(pending) // (slots * 2)
                while pace is not None and pending and len(batch) < fair:
                    if (sum(w[2] for w in batch) + pending[0][2]) * pace > TASK_S:
                        break
                    batch.append(pending.popleft())
                named = task.options(name=batch[0][1], enable_task_events=True)
                running[named.remote(*shared, batch)] = batch
            ready, _ = ray.wait(list(running), num_returns=1, timeout=0.2)
            for one in ready:
                batch = running.pop(one)
                seconds, results = _result(ray, one)
                for number, result in results:
                    folder.add(number, result)
                units = sum(w[2] for w in batch)
                done += units
                pace = seconds / units if pace is None else 0.8 * pace + 0.2 * seconds / units
            if progress is not None:
                progress(f"sweep, {len(running)} tasks", done / total)
    except BaseException:
        for one in running:
            ray.cancel(one, force=True)
        raise


def _result(ray: Any, reference: Any) -> tuple[float, list[tuple[int, bytes]]]:
    try:
        found: tuple[float, list[tuple[int, bytes]]] = ray.get(reference)
        return found
    except ray.exceptions.RayTaskError as error:
        # What the scenario is at fault for comes back as it is on one machine.
        if isinstance(error.cause, AirlaneError):
            raise error.cause from None
        raise


def _packed(options: _airlane.SweepOptions) -> tuple[Files, _airlane.SweepOptions]:
    """Return the files that options name, and options that name them by their place."""
    files: Files = {}

    def pack(path: str, place: str) -> str:
        source = Path(path)
        if source.is_dir():
            for one in sorted(p for p in source.rglob("*") if p.is_file()):
                files[f"{place}/{one.relative_to(source)}"] = one.read_bytes()
            return place
        files[f"{place}/{source.name}"] = source.read_bytes()
        return f"{place}/{source.name}"

    traces = [
        (access, pack(path, f"trace-{number}"), column)
        for number, (access, path, column) in enumerate(options["traces"])
    ]
    content = options["content"]
    packed = pack(content, "content") if content is not None else None
    return files, {**options, "traces": traces, "content": packed}


#: The sweep that this worker has read, by its key.
_known: dict[str, tuple[_airlane.SweepWorker, Any]] = {}


def _work(key: str, shared: Any, worlds: list[World]) -> tuple[float, list[tuple[int, bytes]]]:
    """Run some worlds in a worker; the seconds that they took, and their results."""
    # A worker imports this module: what was read for one task is there for the next.
    from airlane import cluster

    return cluster.work_on(key, shared, worlds)


def work_on(
    key: str, shared: tuple[Scenario, _airlane.SweepOptions, Files], worlds: list[World]
) -> tuple[float, list[tuple[int, bytes]]]:
    """Run some worlds of a sweep; the seconds that they took, and their results."""
    if key not in _known:
        scenario, options, files = shared
        scratch = tempfile.TemporaryDirectory(prefix="airlane-")
        root = Path(scratch.name)
        for place, data in files.items():
            path = root / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        traces = [(a, str(root / path), column) for a, path, column in options["traces"]]
        content = options["content"]
        local: _airlane.SweepOptions = {
            **options,
            "traces": traces,
            "content": str(root / content) if content is not None else None,
        }
        _known.clear()
        _known[key] = (_airlane.SweepWorker(scenario._source(), local), scratch)
    start = time.perf_counter()
    results = _known[key][0].run(worlds)
    return time.perf_counter() - start, results
