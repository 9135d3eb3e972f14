#!/usr/bin/env python3
"""Make the tables of the layered real-time video: render, encode, measure, write.

    apt-get install gcc pkg-config libvpx-dev
    pip install -r requirements.txt
    python3 make_layers.py --work DIR [--only NAME,...]
    python3 make_layers.py --work DIR --check

Every encoding that is finished is kept in DIR, so that an interrupted run goes on
where it stopped. --check reads all tables for sense, then encodes the first frames of each
clip anew and compares them with the tables; that needs the libvpx and the ffmpeg that made them.
"""

import argparse
import gzip
import hashlib
import json
import re
import subprocess
import sys
import time
from pathlib import Path

from layer_check import problems
from layer_clips import CLIPS, FPS, FRAMES, HEIGHT, WIDTH, render
from layer_encode import (KBPS, LAYERS, QUALITY_GOP, QUANTISER, SOURCE, TEMPORAL_GOP, VP8_SPEED,
                          VP9_SPEED, build, jobs, libvpx, rate, run)
from sources import fetch
from tools import ffmpeg, write_atomic, write_json

HERE = Path(__file__).resolve().parent
TABLES = HERE.parent / "layers"
CHECKED_FRAMES = 30
CHECKED = ("quality-4000", "temporal", "single-4000", "fixed", "fixed-gop")


def say(*words):
    print(time.strftime("%H:%M:%S"), *words, flush=True)


def ffmpeg_version():
    """The version that ffmpeg gives itself."""
    first = subprocess.run([ffmpeg(), "-version"], capture_output=True, text=True, check=True)
    return re.match(r"ffmpeg version (\S+)", first.stdout)[1]


def scripts():
    """A short hash of the scripts that the figures depend on."""
    text = [path.read_bytes() for path in (HERE / "layer_clips.py", HERE / "layer_encode.py",
                                           SOURCE)]
    return hashlib.sha256(b"".join(text)).hexdigest()[:12]


def measure(clip, frames, work, program, wanted, verify=False):
    """The columns of each wanted run over a clip's first frames; does what is missing."""
    versions = f"{libvpx(program)}-{ffmpeg_version()}"
    folder = work / f"layers-{clip.name}-{frames}-{scripts()}-{versions}"
    folder.mkdir(parents=True, exist_ok=True)
    raw = folder / "clip.yuv"
    for name, kind, speed, words in jobs():
        kept = folder / f"{name}{'-verified' if verify else ''}.json"
        if name not in wanted or kept.exists():
            continue
        if not raw.exists():
            render(clip, fetch(work), raw, frames)
        started = time.monotonic()
        # A single layer has none above it.
        layered = verify and kind in ("quality", "temporal")
        write_json(kept, run(program, raw, frames, kind, speed, words, layered))
        say(clip.name, name, f"{time.monotonic() - started:.0f} s")
    raw.unlink(missing_ok=True)
    return {name: json.loads((folder / f"{name}{'-verified' if verify else ''}.json").read_text())
            for name in wanted}


def made(program):
    """How a table was made; for people, but for the versions and the hash."""
    return {
        "libvpx": libvpx(program), "ffmpeg": ffmpeg_version(), "scripts": scripts(),
        "quality": f"one-pass CBR in real time, speed {VP9_SPEED}, equal picture size, shares of "
                   "the rate 0.2, 0.3 and 0.5, adaptive quantisation 3, error resilient",
        "temporal": f"speed {VP8_SPEED}; frames 1 to 7 of a GoP use 0, 0, 0 and 2, 0, 4, 4, "
                    "4 and 6",
        "single": f"one-pass CBR in real time, speed {VP8_SPEED}, one key frame",
        "bytes": "of libvpx, without the superframe index",
        "ssim": "luma against the clip, windows of 8x8 four samples apart, as ffmpeg's filter",
    }


def table_of(clip, kept, about):
    """The table of a clip, from the columns of its runs."""
    quality = []
    for kbps in KBPS:
        columns = kept[f"quality-{kbps}"]
        sums = [[sum(frame[:layer + 1]) for frame in columns["bytes"]] for layer in range(LAYERS)]
        quality.append({"target_bps": kbps * 1000, "layer_bps": [rate(sizes) for sizes in sums],
                        **columns})
    single = [{"target_bps": kbps * 1000, "measured_bps": rate(kept[f"single-{kbps}"]["bytes"]),
               **kept[f"single-{kbps}"]} for kbps in KBPS]
    gop = {name: kept["fixed-gop"][name] for name in ("bytes", "ssim_db")}
    return {
        "format": "airlane-layers", "version": 1, "video": clip.name, "title": clip.title,
        "source": clip.source, "fps": FPS, "width": WIDTH, "height": HEIGHT,
        "quality": {"codec": "vp9-svc", "gop": QUALITY_GOP, "layers": LAYERS,
                    "encodings": quality},
        "temporal": {"codec": "vp8-svc", "gop": TEMPORAL_GOP, "quantiser": QUANTISER,
                     **kept["temporal"]},
        "single": {"codec": "vp8", "encodings": single},
        "single_quantiser": {"codec": "vp8", "quantiser": QUANTISER, **kept["fixed"]},
        "single_quantiser_gop": {"codec": "vp8", "gop": TEMPORAL_GOP, "quantiser": QUANTISER,
                                 **gop},
        "made": about,
    }


def write_table(table):
    packed = json.dumps(table, separators=(",", ":")).encode()
    # No time in the header: the same numbers give the same bytes.
    write_atomic(TABLES / f"{table['video']}.json.gz", gzip.compress(packed, 9, mtime=0))


def read_table(clip):
    return json.loads(gzip.decompress((TABLES / f"{clip.name}.json.gz").read_bytes()))


def recorded(table, name):
    """The columns of a run as a table has them."""
    place, _, kbps = name.partition("-")
    if place in ("quality", "single"):
        return table[place]["encodings"][KBPS.index(int(kbps))]
    return table[{"temporal": "temporal", "fixed": "single_quantiser",
                  "fixed-gop": "single_quantiser_gop"}[name]]


def check(clips, work, program):
    """Problems of the tables: what makes no sense, and what the encoder says otherwise."""
    found = []
    now = (libvpx(program), ffmpeg_version())
    for clip in clips:
        table = read_table(clip)
        found += [f"{clip.name}: {problem}" for problem in problems(table)]
        then = (table["made"]["libvpx"], table["made"]["ffmpeg"])
        if then != now:
            say(f"left out {clip.name}: made with libvpx and ffmpeg {then}, these are {now}")
            continue
        again = measure(clip, CHECKED_FRAMES, work, program, CHECKED, verify=True)
        for name, columns in again.items():
            before = recorded(table, name)
            for column in before.keys() & columns.keys():
                for frame, value in enumerate(columns[column]):
                    if before[column][frame] != value:
                        found.append(f"{clip.name}: {name}: {column} of frame {frame}: "
                                     f"{before[column][frame]} in the table, {value} now")
                        break
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, required=True, help="folder of what is kept")
    parser.add_argument("--only", help="names of clips, with commas")
    parser.add_argument("--check", action="store_true", help="compare some frames with the tables")
    options = parser.parse_args()
    work = options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    names = options.only.split(",") if options.only else [clip.name for clip in CLIPS]
    unknown = set(names) - {clip.name for clip in CLIPS}
    if unknown:
        parser.error(f"no clip {', '.join(sorted(unknown))}")
    clips = [clip for clip in CLIPS if clip.name in names]
    program = build(work)
    if options.check:
        found = check(clips, work, program)
        print("\n".join(found) or "the tables are what the encoders give")
        return 1 if found else 0
    for clip in clips:
        kept = measure(clip, FRAMES, work, program, [name for name, *_ in jobs()])
        table = table_of(clip, kept, made(program))
        found = problems(table)
        for problem in found:
            say(clip.name, "PROBLEM", problem)
        write_table(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
