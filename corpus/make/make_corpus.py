#!/usr/bin/env python3
"""Make the corpus of DASH content tables: fetch, render, encode, measure, write.

    pip install -r requirements.txt
    python3 make_corpus.py --work DIR [--jobs 2] [--only NAME,...] [--pilot]

Every finished rung is kept in DIR as JSON under a key of what it was made
from, so an interrupted run goes on where it stopped and a changed video is
made anew.
"""

import argparse
import hashlib
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import check
from encode import PRESET, X264, measure_rung, render_reference
from ladder import CHUNK_FRAMES, DISTINCT_CHUNKS, PILOT_RUNGS, RUNGS, SCORE_EVERY
from scenes import Studio
from sources import fetch
from statistics import fmean
from tables import write_table
from tools import STOPPING, write_json
from videos import VIDEOS

PILOT_CHUNKS = 8
HERE = Path(__file__).resolve().parent


def say(*words):
    print(time.strftime("%H:%M:%S"), *words, flush=True)


def fingerprint(shots, work):
    """A short hash of the shots, free of this machine's paths."""
    words = repr([(shot, frames) for shot, frames in shots]).replace(str(work), "")
    return hashlib.sha256(f"{PRESET} {X264} {SCORE_EVERY} {words}".encode()).hexdigest()[:12]


def do_video(video, studio, work, rungs, chunks):
    """Measure what is missing of one video; {kbps: result}."""
    shots = video.shots(studio)
    key = f"{video.name}-{chunks}-{fingerprint(shots, work)}"
    kept = {rung.kbps: work / "rungs" / f"{key}-{rung.kbps}.json" for rung in rungs}
    missing = [rung for rung in rungs if not kept[rung.kbps].exists()]
    reference = work / "references" / f"{key}.yuv"
    if missing:
        reference.parent.mkdir(parents=True, exist_ok=True)
        started = time.monotonic()
        if not reference.exists():
            render_reference(shots, reference, chunks * CHUNK_FRAMES)
            say(video.name, f"rendered in {time.monotonic() - started:.0f} s")
        # The checked rungs first: a misfit shows early.
        for rung in sorted(missing, key=lambda r: r not in PILOT_RUNGS):
            if STOPPING.is_set():
                raise RuntimeError("stopped")
            started = time.monotonic()
            result = measure_rung(reference, rung, work / "references" / f"{key}-{rung.kbps}",
                                  chunks)
            write_json(kept[rung.kbps], result)
            vmaf = result["quality"]["vmaf"]
            say(video.name, rung.name, f"vmaf {fmean(vmaf):.1f} step {check.mean_step(vmaf):.1f}",
                f"in {time.monotonic() - started:.0f} s")
        reference.unlink()
    return {kbps: json.loads(path.read_text()) for kbps, path in kept.items()}


def print_spread(results):
    """What a pilot is for: the spread, and where in each video the hard chunks are."""
    curves = {name: {kbps: r["quality"]["vmaf"] for kbps, r in measured.items()}
              for name, measured in sorted(results.items())}
    for name, curve in curves.items():
        for kbps, vmaf in curve.items():
            if kbps in (1000, 2500):
                print(f"{name:10s} {kbps:5d} {fmean(vmaf):5.1f} step {check.mean_step(vmaf):4.1f} ",
                      " ".join(f"{v:.0f}" for v in vmaf))
    for line, ok in check.spread(curves):
        print("PASS" if ok else "FAIL", line)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, required=True,
                        help="a folder with room for 4 GB per job")
    parser.add_argument("--tables", type=Path, default=HERE.parent / "tables")
    parser.add_argument("--jobs", type=int, default=1, help="videos at a time, a core each")
    parser.add_argument("--only", help="videos by name, with commas between")
    parser.add_argument("--pilot", action="store_true",
                        help=f"only {PILOT_CHUNKS} chunks at the checked rungs, no tables")
    args = parser.parse_args()
    names = args.only.split(",") if args.only else [v.name for v in VIDEOS]
    videos = sorted((v for v in VIDEOS if v.name in names), key=lambda v: names.index(v.name))
    work = args.work.resolve()
    scratch = work / "scratch"
    scratch.mkdir(parents=True, exist_ok=True)
    studio = Studio(fetch(work), scratch)
    rungs, chunks = (PILOT_RUNGS, PILOT_CHUNKS) if args.pilot else (RUNGS, DISTINCT_CHUNKS)

    results, failed = {}, []
    with ThreadPoolExecutor(args.jobs) as pool:
        pending = {pool.submit(do_video, v, studio, work, rungs, chunks): v for v in videos}
        try:
            for done in as_completed(pending):
                video = pending[done]
                try:
                    results[video.name] = done.result()
                except RuntimeError as error:
                    failed.append(video.name)
                    say(video.name, "failed:", error)
                    continue
                if not args.pilot:
                    write_table(args.tables, video, results[video.name])
                    say(video.name, "table written")
        except KeyboardInterrupt:
            STOPPING.set()
            pool.shutdown(cancel_futures=True)
            raise
    if args.pilot:
        print_spread(results)
        return 1 if failed else 0
    return 0 if not failed and check.check(args.tables) else 1


if __name__ == "__main__":
    sys.exit(main())
