"""Environments of Gymnasium over real QUIC in virtual time.

Each episode is a run of a scenario, with an agent in the place of a scheme. The run waits while the
agent thinks: no virtual time passes. The same seed and the same actions give the same episode.
"""

from __future__ import annotations

from typing import Any, Literal

import gymnasium

from .abr import ABR_SCENARIO, AbrEnv
from .congestion import CONGESTION_SCENARIO, CongestionEnv
from .episode import Env, Observation
from .layers import LAYERS_SCENARIO, LayersEnv

__all__ = [
    "ABR_SCENARIO",
    "CONGESTION_SCENARIO",
    "LAYERS_SCENARIO",
    "AbrEnv",
    "CongestionEnv",
    "LayersEnv",
    "Observation",
    "make_vec",
]

_KINDS: dict[str, type[Env]] = {
    "abr": AbrEnv,
    "congestion": CongestionEnv,
    "layers": LayersEnv,
}


def make_vec(
    env: Literal["abr", "congestion", "layers"] | type[Env], num_envs: int, **options: Any
) -> gymnasium.vector.VectorEnv[Any, Any, Any]:
    """Return several environments that step at once, over the machine's cores.

    Each runs in a process of its own. Options are those of the environment.
    """
    kind = _KINDS[env] if isinstance(env, str) else env

    def make() -> Env:
        return kind(**options)

    return gymnasium.vector.AsyncVectorEnv([make] * num_envs, context="forkserver")


gymnasium.register("airlane/Abr-v0", entry_point="airlane.gym:AbrEnv")
gymnasium.register("airlane/Congestion-v0", entry_point="airlane.gym:CongestionEnv")
gymnasium.register("airlane/Layers-v0", entry_point="airlane.gym:LayersEnv")
