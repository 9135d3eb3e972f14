"""A client of `airlane tunnel serve` that has the key and does what it likes: a module of the attacks.

Over TCP, in the shared form of the key (docs/reference/wire/tunnel.md). With cryptography.
"""

import hashlib
import hmac
import os
import socket
import ssl
import struct
import tempfile
import time
from pathlib import Path

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

LANE, CONTROL, OPEN, ACCEPT, RESET = 1, 2, 3, 4, 5
UNLIMITED = 2**64 - 1


def _derive(key, purpose):
    return HKDF(hashes.SHA256(), 32, b"airlane tunnel 1", purpose.encode()).derive(key)


def _der(tag, body):
    """A value in DER: its tag, its length, and `body`."""
    n = len(body)
    length = bytes([n]) if n < 128 else bytes([0x81, n]) if n < 256 else bytes([0x82, n >> 8, n & 255])
    return bytes([tag]) + length + body


def _certificate(secret):
    """The self-signed certificate of a key, byte for byte as the daemons make it, and the key."""
    key = Ed25519PrivateKey.from_private_bytes(secret)
    public = key.public_key().public_bytes(
        serialization.Encoding.Raw, serialization.PublicFormat.Raw
    )
    serial = bytearray(hashlib.sha256(public).digest()[:20])
    serial[0] &= 0x7F
    serial = bytes(serial).lstrip(b"\0")
    if serial[0] & 0x80:
        serial = b"\0" + serial
    algorithm = _der(0x30, bytes.fromhex("06032b6570"))
    common_name = bytes.fromhex("0603550403") + _der(0x0C, b"airlane")
    name = _der(0x30, _der(0x31, _der(0x30, common_name)))
    validity = _der(0x30, _der(0x17, b"200101000000Z") + _der(0x18, b"40960101000000Z"))
    public_key = _der(0x30, algorithm + _der(0x03, b"\0" + public))
    names = _der(0x04, _der(0x30, _der(0x82, b"tunnel.airlane")))
    extensions = _der(0x30, _der(0x30, bytes.fromhex("0603551d11") + names))
    signed = _der(
        0x30,
        _der(0xA0, _der(2, b"\x02"))
        + _der(2, serial)
        + algorithm
        + name
        + validity
        + name
        + public_key
        + _der(0xA3, extensions),
    )
    return _der(0x30, signed + algorithm + _der(0x03, b"\0" + key.sign(signed))), key


class Tunnel:
    """What a client knows: the key in `key_file`, and the server's address."""

    def __init__(self, key_file, server):
        self.key = bytes.fromhex(Path(key_file).read_text().strip().split(" ")[1])
        self.server = server
        certificate, key = _certificate(_derive(self.key, "client identity"))
        private = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.tls.check_hostname = False
        self.tls.verify_mode = ssl.CERT_NONE
        self.tls.minimum_version = ssl.TLSVersion.TLSv1_3
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as chain:
            chain.write(ssl.DER_cert_to_PEM_cert(certificate) + private.decode())
            chain.flush()
            self.tls.load_cert_chain(chain.name)

    def knock(self, nonce, channel, time_ms=None):
        """The first packet of a connection."""
        time_ms = int(time.time() * 1000) if time_ms is None else time_ms
        said = nonce + bytes([channel]) + struct.pack(">Q", time_ms)
        return said + hmac.new(_derive(self.key, "knock"), said, hashlib.sha256).digest()

    def connection(self, nonce, channel, receive_buffer=None, timeout=20):
        """One of a line's two connections, in TLS."""
        plain = socket.socket()
        if receive_buffer:
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        plain.settimeout(timeout)
        plain.connect(self.server)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        plain.sendall(self.knock(nonce, channel))
        return self.tls.wrap_socket(plain, server_hostname="tunnel.airlane")

    def line(self, trunk=None, radio=0, receive_buffer=None):
        """A line of a trunk, a new one if none is named."""
        nonce = os.urandom(16)
        express = self.connection(nonce, 0, receive_buffer)
        bulk = self.connection(nonce, 1, receive_buffer)
        trunk = trunk or os.urandom(16)
        hello = b"ALTK\x02" + trunk + bytes([radio, 0]) + struct.pack(">IQQ", 0, 0, UNLIMITED)
        express.sendall(hello)
        welcome = b""
        while len(welcome) < 13:
            piece = express.recv(13 - len(welcome))
            if not piece:
                raise EOFError("no welcome")
            welcome += piece
        assert welcome[:5] == b"ALTK\x02", welcome
        return Line(express, bulk)


class Line:
    """Both channels of a line."""

    def __init__(self, express, bulk):
        self.express, self.bulk = express, bulk
        self.buffer = b""

    def open(self, stream, request, stream_terms):
        self.express.sendall(frame(OPEN, stream, stream_terms + request))

    def frames(self, timeout=5):
        """Frames on the express channel: type, stream and body of each."""
        self.express.settimeout(timeout)
        while True:
            while len(self.buffer) >= 8:
                length = int.from_bytes(self.buffer[1:4], "big")
                if len(self.buffer) < 8 + length:
                    break
                kind, stream = self.buffer[0], int.from_bytes(self.buffer[4:8], "big")
                body = self.buffer[8 : 8 + length]
                self.buffer = self.buffer[8 + length :]
                yield kind, stream, body
            piece = self.express.recv(65536)
            if not piece:
                return
            self.buffer += piece


def frame(kind, stream, body):
    return bytes([kind]) + len(body).to_bytes(3, "big") + struct.pack(">I", stream) + body


def terms(segment_bytes=16 << 10, window_bytes=1 << 20, memory_bytes=8 << 20, protocol=1):
    return struct.pack(">BIIQ", protocol, segment_bytes, window_bytes, memory_bytes)


def connect(target):
    """The request for a TCP connection to `HOST:PORT`."""
    host, port = target.rsplit(":", 1)
    return b"\x01" + struct.pack(">H", int(port)) + host.encode()


def resident_mib(pid):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise ValueError(f"{pid} has no memory")


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))
