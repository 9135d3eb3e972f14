#!/usr/bin/env python3
"""The tables of layered video of docs/reference/corpus.md, from the committed tables, as Markdown.

    python3 describe_layers.py           prints them
    python3 describe_layers.py --fill    puts them between the page's two marks
"""

import gzip
import json
import sys
from pathlib import Path
from statistics import fmean

from layer_clips import CLIPS

CORPUS = Path(__file__).resolve().parent.parent
PAGE = CORPUS.parent / "docs" / "reference" / "corpus.md"
BEGIN, END = "<!-- describe_layers.py begins -->\n", "<!-- describe_layers.py ends -->\n"
CHARACTERS = {clip.name: clip.character for clip in CLIPS}


def load():
    return [json.loads(gzip.decompress(path.read_bytes()))
            for path in sorted((CORPUS / "layers").glob("*.json.gz"))]


def mbps(sizes, fps):
    return fmean(sizes) * 8e-6 * fps


def over_mean(sizes, gop):
    """A key frame's size as a multiple of the other frames'."""
    return fmean(sizes[::gop]) / fmean(size for at, size in enumerate(sizes) if at % gop)


def quality_rows(tables):
    yield ("| video | target | Mbit/s of layer 0 | 0 and 1 | all | SSIM (dB) of layer 0 | 1 | 2 | "
           "key frame / other |")
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    for table in tables:
        part = table["quality"]
        for coded in part["encodings"]:
            cells = [table["video"], f"{coded['target_bps'] / 1e6:.2f}"]
            cells += [f"{rate / 1e6:.2f}" for rate in coded["layer_bps"]]
            cells += [f"{fmean(frame[layer] for frame in coded['ssim_db']):.2f}"
                      for layer in range(part["layers"])]
            cells.append(f"{over_mean([sum(frame) for frame in coded['bytes']], part['gop']):.1f}")
            yield f"| {' | '.join(cells)} |"


def single_rows(tables):
    targets = [coded["target_bps"] for coded in tables[0]["single"]["encodings"]]
    yield "| single layer, by target (Mbit/s) | " + " | ".join(
        f"{target / 1e6:g}" for target in targets) + " |"
    yield "|---|" + "---:|" * len(targets)
    for table in tables:
        coded = table["single"]["encodings"]
        for words, values in (
                ("Mbit/s", [f"{one['measured_bps'] / 1e6:.2f}" for one in coded]),
                ("SSIM (dB)", [f"{fmean(one['ssim_db']):.2f}" for one in coded]),
                ("a key frame, of a frame's bytes", [
                    f"{fmean(one['key_bytes']) / fmean(one['bytes']):.1f}" for one in coded])):
            yield f"| {table['video']}: {words} | {' | '.join(values)} |"


def fixed_rows(tables):
    yield ("| video | title | character | Mbit/s in temporal layers | "
           "in a single layer, same GoP | one key frame | temporal above single | "
           "SSIM (dB) in temporal layers | single layer | "
           "Mbit/s of priority 1 | and 2 |")
    yield "|---|---|---|" + "---:|" * 8
    for table in tables:
        fps, layered = table["fps"], table["temporal"]
        plain, open_ended = table["single_quantiser_gop"], table["single_quantiser"]
        by_priority = [[size if at % step == 0 else 0 for at, size in enumerate(layered["bytes"])]
                       for step in (4, 2)]
        cells = [table["video"], table["title"], CHARACTERS[table["video"]],
                 *(f"{mbps(part['bytes'], fps):.2f}" for part in (layered, plain, open_ended)),
                 f"{100 * (fmean(layered['bytes']) / fmean(plain['bytes']) - 1):.0f} %",
                 *(f"{fmean(part['ssim_db']):.2f}" for part in (layered, plain)),
                 *(f"{mbps(sizes, fps):.2f}" for sizes in by_priority)]
        yield f"| {' | '.join(cells)} |"


def lines(tables):
    yield from fixed_rows(tables)
    yield ""
    yield from quality_rows(tables)
    yield ""
    yield from single_rows(tables)


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
