"""Does the corpus spread as real content does, and is it sane? Prints PASS or FAIL."""

import gzip
import json
import math
import sys
from pathlib import Path
from statistics import fmean, median, pstdev, quantiles

# Quartiles of per-video mean VMAF over the real set (56 videos on the web), by
# nominal rate, and how far ours may be; then the same for the median over
# videos of the mean absolute difference between neighbouring chunks.
REAL_QUARTILES = {1000: (59, 69, 77), 2500: (79, 85, 89)}
QUARTILE_SLACK = 8
REAL_STEP, STEP_SLACK = (7, 8), 3
MOST_BYTES = 3_000_000

# Where the ladder changes its picture size, dark and soft pictures may stand still: as measured, a
# fall of less than this many points of VMAF counts as level and is noted.
LEVEL = 0.1


def mean_step(values):
    return fmean(abs(b - a) for a, b in zip(values, values[1:]))


def load(folder):
    return [json.loads(gzip.decompress(p.read_bytes()))
            for p in sorted(Path(folder).glob("*.json.gz"))]


def spread(curves):
    """curves: {video: {kbps: [vmaf per distinct chunk]}} -> [(line, ok)]"""
    lines = []
    for kbps, wanted in REAL_QUARTILES.items():
        videos = [c[kbps] for c in curves.values() if kbps in c]
        if len(videos) < 2:
            continue
        # Inclusive, so that the quartiles stay inside a sample this small.
        found = quantiles([fmean(v) for v in videos], n=4, method="inclusive")
        ok = all(abs(a - b) <= QUARTILE_SLACK for a, b in zip(found, wanted))
        shown = "/".join(f"{q:.1f}" for q in found)
        lines.append((f"quartiles of mean VMAF at {kbps} kbit/s: {shown}, real "
                      f"{'/'.join(map(str, wanted))} +-{QUARTILE_SLACK}", ok))
        step = median(mean_step(v) for v in videos)
        low, high = REAL_STEP[0] - STEP_SLACK, REAL_STEP[1] + STEP_SLACK
        lines.append((f"median step between chunks at {kbps} kbit/s: {step:.1f}, "
                      f"real {REAL_STEP[0]}-{REAL_STEP[1]}, allowed {low}-{high}",
                      low <= step <= high))
    return lines


def sane(table):
    """Faults of one table, as words."""
    faults, rungs = [], table["rungs"]
    count, distinct = len(rungs[0]["size_bytes"]), table["distinct_chunks"]
    if count != 75 or distinct < 25:
        faults.append(f"{count} chunks, {distinct} distinct")
    if [r["nominal_bps"] for r in rungs] != sorted({r["nominal_bps"] for r in rungs}):
        faults.append("rungs are not ascending")
    for rung in rungs:
        series = [rung["size_bytes"], *rung["quality"].values()]
        if any(len(s) != count for s in series):
            faults.append(f"{rung['name']}: ragged")
        if not all(math.isfinite(x) for s in series for x in s):
            faults.append(f"{rung['name']}: not a number")
        if not all(0 <= v <= 100 for v in rung["quality"]["vmaf"]):
            faults.append(f"{rung['name']}: VMAF outside 0..100")
        if len(set(rung["size_bytes"])) < distinct * 0.9:
            faults.append(f"{rung['name']}: chunks repeat within the distinct ones")
        mean_bps = fmean(rung["size_bytes"]) * 8 / table["chunk_s"]
        if mean_bps > 1.1 * rung["nominal_bps"]:
            faults.append(f"{rung['name']}: {mean_bps / rung['nominal_bps']:.2f} of nominal")
    if falls(table, "vmaf", LEVEL):
        faults.append("mean VMAF falls with the rate")
    return faults


def falls(table, metric, by=0.0):
    """Names of the rungs whose mean is no better than that of the rung below less `by`."""
    means = [fmean(r["quality"][metric]) for r in table["rungs"]]
    return [r["name"] for r, a, b in zip(table["rungs"][1:], means, means[1:]) if b <= a - by]


def describe(table):
    rungs, n = table["rungs"], table["distinct_chunks"]
    vmaf = " ".join(f"{fmean(r['quality']['vmaf']):5.1f}" for r in rungs)
    steps = {r["nominal_bps"] // 1000: mean_step(r["quality"]["vmaf"][:n]) for r in rungs}
    sizes = next(r for r in rungs if r["nominal_bps"] == 2_500_000)["size_bytes"][:n]
    rate = fmean(sizes) * 8 / table["chunk_s"] / 2_500_000
    return (f"{table['video']:10s} {vmaf}  step {steps[1000]:4.1f} {steps[2500]:4.1f}"
            f"  size/nominal {rate:4.2f} cv {pstdev(sizes) / fmean(sizes):4.2f}")


def check(folder):
    tables = load(folder)
    if not tables:
        print("FAIL no tables")
        return False
    print("mean VMAF by rung, mean step at 1000 and 2500 kbit/s, sizes at 2500 kbit/s")
    for table in tables:
        print(describe(table))
    lines = spread({
        t["video"]: {r["nominal_bps"] // 1000: r["quality"]["vmaf"][:t["distinct_chunks"]]
                     for r in t["rungs"]} for t in tables
    })
    lines.append((f"{len(tables)} videos, at least 12", len(tables) >= 12))
    for table in tables:
        faults = sane(table)
        if faults:
            lines.append((f"{table['video']}: {'; '.join(faults)}", False))
    if all(ok for _, ok in lines):
        lines.append(("every table sane: whole, finite, rising over the rungs", True))
    early = [t["video"] for t in tables if fmean(t["rungs"][2]["quality"]["vmaf"]) >= 80]
    steep = [t["video"] for t in tables if fmean(t["rungs"][2]["quality"]["vmaf"]) <= 60]
    lines.append((f"curves differ: {len(early)} videos reach 80 by 1 Mbit/s "
                  f"({', '.join(early)}), {len(steep)} stay under 60 ({', '.join(steep)})",
                  bool(early) and bool(steep)))
    size = sum(p.stat().st_size for p in Path(folder).glob("*.json.gz"))
    lines.append((f"{size / 1000:.0f} kB of tables, under {MOST_BYTES // 1000}",
                  size < MOST_BYTES))
    for table in tables:
        for metric in ("psnr_db", "ssim"):
            for name in falls(table, metric):
                # A fact of grain at a larger picture size, kept as measured.
                print(f"note {table['video']}: mean {metric} falls at {name}")
    for line, ok in lines:
        print("PASS" if ok else "FAIL", line)
    return all(ok for _, ok in lines)


if __name__ == "__main__":
    default = Path(__file__).resolve().parent.parent / "tables"
    sys.exit(0 if check(sys.argv[1] if len(sys.argv) > 1 else default) else 1)
