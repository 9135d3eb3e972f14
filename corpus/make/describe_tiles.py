#!/usr/bin/env python3
"""The table of 360-degree videos of docs/reference/corpus.md, from the committed tables, as Markdown.

    python3 describe_tiles.py            prints it
    python3 describe_tiles.py --fill     puts it between the page's two marks
"""

import gzip
import json
import sys
from math import log10, pi, sin
from pathlib import Path
from statistics import fmean

CORPUS = Path(__file__).resolve().parent.parent
PAGE = CORPUS.parent / "docs" / "reference" / "corpus.md"
BEGIN, END = "<!-- describe_tiles.py begins -->\n", "<!-- describe_tiles.py ends -->\n"
SHOWN = ("qp46", "qp38", "qp30", "qp22", "qp18")


def load():
    return [json.loads(gzip.decompress(path.read_bytes()))
            for path in sorted((CORPUS / "tiles").glob("*.json.gz"))]


def shares(table):
    """Each tile's share of the sphere, in raster order."""
    edges = [sin(pi / 2 - pi * row / table["rows"]) for row in range(table["rows"] + 1)]
    return [(edges[row] - edges[row + 1]) / 2 / table["columns"]
            for row in range(table["rows"]) for _ in range(table["columns"])]


def rate(table, level):
    """Mbit/s of all tiles at a level."""
    at = table["levels"].index(level)
    return fmean(sum(tile[at] for tile in gop["bytes"]) for gop in table["gops"]) * 8e-6 / table[
        "gop_s"]


def ws_psnr(table, level):
    """WS-PSNR in dB, mean over GoPs."""
    at, weights = table["levels"].index(level), shares(table)
    errors = (sum(w * tile[at] for w, tile in zip(weights, gop["mse"])) for gop in table["gops"])
    return fmean(10 * log10(255 ** 2 / error) for error in errors)


def still(table, level):
    """Share of the sphere, mean over GoPs, where the last picture standing still beats a level."""
    at, weights = table["levels"].index(level), shares(table)
    return fmean(sum(w for w, change, tile in zip(weights, gop["change_mse"], gop["mse"])
                     if change < tile[at]) for gop in table["gops"])


def lines(tables):
    names = " | ".join(f"{level}" for level in SHOWN)
    yield f"| video | title | Mbit/s at {names} | WS-PSNR (dB) at {names} | still |"
    yield "|---|---|" + "---:|" * (2 * len(SHOWN) + 1)
    for table in tables:
        cells = [table["video"], table["title"]]
        cells += [f"{rate(table, level):.2f}" for level in SHOWN]
        cells += [f"{ws_psnr(table, level):.1f}" for level in SHOWN]
        cells.append(f"{100 * still(table, 'qp30'):.0f} %")
        yield f"| {' | '.join(cells)} |"


def main():
    text = "\n".join(lines(load())) + "\n"
    if "--fill" not in sys.argv[1:]:
        print(text, end="")
        return
    before, rest = PAGE.read_text().split(BEGIN)
    _, after = rest.split(END)
    PAGE.write_text(before + BEGIN + text + END + after)


if __name__ == "__main__":
    main()
