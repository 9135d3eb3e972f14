#!/usr/bin/env python3
"""Make the tables of the moving point clouds: draw, cut into cells and layers, encode, render, write.

    pip install -r requirements.txt
    python3 make_clouds.py --work DIR [--jobs 2] [--only NAME,...]
    python3 make_clouds.py --work DIR --check

Every frame that is finished is kept in DIR, so that an interrupted run goes on where it stopped.
--check encodes some frames anew and compares them with the tables; it needs the Draco that made
them.
"""

import argparse
import gzip
import hashlib
import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from pathlib import Path

import cloud_encode
from cloud_encode import CELLS, FRONTS, LAYERS, LEVEL, QUANTISER
from cloud_render import DISTANCE
from clouds import CLIPS, FPS, FRAMES, SEED, capture
from tools import write_atomic, write_json

HERE = Path(__file__).resolve().parent
TABLES = HERE.parent / "clouds"
# A frame of each second is rendered.
RENDERED = range(0, FRAMES, FPS)
CHECKED = (0, 117)
SCRIPTS = ("clouds.py", "cloud_render.py", "cloud_encode.py")


def say(*words):
    print(time.strftime("%H:%M:%S"), *words, flush=True)


def made_with():
    return {"dracopy": version("DracoPy"), "numpy": version("numpy")}


def key():
    """A short hash of what figures depend on, of the scripts as they are."""
    text = [(HERE / name).read_bytes() for name in SCRIPTS]
    return hashlib.sha256(b"".join(text) + str(made_with()).encode()).hexdigest()[:12]


def measure(job):
    """The figures of a frame of a clip, kept if they were measured before."""
    clip, number, kept = CLIPS[job[0]], job[1], job[2]
    if not kept.exists():
        cloud = capture(clip, number)
        figures = cloud_encode.measure_bytes(*cloud)
        if number in RENDERED:
            figures["pairs"] = cloud_encode.measure_ssim(*cloud)
        write_json(kept, figures)
    return json.loads(kept.read_text())


def measure_clip(clip, work, pool):
    folder = work / f"{clip.name}-{key()}"
    folder.mkdir(parents=True, exist_ok=True)
    started, done = time.monotonic(), []
    jobs = [(CLIPS.index(clip), n, folder / f"{n}.json") for n in range(FRAMES)]
    for number, figures in enumerate(pool.map(measure, jobs)):
        done.append(figures)
        if number % 40 == 39:
            say(clip.name, number + 1, "frames", f"{time.monotonic() - started:.0f} s")
    return done


def looks(frames):
    """By pair of cells: its share of the picture, and SSIM by layers in front and behind."""
    rendered = [frames[n]["pairs"] for n in RENDERED]
    total = sum(pair["windows"] for frame in rendered for pair in frame)
    pairs = []
    for number in range(FRONTS):
        of = [frame[number] for frame in rendered]
        own = sum(pair["windows"] for pair in of)
        ssim = [[round(sum(pair["sums"][front][behind] for pair in of) / own, 5)
                 for behind in range(LAYERS + 1)] for front in range(LAYERS + 1)]
        pairs.append({"share": round(own / total, 5), "ssim": ssim})
    return pairs


def write_table(clip, frames):
    """The committed table of a clip."""
    table = {
        "format": "airlane-clouds", "version": 1, "video": clip.name, "title": clip.title,
        "source": f"drawn by corpus/make/clouds.py, seed {SEED}",
        "made": made_with() | {
            "encoder": f"Draco, {QUANTISER} bits of place, level {LEVEL}, colours of 8 bits",
            "metric": f"SSIM of luma at {DISTANCE} m, windows in which the source is",
        },
        "fps": FPS, "points": clip.points, "fronts": FRONTS, "layers": LAYERS,
        "pairs": looks(frames),
        "layer_bytes": [frame["layer_bytes"] for frame in frames],
        "whole_bytes": [frame["whole_bytes"] for frame in frames],
    }
    packed = json.dumps(table, separators=(",", ":")).encode()
    TABLES.mkdir(exist_ok=True)
    # No time in the header: the same numbers give the same bytes.
    write_atomic(TABLES / f"{clip.name}.json.gz", gzip.compress(packed, 9, mtime=0))


def load(clip):
    return json.loads(gzip.decompress((TABLES / f"{clip.name}.json.gz").read_bytes()))


def check(clips):
    """Problems of the tables: what frames encoded anew say otherwise."""
    problems = []
    for clip in clips:
        table = load(clip)
        made = {name: table["made"][name] for name in made_with()}
        if made != made_with():
            say(f"left out {clip.name}: made with {made}, this is {made_with()}")
            continue
        for number in CHECKED:
            again = cloud_encode.measure_bytes(*capture(clip, number))
            for name in ("layer_bytes", "whole_bytes"):
                if table[name][number] != again[name]:
                    problems.append(f"{clip.name}: frame {number}: {name} differ")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, required=True, help="folder of what is kept")
    parser.add_argument("--jobs", type=int, default=2, help="frames measured at once")
    parser.add_argument("--only", help="names of clips, with commas")
    parser.add_argument("--check", action="store_true", help="compare some frames with the tables")
    options = parser.parse_args()
    names = options.only.split(",") if options.only else [clip.name for clip in CLIPS]
    unknown = set(names) - {clip.name for clip in CLIPS}
    if unknown:
        parser.error(f"no clip {', '.join(sorted(unknown))}")
    wanted = [clip for clip in CLIPS if clip.name in names]
    if options.check:
        problems = check(wanted)
        print("\n".join(problems) or "the tables are what the encoder gives")
        return 1 if problems else 0
    options.work.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(options.jobs) as pool:
        for clip in wanted:
            write_table(clip, measure_clip(clip, options.work, pool))
    return 0


if __name__ == "__main__":
    sys.exit(main())
