"""Encoding tiles one by one with x264, and measuring what each level costs and loses."""

import numpy as np

from panoramas import FPS, HEIGHT, WIDTH
from tools import run_ffmpeg

COLUMNS, ROWS = 12, 8
TILE_WIDTH, TILE_HEIGHT = WIDTH // COLUMNS, HEIGHT // ROWS
GOP_FRAMES = FPS
# Quantisers of the levels, from the smallest tile to the best.
LEVELS = (46, 42, 38, 34, 30, 26, 22, 18)
PRESET, X264 = "veryfast", f"keyint={GOP_FRAMES}:min-keyint={GOP_FRAMES}:scenecut=0:open-gop=0"
LUMA = TILE_WIDTH * TILE_HEIGHT
FRAME_BYTES = LUMA * 3 // 2
GREY = 128


def cut(planes):
    """The tiles of a frame's planes, each as raw 4:2:0 in raster order: (tiles, FRAME_BYTES)."""
    parts = []
    for plane in planes:
        high, wide = plane.shape[0] // ROWS, plane.shape[1] // COLUMNS
        tiles = plane.reshape(ROWS, high, COLUMNS, wide).transpose(0, 2, 1, 3)
        parts.append(tiles.reshape(ROWS * COLUMNS, high * wide))
    return np.concatenate(parts, axis=1)


def _raw(path):
    return ["-f", "rawvideo", "-pix_fmt", "yuv420p", "-video_size",
            f"{TILE_WIDTH}x{TILE_HEIGHT}", "-framerate", FPS, "-i", path]


def encode(source, outs):
    """The tile in `source`, raw, at each of the levels into a file of `outs`: H.264 in Annex B.

    Constant quantisers, tuned for the squared error that is measured. Each GoP begins with its
    parameter sets and needs no other. x264's note about itself is left out.
    """
    command = _raw(source)
    for level, out in zip(LEVELS, outs):
        command += ["-c:v", "libx264", "-threads", 1, "-preset", PRESET, "-tune", "psnr",
                    "-x264-params", X264, "-qp", level, "-bsf:v",
                    "filter_units=remove_types=6", "-f", "h264", out]
    run_ffmpeg(command)


def gop_sizes(stream):
    """Bytes of each GoP of an Annex B stream: from one sequence parameter set to the next."""
    starts, at = [], 0
    while (at := stream.find(b"\0\0\1", at)) >= 0:
        if at + 3 < len(stream) and stream[at + 3] & 0x1F == 7:
            # A start code may have a byte of zero before it.
            starts.append(at - 1 if at and stream[at - 1] == 0 else at)
        at += 3
    return [b - a for a, b in zip(starts, [*starts[1:], len(stream)])]


def decode(streams, outs):
    """Each stream as raw frames into a file of `outs`."""
    command = [word for stream in streams for word in ("-f", "h264", "-i", stream)]
    for number, out in enumerate(outs):
        command += ["-map", f"{number}:v", "-fps_mode", "passthrough", "-f", "rawvideo",
                    "-pix_fmt", "yuv420p", out]
    run_ffmpeg(command)


def luma(raw):
    """The luma of raw frames by GoP: (gops, frames, samples)."""
    frames = np.frombuffer(raw, np.uint8).reshape(-1, FRAME_BYTES)[:, :LUMA]
    return frames.reshape(-1, GOP_FRAMES, LUMA).astype(np.float32)


def mean_squares(difference):
    """Mean of the squares of each GoP, to four significant digits."""
    means = np.square(difference).mean(axis=(1, 2), dtype=np.float64)
    return [float(f"{mean:.4g}") for mean in means]


def measure(source, scratch):
    """Encode and decode one tile at every level; what is kept of it, by GoP.

    A missing tile is compared with what a display can hold in its place: the last picture of the
    GoP before (before the first that of the last, as the content may be repeated), or mid-grey.
    """
    streams = [scratch / f"{level}.264" for level in LEVELS]
    decoded = [scratch / f"{level}.yuv" for level in LEVELS]
    encode(source, streams)
    decode(streams, decoded)
    original = luma(source.read_bytes())
    gops = len(original)
    sizes, errors = [], []
    for stream, raw in zip(streams, decoded):
        sizes.append(gop_sizes(stream.read_bytes()))
        shown = luma(raw.read_bytes())
        if len(sizes[-1]) != gops or shown.shape != original.shape:
            raise RuntimeError(f"{stream.name}: {len(sizes[-1])} GoPs and {shown.shape} pictures "
                               f"of {gops} GoPs and {original.shape}")
        errors.append(mean_squares(shown - original))
    held = np.roll(original[:, -1:], 1, axis=0)
    return {
        "bytes": [list(gop) for gop in zip(*sizes)],
        "mse": [list(gop) for gop in zip(*errors)],
        "change_mse": mean_squares(original - held),
        "grey_mse": mean_squares(original - GREY),
    }
