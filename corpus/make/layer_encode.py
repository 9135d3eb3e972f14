"""Building layers.c, running it, and reading what it prints."""

import subprocess
from functools import cache
from math import log10
from pathlib import Path

from layer_clips import FPS, HEIGHT, WIDTH

SOURCE = Path(__file__).resolve().parent / "layers.c"
# Real-time speed settings of libvpx.
VP9_SPEED, VP8_SPEED = 7, 8
QUALITY_GOP, LAYERS, TEMPORAL_GOP, QUANTISER = 10, 3, 8, 17
KBPS = (1200, 2050, 3000, 4000, 5000, 6000, 7000, 10000, 12000, 15000)
# What an SSIM of one is written as.
BEST_DB = 100.0


def jobs():
    """(name, kind, speed, the kind's own words) of every run over a clip."""
    for kbps in KBPS:
        yield f"quality-{kbps}", "quality", VP9_SPEED, (kbps, QUALITY_GOP)
    yield "temporal", "temporal", VP8_SPEED, (QUANTISER,)
    for kbps in KBPS:
        yield f"single-{kbps}", "rate", VP8_SPEED, (kbps,)
    yield "fixed", "fixed", VP8_SPEED, (QUANTISER, 0)
    yield "fixed-gop", "fixed", VP8_SPEED, (QUANTISER, TEMPORAL_GOP)


def _words(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def build(folder):
    """Compile the program into a folder. Its output does not depend on how it is optimised."""
    program = folder / "layers"
    subprocess.run(["cc", "-O3", "-ffp-contract=off", SOURCE, "-o", program,
                    *_words("pkg-config", "--cflags", "--libs", "vpx")], check=True)
    return program


@cache
def libvpx(program):
    """The version that libvpx gives itself."""
    return _words(program, "version")[0]


def run(program, raw, frames, kind, speed, words, verify=False):
    """What a run prints, as lists by column name."""
    command = ["nice", program, kind, raw, WIDTH, HEIGHT, FPS, frames, speed, *words,
               *(["verify"] if verify else [])]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return read(kind, done.stdout, frames)


def decibels(ssim):
    return round(min(-10 * log10(1 - ssim), BEST_DB), 3) if ssim < 1 else BEST_DB


def read(kind, text, frames):
    """The lines of a run as columns: bytes and SSIM in dB, for a single layer also key frames."""
    lines = [line.split() for line in text.splitlines()]
    width = {"quality": 2 * LAYERS, "temporal": 2, "rate": 4, "fixed": 4}[kind]
    if len(lines) != frames or any(len(line) != width for line in lines):
        raise RuntimeError(f"{kind}: {len(lines)} lines of {frames}, or not of {width} words")
    if kind == "quality":
        return {"bytes": [[int(word) for word in line[:LAYERS]] for line in lines],
                "ssim_db": [[decibels(float(word)) for word in line[LAYERS:]] for line in lines]}
    columns = {"bytes": [int(line[0]) for line in lines]}
    if kind != "temporal":
        columns["key_bytes"] = [int(line[1]) for line in lines]
    at = 1 if kind == "temporal" else 2
    columns["ssim_db"] = [decibels(float(line[at])) for line in lines]
    return columns


def rate(sizes):
    """Bits per second of frames of these bytes."""
    return round(sum(sizes) * 8 * FPS / len(sizes))
