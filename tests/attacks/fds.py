"""Streams to a target that does not answer, each given up at once: none may keep a descriptor.

    fds.py KEY PORT PID STREAMS TARGET [LIMIT]

TARGET is a socket whose queue is full (`sink.py PORT SECONDS 0`), allowed by the daemon's rules; LIMIT
its `ulimit -n`, 1024 if not given. Exit code 1 if an honest client waits for a second, or three quarters
of the descriptors are taken.
"""

import os
import sys
import time

from tun import OPEN, RESET, Tunnel, connect, descriptors, frame, terms

#: A busy machine may be given longer.
MAX_SECONDS = float(os.environ.get("AIRLANE_ATTACK_MAX_S", "1"))
HANDSHAKES = 5


def main():
    key, port, pid, streams, target = sys.argv[1:6]
    limit = int(sys.argv[6]) if len(sys.argv) > 6 else 1024
    server = ("127.0.0.1", int(port))
    line = Tunnel(key, server).line()
    before, most, began, sent = descriptors(pid), 0, time.time(), 0
    for stream in range(int(streams)):
        opened = frame(OPEN, stream, terms(16384, 1 << 18, 1 << 20) + connect(target))
        whole = opened + frame(RESET, stream, b"\x01")
        line.express.sendall(whole)
        sent += len(whole)
        if stream % 100 == 99:
            most = max(most, descriptors(pid))
    time.sleep(0.5)
    most = max(most, descriptors(pid))
    print(
        f"{streams} streams opened and reset in {time.time() - began:.1f} s with {sent} bytes: "
        f"descriptors {before} -> {most} at most, {descriptors(pid)} now"
    )
    good = 0
    for _ in range(HANDSHAKES):
        began = time.time()
        try:
            honest = Tunnel(key, server).connection(os.urandom(16), 0, timeout=2)
        except OSError as e:
            print("an honest client:", e)
            continue
        good += time.time() - began <= MAX_SECONDS
        honest.close()
    print(f"{good} of {HANDSHAKES} handshakes of an honest client within {MAX_SECONDS} s")
    sys.exit(0 if good == HANDSHAKES and most < limit * 3 / 4 else 1)


main()
