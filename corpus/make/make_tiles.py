#!/usr/bin/env python3
"""Make the tables of the 360-degree content: draw, cut into tiles, encode, measure, write.

    pip install -r requirements.txt
    python3 make_tiles.py --work DIR [--jobs 2] [--only NAME,...]
    python3 make_tiles.py --work DIR --check

Every tile that is finished is kept in DIR, so that an interrupted run goes on
where it stopped. --check draws and encodes the first GoP of some tiles anew and
compares it with the tables; it needs the ffmpeg that made them.
"""

import argparse
import gzip
import hashlib
import json
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from panoramas import FPS, HEIGHT, SEED, VIDEOS, WIDTH, frame
from tile_encode import (COLUMNS, FRAME_BYTES, GOP_FRAMES, LEVELS, PRESET, ROWS, X264, cut,
                         measure)
from tools import ffmpeg, write_atomic, write_json

GOPS = 20
HERE = Path(__file__).resolve().parent
TABLES = HERE.parent / "tiles"
CHECKED = (0, 40, 54, 90)


def say(*words):
    print(time.strftime("%H:%M:%S"), *words, flush=True)


def version():
    """The version that ffmpeg gives itself."""
    first = subprocess.run([ffmpeg(), "-version"], capture_output=True, text=True, check=True)
    return re.match(r"ffmpeg version (\S+)", first.stdout)[1]


def key():
    """A short hash of what a tile's figures depend on, of the scripts as they are."""
    text = [(HERE / name).read_bytes() for name in ("panoramas.py", "tile_encode.py")]
    return hashlib.sha256(b"".join(text) + f"{GOPS} {version()}".encode()).hexdigest()[:12]


def draw(video, gops, folder):
    """The raw tiles of a video, one file per tile."""
    folder.mkdir(parents=True, exist_ok=True)
    frames = gops * GOP_FRAMES
    tiles = np.empty((COLUMNS * ROWS, frames, FRAME_BYTES), np.uint8)
    for number in range(frames):
        tiles[:, number] = cut(frame(video, number))
    for tile, raw in enumerate(tiles):
        write_atomic(folder / f"{tile}.yuv", raw.tobytes())


def measure_video(video, gops, work, pool, wanted=range(COLUMNS * ROWS)):
    """What is kept of each wanted tile; measures what is missing."""
    folder = work / f"{video.name}-{gops}-{key()}"
    kept = {tile: folder / f"{tile}.json" for tile in wanted}
    missing = [tile for tile in wanted if not kept[tile].exists()]
    if missing:
        started = time.monotonic()
        if any(not (folder / f"{tile}.yuv").exists() for tile in missing):
            draw(video, gops, folder)
            say(video.name, f"drawn in {time.monotonic() - started:.0f} s")

        def one(tile):
            with tempfile.TemporaryDirectory(dir=work) as scratch:
                raw = folder / f"{tile}.yuv"
                write_json(kept[tile], measure(raw, Path(scratch)))

        list(pool.map(one, missing))
        say(video.name, f"measured after {time.monotonic() - started:.0f} s")
    for raw in folder.glob("*.yuv"):
        raw.unlink()
    return [json.loads(kept[tile].read_text()) for tile in wanted]


def write_table(video, tiles, ffmpeg_version):
    """The committed table of a video."""
    gops = [{name: [tile[name][gop] for tile in tiles] for name in tiles[0]}
            for gop in range(GOPS)]
    table = {
        "format": "airlane-tiles", "version": 1, "video": video.name, "title": video.title,
        "source": f"drawn by corpus/make/panoramas.py, seed {SEED}",
        "made": {
            "ffmpeg": ffmpeg_version,
            "encoder": f"x264 {PRESET}, tune psnr, {X264}, constant quantiser, one thread",
            "container": "H.264 in Annex B with parameter sets in each GoP, no SEI",
            "picture": f"{WIDTH}x{HEIGHT} equirectangular, 4:2:0, {FPS} frames/s",
            "metrics": "mean squared error of luma over the pictures of a GoP",
        },
        "columns": COLUMNS, "rows": ROWS, "gop_s": GOP_FRAMES / FPS, "fps": FPS,
        "levels": [f"qp{level}" for level in LEVELS], "gops": gops,
    }
    packed = json.dumps(table, separators=(",", ":")).replace(".0,", ",").encode()
    # No time in the header: the same numbers give the same bytes.
    write_atomic(TABLES / f"{video.name}.json.gz", gzip.compress(packed, 9, mtime=0))


def check(work, pool):
    """Problems of the tables: what one GoP encoded anew says otherwise."""
    problems = []
    for video in VIDEOS:
        table = json.loads(gzip.decompress((TABLES / f"{video.name}.json.gz").read_bytes()))
        made = table["made"]["ffmpeg"]
        if made != version():
            say(f"left out {video.name}: made with ffmpeg {made}, this is {version()}")
            continue
        # One GoP more: the encoder looks ahead.
        for tile, again in zip(CHECKED, measure_video(video, 2, work, pool, CHECKED)):
            first = table["gops"][0]
            for name in ("bytes", "mse", "grey_mse"):
                if first[name][tile] != again[name][0]:
                    problems.append(f"{video.name}: tile {tile}: {name}: {first[name][tile]} in "
                                    f"the table, {again[name][0]} now")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, required=True, help="folder of what is kept")
    parser.add_argument("--jobs", type=int, default=2, help="tiles encoded at once")
    parser.add_argument("--only", help="names of videos, with commas")
    parser.add_argument("--check", action="store_true", help="compare some GoPs with the tables")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    names = options.only.split(",") if options.only else [video.name for video in VIDEOS]
    unknown = set(names) - {video.name for video in VIDEOS}
    if unknown:
        parser.error(f"no video {', '.join(sorted(unknown))}")
    with ThreadPoolExecutor(options.jobs) as pool:
        if options.check:
            problems = check(options.work, pool)
            print("\n".join(problems) or "the tables are what the encoder gives")
            return 1 if problems else 0
        for video in VIDEOS:
            if video.name in names:
                tiles = measure_video(video, GOPS, options.work, pool)
                write_table(video, tiles, version())
    return 0


if __name__ == "__main__":
    sys.exit(main())
