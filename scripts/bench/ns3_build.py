#!/usr/bin/env python3
"""Builds an ns-3 peer against every ns-3 that can be had, and prints them as JSON.

    ns3_build.py FOLDER [cubic | medium]

The peer is ns3_cubic.cc, or the medium of 802.11, scripts/ns3/medium.cc, which needs 3.44.
PyPI's wheel (3.44) goes into a virtual environment in FOLDER; Debian's libns3-dev is used if it is
installed. Prints {"builds": [{"version", "origin", "program"}], "missing": [why, ...]}; the exit
code is 0 as long as that line is printed. What is there already is not made again.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

WHEEL = "ns3==3.44.post0"


class Peer(NamedTuple):
    """A program, and how the builds of it are called."""

    source: Path
    prefix: str
    # Those that the program uses, and those that these need; the linker wants them by name.
    libraries: list[str]
    # Whether it is written for Debian's old release too.
    for_system: bool


HERE = Path(__file__).resolve().parent
LIBRARIES = [
    "applications", "internet", "point-to-point", "traffic-control", "network", "bridge", "stats",
    "core",
]
PEERS = {
    "cubic": Peer(HERE / "ns3_cubic.cc", "ns3", LIBRARIES, True),
    "medium": Peer(
        HERE.parent / "ns3" / "medium.cc", "ns3-medium",
        ["wifi", "spectrum", "propagation", "mobility", "antenna", "energy", *LIBRARIES], False,
    ),
}


class Missing(Exception):
    """What cannot be had, and why."""


def call(*command: str | Path, what: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise Missing(f"{what}: {error}") from error
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise Missing(f"{what}: {lines[-1] if lines else f'exit code {done.returncode}'}")


def compile_against(
    peer: Peer, program: Path, standard: str, options: list[str], libraries: list[str]
) -> None:
    if program.exists() and program.stat().st_mtime > peer.source.stat().st_mtime:
        return
    partial = program.with_suffix(".partial")
    call(
        os.environ.get("CXX", "g++"), f"-std={standard}", "-O2", "-DNDEBUG", *options, "-o", partial,
        peer.source, *libraries, what=f"compiling {peer.source.name}",
    )
    partial.rename(program)


def from_wheel(peer: Peer, folder: Path) -> dict[str, str]:
    environment = folder / "ns3-venv"
    found = list(environment.glob("lib/python*/site-packages/ns3"))
    if not found:
        call(sys.executable, "-m", "venv", environment, what="making a virtual environment")
        # Its headers and libraries are enough: what Python needs of it is left out.
        call(
            environment / "bin" / "pip", "install", "--quiet", "--no-deps",
            "--disable-pip-version-check", WHEEL, what=f"pip install {WHEEL}",
        )
        found = list(environment.glob("lib/python*/site-packages/ns3"))
    if not found:
        raise Missing(f"{WHEEL} holds no ns-3")
    root = found[0]
    core = next(root.glob("lib64/libns3*-core.so"), None)
    if core is None:
        raise Missing(f"{WHEEL} holds no libraries")
    version = re.sub(r"^libns|-core\.so$", "", core.name)
    program = folder / f"{peer.prefix}-wheel"
    link = [f"-L{root}/lib64", f"-Wl,-rpath,{root.resolve()}/lib64"]
    names = [f"-l{core.stem.removeprefix('lib').removesuffix('core')}{name}" for name in peer.libraries]
    compile_against(peer, program, "c++20", [f"-I{root}/include"], link + names)
    return {"version": version, "origin": "PyPI", "program": str(program)}


def from_system(peer: Peer, folder: Path) -> dict[str, str]:
    if not peer.for_system:
        raise Missing(f"{peer.source.name} is written for 3.44")
    if not Path("/usr/include/ns3/core-module.h").exists():
        raise Missing("apt-get install libns3-dev")
    versions = [re.search(r"libns3-core\.so\.(.+)", f.name)
                for f in Path("/usr/lib").glob("*/libns3-core.so.*")]
    version = next((f"3.{m[1]}" for m in versions if m), "unknown")
    program = folder / f"{peer.prefix}-system"
    compile_against(peer, program, "c++17", [], [f"-lns3-{name}" for name in peer.libraries])
    return {"version": version, "origin": "the system's libns3-dev", "program": str(program)}


def main() -> None:
    name = sys.argv[2] if len(sys.argv) == 3 else "cubic"
    if len(sys.argv) not in (2, 3) or name not in PEERS:
        sys.exit(__doc__)
    peer = PEERS[name]
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    builds, missing = [], []
    for name, make in [("PyPI", from_wheel), ("libns3-dev", from_system)]:
        try:
            builds.append(make(peer, folder))
        except Missing as why:
            missing.append(f"ns-3 from {name}: {why}")
    print(json.dumps({"builds": builds, "missing": missing}))


if __name__ == "__main__":
    main()
