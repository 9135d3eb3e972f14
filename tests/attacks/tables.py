"""Windows that are begun and not filled: a byte in each of 1023 windows of 4096 segments, of each stream.

Their tables must not take more than docs/reference/wire/tunnel.md promises of a stream: its memory each way, a
quarter of it, and half a MiB. That the stream is reset is what is right.

    tables.py KEY PORT PID STREAMS TARGET

Exit code 1 if they take more.
"""

import struct
import sys
import time

from tun import ACCEPT, LANE, RESET, Tunnel, connect, frame, resident_mib, terms

MEMORY_MIB = 32
LINE_MIB = 4
FRAME_BYTES = 200_000


def main():
    key, port, pid, streams, target = sys.argv[1:6]
    streams = int(streams)
    line = Tunnel(key, ("127.0.0.1", int(port))).line()
    before = resident_mib(pid)
    for stream in range(streams):
        line.open(stream, connect(target), terms(256, 1 << 20, MEMORY_MIB << 20))
    accepted, answered = {}, 0
    for kind, stream, body in line.frames():
        if kind == ACCEPT:
            accepted[stream] = struct.unpack(">BIIQ", body)
        answered += kind in (ACCEPT, RESET)
        if answered == streams:
            break
    sent = 0
    for stream, (_, segment, window, _) in sorted(accepted.items()):
        count = window // segment
        segments = b"".join(
            struct.pack(">BQIII", 1, number, count - 1, count, 1) + b"x" for number in range(1, 1024)
        )
        for at in range(0, len(segments), FRAME_BYTES // 22 * 22):
            whole = frame(LANE, stream, segments[at : at + FRAME_BYTES // 22 * 22])
            line.express.sendall(whole)
            sent += len(whole)
    time.sleep(2)
    after = resident_mib(pid)
    most = LINE_MIB + streams * (MEMORY_MIB / 4 + 0.5)
    print(
        f"{len(accepted)} streams, {sent} bytes sent: {before:.0f} -> {after:.0f} MiB; "
        f"{most:.0f} MiB more are promised at the outside"
    )
    sys.exit(0 if accepted and after - before <= most else 1)


main()
