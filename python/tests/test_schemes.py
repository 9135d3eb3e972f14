"""Schemes in Python beside the built-in ones, and what becomes of their faults."""

from __future__ import annotations

import re
from typing import Any

import pytest

import airlane

SCHEMES = [{"name": "cubic"}]


class Window(airlane.Controller):
    """Twenty packets in flight, whatever happens."""

    def window(self) -> float:
        return 20 * self.mtu


class Paced(airlane.Controller):
    """Two Mbit/s."""

    def window(self) -> float:
        return 1e6

    def pacing_rate(self) -> float:
        return 2e6


def with_scheme(scenario: airlane.Scenario, **scheme: Any) -> airlane.Scenario:
    return scenario.set(scheme=[*SCHEMES, {"name": "mine", **scheme}], seeds=[1])


def mean(result: airlane.Result, metric: str, scheme: str = "mine") -> float:
    frame = result.values(metric).to_pandas()
    return float(frame[frame.scheme == scheme].value.mean())


def test_a_controller_decides_what_is_in_flight(short: airlane.Scenario) -> None:
    one = with_scheme(short, controller=Window).set({"bulk.0.count": 1, "link.rate_bps": 50e6})
    result = airlane.run(one, progress=False)
    # Twenty packets of some 1250 bytes per round trip of 40 ms.
    assert 3.5e6 < mean(result, "goodput_bps") < 6.5e6
    slow = airlane.run(with_scheme(short, controller=Paced), progress=False)
    assert 1.5e6 < mean(slow, "goodput_bps") < 2.05e6
    again = airlane.run(with_scheme(short, controller=Paced), progress=False)
    assert again.runs.equals(slow.runs), "the same seed gives the same packets"


def test_a_controller_is_told_what_happens(short: airlane.Scenario) -> None:
    acks: list[airlane.Ack] = []
    losses: list[airlane.Loss] = []

    class Told(airlane.Controller):
        interval_s = 0.05

        def on_ack(self, ack: airlane.Ack) -> None:
            acks.append(ack)

        def on_loss(self, loss: airlane.Loss) -> None:
            losses.append(loss)

        def window(self) -> float:
            return 200 * self.mtu

    one = with_scheme(short, controller=Told).set({"bulk.0.count": 1})
    airlane.run(one.set({"link.queue": {"kind": "droptail", "limit_bdp": 1}}), progress=False)
    times = [ack.now_s for ack in acks]
    assert all(b - a > 0.0499 for a, b in zip(times, times[1:]) if b - a > 0.0)
    assert 80 < len(acks) < 130
    assert all(0.1 > ack.rtt_s >= ack.min_rtt_s >= 0.04 for ack in acks)
    assert max(ack.delivery_rate_bps or 0 for ack in acks) == pytest.approx(8e6, rel=0.1)
    assert losses and all(loss.packets > 0 and loss.lost_bytes > 0 for loss in losses)
    assert sum(ack.acked_bytes for ack in acks) > 4e6


def test_a_queue_serves_and_drops(short: airlane.Scenario) -> None:
    class Short(airlane.Queue):
        """At most ten packets: what comes after them makes the oldest leave."""

        def __init__(self, seed: int) -> None:
            super().__init__(seed)
            self.packets: list[airlane.QueuedPacket] = []

        def enqueue(self, now_s: float, packet: airlane.QueuedPacket) -> None:
            self.packets.append(packet)
            if len(self.packets) > 10:
                self.drop(self.packets.pop(0))

        def dequeue(self, now_s: float) -> airlane.QueuedPacket | None:
            return self.packets.pop(0) if self.packets else None

    queue = {"kind": Short, "limit_bdp": 4}
    result = airlane.run(short.set({"link.queue": queue, "seeds": [1]}), progress=False)
    assert mean(result, "drops_aqm", "cubic") > 0
    assert mean(result, "queue_max_ms", "cubic") < 20


def test_a_bitrate_rule_chooses(short: airlane.Scenario) -> None:
    class Second(airlane.Abr):
        def choose(self, view: airlane.PlayerView) -> int:
            assert view.segment_s > 0 and len(view.size_bits) == len(view.quality)
            return 1

    scenario = airlane.Scenario.builtin("four-viewers").set(duration_s=40, seeds=[1], scheme=SCHEMES)
    mine = airlane.run(scenario.set({"player.abr": Second}), progress=False)
    fixed = airlane.run(
        scenario.set({"player.abr": "fixed", "player.fixed_rung": 1}), progress=False
    )
    # Requests tell the server the name of the rule: packets differ by its length.
    assert mean(mine, "vmaf", "cubic") == pytest.approx(mean(fixed, "vmaf", "cubic"), rel=0.02)
    assert mean(mine, "switches", "cubic") == 1


def test_a_fault_names_line_and_virtual_time(short: airlane.Scenario) -> None:
    class Broken(airlane.Controller):
        def on_ack(self, ack: airlane.Ack) -> None:
            if ack.now_s > 2:
                raise ZeroDivisionError("no such thing")

        def window(self) -> float:
            return 20 * self.mtu

    with pytest.raises(airlane.SchemeError) as found:
        airlane.run(with_scheme(short, controller=Broken), progress=False)
    said = str(found.value)
    place = r"ZeroDivisionError in Broken\.on_ack at .*test_schemes\.py:\d+, 2\.\d+ s into the run"
    assert re.search(place, said), said
    assert said.endswith("no such thing, in short, mine, case 1, seed 1")
    assert isinstance(found.value.__cause__, ZeroDivisionError)

    class Lost(airlane.Abr):
        def choose(self, view: airlane.PlayerView) -> int:
            rungs: dict[str, int] = {}
            return rungs["rung"]

    scenario = airlane.Scenario.builtin("four-viewers").set(duration_s=20, seeds=[1])
    scenario = scenario.set(scheme=SCHEMES)
    with pytest.raises(airlane.SchemeError, match=r"panicked at .*KeyError in Lost\.choose at"):
        airlane.run(scenario.set({"player.abr": Lost}), progress=False)

    class Forgets(airlane.Queue):
        def enqueue(self, now_s: float, packet: airlane.QueuedPacket) -> None:
            self.last = packet

        def dequeue(self, now_s: float) -> airlane.QueuedPacket | None:
            return self.last

    with pytest.raises(airlane.SchemeError, match=r"packet \d+ is not in the queue"):
        airlane.run(short.set({"link.queue": {"kind": Forgets}}), progress=False)


def test_names_are_its_own(short: airlane.Scenario) -> None:
    class Mine(airlane.Controller):
        name = "cubic"

        def window(self) -> float:
            return 1e4

    with pytest.raises(airlane.InputError, match='a scheme "cubic" beside another'):
        with_scheme(short, controller=Mine)
    text = short.toml.replace('name = "bbr"\ncontroller = "bbr"', 'name = "w"\ncontroller = "Window"')
    with pytest.raises(airlane.InputError, match="scheme.1.controller"):
        airlane.Scenario.from_toml(text)
    assert airlane.Scenario.from_toml(text, schemes=[Window]).schemes == ["cubic", "w"]


def test_an_allocator_gives_layers() -> None:
    seen: list[airlane.ReceiverView] = []

    class Lowest(airlane.LayerAllocator):
        def allocate(self, view: airlane.ReceiverView) -> list[int]:
            seen.append(view)
            return [1] * len(view.videos)

    class Broken(airlane.LayerAllocator):
        def allocate(self, view: airlane.ReceiverView) -> list[int]:
            raise ArithmeticError("no layers")

    def schemes(allocator: Any) -> list[dict[str, Any]]:
        layers = {"call_thinning": "layers"}
        return [
            {"name": "fair", **layers},
            {"name": "mine", "call_allocator": allocator, **layers},
        ]

    call = airlane.Scenario.of("call").set(duration_s=8, seeds=[1], scheme=schemes(Lowest))
    result = airlane.run(call, progress=False)
    own, fair = (mean(result, "received_bps", name) for name in ("mine", "fair"))
    assert 0 < own < fair / 4, "it gives the lowest layers"
    views = [view for view in seen if view.videos]
    assert len({view.name for view in views}) == 4
    last = views[-1].videos[0]
    assert last.level == 1 and not last.is_screen
    assert last.rates_bps == sorted(last.rates_bps) and views[-1].budget_bps > 0
    with pytest.raises(airlane.SchemeError, match=r"ArithmeticError in Broken\.allocate at .*no layers"):
        airlane.run(call.set(scheme=schemes(Broken)), progress=False)
