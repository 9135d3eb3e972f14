"""From what a scene gave to figures with rules, which the bench judges."""

from statistics import median, quantiles
from typing import Any

from measure import Measured
from scenes import Scene

Figure = dict[str, Any]

#: How far a keystroke may be above the round trip of the best path.
KEYS_MS = 1.0

#: How far a prediction may be off.
PREDICTED = 0.1


#: Nothing is asked.
REPORTED = "reported"


def figure(bar: str, ours: float | None, peer: float | None, unit: str,
           rule: str | dict[str, float], note: str) -> Figure:
    """A figure of the bench: without `ours` it broke."""
    return {"bar": bar, "ours": ours, "peer": peer, "unit": unit, "rule": rule, "note": note}


def broke(bar: str, why: str) -> Figure:
    """The figure of what could not be measured though nothing is missing."""
    return figure(bar, None, None, "Mbit/s", {"above": 0.0}, f"broke: {why}")


def figures(scene: Scene, measured: Measured, predicted: dict[str, float] | None,
            file_bytes: int) -> list[Figure]:
    """The figures of a scene."""
    rows = _sums(scene, measured) + _beside(scene, measured) + _keys(scene, measured)
    rows += _files(scene, measured, file_bytes)
    rows += [broke(f"tunnel.{scene.name}.{what}", why) for what, why in measured.broken.items()]
    return rows + (_predictions(scene, measured, predicted) if predicted else [])


def _mbps(bps: float | None) -> str:
    return "not measured" if bps is None else f"{bps / 1e6:.1f}"


def _spread(rates: list[float]) -> str:
    return f"{min(rates) / 1e6:.1f} to {max(rates) / 1e6:.1f}"


def weighted_sum(scene: Scene, measured: Measured) -> float | None:
    """The goodput of the paths alone, each for the share of time in which it is up."""
    alone = [measured.of(name) for name in ("path1", "path2")]
    if None in alone:
        return None
    return sum(rate * path.up_share for rate, path in zip(alone, scene.paths))


def _sums(scene: Scene, measured: Measured) -> list[Figure]:
    total = weighted_sum(scene, measured)
    if total is None:
        return []
    alone = " and ".join(_mbps(measured.of(name)) for name in ("path1", "path2"))
    mptcp = measured.of("mptcp")
    beside = "not measured" if mptcp is None else f"{mptcp / 1e6:.1f}, {mptcp / total:.3f} of the sum"
    rows = []
    for over in ("tcp", "quic"):
        rates = measured.goodput.get(over)
        if rates:
            note = (
                f"{describe(scene)}; iperf3 through the tunnel over {over.upper()}, towards the "
                f"client, {scene.span_s} s after {scene.omit_s} s, medians of {len(rates)}, "
                f"{_spread(rates)}; the peer is the sum of the paths' own, {alone}"
                f"{', weighted by the time they are up' if _flaps(scene) else ''}; kernel MPTCP "
                f"{beside}"
            )
            rows.append(figure(f"tunnel.{scene.name}.{over}", median(rates) / 1e6, total / 1e6,
                               "Mbit/s", {"times_peer": scene.share}, note))
    return rows


def _beside(scene: Scene, measured: Measured) -> list[Figure]:
    """The tunnel beside its peers on the same transport."""
    rows = []
    for over, peer, name in (("tcp", "mptcp", "kernel MPTCP"), ("quic", "noq", "noq's multipath")):
        ours, theirs = measured.of(over), measured.of(peer)
        if ours is not None and theirs is not None:
            note = f"the tunnel over {over.upper()}; the peer is {name}, {_spread(measured.goodput[peer])}"
            rows.append(figure(f"tunnel.{scene.name}.beside_{peer}", ours / 1e6, theirs / 1e6,
                               "Mbit/s", REPORTED, note))
    return rows


def _flaps(scene: Scene) -> bool:
    return any(p.flaps_s > 0 for p in scene.paths)


def describe(scene: Scene) -> str:
    def one(path: Any) -> str:
        text = f"{path.rate_bps / 1e6:.0f} Mbit/s"
        text += f" and {path.rtt_s * 1e3:.0f} ms" if path.rtt_s > 0 else ""
        text += f" with {path.loss * 100:.0f} % loss" if path.loss > 0 else ""
        text += f" unplugged every {path.flaps_s:.0f} s for as long" if path.flaps_s > 0 else ""
        return text

    way = "airlane link" if scene.paths[0].is_emulated else "tbf"
    return f"{' beside '.join(one(p) for p in scene.paths)} ({way})"


def _keys(scene: Scene, measured: Measured) -> list[Figure]:
    rows = []
    for over, keys in measured.keys.items():
        # A path on which most is lost has no median to speak of.
        seen = [median(p) for p in keys.pings if p]
        if not seen or len(keys.typed) < 2:
            continue
        best, typed = min(seen), median(keys.typed)
        p99 = quantiles(keys.typed, n=100)[98]
        note = (
            f"a byte and its echo every 50 ms beside a bulk transfer, median of {len(keys.typed)}, "
            f"{typed:.2f} ms, 99th percentile {p99:.2f}, less the median that ping saw meanwhile "
            f"on the better path, {best:.2f}; the paths {', '.join(f'{s:.2f}' for s in seen)}"
        )
        rows.append(figure(f"tunnel.{scene.name}.keys_{over}", typed - best, None, "ms",
                           {"at_most": KEYS_MS}, note))
    return rows


def _files(scene: Scene, measured: Measured, file_bytes: int) -> list[Figure]:
    total = weighted_sum(scene, measured)
    return [
        figure(
            f"tunnel.{scene.name}.file_{over}", file_bytes * 8e-6 / seconds, total and total / 1e6,
            "Mbit/s", REPORTED,
            f"a file of {file_bytes >> 20} MiB came whole by its SHA-256, connecting included; the "
            "peer is the sum of the paths' own",
        )
        for over, seconds in measured.file_s.items()
    ]


def _predictions(scene: Scene, measured: Measured, predicted: dict[str, float]) -> list[Figure]:
    rows = []
    for what, rate in predicted.items():
        seen = measured.of(what)
        # The paths were measured alone without being unplugged.
        is_other = what.startswith("path") and _flaps(scene)
        if seen is None or is_other:
            continue
        note = (
            f"what the laboratory predicts beside what was measured; {_spread(measured.goodput[what])}"
        )
        rows.append(figure(f"tunnel.{scene.name}.lab_{what}", rate / 1e6, seen / 1e6, "Mbit/s",
                           {"within_of_peer": PREDICTED}, note))
    return rows
