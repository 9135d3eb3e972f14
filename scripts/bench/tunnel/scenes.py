"""The scenes: two paths each, the same table for the namespaces and for the laboratory."""

from dataclasses import dataclass

#: An Ethernet frame that is full, the IP packet in it, and what TCP with timestamps carries in that.
#: tbf counts frames; `airlane link` and the laboratory count IP packets.
FRAME, PACKET, SEGMENT = 1514, 1500, 1448

#: IPv4 and UDP headers.
UDP_HEADERS = 28

#: What waits in front of a path without a round trip of its own, in seconds at its rate.
QUEUE_S = 0.025

#: What each end of the tunnel holds of a stream while few share its memory.
MEMORY_BYTES = 32 << 20

#: The round trip of a pair of devices that joins two namespaces, about.
NO_RTT_S = 0.0001


@dataclass(frozen=True)
class Path:
    """A path of the client, the same both ways."""

    rate_bps: float
    #: Round trip of propagation: 0 for none.
    rtt_s: float = 0.0
    #: Probability that a packet is lost, each way.
    loss: float = 0.0
    #: It is up for so long, then unplugged for so long, and so on: 0 for always up.
    flaps_s: float = 0.0

    @property
    def is_emulated(self) -> bool:
        """Whether it takes `airlane link`: the kernel's tbf neither delays nor loses."""
        return self.rtt_s > 0 or self.loss > 0

    @property
    def queue_bytes(self) -> int:
        """1.5 times rate times round trip, or QUEUE_S at its rate."""
        time = 1.5 * self.rtt_s if self.rtt_s > 0 else QUEUE_S
        return max(int(self.rate_bps * time / 8), 20 * FRAME)

    @property
    def ip_rate_bps(self) -> float:
        """The rate in bits of IP packets, as the laboratory counts."""
        return self.rate_bps if self.is_emulated else self.rate_bps * PACKET / FRAME

    @property
    def up_share(self) -> float:
        """The share of time in which it is up."""
        return 0.5 if self.flaps_s > 0 else 1.0


@dataclass(frozen=True)
class Scene:
    """Two paths, and how long measuring them takes."""

    name: str
    paths: tuple[Path, Path]
    #: Seconds of a transfer that do not count, and then those that do.
    omit_s: int
    span_s: int
    #: Size of the file that is fetched and compared.
    file_bytes: int
    #: What part of the sum of the paths' own goodputs, weighted by the time they are up, is asked.
    share: float = 0.95
    #: Whether keystrokes are measured.
    keys: bool = True


#: As 802.11 and a wired link behind it have it.
RTT_S = 0.02

SCENES = (
    Scene("20-30", (Path(20e6), Path(30e6)), 3, 8, 128 << 20),
    Scene("600-1400", (Path(600e6), Path(1400e6)), 3, 8, 1 << 30),
    Scene("loss", (Path(60e6, RTT_S), Path(140e6, RTT_S, loss=0.05)), 4, 10, 128 << 20),
    Scene("delay", (Path(60e6, 0.5), Path(140e6, RTT_S)), 10, 12, 256 << 20),
    Scene(
        "flap", (Path(60e6, RTT_S), Path(140e6, RTT_S, flaps_s=5.0)), 0, 20, 256 << 20,
        share=0.85, keys=False,
    ),
)


def scenario(scene: Scene, duration_s: float) -> str:
    """The scene as a scenario of the laboratory.

    One stream from the core to a client with two accesses, under Cubic. The packets are as large as
    the kernel's: full IP packets of 1500 bytes.
    """
    lines = [
        f'name = "tunnel-{scene.name}"',
        f'title = "The namespaces: {scene.name}"',
        f"duration_s = {duration_s}",
        "seeds = [1, 2, 3]",
        "",
        "[core]",
        f"rtt_s = {NO_RTT_S}",
        "",
        "[transport]",
        f"payload_bytes = {PACKET - UDP_HEADERS}",
    ]
    for name, path in zip(("one", "two"), scene.paths):
        lines += ["", "[[access]]", f'name = "{name}"']
        lines += [f"{way} = {{ {_way(path, duration_s)} }}" for way in ("down", "up")]
    for scheme, setting in (
        ("path1", 'tunnel_only = "one"'),
        ("path2", 'tunnel_only = "two"'),
        ("mptcp", 'tunnel_scheduler = "linux"'),
        ("fbdt", 'tunnel_scheduler = "fbdt"'),
    ):
        lines += ["", "[[scheme]]", f'name = "{scheme}"', setting]
    lines += [
        "",
        "[[tunnel]]",
        'name = "tunnel"',
        'at = ["one", "two"]',
        f"skip_s = {max(scene.omit_s, 0.001)}",
        f"memory_bytes = {MEMORY_BYTES}",
    ]
    return "\n".join(lines) + "\n"


def _way(path: Path, duration_s: float) -> str:
    keys = [f"delay_s = {path.rtt_s / 2}", f"queue = {{ limit_bytes = {path.queue_bytes} }}"]
    if path.flaps_s > 0:
        changes = int(duration_s / path.flaps_s) + 1
        steps = [[i * path.flaps_s, 0.0 if i % 2 else path.ip_rate_bps] for i in range(changes)]
        keys.append(f"steps = {steps}")
    else:
        keys.append(f"rate_bps = {path.ip_rate_bps}")
    if path.loss > 0:
        keys.append(f"loss = {{ p = {path.loss} }}")
    return ", ".join(keys)
