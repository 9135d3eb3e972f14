"""Programs that the measurement starts, and what they print."""

import json
import os
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any


class Missing(Exception):
    """What cannot be measured here, and why."""


class Broken(Exception):
    """A measurement that failed."""


def need(*programs: str) -> None:
    """Names the programs that are not installed."""
    packages = {"mptcpize": "mptcpd", "ip": "iproute2", "tc": "iproute2", "ping": "iputils-ping"}
    absent = [p for p in programs if shutil.which(p) is None]
    if absent:
        install = sorted({packages.get(p, p) for p in absent})
        raise Missing(f"no {', '.join(absent)}: apt-get install {' '.join(install)}")


def run(*command: str | Path, timeout_s: float = 60, check: bool = True) -> str:
    """Runs a command to its end, and returns what it printed."""
    words = [str(w) for w in command]
    name = " ".join(words)[:100]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=timeout_s, check=False)
    except OSError as error:
        raise Broken(f"{words[0]}: {error}") from error
    except subprocess.TimeoutExpired as error:
        raise Broken(f"{name}: not done after {timeout_s:.0f} s") from error
    if check and done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        why = said[-1] if said else f"exit code {done.returncode}"
        raise Broken(f"{name}: {why}")
    return done.stdout


class Running:
    """A program that goes on in the background; leaving the context ends it."""

    def __init__(self, *command: str | Path, ready: str | None = None, timeout_s: float = 10,
                 environment: dict[str, str] | None = None):
        """Starts `command`; with `ready`, waits for a line that begins with it."""
        self.words = [str(w) for w in command]
        self.process = subprocess.Popen(
            self.words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, env={**os.environ, **(environment or {})},
        )
        self.lines: list[str] = []
        self._found = threading.Event()
        self._ready = ready
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        if ready is not None:
            self._wait(timeout_s)

    def _read(self) -> None:
        for line in self.process.stdout:
            self.lines.append(line.rstrip())
            # Of a program that runs for long the end is what matters.
            del self.lines[:-200]
            if self._ready is not None and self._ready in line:
                self._found.set()
        self._found.set()

    def _wait(self, timeout_s: float) -> None:
        # An end of the output sets it too.
        in_time = self._found.wait(timeout_s)
        if not in_time or not any(self._ready in line for line in self.lines):
            self.stop()
            raise Broken(f"{' '.join(self.words)}: {self.last()}")

    def last(self) -> str:
        """The last line that it printed."""
        return self.lines[-1] if self.lines else "it said nothing"

    def finish(self, timeout_s: float) -> list[str]:
        """Waits for its end, and returns its lines."""
        try:
            code = self.process.wait(timeout_s)
        except subprocess.TimeoutExpired as error:
            self.stop()
            raise Broken(f"{' '.join(self.words)}: not done after {timeout_s:.0f} s") from error
        self._reader.join(5)
        if code != 0:
            raise Broken(f"{' '.join(self.words)}: {self.last()}")
        return self.lines

    def cpu_s(self) -> float:
        """Processor time that it has used so far, in user mode and in the kernel."""
        stat = Path(f"/proc/{self.process.pid}/stat").read_text()
        # The name in brackets may hold anything.
        fields = stat.rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        """Ends it: by SIGINT, and if that is not enough, by SIGKILL."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(3)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self._reader.join(5)
        # While the thread reads, closing would wait for it.
        if not self._reader.is_alive():
            self.process.stdout.close()

    def __enter__(self) -> "Running":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def iperf3(server: list[str], client: list[str], address: str, port: int, *options: str,
           omit_s: int, span_s: int, through: tuple[str, int] | None = None) -> float:
    """Bits per second that reach the client, after `omit_s` and over `span_s` seconds.

    `server` and `client` are the words in front of the commands. A client that goes through a
    forward connects to `through`.
    """
    host, at = through or (address, port)
    listen = ["iperf3", "-s", "-1", "-B", address, "-p", str(port), "--forceflush"]
    with Running(*server, *listen, ready="Server listening"):
        words = [
            *client, "iperf3", "-c", host, "-p", str(at), "-R", "-J", "-O", str(omit_s),
            "-t", str(span_s), *options,
        ]
        # It prints an object in any case, and in it what failed.
        text = run(*words, timeout_s=omit_s + span_s + 30, check=False)
    answer: dict[str, Any] = json.loads(text or "{}")
    if "error" in answer or "end" not in answer:
        raise Broken(f"iperf3: {answer.get('error', 'no figures')}")
    return float(answer["end"]["sum_received"]["bits_per_second"])


def pings(inside: list[str], source: str, target: str, span_s: float) -> Running:
    """Begins to ping every 50 ms; `ping_times` reads the answers."""
    count = str(int(span_s / 0.05))
    return Running(*inside, "ping", "-n", "-i", "0.05", "-c", count, "-I", source, target)


def ping_times(ping: Running, timeout_s: float) -> list[float]:
    """The round trips of what was answered, in milliseconds."""
    try:
        ping.process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        ping.stop()
    ping.stop()
    times = (line.split("time=")[1].split()[0] for line in ping.lines if "time=" in line)
    return [float(t) for t in times]


def until(what: str, holds: Any, timeout_s: float = 10) -> None:
    """Waits until `holds()` is true."""
    end = time.monotonic() + timeout_s
    while not holds():
        if time.monotonic() > end:
            raise Broken(f"waited {timeout_s:.0f} s for {what}")
        time.sleep(0.05)
