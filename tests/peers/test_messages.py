"""The vectors of the media path, opened by another implementation of its seal: `docs/reference/wire/messages.md`."""

import hashlib
import hmac
import re
import unittest
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "wire" / "messages.md"
CLEAR = 20


def vectors() -> dict[str, bytes]:
    """The packets of the page by name."""
    rows = re.findall(r"^\| ([^|]+) \| `([0-9a-f ]+)` \|$", PAGE.read_text(), re.MULTILINE)
    return {name: bytes.fromhex(packet) for name, packet in rows}


def expand(secret: bytes, label: str, length: int) -> bytes:
    """HKDF-Expand with SHA-256 (RFC 5869, section 2.3), of at most one block."""
    return hmac.new(secret, label.encode() + b"\x01", hashlib.sha256).digest()[:length]


def opened(secret: bytes, packet: bytes) -> bytes:
    """The frame of a packet."""
    key = expand(secret, "airlane messages key", 16)
    iv = expand(secret, "airlane messages iv", 12)
    number = int.from_bytes(packet[16:20], "big") & 0x7FFFFFFF
    nonce = iv[:4] + (int.from_bytes(iv[4:], "big") ^ number).to_bytes(8, "big")
    return AESGCM(key).decrypt(nonce, packet[CLEAR:], packet[:CLEAR])


class Vectors(unittest.TestCase):
    """The page's packets are sealed as the page says."""

    def test_frames_are_those_under_the_null_cipher(self):
        packets = vectors()
        for name, secret in [("message 0", b"\x01" * 32), ("its acknowledgement", b"\x02" * 32)]:
            sealed, null = packets[f"{name}, sealed"], packets[f"{name}, null"]
            self.assertEqual(sealed[:CLEAR], null[:CLEAR])
            self.assertEqual(opened(secret, sealed), null[CLEAR:-16])

    def test_the_header_is_authenticated(self):
        packet = bytearray(vectors()["message 0, sealed"])
        packet[1] ^= 0x20
        with self.assertRaises(InvalidTag):
            opened(b"\x01" * 32, bytes(packet))
