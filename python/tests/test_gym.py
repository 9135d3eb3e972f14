"""Environments of Gymnasium."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")
from gymnasium.utils.env_checker import check_env

import airlane.gym


@pytest.mark.parametrize("name", ["airlane/Abr-v0", "airlane/Congestion-v0", "airlane/Layers-v0"])
def test_the_checker_of_gymnasium_passes(name: str) -> None:
    env = gymnasium.make(name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*render.*")
        check_env(env.unwrapped, skip_render_check=True)
    env.close()


def test_an_episode_is_a_session() -> None:
    env = airlane.gym.AbrEnv()

    def play(rung: int) -> tuple[float, int]:
        env.reset(seed=5)
        total, steps, is_over = 0.0, 0, False
        while not is_over:
            _, reward, is_over, _, _ = env.step(rung)
            total, steps = total + reward, steps + 1
        return total / steps, steps

    low, steps = play(0)
    assert env.result is not None and env.result.failed == 0 and steps > 20
    assert play(0) == (low, steps), "the same seed and actions give the same episode"
    middle, _ = play(1)
    assert middle != low


def test_a_rate_is_followed() -> None:
    env = airlane.gym.CongestionEnv()
    env.reset(seed=1)
    rates = [float(env.step(np.array([1.0], np.float32))[0][0]) for _ in range(8)]
    assert rates == sorted(rates) and rates[-1] == pytest.approx(1.0)
    env.close()


def test_layers_are_forwarded_as_asked() -> None:
    env = airlane.gym.LayersEnv({**airlane.gym.LAYERS_SCENARIO, "duration_s": 12})

    def play(level: int) -> tuple[list[float], list[float]]:
        env.reset(seed=3)
        rates, waiting, is_over = [], [], False
        while not is_over:
            _, _, _, is_over, info = env.step([level] * 3)
            rates.append(info.get("rate_bps", 0.0))
            waiting.append(info.get("waiting_s", 0.0))
        return rates, waiting

    low, high = play(1), play(9)
    assert play(1) == low, "the same seed and actions give the same episode"
    assert len(low[0]) >= 10 and sum(low[0]) < sum(high[0]) / 4
    assert max(low[1]) < 0.1 < max(high[1]), "what does not fit waits"
    env.reset(seed=3)
    env.close()


def test_several_step_at_once() -> None:
    envs = airlane.gym.make_vec("congestion", 2)
    views, _ = envs.reset(seed=1)
    assert views.shape == (2, 6)
    views, rewards, *_ = envs.step(np.zeros((2, 1), np.float32))
    assert views.shape == (2, 6) and rewards.shape == (2,)
    envs.close()
