"""Choice of the rung of each segment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from ..scenario import ScenarioLike
from ..schemes import Abr, PlayerView
from .episode import Env, Observation

#: Sessions on a link that varies like recordings of LTE.
ABR_SCENARIO = {
    "name": "abr-agent",
    "duration_s": 240,
    "link": {
        "generator": "lte",
        "trace_mean_bps": 2e6,
        "rtt_s": 0.06,
        "queue": {"kind": "droptail", "limit_bdp": 4},
    },
    "scheme": [{"name": "agent"}],
    "viewer": [{"name": "agent"}],
}


class AbrEnv(Env):
    """Choice of the rung of each segment, for the viewer ``agent`` of a scenario.

    Observation, float32 of shape (12 + 2 * max_rungs,): buffer over its maximum, last rung over
    the highest (-1 before the first choice), part of the title that is left, number of rungs over
    ``max_rungs``; the last eight throughputs, the newest last, Mbit/s; the size of the next segment
    at each rung, Mbit; its quality at each rung over 100. Where there is none, a zero.

    Action: the rung, 0 for the lowest; one that the title has not counts as the highest.

    Reward: quality of the segment minus ``beta`` per second of rebuffering and ``gamma`` per point
    of change, over 100.

    Args:
        scenario: Scenario with a viewer that is called ``agent``.
        max_rungs: Number of rungs that actions have.
        beta: Cost of a second of rebuffering, points of quality.
        gamma: Cost of a point of change.
    """

    def __init__(
        self,
        scenario: ScenarioLike | None = None,
        *,
        max_rungs: int = 8,
        beta: float = 25.0,
        gamma: float = 2.5,
    ) -> None:
        super().__init__(ABR_SCENARIO if scenario is None else scenario)
        self._max_rungs = max_rungs
        self._costs = beta, gamma
        self._last: PlayerView | None = None
        self._quality: float | None = None
        self.action_space = spaces.Discrete(max_rungs)
        shape = (12 + 2 * max_rungs,)
        self.observation_space = spaces.Box(-1, 1e4, shape, np.float32)
        ask = self._ask

        class Agent(Abr):
            name = "agent"

            def choose(self, view: PlayerView) -> int:
                return int(ask(view))

        # One class for all episodes: classes of schemes are kept.
        self._agent = Agent

    def _placed(self, seed: int) -> dict[str, Any]:
        return {"player.abr": self._agent, "cases.seed": seed}

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin a session, and return the first observation."""
        self._quality = None
        turn, of_run = self._begin(seed)
        if turn.view is None:
            raise ValueError("no viewer of the scenario asks for a second segment")
        self._last = turn.view
        # The first segment, at the lowest rung, is not asked for.
        return self._observed(turn.view), {"seed": of_run}

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Fetch a segment at a rung."""
        asked = self._last
        turn = self._act(action)
        assert asked is not None
        rung = min(int(action), len(asked.quality) - 1)
        quality = asked.quality[rung]
        stalled_s = 0.0
        if turn.view is not None and turn.view.throughput_bps:
            download_s = asked.size_bits[rung] / turn.view.throughput_bps[-1]
            stalled_s = max(0.0, download_s - asked.buffer_s)
        beta, gamma = self._costs
        change = 0.0 if self._quality is None else abs(quality - self._quality)
        reward = (quality - beta * stalled_s - gamma * change) / 100
        self._quality = quality
        info = {"quality": quality, "stalled_s": stalled_s}
        if turn.view is None:
            return self._observed(asked), reward, True, False, info
        self._last = turn.view
        return self._observed(turn.view), reward, False, False, info

    def _observed(self, view: PlayerView) -> Observation:
        rungs = min(len(view.quality), self._max_rungs)
        out = np.zeros(self.observation_space.shape or (), np.float32)
        out[0] = view.buffer_s / view.max_buffer_s
        out[1] = -1 if view.last_rung is None else view.last_rung / max(1, rungs - 1)
        out[2] = 1 - view.segment / view.segments
        out[3] = rungs / self._max_rungs
        rates = view.throughput_bps[-8:]
        out[12 - len(rates) : 12] = [rate / 1e6 for rate in rates]
        out[12 : 12 + rungs] = [bits / 1e6 for bits in view.size_bits[:rungs]]
        at = 12 + self._max_rungs
        out[at : at + rungs] = [quality / 100 for quality in view.quality[:rungs]]
        bounded: Observation = np.minimum(out, np.float32(1e4))
        return bounded
