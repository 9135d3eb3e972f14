"""Traces and videos from arrays and data frames."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .errors import InputError


class _Files:
    """Files in a folder that is gone with this object."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="airlane-")

    @property
    def folder(self) -> Path:
        return Path(self._folder.name)


class Trace:
    """A capacity over time.

    Args:
        time_s: Times at which the rate changes, seconds, rising from 0; shape (n,).
        rate_bps: Rate from each time on, bits/s, not negative; shape (n,). The trace repeats after
            the last interval, which is as long as the one before.

    Example:
        >>> import numpy as np
        >>> import airlane
        >>> airlane.Trace(np.arange(10), np.full(10, 6e6))
        Trace(10 values, 10.0 s, mean 6.00 Mbit/s)
    """

    def __init__(self, time_s: ArrayLike, rate_bps: ArrayLike) -> None:
        self.time_s = _column(time_s, "time_s")
        self.rate_bps = _column(rate_bps, "rate_bps")
        if len(self.time_s) != len(self.rate_bps):
            found = f"{len(self.time_s)} times and {len(self.rate_bps)} rates"
            raise InputError.of(found, "expected as many of one as of the other", "rate_bps")
        if len(self.time_s) < 2:
            raise InputError.of(f"{len(self.time_s)} values", "expected two or more", "time_s")
        if not np.all(np.diff(self.time_s) > 0):
            raise InputError.of("times that do not rise", "expected rising times", "time_s")
        if not np.all(np.isfinite(self.rate_bps)) or np.any(self.rate_bps < 0):
            expected = "expected finite rates, not negative"
            raise InputError.of("a rate that is none", expected, "rate_bps")
        self._files: _Files | None = None
        self._path = ""

    @classmethod
    def from_frame(cls, frame: Any, time_s: str = "time_s", rate_bps: str = "rate_bps") -> Trace:
        """Return the trace of two columns of a data frame or of a table of pyarrow."""
        return cls(np.asarray(frame[time_s]), np.asarray(frame[rate_bps]))

    def __fspath__(self) -> str:
        if self._files is None:
            lines = ["time_s,rate_bps"]
            lines += [f"{t!r},{r!r}" for t, r in zip(self.time_s.tolist(), self.rate_bps.tolist())]
            text = "\n".join(lines) + "\n"
            # The name is part of what tells runs apart.
            name = hashlib.sha256(text.encode()).hexdigest()[:12]
            self._files = _Files()
            path = self._files.folder / f"{name}.csv"
            path.write_text(text, "utf-8")
            self._path = str(path)
        return self._path

    def __repr__(self) -> str:
        step = np.diff(self.time_s, append=2 * self.time_s[-1] - self.time_s[-2])
        mean = float(np.average(self.rate_bps, weights=step)) / 1e6
        return f"Trace({len(step)} values, {step.sum():.1f} s, mean {mean:.2f} Mbit/s)"

    def __reduce__(self) -> tuple[Any, ...]:
        return Trace, (self.time_s, self.rate_bps)


class Content:
    """Videos, in the place of those that come with Airlane.

    Example:
        >>> import numpy as np
        >>> import airlane
        >>> rng = np.random.default_rng(1)
        >>> size_bytes = np.outer([1e5, 3e5, 9e5], rng.uniform(0.8, 1.2, 30)).astype(int)
        >>> vmaf = np.repeat([[40.0], [70.0], [92.0]], 30, axis=1)
        >>> airlane.Content().add("walk", size_bytes, {"vmaf": vmaf}, chunk_s=4)
        Content(['walk'])
    """

    def __init__(self) -> None:
        self._tables: dict[str, str] = {}
        self._files: _Files | None = None

    def add(
        self,
        video: str,
        size_bytes: ArrayLike,
        quality: Mapping[str, ArrayLike],
        *,
        chunk_s: float = 4.0,
        height: ArrayLike | None = None,
        title: str | None = None,
    ) -> Content:
        """Add a video and return this object.

        Args:
            video: Name: letters, digits, ``.``, ``_`` and ``-``.
            size_bytes: Bytes of each segment at each rung, the lowest rung first; shape (rungs,
                segments).
            quality: Quality of each segment at each rung by metric: ``vmaf``, ``vmaf_phone``,
                ``vmaf_4k``, ``psnr_db`` or ``ssim``; shape (rungs, segments).
            chunk_s: Duration of a segment, seconds.
            height: Pixels of each rung, for people; shape (rungs,).
            title: Title for people.
        """
        whole = table(video, size_bytes, quality, chunk_s=chunk_s, height=height)
        if title is not None:
            whole["title"] = title
        self._tables[video] = json.dumps(whole)
        self._files = None
        return self

    def __fspath__(self) -> str:
        if self._files is None:
            self._files = _Files()
            for video, table in self._tables.items():
                (self._files.folder / f"{video}.json").write_text(table, "utf-8")
        return os.fspath(self._files.folder)

    def __repr__(self) -> str:
        return f"Content({list(self._tables)})"

    def __getstate__(self) -> dict[str, Any]:
        return {"_tables": self._tables, "_files": None}


def _column(values: ArrayLike, key: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise InputError.of(f"shape {array.shape}", "expected (n,)", key)
    return array


def table(
    video: str,
    size_bytes: ArrayLike,
    quality: Mapping[str, ArrayLike],
    *,
    chunk_s: float,
    height: ArrayLike | None = None,
) -> dict[str, Any]:
    """Return the table of a video as ``docs/reference/chunk-tables.md`` describes it."""
    sizes = np.asarray(size_bytes)
    if sizes.ndim != 2 or sizes.size == 0:
        raise InputError.of(f"shape {sizes.shape}", "expected (rungs, segments)", "size_bytes")
    curves = {metric: np.asarray(values, float) for metric, values in quality.items()}
    for metric, values in curves.items():
        if values.shape != sizes.shape:
            expected = f"expected that of size_bytes, {sizes.shape}"
            raise InputError.of(f"shape {values.shape}", expected, f"quality.{metric}")
    heights = np.full(len(sizes), 720) if height is None else np.asarray(height)
    rungs = []
    for at, row in enumerate(sizes):
        bits = max(1, round(float(np.mean(row)) * 8 / chunk_s))
        rungs.append(
            {
                "name": f"{at}-{bits // 1000}k",
                "width": max(1, int(heights[at]) * 16 // 9),
                "height": int(heights[at]),
                "nominal_bps": bits,
                "size_bytes": [int(size) for size in row],
                "quality": {metric: values[at].tolist() for metric, values in curves.items()},
            }
        )
    head = {"format": "airlane-chunks", "version": 1, "video": video, "chunk_s": chunk_s}
    return {**head, "rungs": rungs}
