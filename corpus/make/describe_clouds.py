#!/usr/bin/env python3
"""The tables of moving point clouds of docs/reference/corpus.md, from the committed tables, as Markdown.

    python3 describe_clouds.py            prints them
    python3 describe_clouds.py --fill     puts them between the page's two marks
"""

import gzip
import json
import sys
from math import log10
from pathlib import Path
from statistics import fmean

CORPUS = Path(__file__).resolve().parent.parent
PAGE = CORPUS.parent / "docs" / "reference" / "corpus.md"
BEGIN, END = "<!-- describe_clouds.py begins -->\n", "<!-- describe_clouds.py ends -->\n"


def load():
    return [json.loads(gzip.decompress(path.read_bytes()))
            for path in sorted((CORPUS / "clouds").glob("*.json.gz"))]


def mbps(table, member, count):
    """Mbit/s of the first `count` layers of each cell; of whole cells, of that density."""
    part = (lambda cell: sum(cell[:count])) if member == "layer_bytes" else (
        lambda cell: cell[count - 1])
    return fmean(sum(map(part, frame)) for frame in table[member]) * 8e-6 * table["fps"]


def ssim_db(table, front, behind):
    """SSIM in dB of a picture with so many layers in front and behind."""
    ssim = sum(pair["share"] * pair["ssim"][front][behind] for pair in table["pairs"])
    return -10 * log10(1 - ssim)


def lines(tables):
    yield ("| clip | title | points | Mbit/s in layers | whole, by density | layers above whole, by "
           "density |")
    yield "|---|---|---:|---:|---|---|"
    for table in tables:
        counts = range(1, table["layers"] + 1)
        whole = [mbps(table, "whole_bytes", n) for n in counts]
        above = [mbps(table, "layer_bytes", n) / w - 1 for n, w in zip(counts, whole)]
        yield (f"| {table['video']} | {table['title']} | {table['points']} | "
               f"{mbps(table, 'layer_bytes', table['layers']):.1f} | "
               f"{', '.join(f'{w:.1f}' for w in whole)} | "
               f"{', '.join(f'{100 * a:.0f} %' for a in above)} |")
    yield ""
    yield "| SSIM (dB) with layers in front + behind | 1 | 2 | 3 | 4 | 5 | 5 + 1 | 5 + 2 | 5 + 3 | 5 + 4 | 5 + 5 |"
    yield "|---|" + "---:|" * 10
    for table in tables:
        levels = [(n, 0) for n in range(1, 6)] + [(5, n) for n in range(1, 6)]
        yield f"| {table['video']} | {' | '.join(f'{ssim_db(table, *at):.2f}' for at in levels)} |"


def main():
    text = "\n".join(lines(load())) + "\n"
    if "--fill" in sys.argv[1:]:
        before, rest = PAGE.read_text().split(BEGIN)
        after = rest.split(END)[1]
        PAGE.write_text(before + BEGIN + text + END + after)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
