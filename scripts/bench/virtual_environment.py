"""Virtual environments with a package of PyPI, for the scripts beside this one."""

import subprocess
import sys
from pathlib import Path


class Missing(Exception):
    """A command failed; the message says which and why."""


def call(*command: str | Path, what: str) -> str:
    """Standard output of a command. Raises Missing with `what` and the last line of its errors if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise Missing(f"{what}: {error}") from error
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise Missing(f"{what}: {lines[-1] if lines else f'exit code {done.returncode}'}")
    return done.stdout


def environment(folder: Path, name: str, version: str) -> Path:
    """The Python of a virtual environment in `folder` that has the package `name`; made if it is not there."""
    venv = folder / f"{name}-venv"
    package = f"{name}=={version}"
    if not list(venv.glob(f"lib/python*/site-packages/{name}")):
        call(sys.executable, "-m", "venv", venv, what="making a virtual environment")
        call(
            venv / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", package,
            what=f"pip install {package}",
        )
    return venv / "bin" / "python"
