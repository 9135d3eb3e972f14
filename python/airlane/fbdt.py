"""FBDT: one stream of bytes over several paths, from both ends of each window at once.

The rates add up without an estimate of any. Model: ``docs/design/fbdt.md``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _airlane


@dataclass(frozen=True)
class Segment:
    """Run of bytes of one window.

    Attributes:
        window: Number of the window, from 0.
        index: Number of the segment in the window, from 0.
        count: Number of segments in the window.
        payload: Its bytes.
    """

    window: int
    index: int
    count: int
    payload: bytes


class Receiver:
    """Receiving end of a stream. Sizes are in bytes and the same at both ends."""

    def __init__(
        self,
        *,
        segment_bytes: int = 10_000,
        window_bytes: int = 1_000_000,
        receive_bytes: int = 8_000_000,
    ) -> None:
        self._receiver = _airlane.FbdtReceiver(segment_bytes, window_bytes, receive_bytes)

    def on_segment(self, now_s: float, segment: Segment) -> bool:
        """Take a segment at this time, seconds; True if it is new."""
        fields = (segment.window, segment.index, segment.count, segment.payload)
        return self._receiver.on_segment(now_s, fields)

    def read(self, now_s: float) -> bytes | None:
        """Return the next bytes in order; None if they have not arrived."""
        return self._receiver.read(now_s)

    @property
    def held_bytes(self) -> int:
        """Bytes that have arrived and wait for earlier ones."""
        return self._receiver.held_bytes()


class Sender:
    """Sending end of a stream over ``paths`` paths, numbered from 0. Sizes are in bytes."""

    def __init__(
        self,
        paths: int = 2,
        *,
        segment_bytes: int = 10_000,
        window_bytes: int = 1_000_000,
        receive_bytes: int = 8_000_000,
    ) -> None:
        self._sender = _airlane.FbdtSender(segment_bytes, window_bytes, receive_bytes, paths)

    def push(self, data: bytes) -> int:
        """Add bytes to the stream, and return the number of those for which there was room."""
        return self._sender.push(data)

    def finish(self) -> None:
        """End the stream behind what was pushed."""
        self._sender.finish()

    def next(self, now_s: float, path: int) -> Segment | None:
        """Return the next segment that a path sends; None if there is nothing to send on it."""
        fields = self._sender.next(now_s, path)
        return None if fields is None else Segment(*fields)

    def next_event_s(self, now_s: float, path: int) -> float | None:
        """Return the time at which a path without work may have some, seconds."""
        return self._sender.next_event_s(now_s, path)

    def on_ack(self, now_s: float, path: int, receiver: Receiver, received_bytes: int) -> None:
        """Take an acknowledgement of a receiver that got so many bytes on this path."""
        self._sender.on_ack(now_s, path, receiver._receiver, received_bytes)

    @property
    def is_done(self) -> bool:
        """True if the stream has ended and all of it has arrived."""
        return self._sender.is_done()


def split(total_bytes: int, rates_bps: ArrayLike, **sizes: int) -> NDArray[np.int64]:
    """Return the bytes that paths of these constant rates carry of a transfer; shape (paths,).

    Nobody tells the sender the rates: where pointers meet depends on them alone.

    Args:
        total_bytes: Bytes of the transfer.
        rates_bps: Rate of each path, bits/s; shape (paths,).
        **sizes: ``segment_bytes``, ``window_bytes`` and ``receive_bytes``.

    Example:
        >>> from airlane import fbdt
        >>> fbdt.split(10_000_000, [30e6, 10e6]).sum()
        np.int64(10000000)
    """
    rates = np.asarray(rates_bps, float)
    if rates.ndim != 1 or not len(rates) or not np.all(np.isfinite(rates) & (rates > 0)):
        raise ValueError("rates_bps: expected one or more rates above 0")
    sender, receiver = Sender(len(rates), **sizes), Receiver(**sizes)
    carried = np.zeros(len(rates), np.int64)
    busy_until = np.zeros(len(rates))
    sent: list[Segment | None] = [None] * len(rates)
    left, is_finished = total_bytes, False
    while not sender.is_done:
        path = int(np.argmin(busy_until))
        now = float(busy_until[path])
        if (segment := sent[path]) is not None:
            if receiver.on_segment(now, segment):
                carried[path] += len(segment.payload)
            while receiver.read(now) is not None:
                pass
            for other in range(len(rates)):
                sender.on_ack(now, other, receiver, int(carried[other]))
        while left > 0 and (taken := sender.push(bytes(min(left, 1 << 20)))) > 0:
            left -= taken
        if left == 0 and not is_finished:
            sender.finish()
            is_finished = True
        sent[path] = sender.next(now, path)
        if (segment := sent[path]) is not None:
            busy_until[path] = now + 8 * len(segment.payload) / rates[path]
        else:
            others = [t for i, t in enumerate(busy_until) if i != path and sent[i] is not None]
            if not others:
                break
            busy_until[path] = float(np.nextafter(min(others), np.inf))
    return carried
