"""Airlane: transports for video over wireless links, and the laboratory that measures them.

Worlds run in virtual time: an hour of streaming takes seconds, and the same seed gives the same
bits as the command ``airlane``.
"""

from . import _airlane, cupid, fbdt, minerva, octopus, plum
from ._airlane import COMMIT, VERSION
from .verdicts import ClaimResult
from .content import Content, Trace
from .errors import AirlaneError, Fault, InputError, SchemeError
from .laboratory import claims, reproduce, run
from .result import Result
from .scenario import Scenario, keys, scenarios
from .schemes import Abr, Ack, Controller, Loss, PlayerView, Queue, QueuedPacket
from .sweeps import SweepResult, sweep

_airlane.set_program(_airlane.__file__)

__version__ = VERSION
__commit__ = COMMIT

__all__ = [
    "Abr",
    "Ack",
    "AirlaneError",
    "ClaimResult",
    "Content",
    "Controller",
    "Fault",
    "InputError",
    "Loss",
    "PlayerView",
    "Queue",
    "QueuedPacket",
    "Result",
    "Scenario",
    "SchemeError",
    "SweepResult",
    "Trace",
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
