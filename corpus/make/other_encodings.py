#!/usr/bin/env python3
"""Tables of layers with other sizes than were made, to see what depends on these.

    corpus/make/other_encodings.py [--most BPS] [--apart RATIO] [--temporal FACTOR] FROM TO

Writes every `airlane-layers` table of the folder FROM into TO.

  --most BPS         of the encodings in layers of quality leave out those that were told a higher rate
  --apart RATIO      put more in between, until two are at most so far apart: sizes on a logarithmic
                     scale, SSIM in decibels on a linear one
  --temporal FACTOR  frames in temporal layers are so many times as large

Nothing is encoded: what lies in between is a guess. docs/design/octopus.md has what it was used for.
"""

import argparse
import gzip
import json
import math
import sys
from pathlib import Path


def between(low, high, share):
    """An encoding between two."""

    def size(a, b):
        return max(1, round(a ** (1 - share) * b**share))

    def of_frames(key, mix):
        frames = zip(low[key], high[key], strict=True)
        return [[mix(a, b) for a, b in zip(x, y, strict=True)] for x, y in frames]

    return {
        "target_bps": size(low["target_bps"], high["target_bps"]),
        "layer_bps": [size(a, b) for a, b in zip(low["layer_bps"], high["layer_bps"], strict=True)],
        "bytes": of_frames("bytes", size),
        "ssim_db": of_frames("ssim_db", lambda a, b: round((1 - share) * a + share * b, 3)),
    }


def refine(encodings, apart):
    """With more encodings, at most `apart` from one to the next."""
    finer = []
    for low, high in zip(encodings, encodings[1:]):
        steps = math.ceil(math.log(high["target_bps"] / low["target_bps"]) / math.log(apart))
        finer += [low] + [between(low, high, n / steps) for n in range(1, steps)]
    return finer + encodings[-1:]


def above_one(text):
    value = float(text)
    if value <= 1:
        raise argparse.ArgumentTypeError(f"found {text}; expected more than 1")
    return value


def main():
    about, _, rest = __doc__.partition("\n")
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=about, epilog=rest, formatter_class=formatter)
    parser.add_argument("--most", type=float, default=math.inf, metavar="BPS")
    parser.add_argument("--apart", type=above_one, metavar="RATIO")
    parser.add_argument("--temporal", type=float, default=1, metavar="FACTOR")
    parser.add_argument("source", type=Path, metavar="FROM")
    parser.add_argument("target", type=Path, metavar="TO")
    arguments = parser.parse_args()
    tables = sorted(arguments.source.glob("*.json.gz"))
    if not tables:
        sys.exit(f"{arguments.source}: found no tables; expected files NAME.json.gz")
    arguments.target.mkdir(parents=True, exist_ok=True)
    for path in tables:
        table = json.loads(gzip.decompress(path.read_bytes()))
        if table.get("format") != "airlane-layers":
            continue
        encodings = [e for e in table["quality"]["encodings"] if e["target_bps"] <= arguments.most]
        if not encodings:
            sys.exit(f"{path}: no encoding of at most {arguments.most:g} bit/s")
        if arguments.apart:
            encodings = refine(encodings, arguments.apart)
        table["quality"]["encodings"] = encodings
        temporal = table["temporal"]
        temporal["bytes"] = [max(1, round(n * arguments.temporal)) for n in temporal["bytes"]]
        packed = gzip.compress(json.dumps(table).encode(), mtime=0)
        (arguments.target / path.name).write_bytes(packed)
        print(f"{path.name}: {len(encodings)} encodings")


if __name__ == "__main__":
    main()
