"""Measures the Python package beside the program `airlane` of the same build, in turn, and prints JSON.

    python_package.py AIRLANE [--quick] [--only NAME]...

It runs in an environment that has the package: {"figures": [{bar, ours, peer, unit, rule, note}], "missing": [why]}.
"""

import argparse
import functools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import airlane


class Reno(airlane.Controller):
    """Reno, called every 10 ms."""

    interval_s = 0.01

    def __init__(self, mtu, seed):
        super().__init__(mtu, seed)
        self.bytes = 10 * mtu
        self.threshold = float("inf")
        self.recovers_until_s = -1.0

    def on_ack(self, ack):
        if ack.app_limited:
            return
        if self.bytes < self.threshold:
            self.bytes += ack.acked_bytes
        else:
            self.bytes += self.mtu * ack.acked_bytes / self.bytes

    def on_loss(self, loss):
        if loss.sent_s > self.recovers_until_s:
            self.recovers_until_s = loss.now_s
            self.bytes = self.threshold = max(self.bytes / 2, 2 * self.mtu)

    def window(self):
        return self.bytes


class Counted(Reno):
    """The same, counting its calls."""

    calls = 0

    def on_ack(self, ack):
        Counted.calls += 1
        super().on_ack(ack)


def wall(of):
    """Seconds of a call."""
    start = time.perf_counter()
    of()
    return time.perf_counter() - start


def processor(of):
    """Seconds that a call takes of a processor, in this process and in those that it waits for."""
    start = sum(os.times()[:4])
    of()
    return sum(os.times()[:4]) - start


def in_turn(rounds, *of):
    """Median seconds of a processor of each of these calls, made in turn: others may use the machine too."""
    times = [[] for _ in of]
    for _ in range(rounds):
        for seconds, one in zip(times, of):
            seconds.append(processor(one))
    return [statistics.median(seconds) for seconds in times]


def run(setting):
    """A run beside the same run of the command."""
    seconds, seeds = (60, [1]) if setting.quick else (200, [1, 2])
    changes = {"duration_s": seconds, "seeds": seeds}
    words = [setting.airlane, "run", "four-viewers", "--quiet", "--jobs", "1"]
    words += ["--set", f"duration_s={seconds}", "--set", f"seeds={seeds}"]
    with tempfile.TemporaryDirectory() as folder:
        result = []

        def ours():
            result[:] = [airlane.run("four-viewers", set=changes, jobs=1, progress=False)]
            result[0].save(os.path.join(folder, "python"))

        def peer():
            command = [*words, "--out", os.path.join(folder, "command")]
            subprocess.run(command, check=True, capture_output=True)

        # A start of the program is no part of a run.
        start = min(processor(lambda: subprocess.run([setting.airlane, "--version"], capture_output=True)) for _ in range(3))
        ours_s, peer_s = in_turn(setting.rounds, ours, peer)
        peer_s -= start
        with open(os.path.join(folder, "command", "summary.json")) as file:
            same = json.load(file)["rows"] == result[0].rows.to_pylist()
    return [
        {
            "bar": "python.run",
            "ours": ours_s / peer_s,
            "peer": None,
            "unit": "x",
            "rule": {"at_most": 1.03},
            "note": f"processor time of airlane.run beside that of airlane run, {ours_s:.2f} s and {peer_s:.2f} s, median of "
            f"{setting.rounds} in turn; rows {'the same' if same else 'DIFFER'}",
        }
    ]


def controller(setting):
    """A controller in Python beside the built-in one."""
    duration_s = 30 if setting.quick else 120

    def scenario(kind):
        return airlane.Scenario(
            name="controller",
            duration_s=duration_s,
            seeds=[1],
            link={"rate_bps": 50e6, "rtt_s": 0.04, "queue": {"kind": "droptail", "limit_bdp": 1}},
            scheme=[{"name": "one", "controller": kind}],
            bulk=[{"count": 2}],
        )

    results = {}

    def of(name, kind):
        one = scenario(kind)

        def call():
            results[name] = airlane.run(one, jobs=1, progress=False)

        return call

    ours_s, peer_s = in_turn(setting.rounds, of("python", Reno), of("built-in", "reno"))
    Counted.calls = 0
    of("counted", Counted)()
    rates = {n: r.values("goodput_bps").column("value").to_numpy().sum() / 1e6 for n, r in results.items()}
    per_call = (ours_s - peer_s) / max(1, Counted.calls) * 1e6
    note = f"{duration_s} virtual s of two downloads at 50 Mbit/s: {ours_s:.2f} s with Reno in Python, called every 10 ms, "
    note += f"{peer_s:.2f} s with the built-in one; {rates['python']:.1f} and {rates['built-in']:.1f} Mbit/s"
    return [
        {"bar": "python.controller", "ours": peer_s / ours_s, "peer": None, "unit": "x", "rule": {"at_least": 0.7}, "note": note},
        {
            "bar": "python.call",
            "ours": per_call,
            "peer": None,
            "unit": "us",
            "rule": "reported",
            "note": f"more time per call of on_ack with window and pacing_rate, {Counted.calls} calls",
        },
    ]


def gym(setting):
    """Steps of an environment beside the same sessions of a run."""
    import airlane.gym
    import numpy as np

    episodes = 3 if setting.quick else 10
    scenario = airlane.Scenario.of(airlane.gym.ABR_SCENARIO)
    env = airlane.gym.AbrEnv()
    steps = 0

    def ours():
        nonlocal steps
        steps = 0
        for seed in range(episodes):
            env.reset(seed=seed)
            is_over = False
            while not is_over:
                _, _, is_over, _, _ = env.step(1)
                steps += 1

    def peer():
        for seed in range(episodes):
            changes = {"cases.seed": seed, "player.abr": "fixed", "player.fixed_rung": 1}
            airlane.run(scenario.set(changes), seeds=[seed], jobs=1, progress=False)

    ours_s, peer_s = in_turn(setting.rounds, ours, peer)
    count = 100 if setting.quick else 600

    def vector(number):
        envs = airlane.gym.make_vec("abr", number)
        # The same session in each: a step takes as long as the slowest.
        envs.reset(seed=[1] * number)
        actions = np.ones(number, int)
        for _ in range(10):
            envs.step(actions)
        seconds = wall(lambda: [envs.step(actions) for _ in range(count)])
        envs.close()
        return count * number / seconds

    one, two = vector(1), vector(2)
    return [
        {
            "bar": "python.gym",
            "ours": peer_s / ours_s,
            "peer": None,
            "unit": "x",
            "rule": {"at_least": 0.8},
            "note": f"segments per second of a processor beside the same sessions of airlane.run: {steps / ours_s:.0f} and "
            f"{steps / peer_s:.0f}, {episodes} episodes",
        },
        {
            "bar": "python.gym.two",
            "ours": two / one,
            "peer": None,
            "unit": "x",
            "rule": {"at_least": 1.7},
            "note": f"steps per second of two environments in processes of their own beside one: {two:.0f} and {one:.0f}",
        },
    ]


def ray_workers(setting, bar, about, warm, of):
    """A figure: Ray with two workers of one core beside Ray with one. Workers start by `warm`, once."""
    import ray

    def with_cores(cores):
        ray.init(num_cpus=cores, log_to_driver=False, logging_level="ERROR", include_dashboard=False)
        try:
            warm()
            return wall(of)
        finally:
            ray.shutdown()

    times = [(with_cores(1), with_cores(2)) for _ in range(1 if setting.quick else 3)]
    one, two = (statistics.median(of) for of in zip(*times))
    return {
        "bar": bar,
        "ours": one / two,
        "peer": None,
        "unit": "x",
        "rule": {"at_least": 1.7},
        "note": f"{about} on Ray {ray.__version__}: {one:.1f} s on one core, {two:.1f} s on two",
    }


def cluster(setting):
    """A sweep and claims on Ray, and the speed-up with more workers than there are."""
    import ray_curve

    few = {"link.rtt_s": [0.02, 0.03]}
    grid = {"link.rate_bps": [4e6, 6e6, 8e6, 10e6], "link.rtt_s": [0.02, 0.04, 0.08]}
    changes = {"duration_s": 20 if setting.quick else 60}

    def sweep(**options):
        airlane.sweep("bulk", on="auto", progress=False, **options)

    def claims():
        airlane.reproduce("octopus", only=OCTOPUS[: 1 if setting.quick else None], quick=True, on="auto", progress=False)

    warm = functools.partial(sweep, grid=few, set={"duration_s": 1}, seeds=[1])
    whole = functools.partial(sweep, grid=grid, set=changes, seeds=[1, 2])
    return [
        ray_workers(setting, "python.ray", "a sweep of 12 cells", warm, whole),
        ray_workers(setting, "python.ray.claims", f"{len(OCTOPUS)} claims of Octopus", warm, claims),
        ray_curve.curve(setting),
    ]


#: Claims that are measured with one core and with two.
OCTOPUS = ["octopus.aoi.awstream", "octopus.pdrop.frame-rate", "octopus.octobbr.tail"]

ALL = {"run": run, "controller": controller, "gym": gym, "ray": cluster}


def main():
    """Measure, and print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("airlane")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", action="append", choices=ALL)
    setting = parser.parse_args()
    setting.rounds = 3 if setting.quick else 9
    figures, missing = [], []
    for name in setting.only or ALL:
        try:
            figures += ALL[name](setting)
        except ImportError as error:
            missing.append(f"{name}: {error}")
    json.dump({"figures": figures, "missing": missing}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
