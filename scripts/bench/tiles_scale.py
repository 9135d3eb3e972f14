#!/usr/bin/env python3
"""The rate at which 360-degree videos reach 90 % of their quality: radios are scaled to it.

    python3 scripts/bench/tiles_scale.py corpus/tiles

For each table: WS-PSNR of the panorama, mean over GoPs, at its smallest and at its largest levels;
and the rate at which it has risen by 90 % of that. Levels within a rate are those of the rate step
of OWS (greedy along the convex hulls, weights by solid angle).
"""

import gzip
import json
import math
import pathlib
import sys


def hull(levels):
    """The lower convex hull of (bits, mse), sizes rising."""
    best, kept = math.inf, []
    for bits, mse in sorted(levels):
        if mse < best:
            best = mse
            kept.append((bits, mse))
    out = []
    for point in kept:
        while len(out) > 1:
            (b0, d0), (b1, d1) = out[-2], out[-1]
            if (d0 - d1) / (b1 - b0) <= (d1 - point[1]) / (point[0] - b1):
                out.pop()
            else:
                break
        out.append(point)
    return out


def curve(table, gop):
    """Rate (bits/s) and WS-PSNR (dB) of a GoP, from the smallest levels to the largest."""
    rows, columns = table["rows"], table["columns"]
    share = [
        (math.sin(math.pi * (0.5 - r / rows)) - math.sin(math.pi * (0.5 - (r + 1) / rows)))
        / (2 * columns)
        for r in range(rows)
        for _ in range(columns)
    ]
    hulls = [
        hull(list(zip([8 * b for b in bytes_], mse)))
        for bytes_, mse in zip(gop["bytes"], gop["mse"])
    ]
    bits = sum(h[0][0] for h in hulls)
    error = sum(w * h[0][1] for w, h in zip(share, hulls))
    steps = []
    for w, h in zip(share, hulls):
        for (b0, d0), (b1, d1) in zip(h, h[1:]):
            steps.append((w * (d0 - d1) / (b1 - b0), b1 - b0, w * (d0 - d1)))
    points = [(bits / table["gop_s"], 10 * math.log10(65025 / error))]
    for _, more, less in sorted(steps, reverse=True):
        bits, error = bits + more, error - less
        points.append((bits / table["gop_s"], 10 * math.log10(65025 / max(error, 1e-9))))
    return points


def at(points, rate):
    """WS-PSNR at a rate."""
    below = [db for r, db in points if r <= rate]
    return below[-1] if below else points[0][1]


def main():
    rates = []
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*.json.gz")):
        table = json.loads(gzip.decompress(path.read_bytes()))
        curves = [curve(table, gop) for gop in table["gops"]]
        mean = lambda values: sum(values) / len(values)
        low, high = mean([c[0][1] for c in curves]), mean([c[-1][1] for c in curves])
        target = low + 0.9 * (high - low)
        lo, hi = 0.0, max(c[-1][0] for c in curves)
        for _ in range(40):
            middle = (lo + hi) / 2
            lo, hi = (middle, hi) if mean([at(c, middle) for c in curves]) < target else (lo, middle)
        rates.append(hi)
        least, most = mean([c[0][0] for c in curves]), mean([c[-1][0] for c in curves])
        print(
            f"{table['video']:8} {low:5.1f} to {high:5.1f} dB, {least / 1e6:5.2f} to "
            f"{most / 1e6:6.2f} Mbit/s; 90 % ({target:4.1f} dB) at {hi / 1e6:6.2f} Mbit/s"
        )
    print(f"mean {mean(rates) / 1e6:.2f} Mbit/s")


main()
