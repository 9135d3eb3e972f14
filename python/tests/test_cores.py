"""The decision cores as functions."""

from __future__ import annotations

import numpy as np
import pytest

from airlane import cupid, fbdt, minerva, octopus, plum


def test_plum_gives_no_link_more_than_it_carries() -> None:
    capacities = np.array([12e6, 20e6, 100e6])
    rates = plum.solve(capacities)
    assert np.all(rates.down_bps + rates.up_bps <= capacities * (1 + 1e-6))
    assert rates.optimality == "global" and 0 < rates.utility <= 1
    fair = plum.solve(capacities, rho=1.0)
    assert fair.fairness >= rates.fairness
    shares = plum.fixed_share([8e6, 20e6], 0.25)
    assert shares.shape == (2, 2) and shares[0].tolist() == [6e6, 2e6]
    with pytest.raises(ValueError, match="no QoE|QoE|qoe"):
        plum.solve(capacities, qoe="bad")  # type: ignore[arg-type]


def test_cupid_shares_the_air() -> None:
    rule = cupid.RateRule()
    assert rule.rate_bps is None
    first = rule.update(utilisation=0.5, stations=4, delta_bps=400e6)
    assert first == 80e6 == rule.rate_bps
    more = rule.update(utilisation=0.5, stations=4, delta_bps=400e6, goodput_bps=80e6)
    assert more == pytest.approx(110e6)
    with pytest.raises(ValueError):
        rule.update(utilisation=float("nan"), stations=1, delta_bps=1e6)


def test_octopus_drops_what_a_newer_message_makes_worthless() -> None:
    header = octopus.Header(7, 3, priority=2, drops=1, bitrate_kbps=900, last=False)
    assert octopus.Header.decode(header.encode() + b"payload") == header
    assert len(header.encode()) == 12
    queue = octopus.Queue(packets=2)
    assert queue.enqueue(0.0, "a", 1000) == [] and queue.ip_bytes == 1000
    queue.enqueue(0.0, "b", 1000)
    assert queue.enqueue(0.0, "c", 1000) == [("c", "overflow")] and len(queue) == 2
    with pytest.raises(ValueError, match="priority"):
        octopus.Header(0, 0, priority=8).encode()
    with pytest.raises(ValueError, match="first byte"):
        octopus.Header.decode(b"no header here")


def test_fbdt_splits_by_rates_that_it_does_not_know() -> None:
    carried = fbdt.split(20_000_000, [30e6, 10e6])
    assert carried.sum() == 20_000_000
    assert carried[0] / carried[1] == pytest.approx(3, rel=0.05)
    sender, receiver = fbdt.Sender(2), fbdt.Receiver()
    data = bytes(range(256)) * 1000
    assert sender.push(data) == len(data)
    sender.finish()
    read = b""
    for _ in range(1000):
        for path in range(2):
            if (segment := sender.next(0.0, path)) is not None:
                receiver.on_segment(0.0, segment)
        while (more := receiver.read(0.0)) is not None:
            read += more
    assert read == data
    with pytest.raises(ValueError):
        fbdt.Sender(0)
    with pytest.raises(IndexError):
        sender.next(0.0, 5)


def test_minerva_gives_more_to_the_title_that_needs_it() -> None:
    size = np.outer([1e5, 3e5, 1e6, 3e6], np.ones(50)).astype(int)

    def title(scale: float) -> minerva.Title:
        quality = np.repeat([[30.0], [60.0], [85.0], [96.0]], 50, axis=1)
        return minerva.Title(size * scale, quality)

    easy, hard = title(0.3), title(1.0)
    rates = np.linspace(0.2e6, 8e6, 20)
    assert easy.qoe(rates).shape == (20,)
    assert np.all(easy.qoe(rates) >= hard.qoe(rates) - 1e-9)
    best, worst = minerva.optimum([easy, hard], 4e6)
    assert best[1] > best[0] and best.sum() <= 4e6 * (1 + 1e-6) and worst > 0
    f = minerva.Normalisation([easy, hard])
    weights = f.weights([easy, hard], [2e6, 2e6])
    assert weights[1] > weights[0]
