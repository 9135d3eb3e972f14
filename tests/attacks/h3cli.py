#!/usr/bin/env python3
"""A hostile viewer of `airlane serve --cupid`: downloads over HTTP/3 and reports what it likes of the air.

    h3cli.py PORT PATH SECONDS MODE [KBPS]

Downloads https://127.0.0.1:PORT/PATH for SECONDS and prints one line of JSON: bytes and Mbit/s received.
Run one with MODE `plain` (the victim, which reports nothing) beside one or two of the others, all through
`airlane link udp` with 20 Mbit/s; the victim must keep 0.8 of its share (docs/design/cupid.md).

MODE    reports (docs/reference/wire/cupid.md), each 4 ms, of KBPS (1 000 000 unless given)
plain   none
lie     the air is full, and KBPS is this station's part of it
room    the air has room, and KBPS is granted
cycle   as `lie` for 250 ms of every 400, then silence

Needs aioquic (`pip install aioquic`).
"""

import json
import select
import socket
import ssl
import struct
import sys
import time

from aioquic.h3.connection import H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic import events
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection

REPORT_INTERVAL_S = 0.004
CYCLE_S, CYCLE_REPORTS_S = 0.400, 0.250
CONNECT_TIMEOUT_S = 5.0


def report(sequence, kbps, has_room):
    """A report of version 1: ten bytes."""
    full, stations, interval_ms, sure = (0 if has_room else 255), 3, 4, 255
    head = bytes([0x10 | int(has_room)]) + struct.pack(">H", sequence & 0xFFFF)
    return head + kbps.to_bytes(3, "big") + bytes([full, stations, interval_ms, sure])


def reports_now(mode, since_start):
    """Whether this mode reports at a time."""
    if mode == "cycle":
        return since_start % CYCLE_S < CYCLE_REPORTS_S
    return mode in ("lie", "room")


class Viewer:
    """One HTTP/3 connection over a socket of its own."""

    def __init__(self, port):
        configuration = QuicConfiguration(
            is_client=True,
            alpn_protocols=["h3"],
            verify_mode=ssl.CERT_NONE,
            server_name="localhost",
            max_datagram_frame_size=65536,
            max_data=64 << 20,
            max_stream_data=64 << 20,
        )
        self.server = ("127.0.0.1", port)
        self.quic = QuicConnection(configuration=configuration)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.setblocking(False)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        self.http, self.status, self.body = None, "", 0
        self.quic.connect(self.server, now=time.time())
        self.flush()

    def flush(self):
        for datagram, _ in self.quic.datagrams_to_send(now=time.time()):
            try:
                self.socket.sendto(datagram, self.server)
            except BlockingIOError:
                pass

    def turn(self):
        """Takes what came, for 5 ms at most."""
        now, timer = time.time(), self.quic.get_timer()
        wait = max(0.0, min(0.005, (timer or now + 1) - now))
        if select.select([self.socket], [], [], wait)[0]:
            for _ in range(64):
                try:
                    datagram, address = self.socket.recvfrom(65536)
                except BlockingIOError:
                    break
                self.quic.receive_datagram(datagram, address, now=time.time())
        now = time.time()
        if timer and now >= timer:
            self.quic.handle_timer(now=now)

    def take_events(self, path):
        """Asks for the path once the handshake is over; whether it was over just now."""
        has_begun = False
        while event := self.quic.next_event():
            if isinstance(event, events.HandshakeCompleted):
                self.http, has_begun = H3Connection(self.quic), True
                stream = self.quic.get_next_available_stream_id()
                head = [
                    (b":method", b"GET"),
                    (b":scheme", b"https"),
                    (b":authority", b"localhost"),
                    (b":path", path.encode()),
                ]
                self.http.send_headers(stream, head, end_stream=True)
            if isinstance(event, events.ConnectionTerminated):
                raise ConnectionError(f"closed: {event.error_code} {event.reason_phrase}")
            for part in self.http.handle_event(event) if self.http else ():
                if isinstance(part, HeadersReceived):
                    self.status = dict(part.headers)[b":status"].decode()
                if isinstance(part, DataReceived):
                    self.body += len(part.data)
        return has_begun


def run(port, path, seconds, mode, kbps=1_000_000):
    """Downloads for so long; what came."""
    viewer = Viewer(port)
    start, end = None, time.time() + CONNECT_TIMEOUT_S
    sequence, next_report = 0, 0.0
    try:
        while time.time() < end:
            viewer.turn()
            now = time.time()
            if viewer.take_events(path):
                start, end = now, now + seconds
            if start and now >= next_report:
                if reports_now(mode, now - start):
                    viewer.quic.send_datagram_frame(report(sequence, kbps, mode == "room"))
                    sequence += 1
                next_report = now + REPORT_INTERVAL_S
            viewer.flush()
    except ConnectionError as error:
        print(error, file=sys.stderr)
    viewer.quic.close()
    viewer.flush()
    mbps = round(viewer.body * 8 / seconds / 1e6, 2)
    return {"mode": mode, "status": viewer.status, "body": viewer.body, "mbit": mbps}


if __name__ == "__main__":
    if len(sys.argv) not in (5, 6) or sys.argv[4] not in ("plain", "cycle", "room", "lie"):
        sys.exit(__doc__)
    limit = [int(sys.argv[5])] if len(sys.argv) == 6 else []
    print(json.dumps(run(int(sys.argv[1]), sys.argv[2], float(sys.argv[3]), sys.argv[4], *limit)))
