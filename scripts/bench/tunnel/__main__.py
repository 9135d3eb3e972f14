#!/usr/bin/env python3
"""Measures `airlane tunnel` between network namespaces, beside each path alone and kernel MPTCP.

    python3 scripts/bench/tunnel --airlane target/release/airlane [--scene NAME]... [--quick]

Takes root, iproute2, iperf3, ping and, for kernel MPTCP, mptcpize (Debian: mptcpd). Each scene has
two paths: veth devices with tbf, or `airlane link tun` where there is delay or loss. In it are
measured in turn: what iperf3 gets of each path, of kernel MPTCP and of the tunnel over TCP and over
QUIC; noq's multipath; keystrokes beside a bulk transfer; a file with its checksum. The laboratory then runs the same
scene. The scene `loopback` compares throughput and processor time with a chain of two socat.

Prints {"figures": [{"bar", "ours", "peer", "unit", "rule", "note"}], "missing": [why, ...]}; the
exit code is 0 as long as that is printed. Ctrl-C removes what was made.
"""

import argparse
import json
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

import proxies
from measure import Programs, measure, say
from prediction import predict
from programs import Broken, Missing
from rows import broke, figures
from scenes import SCENES, Scene

LOOPBACK = "loopback"


def arguments() -> argparse.Namespace:
    names = [s.name for s in SCENES] + [LOOPBACK]
    parser = argparse.ArgumentParser(prog="scripts/bench/tunnel", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--airlane", type=Path, metavar="FILE",
                        help="without it, kernel TCP and MPTCP alone, on the paths that tbf makes")
    parser.add_argument("--noq", type=Path, metavar="FILE",
                        help="airlane-bench, for noq's multipath; without it that is left out")
    parser.add_argument("--scene", action="append", choices=names, metavar="NAME",
                        help=f"may be given several times; of {', '.join(names)}; all without it")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    parser.add_argument("--quick", action="store_true", help="one round, a small file: for a look")
    parser.add_argument("--no-prediction", action="store_true", help="without the laboratory")
    return parser.parse_args()


def one(scene: Scene, args: argparse.Namespace, folder: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """The figures of a scene, and what is missing."""
    rounds = 1 if args.quick else args.rounds
    size = min(scene.file_bytes, 32 << 20) if args.quick else scene.file_bytes
    try:
        measured = measure(scene, Programs(args.airlane, args.noq), rounds, folder, size)
    except Missing as why:
        return [], [f"{scene.name}: {why}"]
    except Broken as why:
        return [broke(f"tunnel.{scene.name}", str(why))], []
    predicted = None
    if args.airlane is not None and not args.no_prediction:
        try:
            predicted = predict(scene, args.airlane, folder)
        except Broken as why:
            measured.broken["lab"] = str(why)
    return figures(scene, measured, predicted, size), measured.missing


def main() -> None:
    args = arguments()
    wanted = args.scene or [*(s.name for s in SCENES), LOOPBACK]
    args.airlane, args.noq = (p and p.resolve() for p in (args.airlane, args.noq))
    rows: list[dict[str, Any]] = []
    missing: list[str] = []
    with tempfile.TemporaryDirectory(prefix="airlane-tunnel-") as folder:
        for scene in (s for s in SCENES if s.name in wanted):
            found, absent = one(scene, args, Path(folder))
            rows += found
            missing += absent
        if LOOPBACK in wanted:
            try:
                rows += proxies.measure(args.airlane, Path(folder), 1 if args.quick else args.rounds)
            except Missing as why:
                missing.append(f"{LOOPBACK}: {why}")
            except Broken as why:
                rows.append(broke(f"tunnel.{LOOPBACK}", str(why)))
    print(json.dumps({"figures": rows, "missing": list(dict.fromkeys(missing))}))


def terminated(*_: object) -> None:
    # As Ctrl-C does: what was made is removed on the way out.
    raise KeyboardInterrupt


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, terminated)
    try:
        main()
    except KeyboardInterrupt:
        say("stopped")
        sys.exit(130)
