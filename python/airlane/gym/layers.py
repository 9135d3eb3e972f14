"""Layers of the videos that a receiver of a call gets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from ..scenario import ScenarioLike
from ..schemes import LayerAllocator, ReceiverView
from .episode import Env, Observation

#: A call of four, of whom one receives over a cell that varies like recordings of LTE.
LAYERS_SCENARIO = {
    "name": "layers-agent",
    "duration_s": 60,
    "access": [
        {
            "name": "cell",
            "kind": "cell",
            "down": {"generator": "lte", "trace_mean_bps": 6e6},
            "up": {"rate_bps": 10e6},
        },
        {"name": "fibre", "kind": "cell", "down": {"rate_bps": 50e6}, "up": {"rate_bps": 50e6}},
    ],
    "scheme": [{"name": "agent", "call_thinning": "layers"}],
    "call": [{"name": "agent", "at": "cell"}, {"name": "other", "at": "fibre", "count": 3}],
}

#: Longest wait that an observation tells, seconds.
MAX_WAITING_S = 5.0

#: A video of a receiver: number of its participant, and whether it is a screen.
_Video = tuple[int, bool]


class LayersEnv(Env):
    """Choice of layers of each video that the participant ``agent`` of a call receives.

    A video has levels, from a pause (0) over its lowest layers (1) to all of them. What is chosen
    holds for an interval; layers of higher resolution begin with a key frame, for which the server
    asks. Other participants get the highest level that an equal share of their downlink is enough
    for.

    Observation, float32 of shape (2 + max_videos * (2 + max_levels),): bitrate of the downlink for
    video, Mbit/s; time that waiting bytes take at it, seconds, at most 5. For each video: 1 if there
    is one; its level over ``max_levels``; the bitrate of each level from 1 on, Mbit/s. Where there
    is none, a zero.

    Action: the level of each video; one that a video has not counts as its highest.

    Reward per interval: bitrate of the levels over that of all layers, minus ``delay_cost`` per
    second that waiting bytes take at the interval's end, minus ``change_cost`` per video whose level
    was changed, divided by their number.

    Args:
        scenario: Scenario with a call whose participant ``agent`` receives, and whose first scheme
            has ``call_thinning = "layers"``.
        interval_s: Virtual time between two actions, seconds.
        max_videos: Number of videos that actions have.
        max_levels: Number of levels of a video, without the pause.
        delay_cost: Cost of a second of waiting.
        change_cost: Cost of a change.
    """

    def __init__(
        self,
        scenario: ScenarioLike | None = None,
        *,
        interval_s: float = 1.0,
        max_videos: int = 3,
        max_levels: int = 9,
        delay_cost: float = 1.0,
        change_cost: float = 0.05,
    ) -> None:
        super().__init__(LAYERS_SCENARIO if scenario is None else scenario)
        self._max = max_videos, max_levels
        self._costs = delay_cost, change_cost
        self._next_s = 0.0
        self._levels: dict[_Video, int] = {}
        self._before: list[int] = []
        self.action_space = spaces.MultiDiscrete([max_levels + 1] * max_videos)
        shape = (2 + max_videos * (2 + max_levels),)
        self.observation_space = spaces.Box(0, 1e4, shape, np.float32)
        env = self

        class Agent(LayerAllocator):
            name = "agent"

            def allocate(self, view: ReceiverView) -> list[int]:
                if view.name != "agent":
                    return _fair(view)
                videos = [(video.participant, video.is_screen) for video in view.videos]
                if videos and view.now_s >= env._next_s:
                    env._next_s = view.now_s + interval_s
                    asked = [int(level) for level in np.ravel(env._ask(view))]
                    env._levels = dict(zip(videos, asked, strict=False))
                return [env._levels.get(video, 0) for video in videos]

        # One class for all episodes: classes of schemes are kept.
        self._agent = Agent

    def _placed(self, seed: int) -> dict[str, Any]:
        return {"scheme.0.call_allocator": self._agent}

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin a call, and return the first observation."""
        self._next_s, self._levels, self._before = 0.0, {}, []
        turn, of_run = self._begin(seed)
        if turn.view is None:
            raise ValueError('no participant "agent" of the scenario receives layers')
        return self._observed(turn.view), {"seed": of_run}

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Forward other layers for an interval."""
        turn = self._act(action)
        if turn.view is None:
            # The call came to its end within this interval.
            shape = self.observation_space.shape or ()
            return np.zeros(shape, np.float32), 0.0, False, True, {}
        view: ReceiverView = turn.view
        levels = [video.level for video in view.videos]
        rate = sum(v.rates_bps[v.level - 1] for v in view.videos if v.level > 0)
        whole = sum(v.rates_bps[-1] for v in view.videos if v.rates_bps)
        changed = sum(a != b for a, b in zip(levels, self._before, strict=False))
        self._before = levels
        delay_cost, change_cost = self._costs
        waiting_s = _waiting_s(view)
        reward = rate / max(whole, 1.0) - delay_cost * waiting_s
        reward -= change_cost * changed / max(1, len(levels))
        info = {"rate_bps": rate, "waiting_s": waiting_s}
        return self._observed(view), float(reward), False, False, info

    def _observed(self, view: ReceiverView) -> Observation:
        max_videos, max_levels = self._max
        out = np.zeros(self.observation_space.shape or (), np.float32)
        out[:2] = view.budget_bps / 1e6, _waiting_s(view)
        for place, video in enumerate(view.videos[:max_videos]):
            at = 2 + place * (2 + max_levels)
            out[at : at + 2] = 1, video.level / max_levels
            rates = [rate / 1e6 for rate in video.rates_bps[:max_levels]]
            out[at + 2 : at + 2 + len(rates)] = rates
        bounded: Observation = np.minimum(out, np.float32(1e4))
        return bounded


def _waiting_s(view: ReceiverView) -> float:
    return min(8 * view.pending_bytes / max(view.budget_bps, 1.0), MAX_WAITING_S)


def _fair(view: ReceiverView) -> list[int]:
    """Return the highest level of each video that an equal share of the budget is enough for."""
    share = view.budget_bps / max(1, len(view.videos))
    return [sum(rate <= share for rate in video.rates_bps) for video in view.videos]
