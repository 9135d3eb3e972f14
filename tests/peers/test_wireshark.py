"""Wireshark with dist/wireshark/octopus.lua reads headers as docs/reference/wire/octopus.md has them."""

import json
import os
import re
import struct
import subprocess
import tempfile
import unittest
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DISSECTOR = ROOT / "dist/wireshark/octopus.lua"
PAGE = (ROOT / "docs/reference/wire/octopus.md").read_text()
HEADER_BYTES = 12

#: Name of each field, and its first and last bit; the page has no name for reserved bits.
FIELDS = {
    name or "reserved": (int(first), int(last or first))
    for first, last, name in re.findall(r"(?m)^\| (\d+)(?:-(\d+))? \|(?: (\w+))? \|", PAGE)
}
#: What the page says of each test vector, and its bytes.
VECTORS = {
    says: bytes.fromhex(octets)
    for says, octets in re.findall(r"(?m)^\| (.+) \| `([0-9a-f ]+)` \|$", PAGE)
}
PLAIN = VECTORS["stream 0, message 0, one packet, no marking"]

QUIC_INITIAL = bytes.fromhex("c3 00000001 08 0102030405060708 08 1112131415161718 00 4480")
QUIC_INITIAL += bytes(1200 - len(QUIC_INITIAL))
QUIC_SHORT = bytes.fromhex("41 0102030405060708") + bytes(40)
STUN = bytes.fromhex("0001 0000 2112a442 000102030405060708090a0b")


def values(header: bytes) -> dict[str, int]:
    """The fields of a header by the page's table of bits."""
    bits = int.from_bytes(header, "big")
    width = 8 * HEADER_BYTES
    return {
        name: bits >> (width - 1 - last) & (1 << last - first + 1) - 1
        for name, (first, last) in FIELDS.items()
    }


def changed(header: bytes, **octets: int) -> bytes:
    """The header with bytes in place of others: b1=4 is byte 1."""
    copy = bytearray(header)
    for name, octet in octets.items():
        copy[int(name[1:])] = octet
    return bytes(copy)


def capture(payloads: list[bytes], *, port: int, one_connection: bool, keep: int) -> bytes:
    """A pcap file of UDP in IPv4, of whose packets it keeps so many bytes. Unless all are of one
    connection, each has an address of its own, as Wireshark remembers what it found in others."""
    out = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, keep, 101)
    for number, payload in enumerate(payloads):
        udp = struct.pack("!4H", 4433, port, 8 + len(payload), 0) + payload
        source = struct.pack("!I", 10 << 24 | 1 + (0 if one_connection else number))
        head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0)
        packet = head + source + bytes([192, 0, 2, 1]) + udp
        kept = packet[:keep]
        out += struct.pack("<4I", number, 0, len(kept), len(packet)) + kept
    return out


@dataclass
class Shown:
    """What Wireshark shows of a packet, above UDP."""

    #: The first is what took the packet.
    protocols: list[str]
    #: By their names for filters.
    fields: dict[str, str]
    info: str

    @property
    def ours(self) -> bool:
        return "octopus" in self.protocols

    def octopus(self) -> dict[str, int]:
        """Values of our fields. A flag is 1 or True by the version of Wireshark."""
        flag = {"True": 1, "False": 0}
        names = [n for n in self.fields if re.fullmatch(r"octopus\.\w+", n)]
        names = [n for n in names if not n.endswith("_tree")]
        texts = {n.removeprefix("octopus."): self.fields[n] for n in names}
        return {n: flag[t] if t in flag else int(t, 0) for n, t in texts.items()}

    @property
    def experts(self) -> set[str]:
        """Names of our expert infos."""
        return {n for n in self.fields if re.fullmatch(r"octopus\.\w+\.\w+", n)}


def flat(tree: dict) -> dict[str, str]:
    found = {}
    for name, value in tree.items():
        found |= flat(value) if isinstance(value, dict) else {name: value}
    return found


class Octopus(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def tshark(self, file: Path, *options: str) -> str:
        # Whatever this user's Wireshark is set to, or has installed: not here.
        own = {**os.environ, "HOME": str(self.folder), "WIRESHARK_CONFIG_DIR": str(self.folder)}
        command = ["tshark", "-X", f"lua_script:{DISSECTOR}", "-n", "-r", str(file), *options]
        done = subprocess.run(command, env=own, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("Lua", done.stderr)
        return done.stdout

    def show(self, payloads: list[bytes], *options: str, port: int = 50000,
             one_connection: bool = False, keep: int = 65535) -> list[Shown]:
        file = self.folder / "test.pcap"
        file.write_bytes(capture(payloads, port=port, one_connection=one_connection, keep=keep))
        columns = ["-o", 'gui.column.format:"Info","%i"']
        infos = self.tshark(file, *options, *columns).splitlines()
        shown = []
        for packet in json.loads(self.tshark(file, *options, "-T", "json")):
            layers = packet["_source"]["layers"]
            # The last is what Wireshark adds to every packet that it shows to Lua.
            for other in ("frame", "raw", "ip", "udp", "_ws.lua.fake"):
                layers.pop(other, None)
            shown.append(Shown(list(layers), flat(layers), infos[len(shown)].strip()))
        self.assertEqual([len(shown), len(infos)], [len(payloads)] * 2)
        return shown

    def test_the_tables_of_the_page_were_found(self):
        bits = [bit for first, last in FIELDS.values() for bit in range(first, last + 1)]
        self.assertEqual(bits, list(range(8 * HEADER_BYTES)))
        self.assertEqual({len(v) for v in VECTORS.values()}, {HEADER_BYTES})
        self.assertGreaterEqual(len(VECTORS), 5)

    def test_vectors(self):
        sealed = bytes(range(100, 140))
        shown = self.show([v + sealed for v in VECTORS.values()])
        for (says, header), packet in zip(VECTORS.items(), shown, strict=True):
            with self.subTest(says):
                self.assertEqual(packet.protocols, ["octopus", "data"])
                self.assertEqual(packet.octopus(), {**values(header), "sealed": len(sealed)})
                self.assertEqual(packet.fields["data.data"], sealed.hex(":"))
                self.assertEqual(packet.experts, set())
        self.assertEqual(
            [p.info for p in shown],
            [
                "Stream 0, message 0 (whole), 40 bytes sealed",
                *(
                    f"Stream 1, message 2{part}, priority 3, drops priority 2 and above, "
                    "needs 7500 kbit/s, slack 200 ms, 40 bytes sealed"
                    for part in [" (first)", "", " (last)"]
                ),
                "Stream 65535, message 4294967295 (whole), priority 7, drops priority 7 and above, "
                "needs 1048575 kbit/s, slack 511 ms, 40 bytes sealed",
            ],
        )

    def test_every_bit_is_of_the_right_field(self):
        headers = []
        for bit in range(6, 8 * HEADER_BYTES):
            header = bytearray(PLAIN)
            header[bit // 8] ^= 0x80 >> bit % 8
            headers.append(bytes(header))
        for header, packet in zip(headers, self.show(headers), strict=True):
            with self.subTest(header.hex(" ")):
                self.assertEqual(packet.octopus(), values(header))

    def test_fields_filter(self):
        file = self.folder / "test.pcap"
        payloads = list(VECTORS.values())
        file.write_bytes(capture(payloads, port=50000, one_connection=True, keep=65535))
        for header in set(payloads):
            terms = " && ".join(f"octopus.{name} == {n}" for name, n in values(header).items())
            found = self.tshark(file, "-Y", terms, "-T", "fields", "-e", "frame.number")
            self.assertEqual(found.split(), [str(payloads.index(header) + 1)], header.hex(" "))

    def test_what_is_odd_is_said(self):
        cases = {
            "reserved bit of byte 1": (changed(PLAIN, b1=1), {"octopus.reserved.set"}),
            "reserved bits of byte 2": (changed(PLAIN, b2=0xE0), {"octopus.reserved.set"}),
            "threshold, no dropper": (changed(PLAIN, b1=2 << 2), {"octopus.threshold.unused"}),
            "both": (changed(PLAIN, b1=2 << 2 | 1),
                     {"octopus.reserved.set", "octopus.threshold.unused"}),
            "dropper, no threshold": (changed(PLAIN, b1=2), set()),
        }
        shown = self.show([header for header, _ in cases.values()])
        for (says, (header, experts)), packet in zip(cases.items(), shown, strict=True):
            with self.subTest(says):
                self.assertEqual(packet.experts, experts)
                self.assertEqual(packet.octopus(), values(header))
        self.assertIn("drops priority 1 and above", shown[-1].info)

    def test_of_other_versions_only_the_version_is_shown(self):
        firsts = range(8, 16)
        shown = self.show([changed(PLAIN, b0=first) for first in firsts])
        for first, packet in zip(firsts, shown, strict=True):
            with self.subTest(first):
                self.assertEqual(packet.protocols, ["octopus"])
                self.assertEqual(packet.octopus(), {"version": first >> 2})
                self.assertEqual(packet.experts, {"octopus.version.unknown"})
                self.assertEqual(packet.info, f"Version {first >> 2}, unknown")

    def test_only_first_bytes_from_4_to_15_are_taken(self):
        shown = self.show([changed(PLAIN, b0=first) for first in range(256)])
        self.assertEqual([b for b in range(256) if shown[b].ours], list(range(4, 16)))

    def test_what_is_shorter_than_a_header_is_not_taken(self):
        for options in [[], ["-d", "udp.port==4433,octopus"]]:
            shown = self.show([PLAIN[:n] for n in range(HEADER_BYTES + 1)], *options)
            self.assertEqual([p.ours for p in shown], [False] * HEADER_BYTES + [True])

    def test_other_protocols_keep_their_packets(self):
        for options in [[], ["-d", "udp.port==4433,octopus"]]:
            with self.subTest(options):
                stun, quic = self.show([STUN, QUIC_INITIAL], *options)
                self.assertFalse(stun.ours or quic.ours)
                self.assertEqual([stun.protocols[0], quic.protocols[0]], ["stun", "quic"])

    def test_decode_as_shares_a_connection_with_quic(self):
        sent = [QUIC_INITIAL, PLAIN, QUIC_SHORT, STUN, PLAIN]
        shown = self.show(sent, "-d", "udp.port==4433,octopus", one_connection=True)
        taken = [p.protocols[0] for p in shown]
        self.assertEqual(taken, ["quic", "octopus", "quic", "stun", "octopus"])

    def test_without_its_heuristic_only_decode_as_takes_packets(self):
        off = ["--disable-heuristic", "octopus_udp"]
        self.assertFalse(self.show([PLAIN], *off)[0].ours)
        self.assertTrue(self.show([PLAIN], *off, "-d", "udp.port==4433,octopus")[0].ours)

    def test_decode_as_takes_the_port_of_another_protocol(self):
        # 7 is the echo protocol's.
        self.assertFalse(self.show([PLAIN], port=7)[0].ours)
        self.assertTrue(self.show([PLAIN], "-d", "udp.port==7,octopus", port=7)[0].ours)

    def test_packets_that_the_capture_cut_off(self):
        headers = 20 + 8 + HEADER_BYTES
        for keep, ours, last in [(headers - 1, False, None), (headers, True, "octopus"),
                                 (headers + 4, True, "data")]:
            with self.subTest(keep):
                (packet,) = self.show([PLAIN + bytes(500)], keep=keep)
                self.assertEqual(packet.ours, ours)
                if ours:
                    self.assertEqual(packet.protocols[-1], last)
                    self.assertIn("500 bytes sealed", packet.info)
                    self.assertNotIn("_ws.malformed", packet.fields)


if __name__ == "__main__":
    unittest.main()
