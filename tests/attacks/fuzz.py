"""Random datagrams, handshakes with broken transport parameters, and nonsense over TCP.

Nothing may break in any of three daemons: afterwards each must still answer, and none may have said that
the fault is its own.

    fuzz.py SECONDS        `serve` at port 4433, `send` at 4435, `tunnel serve` at 4600

With aioquic. Repeatable: the generator has a seed.
"""

import random
import socket
import ssl
import sys
import time

from aioquic.quic import connection as quic
from aioquic.quic.configuration import QuicConfiguration

SERVERS = {4433: "h3", 4435: "airlane-live", 4600: "airlane-tunnel/2"}
VERSIONS = [b"\0\0\0\1", b"\0\0\0\0", b"\x6b\x33\x43\xcf"]
#: Long and short headers, and the first bytes of the media path.
FIRST_BYTES = [0xC0, 0xC3, 0xD0, 0xE0, 0xF0, 0x40, 0x7F, 4, 5, 6, 7, 15, 0x80]

chance = random.Random(7)
well_formed = quic.QuicConnection._serialize_transport_parameters


def broken_parameters(connection):
    """Transport parameters, changed in one of several ways."""
    good = well_formed(connection)
    way = chance.randrange(6)
    if way == 0:
        return chance.randbytes(chance.randrange(80))
    if way == 1:
        changed = bytearray(good)
        for _ in range(chance.randrange(1, 6)):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        return bytes(changed)
    if way == 2:
        return good[: chance.randrange(len(good))]
    if way == 3:
        head = bytes([chance.randrange(0x40), chance.randrange(5)])
        return good + head + chance.randbytes(chance.randrange(4))
    if way == 4:
        parameters = b""
        for _ in range(12):
            length = chance.choice([0, 1, 2, 4, 8])
            parameters += bytes([chance.randrange(0x21), length]) + chance.randbytes(length)
        return parameters
    return good + b"\x40" * chance.randrange(1, 5)


def random_datagram():
    datagram = bytearray(chance.randbytes(chance.choice([1, 5, 20, 21, 60, 1200, 1400])))
    if chance.random() < 0.8:
        datagram[0] = chance.choice(FIRST_BYTES)
    if len(datagram) > 5 and chance.random() < 0.7:
        datagram[1:5] = chance.choice(VERSIONS)
    return bytes(datagram)


def handshake(udp, port, alpn):
    configuration = QuicConfiguration(
        is_client=True,
        alpn_protocols=[chance.choice([alpn, "x"])],
        verify_mode=ssl.CERT_NONE,
        server_name=chance.choice(["localhost", "x" * 200, "a.b"]),
    )
    connection = quic.QuicConnection(configuration=configuration)
    connection.connect(("127.0.0.1", port), now=time.time())
    datagrams = connection.datagrams_to_send(now=time.time())
    for datagram, _ in datagrams:
        udp.sendto(datagram, ("127.0.0.1", port))
    return len(datagrams)


def nonsense_over_tcp(port):
    words = [
        chance.randbytes(chance.randrange(1, 300)),
        b"\x16\x03\x01" + chance.randbytes(80),
        b"GET / HTTP/1.1\r\nHost: \xff\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + chance.randbytes(50),
    ]
    try:
        with socket.create_connection(("127.0.0.1", port), 0.2) as stream:
            stream.sendall(chance.choice(words))
    except OSError:
        pass


def main():
    quic.QuicConnection._serialize_transport_parameters = broken_parameters
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", 0))
    datagrams = handshakes = 0
    end = time.time() + float(sys.argv[1])
    while time.time() < end:
        for port, alpn in SERVERS.items():
            for _ in range(20):
                udp.sendto(random_datagram(), ("127.0.0.1", port))
            datagrams += 20
            try:
                handshakes += handshake(udp, port, alpn)
            except ValueError:
                # aioquic itself refuses some of its broken parameters.
                pass
            nonsense_over_tcp(port)
        time.sleep(0.002)
    print(f"{datagrams} random datagrams, {handshakes} handshakes with broken transport parameters")


main()
