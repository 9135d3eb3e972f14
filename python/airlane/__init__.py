"""Airlane: transports for video over wireless links, and the laboratory that measures them.

Worlds run in virtual time: an hour of streaming takes seconds, and the same seed gives the same
bits as the command ``airlane``.
"""

from . import _airlane, cupid, fbdt, minerva, octopus, plum
from ._airlane import COMMIT, VERSION
from .content import Content, Trace
from .errors import AirlaneError, ClusterError, Fault, InputError, SchemeError
from .laboratory import run
from .result import Result
from .scenario import Scenario, keys, scenarios
from .schemes import (
    Abr,
    Ack,
    Controller,
    LayerAllocator,
    Loss,
    PlayerView,
    Queue,
    QueuedPacket,
    ReceiverView,
    VideoView,
)
from .sweeps import SweepResult, sweep
from .verdicts import ClaimResult, claims, reproduce

_airlane.set_program(_airlane.__file__)

__version__ = VERSION
__commit__ = COMMIT

__all__ = [
    "Abr",
    "Ack",
    "AirlaneError",
    "ClaimResult",
    "ClusterError",
    "Content",
    "Controller",
    "Fault",
    "InputError",
    "LayerAllocator",
    "Loss",
    "PlayerView",
    "Queue",
    "QueuedPacket",
    "ReceiverView",
    "Result",
    "Scenario",
    "SchemeError",
    "SweepResult",
    "Trace",
    "VideoView",
    "claims",
    "cupid",
    "fbdt",
    "keys",
    "minerva",
    "octopus",
    "plum",
    "reproduce",
    "run",
    "scenarios",
    "sweep",
]
