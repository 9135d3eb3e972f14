#!/usr/bin/env python3
"""Print the tables of docs/corpus.md from the committed ones, as Markdown."""

import sys
from pathlib import Path
from statistics import fmean, median, quantiles

from check import load, mean_step


def rung_of(table, kbps):
    return next(r for r in table["rungs"] if r["nominal_bps"] == kbps * 1000)


def vmaf_of(table, kbps):
    return rung_of(table, kbps)["quality"]["vmaf"][:table["distinct_chunks"]]


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent / "tables"
    tables = load(folder)
    print("| video | character | VMAF at 0.3 | at 1 | at 2.5 | at 6.5 Mbit/s | step at 1 | at 2.5 "
          "| mean rate at 1, Mbit/s | at 2.5 | at 6.5 | largest chunk at 2.5, of the mean |")
    print("|---|---|" + "---:|" * 10)
    for t in tables:
        vmaf = [f"{fmean(vmaf_of(t, k)):.1f}" for k in (300, 1000, 2500, 6500)]
        step = [f"{mean_step(vmaf_of(t, k)):.1f}" for k in (1000, 2500)]
        sizes = {k: rung_of(t, k)["size_bytes"][:t["distinct_chunks"]] for k in (1000, 2500, 6500)}
        rate = [f"{fmean(s) * 8 / t['chunk_s'] / 1e6:.2f}" for s in sizes.values()]
        peak = f"{max(sizes[2500]) / fmean(sizes[2500]):.2f}"
        print("|", " | ".join([t["video"], t["character"], *vmaf, *step, *rate, peak]), "|")
    print("\n| kbit/s | quartiles of mean VMAF | lowest, highest | median step |\n|---:|---|---|---:|")
    for rung in tables[0]["rungs"]:
        kbps = rung["nominal_bps"] // 1000
        means = [fmean(vmaf_of(t, kbps)) for t in tables]
        quarter = " / ".join(f"{q:.1f}" for q in quantiles(means, n=4, method="inclusive"))
        step = median(mean_step(vmaf_of(t, kbps)) for t in tables)
        print(f"| {kbps} | {quarter} | {min(means):.1f}, {max(means):.1f} | {step:.1f} |")
    print("\n| video | title | made from |\n|---|---|---|")
    for t in tables:
        print(f"| {t['video']} | {t['title']} | {t['source']} |")


if __name__ == "__main__":
    main()
