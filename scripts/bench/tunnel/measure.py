"""Measures one scene: each path alone, kernel MPTCP, and the tunnel, in turn."""

import hashlib
import json
import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TypeVar

from network import SERVER, Flapping, Network
from ours import Forward, Tunnel, overs
from programs import Broken, Missing, Running, iperf3, need, ping_times, pings, run
from scenes import Scene

ENDPOINT = Path(__file__).resolve().with_name("endpoint.py")
IPERF, MPTCP, ECHO, FILE = 5201, 5202, 5400, 5500

#: Where noq's multipath serves.
NOQ = 5700

#: The transports between the tunnel's ends, and the local ports of their forwards.
OVERS = {"tcp": 6000, "quic": 6100}

KEYS_S = 10

T = TypeVar("T")


@dataclass
class Keys:
    """Round trips in milliseconds beside a bulk transfer."""

    typed: list[float]
    #: Of each path, what ping saw meanwhile.
    pings: list[list[float]]


@dataclass
class Measured:
    """What a scene gave."""

    #: Goodput in bits per second of "path1", "path2", "mptcp", "noq" (its multipath), "tcp" and "quic"
    #: (the tunnel over these), a value per round.
    goodput: dict[str, list[float]] = field(default_factory=dict)
    #: Of each transport, seconds that the file took.
    file_s: dict[str, float] = field(default_factory=dict)
    keys: dict[str, Keys] = field(default_factory=dict)
    #: What is not installed or not built.
    missing: list[str] = field(default_factory=list)
    #: What failed, by the name of its bar, and why.
    broken: dict[str, str] = field(default_factory=dict)

    def of(self, what: str) -> float | None:
        """The median over the rounds."""
        return median(self.goodput[what]) if self.goodput.get(what) else None


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Programs:
    """What was built."""

    airlane: Path | None
    #: The bench, which holds noq's multipath.
    noq: Path | None


def measure(scene: Scene, programs: Programs, rounds: int, folder: Path,
            file_bytes: int) -> Measured:
    """Measures a scene, keeping files in `folder`."""
    measured = Measured()
    with ExitStack() as stack:
        network = stack.enter_context(Network(scene, programs.airlane))
        tunnels = start_tunnels(network, programs.airlane, folder, stack, measured)
        ways = _ways(network, tunnels, programs.noq, measured)
        names = list(ways)
        for number in range(rounds):
            # Who goes first changes with the round.
            for name in names[number % len(names):] + names[: number % len(names)]:
                rate = _once(name, ways[name], measured)
                if rate is not None:
                    measured.goodput.setdefault(name, []).append(rate)
                    say(f"{scene.name} {number + 1}/{rounds} {name}: {rate / 1e6:.2f} Mbit/s")
        for over in tunnels:
            if scene.keys:
                keys = _once(f"keys_{over}", lambda: _keys(network, OVERS[over]), measured)
                if keys is not None:
                    measured.keys[over] = keys
            took = _once(f"file_{over}",
                         lambda: fetch_file(network, OVERS[over], folder, file_bytes), measured)
            if took is not None:
                measured.file_s[over] = took
                say(f"{scene.name} file over {over}: {file_bytes * 8e-6 / took:.2f} Mbit/s")
    return measured


def _once(what: str, one: Callable[[], T], measured: Measured) -> T | None:
    """One measurement; what breaks does not end the others."""
    try:
        return one()
    except Broken as error:
        say(f"{what}: {error}")
        measured.broken[what] = str(error)
        return None


def start_tunnels(network: Network, airlane: Path | None, folder: Path, stack: ExitStack,
                  measured: Measured) -> list[str]:
    """Starts a tunnel over each transport, on ports of its own; returns those that run."""
    built = overs(airlane) if airlane is not None else []
    absent = [over for over in OVERS if over not in built]
    if absent:
        measured.missing.append(f"no airlane with a tunnel over {', '.join(absent)}")
    running = []
    for i, over in enumerate(built):
        local = OVERS[over]
        targets = [Forward(local + n, f"{SERVER}:{port}") for n, port in enumerate((IPERF, ECHO, FILE))]
        tunnel = Tunnel(airlane, folder, over, SERVER, network.addresses, targets,
                        network.in_server(), network.in_client(), port=7000 + i)
        if _once(over, lambda: stack.enter_context(tunnel), measured) is not None:
            running.append(over)
    return running


def _ways(network: Network, tunnels: list[str], noq: Path | None,
          measured: Measured) -> dict[str, Callable[[], float]]:
    """How each is measured, by name."""
    scene, server, client = network.scene, network.in_server(), network.in_client()
    spans = {"omit_s": scene.omit_s, "span_s": scene.span_s}

    def alone(i: int) -> Callable[[], float]:
        return lambda: iperf3(server, client, SERVER, IPERF, "-B", network.addresses[i],
                              "-C", "cubic", **spans)

    def mptcp() -> float:
        with Flapping(network):
            return iperf3([*server, "mptcpize", "run"], [*client, "mptcpize", "run"], SERVER, MPTCP,
                          "-B", network.addresses[0], "-C", "cubic", **spans)

    def tunnel(over: str) -> Callable[[], float]:
        def one() -> float:
            with Flapping(network):
                return iperf3(server, client, SERVER, IPERF,
                              through=("127.0.0.1", OVERS[over]), **spans)

        return one

    ways: dict[str, Callable[[], float]] = {"path1": alone(0), "path2": alone(1)}
    try:
        need("mptcpize")
        ways["mptcp"] = mptcp
    except Missing as why:
        measured.missing.append(f"kernel MPTCP: {why}")
    if noq is None:
        measured.missing.append("noq's multipath: it is in airlane-bench, which was not given")
    else:
        ways["noq"] = lambda: _noq(network, noq)
    return ways | {over: tunnel(over) for over in tunnels}


def _noq(network: Network, noq: Path) -> float:
    """Goodput of noq's multipath."""
    scene = network.scene
    listen = [*network.in_server(), noq, f"--child-multipath={SERVER}:{NOQ}"]
    with Running(*listen, ready="{") as server, Flapping(network):
        ready = json.loads(server.lines[0])
        wanted = {
            "server": ready["address"], "certificate": ready["certificate"],
            "more": network.addresses[1:], "omit_s": scene.omit_s, "span_s": scene.span_s,
        }
        text = run(*network.in_client(), noq, f"--child-fetch={json.dumps(wanted)}",
                   timeout_s=scene.omit_s + scene.span_s + 30)
    moved = json.loads(text)
    say(f"{scene.name}: noq's paths brought {moved['path_bytes']} bytes")
    return float(moved["bits_per_second"])


def _keys(network: Network, local: int) -> Keys:
    """Keystrokes through the forward of the echo, beside a transfer through that of iperf3."""
    server, client, scene = network.in_server(), network.in_client(), network.scene
    span = scene.omit_s + KEYS_S + 5
    listen = ["iperf3", "-s", "-1", "-B", SERVER, "-p", str(IPERF), "--forceflush"]
    bulk = ["iperf3", "-c", "127.0.0.1", "-p", str(local), "-R", "-t", str(span), "--forceflush"]
    with ExitStack() as stack:
        stack.enter_context(Running(*server, sys.executable, ENDPOINT, "echo", SERVER, str(ECHO),
                                    ready="ready"))
        stack.enter_context(Running(*server, *listen, ready="Server listening"))
        stack.enter_context(Running(*client, *bulk, ready=f"{scene.omit_s + 1:.2f} ",
                                    timeout_s=scene.omit_s + 15))
        seen = [stack.enter_context(pings(client, address, SERVER, KEYS_S))
                for address in network.addresses]
        typed = run(*client, sys.executable, ENDPOINT, "keys", "127.0.0.1", str(local + 1),
                    str(KEYS_S), timeout_s=KEYS_S + 60)
        return Keys(json.loads(typed), [ping_times(p, 5) for p in seen])


def fetch_file(network: Network, local: int, folder: Path, size: int) -> float:
    """Fetches a file of random bytes, and compares its checksum; returns the seconds it took."""
    source, target = folder / "sent", folder / "received"
    _random(source, size)
    target.unlink(missing_ok=True)
    slowest = size * 8 / min(p.rate_bps for p in network.scene.paths)
    with Running(*network.in_server(), sys.executable, ENDPOINT, "give", SERVER, str(FILE), source,
                 ready="ready"), Flapping(network):
        took = run(*network.in_client(), sys.executable, ENDPOINT, "take", "127.0.0.1",
                   str(local + 2), target, str(size), timeout_s=60 + 3 * slowest)
    if _digest(source) != _digest(target):
        raise Broken("the checksum of the file differs")
    target.unlink()
    return float(took)


def _random(file: Path, size: int) -> None:
    if file.exists() and file.stat().st_size == size:
        return
    with open(file, "wb") as out:
        for start in range(0, size, 1 << 20):
            out.write(os.urandom(min(1 << 20, size - start)))


def _digest(file: Path) -> str:
    with open(file, "rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()
