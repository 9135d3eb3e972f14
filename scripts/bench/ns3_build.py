#!/usr/bin/env python3
"""Builds the ns-3 peer (ns3_cubic.cc) against every ns-3 that can be had, and prints them as JSON.

    ns3_build.py FOLDER

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

WHEEL = "ns3==3.44.post0"
SOURCE = Path(__file__).resolve().parent / "ns3_cubic.cc"
# Those that the program uses, and those that these need; the linker wants them by name.
LIBRARIES = [
    "applications", "internet", "point-to-point", "traffic-control", "network", "bridge", "stats",
    "core",
]


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


def compile_against(program: Path, standard: str, options: list[str], libraries: list[str]) -> None:
    if program.exists() and program.stat().st_mtime > SOURCE.stat().st_mtime:
        return
    partial = program.with_suffix(".partial")
    call(
        os.environ.get("CXX", "g++"), f"-std={standard}", "-O2", "-DNDEBUG", *options, "-o", partial,
        SOURCE, *libraries, what=f"compiling {SOURCE.name}",
    )
    partial.rename(program)


def from_wheel(folder: Path) -> dict[str, str]:
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
    program = folder / "ns3-wheel"
    link = [f"-L{root}/lib64", f"-Wl,-rpath,{root.resolve()}/lib64"]
    names = [f"-l{core.stem.removeprefix('lib').removesuffix('core')}{name}" for name in LIBRARIES]
    compile_against(program, "c++20", [f"-I{root}/include"], link + names)
    return {"version": version, "origin": "PyPI", "program": str(program)}


def from_system(folder: Path) -> dict[str, str]:
    if not Path("/usr/include/ns3/core-module.h").exists():
        raise Missing("apt-get install libns3-dev")
    versions = [re.search(r"libns3-core\.so\.(.+)", f.name)
                for f in Path("/usr/lib").glob("*/libns3-core.so.*")]
    version = next((f"3.{m[1]}" for m in versions if m), "unknown")
    program = folder / "ns3-system"
    compile_against(program, "c++17", [], [f"-lns3-{name}" for name in LIBRARIES])
    return {"version": version, "origin": "the system's libns3-dev", "program": str(program)}


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    builds, missing = [], []
    for name, make in [("PyPI", from_wheel), ("libns3-dev", from_system)]:
        try:
            builds.append(make(folder))
        except Missing as why:
            missing.append(f"ns-3 from {name}: {why}")
    print(json.dumps({"builds": builds, "missing": missing}))


if __name__ == "__main__":
    main()
