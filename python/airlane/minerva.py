"""Minerva: what a rate is worth to a viewer, and the weight of congestion control that follows.

Equations: ``docs/design/minerva.md``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _airlane
from .content import table

#: Alpha of the embedded corpus for a baseline of one connection per viewer.
ALPHA_PER_CONNECTION = 1.065


class Title:
    """Video as its player knows it.

    Args:
        size_bytes: Bytes of each segment at each rung, the lowest rung first; shape (rungs,
            segments).
        quality: Quality of each segment at each rung, in the metric; shape (rungs, segments).
        chunk_s: Duration of a segment, seconds.
        metric: ``"vmaf"``, ``"vmaf_phone"``, ``"vmaf_4k"``, ``"psnr_db"`` or ``"ssim"``.
        abr: Algorithm of the player: ``"robust-mpc"``, ``"mpc"``, ``"bola"``, ``"buffer-based"``,
            ``"rate-based"`` or ``"fixed:RUNG"``.
        buffer_s: Maximum of the player's buffer, seconds.
        overhead_s: Idle time between a response and the next request, seconds.
        beta: Cost of a second of rebuffering, in points of quality.
        gamma: Cost of a point of change.
        session_s: Duration of the session whose QoE :meth:`qoe` is, seconds.
    """

    def __init__(
        self,
        size_bytes: ArrayLike,
        quality: ArrayLike,
        *,
        chunk_s: float = 4.0,
        metric: str = "vmaf",
        abr: str = "robust-mpc",
        buffer_s: float = 40.0,
        overhead_s: float = 0.6,
        beta: float = 25.0,
        gamma: float = 2.5,
        session_s: float = 200.0,
    ) -> None:
        whole: dict[str, Any] = table("title", size_bytes, {metric: quality}, chunk_s=chunk_s)
        options: _airlane.TitleOptions = {
            "metric": metric,
            "abr": abr,
            "buffer_s": buffer_s,
            "overhead_s": overhead_s,
            "beta": beta,
            "gamma": gamma,
            "session_s": session_s,
        }
        self._title = _airlane.Title(json.dumps(whole), options)

    def qoe(self, rate_bps: ArrayLike) -> NDArray[np.float64]:
        """Return the QoE of a session at each constant rate, bits/s; the shape of ``rate_bps``."""
        return _mapped(self._title.qoe, rate_bps)

    def utility(self, rate_bps: ArrayLike) -> NDArray[np.float64]:
        """Return the utility of equation 2 at each rate, bits/s; the shape of ``rate_bps``."""
        return _mapped(self._title.utility, rate_bps)

    @property
    def mean_rate_bps(self) -> NDArray[np.float64]:
        """Mean rate of each rung, bits/s; shape (rungs,)."""
        return np.array(self._title.mean_rate_bps())


def optimum(titles: Sequence[Title], capacity_bps: float) -> tuple[NDArray[np.float64], float]:
    """Return the rates at which the worst viewer has the best QoE, and this QoE.

    Args:
        titles: Title of each viewer.
        capacity_bps: Capacity that they share, bits/s.

    Returns:
        Rates, bits/s, shape (viewers,), and the QoE of the worst viewer.
    """
    rates, worst = _airlane.minerva_optimum([title._title for title in titles], capacity_bps)
    return np.array(rates), worst


class Normalisation:
    """The function f that makes weights of different titles comparable (section 5.4).

    Args:
        titles: Titles of a provider, equally popular.
        alpha: Factor that keeps viewers at the share of other traffic.
    """

    def __init__(self, titles: Sequence[Title], alpha: float = ALPHA_PER_CONNECTION) -> None:
        self._f = _airlane.Normaliser([title._title for title in titles], alpha)

    def __call__(self, utility: ArrayLike) -> NDArray[np.float64]:
        """Return f of each utility, bits/s."""
        return _mapped(self._f.eval, utility)

    def weights(self, titles: Sequence[Title], rate_bps: ArrayLike) -> NDArray[np.float64]:
        """Return the weight ``r / f(Q(r))`` of viewers at their rates, bits/s; shape (viewers,)."""
        rates = np.asarray(rate_bps, float)
        qoe = np.array([float(title.qoe(rate)) for title, rate in zip(titles, rates, strict=True)])
        return np.asarray(rates / self(qoe))


def _mapped(of: Any, values: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(values, float)
    return np.array(of(array.ravel().tolist())).reshape(array.shape)
