"""Finding and calling ffmpeg, and files that are never half written."""

import json
import os
import subprocess
import threading
from functools import cache
from pathlib import Path

STOPPING = threading.Event()


@cache
def ffmpeg():
    # Imported late: reading, checking and testing need no ffmpeg.
    import imageio_ffmpeg
    return imageio_ffmpeg.get_ffmpeg_exe()


def run_ffmpeg(args, stdout=None):
    """Run ffmpeg single-threaded at the lowest priority; raise with its words.

    One thread keeps x264's output independent of the machine's core count.
    """
    command = [
        "nice", "-n", "19", ffmpeg(), "-hide_banner", "-nostdin", "-v", "error", "-y",
        "-threads", "1", "-filter_threads", "1", "-filter_complex_threads", "1",
        *map(str, args),
    ]
    done = subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        words = done.stderr.decode(errors="replace")[-2000:]
        raise RuntimeError(f"ffmpeg failed ({done.returncode}): {words}\n{' '.join(command)}")


def write_atomic(path, data):
    """Write bytes or text under a temporary name, then rename."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".part")
    if isinstance(data, str):
        data = data.encode()
    temporary.write_bytes(data)
    os.replace(temporary, path)


def write_json(path, value):
    write_atomic(path, json.dumps(value, separators=(",", ":")))
