#!/usr/bin/env python3
"""Solves the rate steps of OWS with CVXPY, and prints how long each takes as JSON.

    ows_cvxpy.py FOLDER INSTANCES.json

INSTANCES.json is what `cargo run --release -p airlane-viewport --example rate_step -- 20` prints.
CVXPY goes into a virtual environment in FOLDER; what is there already is not made again. Each
instance is solved as the linear program that it is: mixtures of a tile's levels, one budget.

Prints {"cvxpy", "solver", "solves": [{"ms", "solver_ms", "rate_step_ms", "relative_difference"}],
"missing": [why, ...]}: "ms" is building and solving, as a caller pays it for every GoP, "solver_ms"
what the solver says of itself, "relative_difference" that of the optimum from the bound of the rate
step. The exit code is 0 as long as that line is printed.
"""

import json
import sys
import time
from pathlib import Path

from virtual_environment import Missing, call, environment

VERSION = "1.9.3"


def solve(instance: dict) -> dict[str, float]:
    import cvxpy as cp
    import numpy as np

    start = time.perf_counter()
    bits, mse = instance["bits"], instance["mse"]
    tiles, levels = len(bits), max(map(len, bits))
    # A tile with fewer levels repeats its last: that adds no choice.
    square = [np.array([row + [row[-1]] * (levels - len(row)) for row in rows], dtype=float)
              for rows in (bits, mse)]
    shares = cp.Variable((tiles, levels), nonneg=True)
    loss = cp.sum(cp.multiply(np.array(instance["weights"])[:, None] * square[1], shares))
    size = cp.sum(cp.multiply(square[0] / instance["budget_bits"], shares))
    problem = cp.Problem(cp.Minimize(loss), [cp.sum(shares, axis=1) == 1, size <= 1])
    optimum = problem.solve(solver=cp.CLARABEL)
    ms = (time.perf_counter() - start) * 1e3
    if problem.status != cp.OPTIMAL:
        raise Missing(f"CVXPY: {problem.status}")
    return {
        "ms": ms,
        "solver_ms": problem.solver_stats.solve_time * 1e3,
        "rate_step_ms": instance["rate_step_us"] / 1e3,
        "relative_difference": optimum / instance["bound"] - 1.0,
    }


def measure(instances: list[dict]) -> dict:
    import cvxpy as cp

    # Once before: the first solve loads the solver.
    solve(instances[0])
    return {
        "cvxpy": cp.__version__, "solver": "CLARABEL", "solves": [solve(i) for i in instances],
        "missing": [],
    }


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    folder, instances = Path(sys.argv[1]), Path(sys.argv[2])
    if folder == Path("-"):
        # Within the virtual environment.
        try:
            print(json.dumps(measure(json.loads(instances.read_text()))))
        except Missing as why:
            sys.exit(str(why))
        return
    folder.mkdir(parents=True, exist_ok=True)
    try:
        script = Path(__file__).resolve()
        answer = call(environment(folder, "cvxpy", VERSION), script, "-", instances, what="solving with CVXPY")
        print(answer, end="")
    except Missing as why:
        print(json.dumps({"solves": [], "missing": [str(why)]}))


if __name__ == "__main__":
    main()
