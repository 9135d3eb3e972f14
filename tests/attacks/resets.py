"""Opens of streams that are refused, whose answers nobody reads: memory must stay flat.

    resets.py KEY PORT PID MB

That the line is closed is what is right. Exit code 1 if more than 8 MiB are taken.
"""

import sys
import time

from tun import OPEN, Tunnel, frame, resident_mib, terms

MAX_MIB = 8
SECONDS = 60


def main():
    key, port, pid, megabytes = sys.argv[1:5]
    line = Tunnel(key, ("127.0.0.1", int(port))).line(receive_buffer=4096)
    before = resident_mib(pid)
    # A protocol that no stream has: refused at once.
    opens = frame(OPEN, 5, terms(protocol=2) + b"\x02") * 2000
    line.express.settimeout(10)
    sent, end = 0, time.time() + SECONDS
    try:
        while sent < float(megabytes) * 1e6 and time.time() < end:
            line.express.sendall(opens)
            sent += len(opens)
    except OSError as e:
        print("the line ended:", e)
    time.sleep(1)
    after = resident_mib(pid)
    print(f"{sent} bytes sent, nothing read: {before:.0f} -> {after:.0f} MiB")
    sys.exit(0 if after - before <= MAX_MIB else 1)


main()
