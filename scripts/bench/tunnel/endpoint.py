#!/usr/bin/env python3
"""Ends of connections, each to be run in a namespace.

    endpoint.py echo ADDRESS PORT               sends back what comes
    endpoint.py keys ADDRESS PORT SECONDS       a byte every 50 ms; prints the round trips in ms
    endpoint.py give ADDRESS PORT FILE          sends the file to who connects
    endpoint.py take ADDRESS PORT FILE BYTES    fetches it; prints the seconds it took
    endpoint.py pour ADDRESS PORT BYTES         sends so many zeros to who connects
    endpoint.py drain ADDRESS PORT BYTES        reads them and keeps nothing; prints the seconds

Servers print `ready` when they listen. `take` and `drain` fail on any other number of bytes.
"""

import json
import socket
import sys
import threading
import time
from collections.abc import Callable

BLOCK = 1 << 18
EVERY_S = 0.05
PATIENCE_S = 120


def serve(address: str, port: int, one: Callable[[socket.socket], None]) -> None:
    """Serves each connection on a thread of its own."""

    def guarded(stream: socket.socket) -> None:
        with stream:
            try:
                one(stream)
            except OSError as error:
                print(f"a client left: {error}", flush=True)

    with socket.create_server((address, port), backlog=64) as listener:
        print("ready", flush=True)
        while True:
            stream, _ = listener.accept()
            threading.Thread(target=guarded, args=(stream,), daemon=True).start()


def echo(stream: socket.socket) -> None:
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while data := stream.recv(BLOCK):
        stream.sendall(data)


def keys(address: str, port: int, seconds: float) -> list[float]:
    times = []
    with socket.create_connection((address, port), timeout=PATIENCE_S) as stream:
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        start = time.perf_counter()
        for i in range(int(seconds / EVERY_S)):
            time.sleep(max(0.0, start + i * EVERY_S - time.perf_counter()))
            pressed = time.perf_counter()
            stream.sendall(b"k")
            if stream.recv(1) != b"k":
                sys.exit("the echo differs")
            times.append((time.perf_counter() - pressed) * 1e3)
    return times


def give(file: str) -> Callable[[socket.socket], None]:
    def one(stream: socket.socket) -> None:
        with open(file, "rb") as source:
            stream.sendfile(source)

    return one


def pour(size: int) -> Callable[[socket.socket], None]:
    def one(stream: socket.socket) -> None:
        left, block = size, bytes(BLOCK)
        while left > 0:
            left -= stream.send(block[:left])

    return one


def fetch(address: str, port: int, size: int, keep: Callable[[memoryview], object]) -> float:
    """Reads until the end; returns the seconds from the request to the last byte."""
    block = memoryview(bytearray(BLOCK))
    got, start = 0, time.perf_counter()
    with socket.create_connection((address, port), timeout=PATIENCE_S) as stream:
        while count := stream.recv_into(block):
            keep(block[:count])
            got += count
    seconds = time.perf_counter() - start
    if got != size:
        sys.exit(f"{got} bytes came of {size}")
    return seconds


def main() -> None:
    match sys.argv[1:]:
        case ["echo", address, port]:
            serve(address, int(port), echo)
        case ["keys", address, port, seconds]:
            print(json.dumps(keys(address, int(port), float(seconds))))
        case ["give", address, port, file]:
            serve(address, int(port), give(file))
        case ["take", address, port, file, size]:
            with open(file, "wb") as target:
                print(fetch(address, int(port), int(size), target.write))
        case ["pour", address, port, size]:
            serve(address, int(port), pour(int(size)))
        case ["drain", address, port, size]:
            print(fetch(address, int(port), int(size), lambda block: None))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(0)
