"""Sweeps and claims on Ray: tasks of a few seconds, each of some worlds."""

from __future__ import annotations

import os
import tempfile
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from . import _airlane
from .errors import AirlaneError, ClusterError, InputError
from .progress import Report
from .scenario import Scenario

#: Time that a task is to take, seconds: long beside its overhead, and not much to lose.
TASK_S = 3.0
#: Tasks that wait beside each that runs.
QUEUED_PER_TASK = 1
#: Times that a task is started again after its worker was lost.
MAX_RETRIES = 10

World = tuple[int, str, int]
#: Files of a command by their place in it: traces and content.
Files = dict[str, bytes]


class Folder(Protocol):
    """A command in its folder, whose worlds workers run."""

    def pending(self) -> list[World]: ...
    def add(self, number: int, result: bytes) -> None: ...


class Worker(Protocol):
    """Worlds of a command, to be run by their numbers."""

    def run(self, worlds: list[World]) -> list[tuple[int, bytes]]: ...


class WorkerSpec(Protocol):
    """What a worker needs to run the worlds of a command."""

    @property
    def files(self) -> Files: ...
    def worker(self, root: Path) -> Worker:
        """Return a worker; the files are in the folder ``root``."""


@dataclass(frozen=True)
class SweepSpec:
    """A sweep, whose options name files by their place."""

    scenario: Scenario
    options: _airlane.SweepOptions
    files: Files

    @classmethod
    def of(cls, scenario: Scenario, options: _airlane.SweepOptions) -> SweepSpec:
        """Return the spec of a sweep; a scenario of a file goes as its text."""
        files: Files = {}
        traces = [
            (access, _pack(files, path, f"trace-{number}"), column)
            for number, (access, path, column) in enumerate(options["traces"])
        ]
        content = _pack_content(files, options["content"])
        told: _airlane.SweepOptions = {**options, "traces": traces, "content": content}
        return cls(scenario.as_text(), told, files)

    def worker(self, root: Path) -> Worker:
        traces = [(a, str(root / path), column) for a, path, column in self.options["traces"]]
        content = _unpacked(root, self.options["content"])
        local: _airlane.SweepOptions = {**self.options, "traces": traces, "content": content}
        return _airlane.SweepWorker(self.scenario._source(), local)


@dataclass(frozen=True)
class ReproduceSpec:
    """A measurement of claims, whose options name content by its place."""

    options: _airlane.ReproduceOptions
    files: Files

    @classmethod
    def of(cls, options: _airlane.ReproduceOptions) -> ReproduceSpec:
        """Return the spec of a measurement."""
        files: Files = {}
        content = _pack_content(files, options["content"])
        return cls({**options, "content": content}, files)

    def worker(self, root: Path) -> Worker:
        content = _unpacked(root, self.options["content"])
        return _airlane.ReproduceWorker({**self.options, "content": content})


def _pack(files: Files, path: str, place: str) -> str:
    """Add a file, or those of a folder, and return its place."""
    source = Path(path)
    if source.is_dir():
        for one in sorted(p for p in source.rglob("*") if p.is_file()):
            files[f"{place}/{one.relative_to(source)}"] = one.read_bytes()
        return place
    files[f"{place}/{source.name}"] = source.read_bytes()
    return f"{place}/{source.name}"


def _pack_content(files: Files, content: str | None) -> str | None:
    return _pack(files, content, "content") if content is not None else None


def _unpacked(root: Path, place: str | None) -> str | None:
    return str(root / place) if place is not None else None


def run(
    folder: Folder,
    spec: WorkerSpec,
    on: str,
    jobs: int | None,
    progress: Report | None,
) -> None:
    """Run the pending worlds of a command on a cluster, and add their results to its journal."""
    pending = deque(folder.pending())
    if not pending:
        return
    try:
        import ray
    except ImportError:
        raise ClusterError("Ray is not installed: pip install 'airlane[ray]'") from None
    started = _connect(ray, on)
    try:
        slots = jobs or max(1, int(ray.cluster_resources().get("CPU", 1)))
        # Each node has it once.
        shared = ray.put(spec)
        key = os.urandom(8).hex()
        # A task that Ray starts again after its worker was lost gives the same bits.
        task = ray.remote(num_cpus=1, max_retries=MAX_RETRIES, retry_exceptions=False)(_work)
        drive(ray, task, (key, shared), folder, pending, slots, progress)
    finally:
        if started:
            ray.shutdown()


def _connect(ray: Any, on: str) -> bool:
    """Connect to a cluster; True if it is to be left again."""
    if ray.is_initialized():
        return False
    address = None if on == "local" else on
    options = {"log_to_driver": False, "logging_level": "ERROR", "include_dashboard": None}
    try:
        ray.init(address=address, **options)
    except ValueError as error:
        expected = "expected local, auto, HOST:PORT or ray://HOST:PORT"
        raise InputError.of(f'"{on}" ({error})', expected, "on") from error
    except (ConnectionError, RuntimeError) as error:
        raise ClusterError(
            f"no Ray at {on}: {str(error).strip().rstrip('.')}. A cluster that asks for a token is given it by "
            "RAY_AUTH_MODE=token and RAY_AUTH_TOKEN in the environment"
        ) from error
    return True


def drive(
    ray: Any,
    task: Any,
    shared: tuple[str, Any],
    folder: Folder,
    pending: deque[World],
    slots: int,
    progress: Report | None,
) -> None:
    """Run worlds as tasks, two for each of ``slots`` cores at most at a time, and add their results."""
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
                progress(f"{len(running)} tasks", done / total)
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


#: The worker of the command that this process works for, by its key, and its folder of files.
_known: dict[str, tuple[Worker, tempfile.TemporaryDirectory[str]]] = {}


def _work(key: str, shared: Any, worlds: list[World]) -> tuple[float, list[tuple[int, bytes]]]:
    """Run some worlds in a worker; the seconds that they took, and their results."""
    # A worker imports this module: what was read for one task is there for the next.
    from airlane import cluster

    return cluster.work_on(key, shared, worlds)


def work_on(key: str, spec: WorkerSpec, worlds: list[World]) -> tuple[float, list[tuple[int, bytes]]]:
    """Run some worlds of a command; the seconds that they took, and their results."""
    if key not in _known:
        scratch = tempfile.TemporaryDirectory(prefix="airlane-")
        root = Path(scratch.name)
        for place, data in spec.files.items():
            path = root / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        _known.clear()
        _known[key] = (spec.worker(root), scratch)
    start = time.perf_counter()
    results = _known[key][0].run(worlds)
    return time.perf_counter() - start, results
