"""Environments of Gymnasium over real QUIC in virtual time.

Each episode is a run of a scenario, with an agent in the place of a scheme. The run waits while the
agent thinks: no virtual time passes. The same seed and the same actions give the same episode.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from .laboratory import run
from .result import Result
from .scenario import Scenario, ScenarioLike
from .schemes import Abr, Ack, Controller, Loss, PlayerView

Observation = NDArray[np.float32]

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


class _Closed(Exception):
    """The episode is over before its run."""


@dataclass
class _Turn:
    """What a run hands to the agent: an observation, or how it ended."""

    view: Any = None
    result: Result | None = None
    error: BaseException | None = None


class _Episode:
    """A run in a thread, which waits for the agent's decisions."""

    def __init__(self, scenario: Scenario, seed: int) -> None:
        self._turns: queue.SimpleQueue[_Turn] = queue.SimpleQueue()
        self._actions: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, args=(scenario, seed), daemon=True)
        self._is_over = False

    def start(self) -> _Turn:
        self._thread.start()
        return self._next()

    def act(self, action: Any) -> _Turn:
        self._actions.put(action)
        return self._next()

    def ask(self, view: Any) -> Any:
        """Hand an observation to the agent, and return its action; called in the run."""
        self._turns.put(_Turn(view))
        action = self._actions.get()
        if isinstance(action, _Closed):
            raise action
        return action

    def close(self) -> None:
        if not self._is_over:
            self._actions.put(_Closed())
        self._thread.join()

    def _run(self, scenario: Scenario, seed: int) -> None:
        try:
            result = run(scenario, seeds=[seed], jobs=1, progress=False)
            self._turns.put(_Turn(result=result))
        except BaseException as error:
            self._turns.put(_Turn(error=error))

    def _next(self) -> _Turn:
        turn = self._turns.get()
        if turn.view is None:
            self._is_over = True
            if turn.error is not None:
                raise turn.error
        return turn


class _Env(gymnasium.Env[Observation, Any]):
    """What the environments share: an episode per run."""

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(self, scenario: ScenarioLike) -> None:
        self._scenario = Scenario.of(scenario)
        self._episode: _Episode | None = None
        #: Result of the last episode that came to its end.
        self.result: Result | None = None

    def _begin(self, seed: int | None) -> tuple[_Turn, int]:
        super().reset(seed=seed)
        self.close()
        # Seeds of runs are below 2^32.
        of_run = int(self.np_random.integers(2**32)) if seed is None else seed % 2**32
        episode = _Episode(self._scenario.set(self._placed(of_run)), of_run)
        self._episode = episode
        return episode.start(), of_run

    def _placed(self, seed: int) -> dict[str, Any]:
        """Return the changes to the scenario that put the agent in its place."""
        raise NotImplementedError

    def _act(self, action: Any) -> _Turn:
        if self._episode is None:
            raise gymnasium.error.ResetNeeded("reset comes before step")
        turn = self._episode.act(action)
        if turn.result is not None:
            self.result = turn.result
            self._episode = None
        return turn

    def _ask(self, view: Any) -> Any:
        assert self._episode is not None
        return self._episode.ask(view)

    def close(self) -> None:
        """End the episode."""
        if self._episode is not None:
            self._episode.close()
            self._episode = None


class AbrEnv(_Env):
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
        self._rung = 0
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


class CongestionEnv(_Env):
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


def make_vec(
    env: Literal["abr", "congestion"] | type[_Env], num_envs: int, **options: Any
) -> gymnasium.vector.VectorEnv[Any, Any, Any]:
    """Return several environments that step at once, over the machine's cores.

    Each runs in a process of its own. Options are those of the environment.
    """
    kind: type[_Env]
    if isinstance(env, str):
        kind = AbrEnv if env == "abr" else CongestionEnv
    else:
        kind = env

    def make() -> _Env:
        return kind(**options)

    return gymnasium.vector.AsyncVectorEnv([make] * num_envs, context="forkserver")


gymnasium.register("airlane/Abr-v0", entry_point="airlane.gym:AbrEnv")
gymnasium.register("airlane/Congestion-v0", entry_point="airlane.gym:CongestionEnv")
