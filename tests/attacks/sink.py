"""A target that takes connections and says nothing; or, with a queue of 0, one that lets nobody in.

    sink.py PORT SECONDS [QUEUE]
"""

import socket
import sys
import time


def main():
    port, end = int(sys.argv[1]), time.time() + float(sys.argv[2])
    queue = int(sys.argv[3]) if len(sys.argv) > 3 else 4096
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(queue)
    listener.settimeout(1)
    held = []
    if queue == 0:
        # They fill the queue, and nothing takes them off it.
        for _ in range(8):
            waits = socket.socket()
            waits.setblocking(False)
            waits.connect_ex(("127.0.0.1", port))
            held.append(waits)
        time.sleep(max(0, end - time.time()))
    while time.time() < end:
        try:
            held.append(listener.accept()[0])
        except OSError:
            pass


main()
