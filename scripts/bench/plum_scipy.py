#!/usr/bin/env python3
"""Solves problems of Plum with SciPy's SLSQP, and prints utilities and times as JSON.

    plum_scipy.py FOLDER PROBLEMS.json

PROBLEMS.json is {"problems": [{"capacities", "max_rate", "max_uplink", "rho", "qoe", "starts"}]}, rates in kbit/s,
qoe one of lin, log, sqrc, sqrcv, with the content source bound as written. `make bench BENCH="--only plum"` writes it.
SciPy goes into a virtual environment in FOLDER; what is there already is not made again.

Variables are downlinks over the maximum rate, gradients are analytic. The first start is the authors' (30 Mbit/s
for all), the others are random. A solution that violates a constraint by rounding is scaled down until it does not,
and one that violates it by more is not counted.

Prints {"scipy", "solves": [{"best", "first", "kbps", "ms"}], "missing": [why, ...]}: "best" is the utility of the best
start, "first" that of the first, "kbps" that of the first with variables in kbit/s as in the authors' code, "ms"
the time of the first start. The exit code is 0 as long as that line is printed.
"""

import json
import sys
import time
from pathlib import Path

from virtual_environment import Missing, call, environment

VERSION = "1.16.3"
START_KBPS = 30_000.0
# Violations that rounding explains, over the maximum rate.
MAX_EXCESS = 1e-3


def solve(problem: dict, rng) -> dict[str, float]:
    import numpy as np
    from scipy.optimize import minimize

    max_rate, rho = problem["max_rate"], problem["rho"]
    capacities = np.array(problem["capacities"]) / max_rate
    limit = problem["max_uplink"] / max_rate
    n = len(capacities)
    bounds = np.minimum(capacities, 1.0)
    alpha = {"sqrc": -1.0, "sqrcv": 1.0, "lin": 0.0}.get(problem["qoe"])

    def qoe(d):
        d = np.clip(d, 0.0, 1.0)
        if alpha is None:
            return np.log1p(d * max_rate) / np.log1p(max_rate)
        return alpha * d * d + (1.0 - alpha) * d

    def slope(d):
        d = np.clip(d, 0.0, 1.0)
        if alpha is None:
            return max_rate / ((d * max_rate + 1.0) * np.log1p(max_rate))
        return 2.0 * alpha * d + (1.0 - alpha)

    def utility(d):
        q = qoe(d)
        return (1.0 - rho) * q.mean() + rho * (1.0 - 2.0 * q.std())

    def gradient(d):
        q = qoe(d)
        sigma = q.std()
        fairness = 2.0 * (q - q.mean()) / (n * sigma) if sigma > 0.0 else 0.0
        return ((1.0 - rho) / n - rho * fairness) * slope(d)

    def content(d):
        up = np.minimum(capacities - d, limit)
        return up.sum() - up - d

    def content_gradient(d):
        rows = np.tile(-(capacities - d < limit).astype(float), (n, 1))
        np.fill_diagonal(rows, -1.0)
        return rows

    def value(d):
        """The utility of rates scaled down until they are feasible."""
        d = np.clip(d, 0.0, bounds)
        if not np.isfinite(d).all() or content(d).min() < -MAX_EXCESS:
            return -np.inf
        low, high = 0.0, 1.0
        if content(d).min() >= -1e-12:
            return utility(d)
        for _ in range(50):
            middle = (low + high) / 2.0
            low, high = (middle, high) if content(d * middle).min() >= -1e-12 else (low, middle)
        return utility(d * low)

    def run(start, tolerance, unit=1.0):
        """SLSQP in a unit, in which the maximum rate is 1 / unit."""
        found = minimize(
            lambda x: -utility(x * unit), start / unit, jac=lambda x: -gradient(x * unit) * unit,
            bounds=[(0.0, b / unit) for b in bounds], method="SLSQP",
            constraints=[{
                "type": "ineq", "fun": lambda x: content(x * unit) / unit,
                "jac": lambda x: content_gradient(x * unit),
            }],
            options={"ftol": tolerance, "maxiter": 200},
        )
        return value(found.x * unit)

    begin = np.minimum(np.full(n, START_KBPS / max_rate), bounds)
    clock = time.perf_counter()
    first = run(begin, 1e-6)
    ms = (time.perf_counter() - clock) * 1e3
    kbps = run(begin, 1e-6, 1.0 / max_rate)
    others = [run(rng.random(n) * bounds, 1e-9) for _ in range(problem["starts"] - 1)]
    return {"best": max([first, kbps, *others]), "first": first, "kbps": kbps, "ms": ms}


def measure(problems: list[dict]) -> dict:
    import numpy as np
    import scipy

    # Once before: the first solve loads the solver.
    rng = np.random.default_rng(1)
    solve({**problems[0], "starts": 1}, rng)
    solves = [solve(problem, rng) for problem in problems]
    for found in solves:
        for key in ("best", "first", "kbps"):
            # JSON has no infinity.
            found[key] = found[key] if np.isfinite(found[key]) else None
    return {"scipy": scipy.__version__, "solves": solves, "missing": []}


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    folder, problems = Path(sys.argv[1]), Path(sys.argv[2])
    if folder == Path("-"):
        # Within the virtual environment.
        print(json.dumps(measure(json.loads(problems.read_text())["problems"])))
        return
    folder.mkdir(parents=True, exist_ok=True)
    try:
        script = Path(__file__).resolve()
        print(call(environment(folder, "scipy", VERSION), script, "-", problems, what="solving with SciPy"), end="")
    except Missing as why:
        print(json.dumps({"scipy": "", "solves": [], "missing": [str(why)]}))


if __name__ == "__main__":
    main()
