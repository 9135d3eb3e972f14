"""Strangers who connect to `airlane send` and say nothing, and keep their connections alive.

While they do, new viewers must get in within a second, from whatever address.

    idle.py PORT CONNECTIONS SECONDS [ALPN]

With aioquic. Exit code 1 if one does not.
"""

import os
import select
import socket
import ssl
import sys
import time

from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import ConnectionTerminated, HandshakeCompleted

#: A busy machine may be given longer.
MAX_SECONDS = float(os.environ.get("AIRLANE_ATTACK_MAX_S", "1"))


class Stranger:
    """One connection."""

    def __init__(self, server, alpn, address="127.0.0.1"):
        self.server, self.sent = server, 0
        self.connected, self.ended = False, None
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((address, 0))
        self.socket.setblocking(False)
        configuration = QuicConfiguration(
            is_client=True, alpn_protocols=[alpn], verify_mode=ssl.CERT_NONE, idle_timeout=30
        )
        self.quic = QuicConnection(configuration=configuration)
        self.quic.connect(server, now=time.time())
        self.flush()

    def flush(self):
        for datagram, _ in self.quic.datagrams_to_send(now=time.time()):
            self.sent += self.socket.sendto(datagram, self.server)

    def pump(self, seconds, until=lambda: False):
        """Goes on for so long, or until something is so."""
        end = time.time() + seconds
        while time.time() < end and not self.ended and not until():
            timer = self.quic.get_timer() or end
            wait = min(end, timer) - time.time()
            if select.select([self.socket], [], [], min(max(wait, 0), 0.02))[0]:
                datagram, address = self.socket.recvfrom(65536)
                self.quic.receive_datagram(datagram, address, now=time.time())
            if time.time() >= timer:
                self.quic.handle_timer(now=time.time())
            while event := self.quic.next_event():
                self.connected |= isinstance(event, HandshakeCompleted)
                self.ended = event if isinstance(event, ConnectionTerminated) else self.ended
            self.flush()

    def connect(self):
        """Seconds that it takes to get in; None if it does not."""
        began = time.time()
        self.pump(5, lambda: self.connected or self.ended)
        self.pump(0.1)
        return time.time() - began if self.connected and not self.ended else None


def main():
    server = ("127.0.0.1", int(sys.argv[1]))
    connections, seconds = int(sys.argv[2]), float(sys.argv[3])
    alpn = sys.argv[4] if len(sys.argv) > 4 else "airlane-live"
    strangers = [Stranger(server, alpn) for _ in range(connections)]
    for stranger in strangers:
        stranger.connect()
    took = []
    end, ping = time.time() + seconds, 0.0
    while time.time() < end:
        for stranger in strangers:
            stranger.pump(0.005)
            if time.time() > ping and not stranger.ended:
                stranger.quic.send_ping(9)
                stranger.flush()
        if time.time() > ping:
            ping = time.time() + 1
            for address in ("127.0.0.1", "127.0.0.9"):
                took.append(Stranger(server, alpn, address).connect())
    alive = sum(not stranger.ended for stranger in strangers)
    print(f"of {connections} silent connections {alive} are left; others got in after {took} s")
    sys.exit(0 if took and all(t is not None and t <= MAX_SECONDS for t in took) else 1)


main()
