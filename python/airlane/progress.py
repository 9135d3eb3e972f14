"""Progress of long work."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: Function of the name of the work and its done part, 0 to 1.
Report = Callable[[str, float], None]
#: True: a bar; False: none; a function: called with the name and the done part; None: as fits.
Progress = bool | Report | None

_WIDTH = 30


@contextmanager
def shown(progress: Progress) -> Iterator[Report | None]:
    """Give the function that the laboratory reports to."""
    if progress is None:
        progress = sys.stderr is not None and sys.stderr.isatty()
    if not isinstance(progress, bool):
        yield progress
        return
    if not progress:
        yield None
        return
    bar = _Bar()
    try:
        yield bar
    finally:
        bar.clear()


class _Bar:
    def __init__(self) -> None:
        self._start = time.monotonic()
        self._drawn = 0

    def __call__(self, name: str, part: float) -> None:
        passed = time.monotonic() - self._start
        left = f", {passed * (1 - part) / part:.0f} s left" if part > 0.02 else ""
        full = round(part * _WIDTH)
        line = f"{name} [{'#' * full}{'-' * (_WIDTH - full)}] {100 * part:3.0f} %{left}"
        sys.stderr.write(f"\r{line.ljust(self._drawn)}")
        sys.stderr.flush()
        self._drawn = len(line)

    def clear(self) -> None:
        sys.stderr.write(f"\r{' ' * self._drawn}\r")
        sys.stderr.flush()
