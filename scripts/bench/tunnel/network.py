"""Two network namespaces with two paths between them."""

import json
import os
import threading
from contextlib import ExitStack
from pathlib import Path as File

from programs import Broken, Missing, Running, need, run
from scenes import Path, Scene

ALLOWED = File("/proc/sys/net/ipv4/tcp_allowed_congestion_control")

#: The address of the server, which is on none of the paths.
SERVER = "10.83.255.1"

#: Most that a socket of TCP may hold, either way: not what limits a peer.
SOCKET_BYTES = 64 << 20


class Network:
    """The namespaces of a scene, `client` and `server`; leaving the context removes them.

    A path without delay and loss is a pair of veth devices with tbf at both ends, any other one is
    `airlane link tun`. The client picks a path by its source address, `addresses`; the server has
    one address for all.
    """

    def __init__(self, scene: Scene, airlane: File | None):
        self.scene, self.airlane = scene, airlane
        tag = f"al{os.getpid() % 100_000}"
        self.client, self.server = f"{tag}c", f"{tag}s"
        self.addresses = [f"10.83.{i}.1" for i in (1, 2)]
        self.devices = [f"path{i}" for i in (1, 2)]
        self._stack = ExitStack()

    def in_client(self) -> list[str]:
        """What to put in front of a command that is to run at the client."""
        return ["ip", "netns", "exec", self.client]

    def in_server(self) -> list[str]:
        """What to put in front of a command that is to run at the server."""
        return ["ip", "netns", "exec", self.server]

    def __enter__(self) -> "Network":
        need("ip", "tc", "iperf3", "ping")
        if os.geteuid() != 0:
            raise Missing("making network namespaces takes root")
        try:
            self._make()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _make(self) -> None:
        self._allow_cubic()
        for name in (self.client, self.server):
            try:
                run("ip", "netns", "add", name)
            except Broken as error:
                raise Missing(f"no network namespaces: {error}") from error
            self._stack.callback(run, "ip", "netns", "del", name, check=False)
            run("ip", "-n", name, "link", "set", "lo", "up")
            for key, value in (
                ("net.ipv4.tcp_congestion_control", "cubic"),
                ("net.ipv4.tcp_rmem", f"4096 131072 {SOCKET_BYTES}"),
                ("net.ipv4.tcp_wmem", f"4096 65536 {SOCKET_BYTES}"),
                ("net.ipv4.conf.all.rp_filter", "0"),
                # What one transfer learned of a path is not to help the next.
                ("net.ipv4.tcp_no_metrics_save", "1"),
            ):
                run("ip", "netns", "exec", name, "sysctl", "-qw", f"{key}={value}")
            run("ip", "-n", name, "mptcp", "limits", "set", "subflows", "4",
                "add_addr_accepted", "4", check=False)
        run("ip", "-n", self.server, "addr", "add", f"{SERVER}/32", "dev", "lo")
        for i, path in enumerate(self.scene.paths):
            self._emulated(i, path) if path.is_emulated else self._shaped(i, path)
            run("ip", "-n", self.client, "rule", "add", "from", self.addresses[i],
                "table", str(100 + i))
            self.plug_in(i)

    def _allow_cubic(self) -> None:
        """Lets namespaces default to Cubic, for as long as this lasts."""
        before = ALLOWED.read_text().split()
        if "cubic" not in before:
            ALLOWED.write_text(" ".join([*before, "cubic"]))
            self._stack.callback(ALLOWED.write_text, " ".join(before))

    def _shaped(self, i: int, path: Path) -> None:
        ends = [(self.client, self.devices[i], 1), (self.server, f"server{i + 1}", 2)]
        (near, near_device, _), (far, far_device, _) = ends
        run("ip", "link", "add", near_device, "netns", near, "type", "veth", "peer", "name",
            far_device, "netns", far)
        # A millisecond at the rate, and no less than a few frames: what tbf lets through at once.
        burst = max(int(path.rate_bps / 8 * 0.001), 10_000)
        for name, device, host in ends:
            run("ip", "-n", name, "addr", "add", f"10.83.{i + 1}.{host}/24", "dev", device)
            run("ip", "-n", name, "link", "set", device, "up")
            run("tc", "-n", name, "qdisc", "add", "dev", device, "root", "tbf", "rate",
                f"{path.rate_bps:.0f}bit", "burst", str(burst), "limit", str(path.queue_bytes))

    def _emulated(self, i: int, path: Path) -> None:
        if self.airlane is None:
            raise Missing("a path with delay or loss takes airlane, for its link")
        both = [f"rate_bps={path.rate_bps}", f"delay_s={path.rtt_s / 2}",
                f"queue.limit_bytes={path.queue_bytes}"]
        if path.loss > 0:
            both.append(f"loss.p={path.loss}")
        link = Running(
            self.airlane, "link", "tun",
            f"{self.devices[i]}@{self.client}=10.83.{i + 1}.1/24",
            f"server{i + 1}@{self.server}=10.83.{i + 1}.2/24",
            *[word for setting in both for word in ("--both", setting)],
            "--realtime", "10", ready="ready",
        )
        self._stack.enter_context(link)

    def plug_in(self, i: int) -> None:
        """Takes path `i` up, with its routes, and as a path of MPTCP."""
        device, far = self.devices[i], f"10.83.{i + 1}.2"
        run("ip", "-n", self.client, "link", "set", device, "up")
        for where in (["table", str(100 + i)], ["metric", str(100 + i)]):
            run("ip", "-n", self.client, "route", "replace", "default", "via", far, "dev", device,
                *where)
        if i > 0:
            run("ip", "-n", self.client, "mptcp", "endpoint", "add", self.addresses[i], "id",
                str(i + 1), "dev", device, "subflow", check=False)

    def received_bytes(self, i: int) -> int:
        """Bytes of packets that have come to the client over path `i`."""
        shown = run("ip", "-n", self.client, "-json", "-statistics", "link", "show", self.devices[i])
        return json.loads(shown)[0]["stats64"]["rx"]["bytes"]

    def unplug(self, i: int) -> None:
        """Takes path `i` down, as if its radio were unplugged: its routes go with it."""
        if i > 0:
            run("ip", "-n", self.client, "mptcp", "endpoint", "delete", "id", str(i + 1),
                check=False)
        run("ip", "-n", self.client, "link", "set", self.devices[i], "down")


class Flapping:
    """Unplugs and plugs in, in turn, the paths that flap, until the context is left."""

    def __init__(self, network: Network):
        self.network = network
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._flap, args=(i, path.flaps_s), daemon=True)
            for i, path in enumerate(network.scene.paths) if path.flaps_s > 0
        ]

    def _flap(self, i: int, every_s: float) -> None:
        is_up = True
        while not self._stop.wait(every_s):
            is_up = not is_up
            self.network.plug_in(i) if is_up else self.network.unplug(i)
        if not is_up:
            self.network.plug_in(i)

    def __enter__(self) -> "Flapping":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()
