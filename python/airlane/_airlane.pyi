from collections.abc import Callable
from typing import Any, TypedDict

from .scenario import Source

VERSION: str
COMMIT: str

class Table:
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...
    def __len__(self) -> int: ...

class Ack:
    """Acknowledgements since the last call."""

    now_s: float
    acked_bytes: int
    packets: int
    in_flight_bytes: int
    rtt_s: float
    smoothed_rtt_s: float
    min_rtt_s: float
    delivery_rate_bps: float | None
    app_limited: bool

class Loss:
    """Losses and marks of congestion since the last call."""

    now_s: float
    lost_bytes: int
    packets: int
    marked_packets: int
    in_flight_bytes: int
    sent_s: float
    persistent: bool

class PlayerView:
    """What a player knows when it asks for a segment."""

    segment: int
    segments: int
    segment_s: float
    buffer_s: float
    max_buffer_s: float
    last_rung: int | None
    throughput_bps: list[float]
    size_bits: list[float]
    quality: list[float]
    mean_rate_bps: list[float]

class ReceiverView:
    """What the server of a call knows of a receiver whose downlink it divides."""

    name: str
    now_s: float
    budget_bps: float
    pending_bytes: int
    videos: list[VideoView]

class VideoView:
    """A video that a receiver may get."""

    participant: int
    is_screen: bool
    rates_bps: list[float]
    level: int
    tier: int

class QueuedPacket:
    """A packet as a queue knows it."""

    id: int
    flow: int
    ip_bytes: int
    enqueued_s: float
    is_ecn_capable: bool
    marked: bool

class RunOutcome:
    def rows(self) -> Table: ...
    def runs(self) -> Table: ...
    def panels(self) -> list[tuple[str, str, str]]: ...
    def series(self, id: str) -> Table: ...
    def html(self) -> str: ...
    def summary_json(self) -> str: ...
    def report_json_gz(self) -> bytes: ...
    def table(self) -> str: ...
    def verdict(self) -> str: ...
    def scenario(self) -> str: ...
    def virtual_s(self) -> float: ...
    def failed(self) -> int: ...

class RunOptions(TypedDict):
    jobs: int | None
    all_over_time: bool
    traces: list[tuple[str | None, str, str | None]]
    content: str | None
    tls: bool
    command: list[str]
    progress: Callable[[str, float], None] | None

class SweepOptions(TypedDict):
    grid: list[str]
    traces: list[tuple[str | None, str, str | None]]
    content: str | None
    tls: bool
    command: list[str]

class SweepFolder:
    def __init__(self, source: Source, options: SweepOptions, out: str, fresh: bool) -> None: ...
    def pending(self) -> list[tuple[int, str, int]]: ...
    def run(self, jobs: int | None, progress: Callable[[str, float], None] | None) -> None: ...
    def add(self, number: int, result: bytes) -> None: ...
    def finish(self, stopped: bool) -> tuple[str, str, int]: ...

class SweepWorker:
    def __init__(self, source: Source, options: SweepOptions) -> None: ...
    def run(self, worlds: list[tuple[int, str, int]]) -> list[tuple[int, bytes]]: ...

class ReproduceOptions(TypedDict):
    system: str
    only: list[str]
    quick: bool
    content: str | None
    command: list[str]

class ReproduceFolder:
    def __init__(self, options: ReproduceOptions, out: str, fresh: bool) -> None: ...
    def pending(self) -> list[tuple[int, str, int]]: ...
    def run(self, jobs: int | None, progress: Callable[[str, float], None] | None) -> None: ...
    def add(self, number: int, result: bytes) -> None: ...
    def finish(self, stopped: bool) -> tuple[str, str, int]: ...

class ReproduceWorker:
    def __init__(self, options: ReproduceOptions) -> None: ...
    def run(self, worlds: list[tuple[int, str, int]]) -> list[tuple[int, bytes]]: ...

class PlumOptions(TypedDict):
    max_rate_bps: float
    rho: float
    qoe: str
    relaxed: bool
    server_bps: float | None

class TitleOptions(TypedDict):
    metric: str
    abr: str
    buffer_s: float
    overhead_s: float
    beta: float
    gamma: float
    session_s: float

OctopusFields = tuple[int, int, int, int | None, int, int, bool, bool]

def octopus_encode(fields: OctopusFields) -> bytes: ...
def octopus_decode(packet: bytes) -> OctopusFields: ...

class OctopusQueue:
    def __init__(
        self, packets: int, ip_bytes: int, streams: int, slack: bool, headless: bool
    ) -> None: ...
    def enqueue(
        self, now_s: float, packet: Any, ip_bytes: int, flow: int, fields: OctopusFields | None
    ) -> list[tuple[Any, str]]: ...
    def dequeue(self, now_s: float) -> tuple[Any, list[tuple[Any, str]]]: ...
    def set_bandwidth(self, rate_bps: float | None) -> None: ...
    def ip_bytes(self) -> int: ...
    def __len__(self) -> int: ...

class CupidRule:
    def __init__(self, eta: float, hysteresis: float, as_published: bool) -> None: ...
    def update(
        self,
        utilisation: float,
        stations: int,
        delta_bps: float,
        goodput_bps: float,
        left: float | None,
        reserved: float,
    ) -> float: ...
    def rate_bps(self) -> float | None: ...
    def restart(self) -> None: ...

class FbdtReceiver:
    def __init__(self, segment_bytes: int, window_bytes: int, memory: int) -> None: ...
    def on_segment(self, now_s: float, fields: tuple[int, int, int, bytes]) -> bool: ...
    def read(self, now_s: float) -> bytes | None: ...
    def held_bytes(self) -> int: ...

class FbdtSender:
    def __init__(self, segment_bytes: int, window_bytes: int, memory: int, paths: int) -> None: ...
    def push(self, data: bytes) -> int: ...
    def finish(self) -> None: ...
    def next(self, now_s: float, path: int) -> tuple[int, int, int, bytes] | None: ...
    def next_event_s(self, now_s: float, path: int) -> float | None: ...
    def on_ack(
        self, now_s: float, path: int, receiver: FbdtReceiver, received_bytes: int
    ) -> None: ...
    def is_done(self) -> bool: ...

class Title:
    def __init__(self, json: str, options: TitleOptions) -> None: ...
    def qoe(self, rates_bps: list[float]) -> list[float]: ...
    def utility(self, rates_bps: list[float]) -> list[float]: ...
    def mean_rate_bps(self) -> list[float]: ...

class Normaliser:
    def __init__(self, titles: list[Title], alpha: float) -> None: ...
    def eval(self, utilities: list[float]) -> list[float]: ...

def minerva_optimum(titles: list[Title], capacity_bps: float) -> tuple[list[float], float]: ...
def plum_solve(
    capacities_bps: list[float], options: PlumOptions
) -> tuple[list[float], list[float], tuple[float, float, float], str]: ...
def plum_fixed_share(
    capacities_bps: list[float], up_share: float
) -> list[tuple[float, float]]: ...
def set_program(file: str) -> None: ...
def run(source: Source, options: RunOptions) -> RunOutcome: ...
def check(source: Source) -> tuple[str, str, list[str]]: ...
def embedded() -> list[str]: ...
def text_of(name: str) -> str | None: ...
def keys() -> Table: ...
def claims() -> Table: ...
