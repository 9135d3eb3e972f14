"""From a video's measured rungs to its committed table."""

import gzip
import json
from pathlib import Path

from encode import PRESET, X264
from ladder import (CHUNK_S, DISTINCT_CHUNKS, FPS, REF_HEIGHT, REF_WIDTH, RUNGS, SCORE_EVERY,
                    TABLE_CHUNKS)
from tools import write_atomic


MADE = {
    "encoder": f"x264 {PRESET}, {X264}, one pass, average rate, cap 1.25 of it over 1.5 s, qmin 12",
    "container": "fragmented MP4; a chunk's bytes are its moof and mdat",
    "reference": f"{REF_WIDTH}x{REF_HEIGHT}, rungs scaled up bicubic",
    "metrics": "libvmaf: vmaf_v0.6.1, psnr_y, float_ssim",
    "scored": f"every {SCORE_EVERY}th frame, mean per chunk",
}


def _looped(values):
    return [values[i % len(values)] for i in range(TABLE_CHUNKS)]


def write_table(folder, video, measured):
    """measured: {kbps: what measure_rung kept}; all rungs have to be there."""
    table = {
        "format": "airlane-chunks", "version": 1, "video": video.name, "title": video.title,
        "character": video.character, "source": video.source, "chunk_s": CHUNK_S, "fps": FPS,
        "distinct_chunks": DISTINCT_CHUNKS, "made": MADE,
        "rungs": [
            {
                "name": rung.name, "width": rung.width, "height": rung.height,
                "nominal_bps": rung.bps,
                "size_bytes": _looped(measured[rung.kbps]["size_bytes"]),
                "quality": {name: _looped(values)
                            for name, values in measured[rung.kbps]["quality"].items()},
            }
            for rung in RUNGS
        ],
    }
    packed = json.dumps(table, ensure_ascii=False, separators=(",", ":")).encode()
    # No time in the header: the same numbers give the same bytes.
    write_atomic(Path(folder) / f"{video.name}.json.gz", gzip.compress(packed, 9, mtime=0))
