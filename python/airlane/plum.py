"""Plum: the bitrates of a call whose participants share half-duplex links.

Both directions of a client share its link, and every uplink is forwarded to all others. One
optimiser chooses uplinks and downlinks together. Equations: ``docs/design/plum.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _airlane


@dataclass(frozen=True, eq=False)
class Solution:
    """Rates of the participants of a call.

    Attributes:
        down_bps: Downlink of each client, bits/s; shape (n,).
        up_bps: Uplink of each client, bits/s; shape (n,).
        utility: ``(1 - rho)`` times mean QoE plus ``rho`` times fairness.
        qoe: Mean QoE, 0 to 1.
        fairness: One minus twice the deviation of QoE, at most 1.
        optimality: ``"global"``, ``"certified"`` or ``"local"``.
    """

    down_bps: NDArray[np.float64]
    up_bps: NDArray[np.float64]
    utility: float
    qoe: float
    fairness: float
    optimality: str


def solve(
    capacities_bps: ArrayLike,
    *,
    max_rate_bps: float = 30e6,
    rho: float = 0.5,
    qoe: Literal["lin", "log", "sqrc", "sqrcv"] = "lin",
    relaxed: bool = False,
    server_bps: float | None = None,
) -> Solution:
    """Return the best rates of a call.

    Args:
        capacities_bps: Capacity of each client's link, shared by both directions, bits/s; shape
            (n,).
        max_rate_bps: Maximum rate of a whole downlink, bits/s.
        rho: Weight of fairness, 0 to 1.
        qoe: QoE as a function of the downlink: linear, logarithmic, concave or convex square.
        relaxed: Bound content by equation 3, which leaves the maximum rate of an uplink out.
        server_bps: Limit of the sum of all downlinks, bits/s.

    Example:
        >>> from airlane import plum
        >>> rates = plum.solve([12e6, 20e6, 100e6])
        >>> bool(rates.up_bps[2] > rates.up_bps[0])
        True
    """
    options: _airlane.PlumOptions = {
        "max_rate_bps": max_rate_bps,
        "rho": rho,
        "qoe": qoe,
        "relaxed": relaxed,
        "server_bps": server_bps,
    }
    found = _airlane.plum_solve(np.asarray(capacities_bps, float).tolist(), options)
    down, up, (utility, mean, fairness), optimality = found
    return Solution(np.array(down), np.array(up), utility, mean, fairness, optimality)


def fixed_share(capacities_bps: ArrayLike, up_share: float) -> NDArray[np.float64]:
    """Return downlink and uplink of each client, bits/s, where one link is the bottleneck; shape (n, 2).

    The smallest link gives ``up_share`` of its capacity to the uplink and the rest to the downlink.
    All others are taken to be ample: their rates are infinite.
    """
    capacities = np.asarray(capacities_bps, float).tolist()
    return np.array(_airlane.plum_fixed_share(capacities, up_share))
