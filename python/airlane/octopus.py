"""Octopus: a queue that drops whole messages of real-time streams, as their applications allowed.

Rules: ``docs/design/octopus.md``. Header: ``docs/reference/wire/octopus.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import _airlane


@dataclass(frozen=True)
class Header:
    """Header in clear in front of a packet.

    Attributes:
        stream: Stream among those of its connection, 0 to 65535.
        message: Message of the stream; counts up and wraps at 32 bits.
        priority: 1 to 7, a higher value matters less; 0 is dropped by no message.
        drops: Once this message is whole in a queue, it drops older ones whose priority is at least
            this.
        bitrate_kbps: The message is dropped while its stream is served more slowly; 0 never.
        slack_ms: Time that it must have waited before it is dropped, in elements that heed it.
        first: It is the first packet of its message.
        last: It is the last packet of its message.
    """

    stream: int
    message: int
    priority: int = 0
    drops: int | None = None
    bitrate_kbps: int = 0
    slack_ms: int = 0
    first: bool = True
    last: bool = True

    def encode(self) -> bytes:
        """Return the 12 bytes on the wire."""
        return _airlane.octopus_encode(self._fields())

    @classmethod
    def decode(cls, packet: bytes) -> Header:
        """Return the header at the start of a packet.

        Raises:
            ValueError: There is none.
        """
        return cls(*_airlane.octopus_decode(packet))

    def _fields(self) -> _airlane.OctopusFields:
        return (
            self.stream,
            self.message,
            self.priority,
            self.drops,
            self.bitrate_kbps,
            self.slack_ms,
            self.first,
            self.last,
        )


class Queue:
    """Queue of packets, whatever these are: first in, first out, but for what it drops.

    Args:
        packets: Maximum number of packets.
        ip_bytes: Maximum number of IP bytes.
        streams: Maximum number of streams that are told apart.
        slack: Drop a message only after its slack, as the authors' code does.
        headless: Drop packets of which the first of their message never came.

    Example:
        >>> from airlane.octopus import Header, Queue
        >>> queue = Queue(packets=100, ip_bytes=150_000)
        >>> for n, priority, drops in [(0, 1, None), (1, 3, None), (2, 1, 3)]:
        ...     _ = queue.enqueue(0.0, f"message {n}", 1200, Header(1, n, priority, drops))
        >>> [queue.dequeue(0.0) for _ in range(3)]
        [('message 0', []), ('message 2', [('message 1', 'newer')]), (None, [])]
    """

    def __init__(
        self,
        *,
        packets: int = 1000,
        ip_bytes: int = 1_500_000,
        streams: int = 64,
        slack: bool = False,
        headless: bool = False,
    ) -> None:
        self._queue = _airlane.OctopusQueue(packets, ip_bytes, streams, slack, headless)

    def enqueue(
        self, now_s: float, packet: Any, ip_bytes: int, header: Header | None = None, flow: int = 0
    ) -> list[tuple[Any, str]]:
        """Take a packet, and return the packets that are dropped, each with the reason.

        Args:
            now_s: Time, seconds; it never goes back.
            packet: The packet, any object.
            ip_bytes: Its size, bytes of IP.
            header: Its header; without one it is never dropped but for want of room.
            flow: Number that tells connections apart.
        """
        fields = header._fields() if header is not None else None
        return self._queue.enqueue(now_s, packet, ip_bytes, flow, fields)

    def dequeue(self, now_s: float) -> tuple[Any, list[tuple[Any, str]]]:
        """Return the next packet to leave, or None, and what is dropped before it."""
        return self._queue.dequeue(now_s)

    def set_bandwidth(self, rate_bps: float | None) -> None:
        """Set the rate of the link, bits/s; None: it is estimated."""
        self._queue.set_bandwidth(rate_bps)

    @property
    def ip_bytes(self) -> int:
        """IP bytes that wait."""
        return self._queue.ip_bytes()

    def __len__(self) -> int:
        return len(self._queue)
