"""A stranger who connects again and again, from one address or several, and says nothing.

Run a client (`airlane tunnel connect --transport tcp`) from the first of these addresses meanwhile: its line
must be up within two seconds.

    halfopen2.py PORT SECONDS ADDRESS[,ADDRESS...] CONNECTIONS_PER_SECOND
"""

import select
import socket
import sys
import time

CLOSED = select.EPOLLHUP | select.EPOLLRDHUP | select.EPOLLERR


def main():
    server, seconds = ("127.0.0.1", int(sys.argv[1])), float(sys.argv[2])
    addresses, rate = sys.argv[3].split(","), float(sys.argv[4])
    began = time.time()
    made, held, epoll = 0, {}, select.epoll()
    while (now := time.time()) < began + seconds:
        for _ in range(50):
            if made >= (now - began) * rate:
                break
            stranger = socket.socket()
            stranger.setblocking(False)
            stranger.bind((addresses[made % len(addresses)], 0))
            made += 1
            try:
                stranger.connect(server)
            except BlockingIOError:
                pass
            except OSError:
                stranger.close()
                continue
            held[stranger.fileno()] = stranger
            epoll.register(stranger, CLOSED)
        for descriptor, _ in epoll.poll(0.001):
            if closed := held.pop(descriptor, None):
                epoll.unregister(descriptor)
                closed.close()
    print(f"a stranger made {made / seconds:.0f} connections a second, {len(held)} are left")


main()
