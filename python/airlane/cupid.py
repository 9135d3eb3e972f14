"""Cupid: the rate that is fair in airtime, from what a WiFi receiver hears.

Equations: ``docs/design/cupid.md``.
"""

from __future__ import annotations

from . import _airlane


class RateRule:
    """Rate rule of one station.

    Args:
        eta: Utilisation of the air that is aimed at, 0 to 1.
        hysteresis: Half of the band around eta in which a rate stays as it is.
        as_published: Use the rule of the paper, whose decrease goes back to the fair rate each time.

    Example:
        >>> from airlane.cupid import RateRule
        >>> RateRule().update(utilisation=0.5, stations=4, delta_bps=400e6)
        80000000.0
    """

    def __init__(
        self, *, eta: float = 0.8, hysteresis: float = 0.02, as_published: bool = False
    ) -> None:
        self._rule = _airlane.CupidRule(eta, hysteresis, as_published)

    def update(
        self,
        *,
        utilisation: float,
        stations: int,
        delta_bps: float,
        goodput_bps: float = 0.0,
        left: float | None = None,
        reserved: float = 0.0,
    ) -> float:
        """Return the rate until the next report, bits/s.

        Args:
            utilisation: Share of the air in use, 0 to 1.
            stations: Active stations, the own one included.
            delta_bps: Payload that the whole air would carry for this station, bits/s.
            goodput_bps: Payload that this station received, bits/s.
            left: Share that others leave of theirs, if their shares are known.
            reserved: Share to leave to stations that were not counted.
        """
        return self._rule.update(utilisation, stations, delta_bps, goodput_bps, left, reserved)

    @property
    def rate_bps(self) -> float | None:
        """The last rate, bits/s; none before the first update."""
        return self._rule.rate_bps()

    def restart(self) -> None:
        """Forget the last rate."""
        self._rule.restart()
