"""Players of `airlane serve` that say long things of themselves, in as many sessions as they like.

Asks for a chunk once per session over HTTP/1.1, with a name of its algorithm (CMCD) of so many bytes.
What the server, a release build, keeps must stay below 60 MiB with 20 000 sessions of 8000 bytes.

    abr.py PID SESSIONS NAME_BYTES [PORT PATH]

PORT is 4433 and PATH, that of a chunk, /film/c1.m4s unless others are named; the admin listener is at the
port behind. Exit code 1 if it takes more.
"""

import json
import socket
import ssl
import sys
import threading
import time
import urllib.request

CONNECTIONS = 8
MAX_MIB = 60


def resident_mib(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) // 1024 for line in status if line.startswith("VmRSS"))


def ask(context, port, requests, answers):
    """Sends all requests at once, and counts answers."""
    plain = socket.create_connection(("127.0.0.1", port))
    stream = context.wrap_socket(plain, server_hostname="localhost")
    stream.settimeout(20)

    def read():
        left = len(requests)
        while left > 0 and (got := stream.recv(65536)):
            left -= got.count(b"HTTP/1.1 20")
        answers.append(len(requests) - left)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    for request in requests:
        stream.sendall(request)
    reader.join(60)
    return stream


def main():
    pid, sessions, name_bytes = (int(argument) for argument in sys.argv[1:4])
    port = int(sys.argv[4]) if len(sys.argv) > 4 else 4433
    path = sys.argv[5] if len(sys.argv) > 5 else "/film/c1.m4s"
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["http/1.1"])
    before, answers, streams, threads = resident_mib(pid), [], [], []
    for connection in range(CONNECTIONS):
        requests = [
            (
                f"GET {path} HTTP/1.1\r\nHost: localhost\r\n"
                f'CMCD-Session: sid="{connection}-{number}-{"s" * 240}"\r\n'
                f'CMCD-Object: com.airlane-abr="{"A" * name_bytes}"\r\n\r\n'
            ).encode()
            for number in range(sessions // CONNECTIONS)
        ]
        work = lambda requests=requests: streams.append(ask(context, port, requests, answers))
        threads.append(threading.Thread(target=work))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    time.sleep(2)
    after = resident_mib(pid)
    listed = urllib.request.urlopen(f"http://127.0.0.1:{port + 1}/airlane/sessions").read()
    count = len(json.loads(listed)["sessions"])
    print(f"{sum(answers)} answers, {count} sessions: {before} -> {after} MiB")
    print(f"the operators' list has {len(listed)} bytes")
    sys.exit(0 if after <= MAX_MIB and count else 1)


main()
