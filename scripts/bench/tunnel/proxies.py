"""Throughput and processor time per byte over loopback, beside a chain of two socat."""

import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

from measure import ENDPOINT, say
from ours import Forward, Tunnel, overs
from programs import Broken, Missing, Running, need, run, until
from rows import REPORTED, figure

SERVER, PATHS = "127.0.0.1", ["127.0.0.1", "127.0.0.2"]
SOURCE, FORWARD, FIRST, SECOND, LISTEN = 47100, 47200, 47300, 47301, 47400

#: Bytes of a transfer.
SIZE = 2 << 30

#: What is asked of two paths over loopback, in Gbit/s.
ASKED = {"tcp": 2.0, "quic": 0.5}

#: What socat reads at a time; its own default, 8 KiB, costs it twice as much.
SOCAT_BLOCK = 1 << 16


class Cost:
    """What moving SIZE bytes took."""

    def __init__(self, seconds: float, cpu_s: float):
        self.gbps = SIZE * 8e-9 / seconds
        self.cpu_per_gb = cpu_s / (SIZE / 1e9)


def measure(airlane: Path | None, folder: Path, rounds: int) -> list[dict[str, Any]]:
    """The figures of loopback."""
    built = overs(airlane) if airlane is not None else []
    if not built:
        raise Missing("no airlane with a tunnel")
    need("socat")
    costs: dict[str, list[Cost]] = {}
    with ExitStack() as stack:
        python = [sys.executable, ENDPOINT]
        stack.enter_context(Running(*python, "pour", SERVER, str(SOURCE), str(SIZE), ready="ready"))
        ways: dict[str, Callable[[], Cost]] = {"direct": lambda: Cost(_drain(SOURCE), 0.0),
                                               "socat": _socat}
        for i, over in enumerate(built):
            tunnel = Tunnel(airlane, folder, over, SERVER, PATHS,
                            [Forward(FORWARD + i, f"{SERVER}:{SOURCE}")], [], [], port=LISTEN + i)
            ways[over] = _through(stack.enter_context(tunnel), FORWARD + i)
        for number in range(rounds):
            names = list(ways)
            for name in names[number % len(names):] + names[: number % len(names)]:
                cost = ways[name]()
                costs.setdefault(name, []).append(cost)
                say(f"loopback {number + 1}/{rounds} {name}: {cost.gbps:.2f} Gbit/s, "
                    f"{cost.cpu_per_gb:.2f} s/GB")
    return _rows(costs)


def _drain(port: int) -> float:
    python = [sys.executable, ENDPOINT]
    return float(run(*python, "drain", SERVER, str(port), str(SIZE), timeout_s=300))


def _through(tunnel: Tunnel, port: int) -> Callable[[], Cost]:
    def one() -> Cost:
        before = tunnel.cpu_s()
        seconds = _drain(port)
        return Cost(seconds, tunnel.cpu_s() - before)

    return one


def _socat() -> Cost:
    """Two proxies in a chain, as a tunnel has two ends."""
    with ExitStack() as stack:
        chain = []
        for port, to in ((SECOND, SOURCE), (FIRST, SECOND)):
            words = ["socat", "-b", str(SOCAT_BLOCK), f"TCP-LISTEN:{port},bind={SERVER},reuseaddr",
                     f"TCP:{SERVER}:{to}"]
            chain.append(stack.enter_context(Running(*words)))
            until(f"socat on port {port}", lambda: _listens(port))
        seconds = _drain(FIRST)
        # Both end with their connection; what they used is known as long as nobody waited for them.
        return Cost(seconds, sum(proxy.cpu_s() for proxy in chain))


def _listens(port: int) -> bool:
    """Whether something listens: connecting to find out would use the one connection up."""
    sockets = Path("/proc/net/tcp").read_text().splitlines()[1:]
    return any(s.split()[1].endswith(f":{port:04X}") and s.split()[3] == "0A" for s in sockets)


def _rows(costs: dict[str, list[Cost]]) -> list[dict[str, Any]]:
    def middle(name: str, what: str) -> float:
        return median(getattr(cost, what) for cost in costs[name])

    rows = []
    for over, asked in ASKED.items():
        if over not in costs:
            continue
        note = (
            f"one transfer of {SIZE >> 30} GiB through the tunnel over {over.upper()}, two paths "
            f"over loopback, all ends on one machine; medians of {len(costs[over])}; directly "
            f"{middle('direct', 'gbps'):.2f} Gbit/s"
        )
        rows.append(figure(f"tunnel.loopback.{over}", middle(over, "gbps"), middle("socat", "gbps"),
                           "Gbit/s", {"at_least": asked}, note + "; the peer is a chain of two socat"))
        cost = (
            "seconds of processor time of both ends per 10^9 bytes, the kernel's for them included; "
            f"the peer is a chain of two socat with blocks of {SOCAT_BLOCK >> 10} KiB, which neither "
            "encrypt nor reorder"
        )
        rows.append(figure(f"tunnel.loopback.cpu_{over}", middle(over, "cpu_per_gb"),
                           middle("socat", "cpu_per_gb"), "s/GB", REPORTED, cost))
    return rows
