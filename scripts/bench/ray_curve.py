"""The speed-up of `airlane.reproduce(..., on=...)` with more workers than there are: the package's own scheduler over a
Ray that is simulated in virtual time, with the costs that the real one has on this machine.

    ray_curve.py [--quick]

What is measured: the scheduler's time per task on a real Ray, by the number of tasks that are under way; the time of a
worker to read the claims; worlds of a full measurement of Octopus, each the nearest of some that ran; the time to add a
result. What is left out: nodes' networks, and Ray's own time to start workers.
"""

import argparse
import heapq
import json
import os
import statistics
import sys
import tempfile
import time
from collections import deque

import airlane
from airlane import _airlane, cluster

#: Tasks that are under way while the scheduler's time per task is measured.
DEPTHS = [4, 32, 256]
#: Numbers of workers of which the speed-up is told.
WORKERS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]


class Counts:
    """A folder that takes results, and does nothing with them."""

    def add(self, number, result):
        pass


def task_costs(ray, tasks, size):
    """Seconds of the scheduler per task, by the number of tasks under way: tasks that do nothing, with results of
    ``size`` bytes."""

    def nothing(_key, _shared, worlds):
        # As long as a task is to take: each has one world.
        return cluster.TASK_S, [(worlds[0][0], b" " * size)]

    task = ray.remote(num_cpus=1)(nothing)
    shared = ("", ray.put(b""))
    costs = []
    for depth in DEPTHS:
        for counted in (max(depth, 32), tasks):
            worlds = deque((number, "nothing", 1000) for number in range(counted))
            start = time.perf_counter()
            slots = depth // (1 + cluster.QUEUED_PER_TASK)
            cluster.drive(ray, task, shared, Counts(), worlds, slots, None)
            cost = (time.perf_counter() - start) / counted
        costs.append(cost)
    return costs


def between(depth, costs):
    """Seconds per task at a depth, between those that were measured; beyond the last one its rise goes on, and no fall."""
    points = list(zip(DEPTHS, costs))
    for (low, a), (high, b) in zip(points, points[1:]):
        if depth <= high:
            return a + (b - a) * (max(depth, low) - low) / (high - low)
    return b + max(b - a, 0.0) * (depth - high) / (high - low)


class Simulated:
    """A Ray of some workers in virtual time, for the scheduler of the package."""

    class exceptions:
        class RayTaskError(Exception):
            pass

    def __init__(self, workers, start_s, seconds, cost):
        self.now = 0.0
        self.free = [(0.0, number) for number in range(workers)]
        self.start_s = start_s
        self.started = set()
        self.seconds = seconds
        self.cost = cost
        self.ends = []
        self.tasks = {}

    def options(self, **_):
        return self

    def remote(self, _key, _shared, worlds):
        free, worker = heapq.heappop(self.free)
        took = sum(self.seconds[number] for number, _, _ in worlds)
        extra = 0.0 if worker in self.started else self.start_s
        self.started.add(worker)
        end = max(free, self.now) + extra + took
        heapq.heappush(self.free, (end, worker))
        task = len(self.tasks)
        self.tasks[task] = (took, [(number, b"") for number, _, _ in worlds])
        heapq.heappush(self.ends, (end, task))
        return task

    def wait(self, running, num_returns, timeout):
        end, task = heapq.heappop(self.ends)
        self.now = max(self.now, end) + self.cost(len(running), len(self.tasks[task][1]))
        return [task], [other for other in running if other != task]

    def get(self, task):
        return self.tasks[task]


def reading(options):
    """A worker that has read all, and the seconds that it took."""
    start = time.perf_counter()
    worker = _airlane.ReproduceWorker(options)
    return worker, time.perf_counter() - start


def curve(setting):
    """The figure: speed-up by the number of workers."""
    import ray

    options = {"system": "octopus", "only": [], "quick": False, "content": None, "command": []}
    with tempfile.TemporaryDirectory() as out:
        folder = _airlane.ReproduceFolder(options, out, True)
        worlds = folder.pending()
        worker, start_s = reading(options)
        tried = 4 if setting.quick else 24
        chosen = [worlds[len(worlds) * place // tried] for place in range(tried)]
        paces, adds, sizes = [], [], []
        for world in chosen:
            start = time.perf_counter()
            [(number, record)] = worker.run([world])
            paces.append((number, (time.perf_counter() - start) / world[2]))
            start = time.perf_counter()
            folder.add(number, record)
            adds.append(time.perf_counter() - start)
            sizes.append(len(record))
    # A few results have their course over time with them.
    add_s, size = statistics.median(adds), int(statistics.median(sizes))
    ray.init(num_cpus=os.cpu_count(), log_to_driver=False, logging_level="ERROR", include_dashboard=False)
    try:
        costs = task_costs(ray, 300 if setting.quick else 2000, size)
    finally:
        ray.shutdown()
    nearest = lambda number: min(paces, key=lambda pace: abs(pace[0] - number))[1]
    seconds = {number: units * nearest(number) for number, _, units in worlds}
    whole = sum(seconds.values())
    cost = lambda depth, results: between(depth, costs) + add_s * results
    told = {}
    for workers in WORKERS:
        simulated = Simulated(workers, start_s, seconds, cost)
        cluster.drive(simulated, simulated, ("", None), Counts(), deque(worlds), workers, None)
        told[workers] = whole / simulated.now
    bent = next((workers for workers, of in told.items() if of < workers / 2), None)
    words = ", ".join(f"{of:.3g} with {workers}" for workers, of in told.items())
    ms = [f"{1000 * cost:.1f}" for cost in costs]
    return {
        "bar": "python.ray.curve",
        "ours": told[64],
        "peer": 64.0,
        "unit": "x",
        "rule": "reported",
        "note": (
            f"simulated: Octopus in full, {len(worlds)} worlds of {whole / 3600:.1f} core-hours; speed-up {words}; "
            f"half of it is lost from {bent} on. Per task {', '.join(ms)} ms with {DEPTHS} under way, "
            f"{1000 * add_s:.1f} ms per result of {size} bytes, {start_s:.1f} s for a worker to begin"
        ),
    }


def main():
    """Measure, and print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    json.dump({"figures": [curve(parser.parse_args())]}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
