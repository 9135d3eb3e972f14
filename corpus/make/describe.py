#!/usr/bin/env python3
"""The tables of docs/reference/corpus.md, from the committed ones, as Markdown.

    python3 describe.py            prints them
    python3 describe.py --fill     puts them between the page's two marks
"""

import sys
from pathlib import Path
from statistics import fmean, median, quantiles

from check import REAL_QUARTILES, load, mean_step

CORPUS = Path(__file__).resolve().parent.parent
PAGE = CORPUS.parent / "docs" / "reference" / "corpus.md"
BEGIN, END = "<!-- describe.py begins -->\n", "<!-- describe.py ends -->\n"
# Of the real set, at its rungs nearest to ours (1050 and 2350 kbit/s).
REAL_STEPS = {1000: "7.8", 2500: "8.3"}


def vmaf_of(table, kbps):
    rung = next(r for r in table["rungs"] if r["nominal_bps"] == kbps * 1000)
    return rung["quality"]["vmaf"][:table["distinct_chunks"]]


def sizes_of(table, kbps):
    rung = next(r for r in table["rungs"] if r["nominal_bps"] == kbps * 1000)
    return rung["size_bytes"][:table["distinct_chunks"]]


def over_videos(tables, kbps):
    """Quartiles of mean VMAF, its extremes and the median step, as words."""
    means = [fmean(vmaf_of(t, kbps)) for t in tables]
    quarters = " / ".join(f"{q:.1f}" for q in quantiles(means, n=4, method="inclusive"))
    step = median(mean_step(vmaf_of(t, kbps)) for t in tables)
    return quarters, f"{min(means):.1f} to {max(means):.1f}", f"{step:.1f}"


def lines(tables):
    yield "| | quartiles of the videos' mean VMAF | median step between chunks |"
    yield "|---|---|---|"
    for kbps, real in REAL_QUARTILES.items():
        quarters, _, step = over_videos(tables, kbps)
        yield f"| ours at {kbps} kbit/s | {quarters} | {step} |"
        yield f"| real | {' / '.join(map(str, real))} | {REAL_STEPS[kbps]} |"
    yield "\n## The videos\n"
    yield ("\"Step\" is the mean absolute difference of VMAF between neighbouring chunks. "
           "Figures are over the distinct chunks; rates in Mbit/s.\n")
    yield ("| video | character | VMAF at 0.3 | at 1 | at 2.5 | at 6.5 | step at 1 | at 2.5 "
           "| mean rate at 1 | at 2.5 | at 6.5 | largest chunk at 2.5, of the mean |")
    yield "|---|---|" + "---:|" * 10
    for t in tables:
        cells = [t["video"], t["character"]]
        cells += [f"{fmean(vmaf_of(t, k)):.1f}" for k in (300, 1000, 2500, 6500)]
        cells += [f"{mean_step(vmaf_of(t, k)):.1f}" for k in (1000, 2500)]
        cells += [f"{fmean(sizes_of(t, k)) * 8 / t['chunk_s'] / 1e6:.2f}"
                  for k in (1000, 2500, 6500)]
        cells.append(f"{max(sizes_of(t, 2500)) / fmean(sizes_of(t, 2500)):.2f}")
        yield f"| {' | '.join(cells)} |"
    yield "\n| kbit/s | quartiles of mean VMAF | range | median step |\n|---:|---|---|---:|"
    for rung in tables[0]["rungs"]:
        kbps = rung["nominal_bps"] // 1000
        yield f"| {kbps} | {' | '.join(over_videos(tables, kbps))} |"
    yield "\n| video | title | made from (terms in `corpus/LICENCES`) |\n|---|---|---|"
    for t in tables:
        yield f"| {t['video']} | {t['title']} | {t['source']} |"


def main():
    text = "\n".join(lines(load(CORPUS / "tables"))) + "\n"
    if "--fill" in sys.argv[1:]:
        page = PAGE.read_text()
        before, rest = page.split(BEGIN)
        PAGE.write_text(before + BEGIN + text + END + rest.split(END)[1])
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
