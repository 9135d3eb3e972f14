"""Schemes of one's own: classes that scenarios may name beside the built-in ones.

A class stands where a scenario has the name of a built-in scheme::

    scheme=[{"name": "cubic"}, {"name": "mine", "controller": Mine}]

An exception in one ends the run with :class:`airlane.SchemeError`, which names class, method, line
and virtual time. The same seed gives the same run as long as a class decides by what it is told
alone: take random numbers from the seed that it is given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, ClassVar, TypedDict

from . import _airlane
from ._airlane import Ack, Loss, PlayerView, QueuedPacket, ReceiverView, VideoView
from .errors import InputError

__all__ = [
    "Abr",
    "Ack",
    "Controller",
    "LayerAllocator",
    "Loss",
    "PlayerView",
    "Queue",
    "QueuedPacket",
    "ReceiverView",
    "VideoView",
]


class Scheme:
    """Base class of schemes."""

    #: Name in scenarios and tables; by default that of the class.
    name: ClassVar[str]

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "name" not in cls.__dict__:
            cls.name = cls.__name__


class Controller(Scheme):
    """Congestion controller of one connection.

    Args:
        mtu: Largest UDP payload of the path, bytes.
        seed: Seed for what it draws.

    Example:
        >>> import airlane
        >>> class Fixed(airlane.Controller):
        ...     def window(self):
        ...         return 20 * self.mtu
        >>> result = airlane.run(
        ...     "bulk",
        ...     set={"scheme": [{"name": "fixed", "controller": Fixed}], "duration_s": 4},
        ...     seeds=[1],
        ... )
    """

    #: Minimum interval between two calls, seconds of virtual time. What happens meanwhile is added
    #: up. 0: a call for each acknowledgement frame.
    interval_s: ClassVar[float] = 0.01

    def __init__(self, mtu: int, seed: int) -> None:
        self.mtu = mtu
        self.seed = seed

    def on_ack(self, ack: Ack) -> None:
        """Take what was acknowledged since the last call."""

    def on_loss(self, loss: Loss) -> None:
        """Take what was lost, or arrived with a mark of congestion, since the last call."""

    def window(self) -> float:
        """Return the bytes that may be in flight; at least two packets are."""
        raise NotImplementedError

    def pacing_rate(self) -> float | None:
        """Return the rate at which packets leave, bits/s; None: as fast as the window lets them."""
        return None


class Abr(Scheme):
    """Bitrate rule of a player. An object is made for each choice: it keeps nothing.

    Example:
        >>> import airlane
        >>> class Cautious(airlane.Abr):
        ...     def choose(self, view):
        ...         budget = 0.7 * min(view.throughput_bps)
        ...         return sum(rate <= budget for rate in view.mean_rate_bps) - 1
    """

    def choose(self, view: PlayerView) -> int:
        """Return the rung of the next segment, 0 for the lowest. Others become the nearest."""
        raise NotImplementedError


class LayerAllocator(Scheme):
    """Rule by which the server of a call gives layers to the videos of a receiver.

    It stands at ``call_allocator`` of a scheme, with ``call_thinning = "layers"``. An object is made
    for each division: it keeps nothing.

    Example:
        >>> import airlane
        >>> class LowestFirst(airlane.LayerAllocator):
        ...     def allocate(self, view):
        ...         levels = [0] * len(view.videos)
        ...         left = view.budget_bps
        ...         for place, video in enumerate(view.videos):
        ...             for level, rate in enumerate(video.rates_bps, 1):
        ...                 if rate <= left / (len(levels) - place):
        ...                     levels[place] = level
        ...             left -= video.rates_bps[levels[place] - 1] if levels[place] else 0
        ...         return levels
    """

    def allocate(self, view: ReceiverView) -> list[int]:
        """Return the level of each of ``view.videos``: 0 is a pause, 1 the lowest layers.

        More than there are become the highest. Levels that need more than the budget are taken as
        they are: what does not fit waits.
        """
        raise NotImplementedError


class Queue(Scheme):
    """Queue of a link. What its capacity does not hold is dropped before it is asked.

    Example:
        >>> import airlane
        >>> class NewestFirst(airlane.Queue):
        ...     def __init__(self, seed):
        ...         super().__init__(seed)
        ...         self.packets = []
        ...     def enqueue(self, now_s, packet):
        ...         self.packets.append(packet)
        ...     def dequeue(self, now_s):
        ...         return self.packets.pop() if self.packets else None
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._dropped: list[QueuedPacket] = []

    def enqueue(self, now_s: float, packet: QueuedPacket) -> None:
        """Take a packet."""
        raise NotImplementedError

    def dequeue(self, now_s: float) -> QueuedPacket | float | None:
        """Return the next packet to serve.

        None if nothing waits; a time, seconds, if nothing may be served before it. Set ``marked``
        of a packet to have it leave with a mark of congestion.
        """
        raise NotImplementedError

    def drop(self, packet: QueuedPacket) -> None:
        """Give up a packet that waits, in :meth:`enqueue` or :meth:`dequeue`."""
        self._dropped.append(packet)


class Classes(TypedDict):
    """Classes of a scenario as the extension module takes them."""

    controllers: list[tuple[str, float, type[Controller]]]
    abrs: list[tuple[str, type[Abr]]]
    queues: list[tuple[str, type[Queue]]]
    allocators: list[tuple[str, type[LayerAllocator]]]


def found_in(item: Any) -> Iterator[type[Scheme]]:
    """Give the classes in a value of a scenario."""
    if isinstance(item, type) and issubclass(item, Scheme):
        yield item
    elif isinstance(item, Mapping):
        for value in item.values():
            yield from found_in(value)
    elif isinstance(item, (list, tuple)):
        for value in item:
            yield from found_in(value)


def checked(classes: tuple[type[Scheme], ...]) -> Classes:
    """Return classes for the extension module.

    Raises:
        InputError: A name is that of a built-in scheme or of two classes.
    """
    whole: Classes = {"controllers": [], "abrs": [], "queues": [], "allocators": []}
    known = _built_in()
    names: dict[str, type[Scheme]] = {}
    for one in classes:
        if names.setdefault(one.name, one) is not one or one.name in known:
            raise InputError.of(
                f'a scheme "{one.name}" beside another of this name',
                "expected a name of its own: set `name` in the class",
            )
        if issubclass(one, Controller):
            whole["controllers"].append((one.name, float(one.interval_s), one))
        elif issubclass(one, Abr):
            whole["abrs"].append((one.name, one))
        elif issubclass(one, Queue):
            whole["queues"].append((one.name, one))
        elif issubclass(one, LayerAllocator):
            whole["allocators"].append((one.name, one))
        else:
            expected = "expected a subclass of airlane.Controller, Abr, Queue or LayerAllocator"
            raise InputError.of(f"class {one.__name__}", expected)
    return whole


@lru_cache(maxsize=1)
def _built_in() -> frozenset[str]:
    import pyarrow as pa

    columns = pa.table(_airlane.keys()).to_pydict()
    keys = {"scheme.controller", "player.abr", "link.queue.kind", "scheme.call_allocator"}
    words = (v for k, v in zip(columns["key"], columns["value"], strict=True) if k in keys)
    return frozenset(word.strip(' "') for text in words for word in text.split(","))
