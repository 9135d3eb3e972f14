"""Two hosts in network namespaces of their own, `home` and `server`, with two links between them."""

import json
import os
import shutil
import subprocess
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Callable

AIRLANE = os.environ["AIRLANE_BIN"]
#: The server's address, on neither link; `home` has a route to it over each.
SERVER = "10.88.0.1"
SERVER_V6 = "fd88::1"
#: What is waited for at most, seconds.
EVENT_TIMEOUT_S = 60


class Missing(Exception):
    """What the namespaces take is not here."""


def run(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def until(event: Callable[[], bool], what: str) -> float:
    """Waits for an event; returns the seconds that it took."""
    start = time.monotonic()
    while not event():
        if time.monotonic() - start > EVENT_TIMEOUT_S:
            raise AssertionError(f"not within {EVENT_TIMEOUT_S} s: {what}")
        time.sleep(0.02)
    return time.monotonic() - start


class Daemon:
    """A program in a namespace, with its output in files."""

    def __init__(self, words: list[str], folder: Path, data: Path):
        self.out, self.err = folder / "out", folder / "err"
        folder.mkdir()
        with open(self.out, "wb") as out, open(self.err, "wb") as err:
            self.process = subprocess.Popen(
                words, stdout=out, stderr=err, stdin=subprocess.DEVNULL,
                env={**os.environ, "XDG_DATA_HOME": str(data)})

    def said(self) -> str:
        return self.out.read_text() + self.err.read_text()

    def ready(self, word: str = "ready") -> None:
        """Waits for its ready line."""
        until(lambda: word in self.said() or self.process.poll() is not None, f"{word} in {self.said()}")
        if self.process.poll() is not None:
            raise AssertionError(f"it ended with {self.process.returncode}: {self.said()}")

    def wait(self) -> int:
        return self.process.wait(EVENT_TIMEOUT_S)

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(EVENT_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Hosts:
    """The namespaces, until the context is left.

    `home` has the devices up1 (10.81.0.1, fd81::1) and up2 (10.82.0.1, without IPv6), `server` their
    other ends dn1 and dn2 (.2), and SERVER and SERVER_V6 on its loopback interface.
    """

    def __init__(self) -> None:
        tag = f"ac{os.getpid() % 100_000}"
        self.home, self.server = f"{tag}h", f"{tag}s"
        self._stack = ExitStack()
        self._count = 0

    def __enter__(self) -> "Hosts":
        if os.geteuid() != 0 or shutil.which("ip") is None:
            raise Missing("network namespaces take root and iproute2")
        self.folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="airlane-hosts-")))
        try:
            self._make()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _make(self) -> None:
        for name in (self.home, self.server):
            run("ip", "netns", "add", name)
            self._stack.callback(run, "ip", "netns", "del", name)
            self.ip(name, "link", "set", "lo", "up")
            etc = Path("/etc/netns") / name
            etc.mkdir(parents=True)
            self._stack.callback(shutil.rmtree, etc)
            self.names(name, {})
        for i in (1, 2):
            run("ip", "link", "add", "name", f"up{i}", "netns", self.home, "type", "veth",
                "peer", "name", f"dn{i}", "netns", self.server)
            self.ip(self.home, "addr", "add", f"10.8{i}.0.1/24", "dev", f"up{i}")
            self.ip(self.server, "addr", "add", f"10.8{i}.0.2/24", "dev", f"dn{i}")
            self.ip(self.home, "link", "set", f"up{i}", "up")
            self.ip(self.server, "link", "set", f"dn{i}", "up")
            self.ip(self.home, "route", "add", SERVER, "via", f"10.8{i}.0.2", "metric", str(i))
        self.ip(self.server, "addr", "add", f"{SERVER}/32", "dev", "lo")
        self.ip(self.home, "-6", "addr", "add", "fd81::1/64", "dev", "up1", "nodad")
        self.ip(self.server, "-6", "addr", "add", "fd81::2/64", "dev", "dn1", "nodad")
        self.ip(self.server, "-6", "addr", "add", f"{SERVER_V6}/128", "dev", "lo", "nodad")
        self.ip(self.home, "-6", "route", "add", SERVER_V6, "via", "fd81::2")

    def ip(self, name: str, *words: str) -> None:
        """`ip` in a namespace."""
        run("ip", "-n", name, *words)

    def mtu(self, bytes_: int) -> None:
        """Sets the MTU of the first link, both ends."""
        self.ip(self.home, "link", "set", "up1", "mtu", str(bytes_))
        self.ip(self.server, "link", "set", "dn1", "mtu", str(bytes_))

    def names(self, name: str, addresses: dict[str, list[str]]) -> None:
        """What a namespace's /etc/hosts says: addresses by name."""
        lines = ["127.0.0.1 localhost", "::1 localhost"]
        lines += [f"{address} {host}" for host, all_ in addresses.items() for address in all_]
        (Path("/etc/netns") / name / "hosts").write_text("\n".join(lines) + "\n")

    def command(self, name: str, *words: str) -> list[str]:
        return ["ip", "netns", "exec", name, *words]

    def start(self, name: str, *words: str) -> Daemon:
        """Starts a program in a namespace; it ends with the context."""
        self._count += 1
        daemon = Daemon(self.command(name, *words), self.folder / str(self._count), self.folder / "data")
        self._stack.callback(daemon.stop)
        return daemon

    def airlane(self, name: str, *words: str) -> Daemon:
        return self.start(name, AIRLANE, *words)

    def curl(self, name: str, url: str, *words: str) -> tuple[int, float]:
        """The status of a download and the seconds that it took; 0 if it did not come whole."""
        done = subprocess.run(
            self.command(name, "curl", "-s", "-m", str(EVENT_TIMEOUT_S), "-o", os.devnull,
                         "-w", "%{http_code} %{time_total}", *words, url),
            capture_output=True, text=True)
        status, took_s = done.stdout.split()
        return int(status) if done.returncode == 0 else 0, float(took_s)

    def status(self, port: int) -> dict:
        """The tunnel's status at `home`."""
        text = run(*self.command(self.home, "curl", "-s", f"http://127.0.0.1:{port}/status"))
        return json.loads(text)
