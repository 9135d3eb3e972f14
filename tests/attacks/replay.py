"""A first packet that somebody on the way has recorded, sent again to `airlane tunnel serve` over TCP.

    AIRLANE=target/debug/airlane replay.py KEY PORT

It starts the serving end itself, and again: who has a recorded packet and no key must hear nothing,
also from a serving end that was started again since. Exit code 1 if it hears something.
"""

import os
import secrets
import socket
import ssl
import subprocess
import sys

from tun import Tunnel


def start(key_file, port):
    """A serving end that is ready."""
    airlane = os.environ.get("AIRLANE", "target/release/airlane")
    listen = f"127.0.0.1:{port}"
    arguments = [airlane, "tunnel", "serve", "--key", key_file, "--listen", listen]
    server = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    server.stdout.readline()
    return server


def stop(server):
    server.terminate()
    server.wait()


def hears(port, knock):
    """Whether a stranger that sends `knock` is answered, and what it learns."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    tls.check_hostname = False
    tls.verify_mode = ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", port), 3) as connection:
        connection.sendall(knock)
        try:
            with tls.wrap_socket(connection, server_hostname="x") as answered:
                return f"TLS, and a certificate of {len(answered.getpeercert(True))} bytes"
        except OSError:
            return None


def main():
    key_file, port = sys.argv[1], int(sys.argv[2])
    knock = Tunnel(key_file, ("127.0.0.1", port)).knock(secrets.token_bytes(16), 0)
    server = start(key_file, port)
    heard = {"first": hears(port, knock), "again": hears(port, knock)}
    stop(server)
    server = start(key_file, port)
    heard["after a restart"] = hears(port, knock)
    stop(server)
    for when, what in heard.items():
        print(f"{when}: {what or 'nothing'}")
    is_right = heard["first"] and not heard["again"] and not heard["after a restart"]
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
