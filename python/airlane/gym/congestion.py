"""Sending rate of a connection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from ..scenario import ScenarioLike
from ..schemes import Ack, Controller, Loss
from .episode import Env, Observation

#: A download on a bottleneck that another one shares later.
CONGESTION_SCENARIO = {
    "name": "congestion-agent",
    "duration_s": 30,
    "link": {
        "rate_bps": 12e6,
        "rtt_s": 0.04,
        "queue": {"kind": "droptail", "limit_bdp": 2},
    },
    "scheme": [{"name": "agent"}],
    "bulk": [{"name": "agent"}],
}


class CongestionEnv(Env):
    """Sending rate of each connection of a scenario's servers, at an interval.

    Observation, float32 of shape (6,): rate, delivery rate and both over ``max_rate_bps``; smoothed
    round trip over the smallest; part of packets that were lost; bytes in flight over the rate
    times the round trip.

    Action, float32 of shape (1,), -1 to 1: the rate is multiplied by two to the power of it.

    Reward per interval: delivery rate over ``max_rate_bps``, minus ``delay_cost`` times the part by
    which the round trip exceeds the smallest, minus ``loss_cost`` times the part lost.

    Args:
        scenario: Scenario whose connections the agent controls. It has one connection at a time.
        interval_s: Virtual time between two actions, seconds.
        max_rate_bps: Largest rate, bits/s.
        delay_cost: Cost of a round trip twice the smallest.
        loss_cost: Cost of the loss of all packets.
    """

    def __init__(
        self,
        scenario: ScenarioLike | None = None,
        *,
        interval_s: float = 0.1,
        max_rate_bps: float = 50e6,
        delay_cost: float = 0.1,
        loss_cost: float = 5.0,
    ) -> None:
        super().__init__(CONGESTION_SCENARIO if scenario is None else scenario)
        self._interval_s = interval_s
        self._max_rate_bps = max_rate_bps
        self._costs = delay_cost, loss_cost
        self.action_space = spaces.Box(-1, 1, (1,), np.float32)
        self.observation_space = spaces.Box(0, 100, (6,), np.float32)
        env = self

        class Agent(Controller):
            name = "agent"
            interval_s = env._interval_s

            def __init__(self, mtu: int, seed: int) -> None:
                super().__init__(mtu, seed)
                self.rate_bps = 1e6
                self.rtt_s = 0.1
                self.lost = 0

            def on_loss(self, loss: Loss) -> None:
                self.lost += loss.packets

            def on_ack(self, ack: Ack) -> None:
                self.rtt_s = ack.smoothed_rtt_s
                delivered = ack.delivery_rate_bps or 0.0
                part = self.lost / max(1, self.lost + ack.packets)
                self.lost = 0
                flight = 8 * ack.in_flight_bytes / (self.rate_bps * ack.min_rtt_s + 1)
                seen = (
                    self.rate_bps / env._max_rate_bps,
                    delivered / env._max_rate_bps,
                    delivered / self.rate_bps,
                    ack.smoothed_rtt_s / max(ack.min_rtt_s, 1e-6),
                    part,
                    flight,
                )
                action = float(np.clip(np.ravel(env._ask(seen))[0], -1, 1))
                self.rate_bps = min(max(self.rate_bps * 2**action, 1e5), env._max_rate_bps)

            def window(self) -> float:
                return 2 * self.rate_bps / 8 * self.rtt_s + 4 * self.mtu

            def pacing_rate(self) -> float:
                return self.rate_bps

        # One class for all episodes: classes of schemes are kept.
        self._agent = Agent

    def _placed(self, seed: int) -> dict[str, Any]:
        return {"scheme.0.controller": self._agent}

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin a run, and return the first observation."""
        turn, of_run = self._begin(seed)
        if turn.view is None:
            raise ValueError("no connection of the scenario sends anything")
        return _float32(turn.view), {"seed": of_run}

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Send at another rate for an interval."""
        turn = self._act(action)
        if turn.view is None:
            # The run came to its end within this interval.
            return np.zeros(6, np.float32), 0.0, False, True, {}
        _, delivered, _, delay, lost, _ = turn.view
        delay_cost, loss_cost = self._costs
        reward = delivered - delay_cost * (delay - 1) - loss_cost * lost
        return _float32(turn.view), float(reward), False, False, {}


def _float32(values: Any) -> Observation:
    return np.clip(np.array(values, np.float32), 0, 100)
