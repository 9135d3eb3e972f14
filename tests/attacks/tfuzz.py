"""Random and nearly sound frames on lines of the tunnel, by a client that has the key.

The daemon must stay, and write of no panic.

    tfuzz.py KEY PORT SECONDS [SEED]
"""

import os
import random
import ssl
import struct
import sys
import time

from tun import Tunnel, connect, frame, terms

SMALL = [0, 1, 2, 255, 256, 4096, 65535, 65536, 1 << 20, (1 << 31) - 1, 1 << 31, (1 << 32) - 1]
LARGE = SMALL + [1 << 33, (1 << 63) - 1, 1 << 63, (1 << 64) - 1]
STREAMS = 8


def segment():
    length = random.choice([1, 1, 2, 16384, 256])
    window = random.choice(LARGE) if random.random() < 0.3 else random.randrange(4)
    index = random.choice(SMALL) if random.random() < 0.2 else random.randrange(64)
    count = random.choice(SMALL) if random.random() < 0.2 else 64
    return struct.pack(">BQIII", 1, window, index, count, length) + b"x" * length


def acknowledgement():
    numbers = [random.choice(LARGE) if random.random() < 0.3 else 0 for _ in range(3)]
    windows = random.randrange(4)
    out = struct.pack(">BQQQH", 2, *numbers, windows)
    window = 0
    for _ in range(windows):
        window += random.randrange(3)
        runs = random.randrange(3)
        out += struct.pack(">QH", window if random.random() < 0.9 else random.choice(LARGE), runs)
        low = 0
        for _ in range(runs):
            high = low + random.randrange(1, 9)
            out += struct.pack(">II", low, high)
            low = high + 1
        window += 1
    return out


def fbdt():
    """Frames of a stream."""
    kinds = [
        segment,
        acknowledgement,
        lambda: struct.pack(">BQ", 3, random.choice(LARGE)),
        lambda: os.urandom(random.randrange(1, 60)),
    ]
    return b"".join(random.choice(kinds)() for _ in range(random.randrange(1, 3)))


def any_terms():
    sizes = [random.choice(SMALL[3:]), random.choice(SMALL[3:]), random.choice(LARGE[3:])]
    return terms(*sizes, protocol=random.choice([1, 2]))


BODIES = {
    1: fbdt,
    2: fbdt,
    3: lambda: any_terms() + b"\x02",
    4: lambda: terms(256, 65536, 1 << 20),
    5: lambda: bytes([random.randrange(1, 6)]),
    6: lambda: os.urandom(8),
    7: lambda: os.urandom(8),
    8: lambda: struct.pack(">Q", random.choice(LARGE)),
}
KINDS = [1, 1, 1, 2, 2, 2, 3, 4, 5, 6, 7, 8]


def main():
    key, server, end = sys.argv[1], ("127.0.0.1", int(sys.argv[2])), time.time() + float(sys.argv[3])
    random.seed(int(sys.argv[4]) if len(sys.argv) > 4 else 11)
    lines = frames = 0
    while time.time() < end:
        try:
            line = Tunnel(key, server).line(radio=random.randrange(256))
            lines += 1
            for stream in range(STREAMS):
                request = connect("127.0.0.1:9301") if stream % 2 else b"\x02"
                window, memory = random.choice([65536, 1 << 20]), random.choice([1 << 20, 8 << 20])
                size = random.choice([256, 16384, 65536])
                line.open(stream, request, terms(size, window, memory))
            time.sleep(0.02)
            for _ in range(60):
                kind = random.choice(KINDS)
                stream = random.choice([*range(STREAMS), (1 << 32) - 1])
                channel = line.express if random.random() < 0.6 else line.bulk
                channel.sendall(frame(kind, stream, BODIES[kind]()))
                frames += 1
            line.express.close()
            line.bulk.close()
        except (OSError, ssl.SSLError, EOFError, AssertionError):
            # It was hung up on, as it should be.
            pass
    print(f"{lines} lines, {frames} frames")
    sys.exit(0 if lines else 1)


main()
