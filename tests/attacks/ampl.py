"""How many bytes a server over QUIC sends to an address that has not shown that it receives there.

One Initial packet each from some ports, and not a word more: what comes back within 18 s, the close
after the handshake's timeout included. It must be three times what was sent at most (RFC 9000, section
8.1).

    ampl.py PORT ALPN [CLIENTS]        ALPN: h3 (serve), airlane-live (send)

With aioquic. Exit code 1 if it is more.
"""

import select
import socket
import ssl
import sys
import time

from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection

MAX_RATIO = 3.0
SECONDS = 18
#: What belongs to no connection: a version that nobody knows, short headers, a byte of the media path.
STRAYS = {
    "an unknown version": b"\xc0\x1a\x2a\x3a\x4a\x08" + b"x" * 8 + b"\x08" + b"y" * 8 + bytes(1183),
    "a short header, 1200 bytes": bytes([0x40]) + b"z" * 1199,
    "a short header, 60 bytes": bytes([0x40]) + b"z" * 59,
    "the media path's byte": bytes([7]) + bytes(99),
}


def initial(server, alpn):
    """The first datagrams of a client."""
    configuration = QuicConfiguration(
        is_client=True, alpn_protocols=[alpn], verify_mode=ssl.CERT_NONE, server_name="localhost"
    )
    connection = QuicConnection(configuration=configuration)
    connection.connect(server, now=time.time())
    return [datagram for datagram, _ in connection.datagrams_to_send(now=time.time())]


def main():
    server = ("127.0.0.1", int(sys.argv[1]))
    alpn, clients = sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 1
    sent, got = {}, {}
    for _ in range(clients):
        client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        client.bind(("127.0.0.1", 0))
        datagrams = initial(server, alpn)
        for datagram in datagrams:
            client.sendto(datagram, server)
        sent[client], got[client] = sum(map(len, datagrams)), 0
    end = time.time() + SECONDS
    while time.time() < end:
        for client in select.select(list(sent), [], [], 0.1)[0]:
            got[client] += len(client.recv(65536))
    worst = max(got[client] / sent[client] for client in sent)
    totals = sum(sent.values()), sum(got.values())
    print(f"{clients} clients sent {totals[0]} bytes and got {totals[1]}: {worst:.2f} times at worst")
    for name, datagram in STRAYS.items():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stray:
            stray.settimeout(0.5)
            stray.sendto(datagram, server)
            try:
                answer = len(stray.recv(65536))
            except OSError:
                answer = 0
        print(f"{name}: {len(datagram)} bytes, and {answer} back")
        worst = max(worst, answer / len(datagram))
    sys.exit(0 if worst <= MAX_RATIO else 1)


main()
