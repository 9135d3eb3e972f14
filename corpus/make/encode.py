"""From shots to a raw reference, and from the reference to one rung's scores."""

import json
import os
import struct
from statistics import fmean

from ladder import CHUNK_FRAMES, FPS, REF_HEIGHT, REF_WIDTH, SCORE_EVERY
from tools import STOPPING, run_ffmpeg

FRAME_BYTES = REF_WIDTH * REF_HEIGHT * 3 // 2
# superfast alone has no look-ahead, which one-pass rate control needs to hold a
# cap; with these two it comes within half a VMAF point of veryfast at half the time.
PRESET, X264 = "superfast", "rc-lookahead=10:mbtree=1"


def render_reference(shots, path, frames):
    """Write the first `frames` frames of the shots, one after the other, as raw yuv420p.

    Raw, so that the eight encodes and eight comparisons read it at no cost.
    """
    part = path.with_name(path.name + ".part")
    left = frames
    with open(part, "wb") as out:
        for shot, length in shots:
            length = min(length, left)
            if length == 0 or STOPPING.is_set():
                break
            tail = f"format=yuv420p,setsar=1,fps={FPS}[out]"
            before = os.fstat(out.fileno()).st_size
            run_ffmpeg(
                [*shot.inputs, "-filter_complex", f"{shot.graph},{tail}", "-map", "[out]",
                 "-frames:v", length, "-f", "rawvideo", "-"],
                stdout=out,
            )
            written = os.fstat(out.fileno()).st_size - before
            if written != length * FRAME_BYTES:
                raise RuntimeError(
                    f"{shot.label}: {written / FRAME_BYTES} frames instead of {length}")
            left -= length
    if left:
        raise RuntimeError(f"{path.name}: the shots are {left} frames short")
    os.replace(part, path)


def _raw_input(path):
    return ["-f", "rawvideo", "-pix_fmt", "yuv420p", "-video_size", f"{REF_WIDTH}x{REF_HEIGHT}",
            "-framerate", FPS, "-i", path]


def encode(reference, rung, out):
    """One pass of x264: average rate with a tight cap, closed GoPs of one chunk.

    One fragment per key frame makes each chunk a CMAF-like moof and mdat whose
    bytes can be read off the file. qmin stops trivial pictures from being
    padded up to the rate: they stay below it, as in real ladders.
    """
    kbps = rung.kbps
    run_ffmpeg([
        *_raw_input(reference),
        "-vf", f"scale={rung.width}:{rung.height}:flags=bicubic",
        "-c:v", "libx264", "-threads", 1, "-preset", PRESET, "-x264-params", X264,
        "-profile:v", "high",
        "-b:v", f"{kbps}k", "-maxrate", f"{kbps * 5 // 4}k", "-bufsize", f"{kbps * 3 // 2}k",
        "-qmin", 12, "-g", CHUNK_FRAMES, "-keyint_min", CHUNK_FRAMES, "-sc_threshold", 0,
        "-flags", "+cgop", "-movflags", "frag_keyframe+empty_moov+default_base_moof",
        "-f", "mp4", out,
    ])


def fragment_sizes(path):
    """Bytes of each moof+mdat pair of a fragmented MP4."""
    sizes, size_of_file = [], path.stat().st_size
    with open(path, "rb") as file:
        at = 0
        while at < size_of_file:
            file.seek(at)
            length, kind = struct.unpack(">I4s", file.read(8))
            if length == 1:
                length = struct.unpack(">Q", file.read(8))[0]
            if kind == b"moof":
                sizes.append(length)
            elif kind == b"mdat":
                sizes[-1] += length
            at += length
    return sizes


def score(encoded, reference, log):
    """Per-frame VMAF, PSNR and SSIM, the rung scaled up bicubic to the reference."""
    # Only scored frames and, for VMAF's motion, their predecessors go through:
    # frames 0, 10, 11, 21, 22, ... of which libvmaf then scores every second.
    step = SCORE_EVERY
    pick = f"select='eq(mod(n,{step}),0)+eq(mod(n,{step}),{step - 1})'"
    to_ref = f"scale={REF_WIDTH}:{REF_HEIGHT}:flags=bicubic,format=yuv420p"
    graph = (
        f"[0:v]{pick},{to_ref},setpts=N/{FPS}/TB[rung];[1:v]{pick},setpts=N/{FPS}/TB[ref];"
        f"[rung][ref]libvmaf=model=version=vmaf_v0.6.1:n_subsample=2:"
        f"feature=name=psnr|name=float_ssim:log_fmt=json:log_path={log}"
    )
    run_ffmpeg(["-i", encoded, *_raw_input(reference), "-filter_complex", graph,
                "-f", "null", "-"])
    return json.loads(log.read_text())["frames"]


def chunk_means(frames, chunks):
    """Mean of each metric over the scored frames of each chunk."""
    keys = {"vmaf": ("vmaf", 3), "psnr_db": ("psnr_y", 3), "ssim": ("float_ssim", 6)}
    held = [[] for _ in range(chunks)]
    for frame in frames:
        # Position 2i among the picked frames is frame SCORE_EVERY * i of the video.
        held[frame["frameNum"] // 2 * SCORE_EVERY // CHUNK_FRAMES].append(frame["metrics"])
    return {
        name: [round(fmean(m[key] for m in chunk), digits) for chunk in held]
        for name, (key, digits) in keys.items()
    }


def measure_rung(reference, rung, scratch, chunks):
    """Encode, weigh and score one rung; what is kept of it."""
    encoded = scratch.with_name(scratch.name + ".mp4")
    log = scratch.with_name(scratch.name + ".vmaf")
    try:
        encode(reference, rung, encoded)
        sizes = fragment_sizes(encoded)
        if len(sizes) != chunks:
            raise RuntimeError(f"{scratch.name}: {len(sizes)} fragments instead of {chunks}")
        quality = chunk_means(score(encoded, reference, log), chunks)
    finally:
        encoded.unlink(missing_ok=True)
        log.unlink(missing_ok=True)
    return {"kbps": rung.kbps, "size_bytes": sizes, "quality": quality}
