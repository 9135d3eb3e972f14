"""Episodes: runs that wait for an agent's decisions."""

from __future__ import annotations

import queue
import threading
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from ..laboratory import run
from ..result import Result
from ..scenario import Scenario, ScenarioLike

Observation = NDArray[np.float32]


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


class Env(gymnasium.Env[Observation, Any]):
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
