//! PIE against RFC 8033, written out, and under load.

use std::time::Duration;

use crate::common::numbered;
use crate::common::reno::load;
use airlane_base::{DropReason, Ecn, Seed, Time};
use airlane_net::{Capacity, Latency, Limit, Pie, PieConfig, Queue, QueueSpec};

/// RFC 8033, section 4.2, with times in seconds.
fn law(p: f64, delay: f64, before: f64) -> f64 {
    let mut step = 0.125 * (delay - 0.015) + 1.25 * (delay - before);
    for (below, divisor) in
        [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (0.1, 2.0)]
    {
        if p < below {
            step /= divisor;
            break;
        }
    }
    if p >= 0.1 {
        step = step.min(0.02);
    }
    let p = if delay == 0.0 && before == 0.0 { (p + step) * 0.98 } else { p + step };
    p.clamp(0.0, 1.0)
}

#[test]
fn one_update_is_that_of_the_rfc() {
    let config = PieConfig::default();
    for p in [0.0, 5e-7, 5e-6, 5e-5, 5e-4, 5e-3, 0.05, 0.1, 0.5, 0.999] {
        for delay in [0, 1, 10, 15, 16, 30, 100, 900] {
            for before in [0, 1, 10, 15, 16, 30, 100, 900] {
                let want = law(p, f64::from(delay) / 1e3, f64::from(before) / 1e3);
                let got = config.next_probability(
                    p,
                    Duration::from_millis(delay as u64),
                    Duration::from_millis(before as u64),
                );
                assert!((got - want).abs() < 1e-15, "{p} {delay} {before}: {got} {want}");
            }
        }
    }
}

/// One packet of 1000 bytes per millisecond in, and out as fast as `out_every_us` says, which
/// changes every two seconds; the state of the controller is computed beside it.
fn beside(config: PieConfig) -> (f64, f64, u64) {
    let mut pie = Pie::new(config, Capacity::Unlimited, Seed(5).rng());
    let (mut p, mut before, mut burst) = (0.0_f64, 0.0_f64, 0.150_f64);
    let (mut sojourn, mut waiting) = (0.0_f64, 0_u64);
    let (mut expected, mut variance, mut dropped) = (0.0, 0.0, 0);
    let mut drops = Vec::new();
    let mut next_out = 0;
    for us in 1..60_000_000_u64 / 100 {
        let (us, now) = (us * 100, Time::from_micros(us * 100));
        if us % 15_000 == 0 {
            let delay = if waiting == 0 { 0.0 } else { sojourn };
            p = law(p, delay, before);
            burst = (burst - 0.015).max(0.0);
            if p == 0.0 && delay < 0.0075 && before < 0.0075 {
                burst = 0.150;
            }
            before = delay;
        }
        assert!((pie.drop_probability(now) - p).abs() < 1e-12, "at {now}");
        if us % 1_000 == 0 {
            let calm = before < 0.0075 && p < 0.2;
            if burst < 1e-9 && !calm && waiting * 1_000 > 2_048 {
                expected += p;
                variance += p * (1.0 - p);
            }
            let mut arriving = numbered(us, 1_000);
            arriving.enqueued = now;
            pie.enqueue(now, arriving, &mut drops);
            dropped += drops.len() as u64;
            for d in &drops {
                assert_eq!(d.reason, DropReason::Aqm);
            }
            waiting += 1 - drops.len() as u64;
            drops.clear();
        }
        if us >= next_out {
            next_out = us + [800, 1_100, 1_400, 900, 3_000, 500][us as usize / 2_000_000 % 6];
            if let Some(out) = pie.dequeue(now, &mut drops).packet() {
                sojourn = (now - out.enqueued).as_secs_f64();
                waiting -= 1;
            }
        }
        assert_eq!(pie.len() as u64, waiting);
    }
    (expected, variance, dropped)
}

#[test]
fn the_probability_follows_the_rfc_and_drops_follow_the_probability() {
    let (expected, variance, dropped) = beside(PieConfig::default());
    assert!(expected > 1_000.0, "the schedule loads the queue: {expected}");
    let sigmas = (dropped as f64 - expected) / variance.sqrt();
    assert!(sigmas.abs() < 4.0, "{dropped} drops, expected {expected:.0}: {sigmas:.1} sigma");
}

#[test]
fn a_burst_after_calm_passes_whole() {
    let mut pie = Pie::new(PieConfig::default(), Capacity::Packets(1_000), Seed(1).rng());
    let mut drops = Vec::new();
    for i in 0..1_001 {
        pie.enqueue(Time::from_micros(i * 149), numbered(i, 1_500), &mut drops);
    }
    assert_eq!(drops.len(), 1);
    assert_eq!(drops[0].reason, DropReason::Overflow);
}

#[test]
fn ecn_marks_instead_of_dropping_and_derandomised_drops_are_spread() {
    // Overloaded twofold: half of what arrives must be dropped in the end.
    let gaps = |config: PieConfig, ecn: Ecn| {
        let mut pie = Pie::new(config, Capacity::Unlimited, Seed(2).rng());
        let (mut drops, mut gaps, mut since, mut marks) = (Vec::new(), Vec::new(), 0_u32, 0);
        for ms in 0..40_000 {
            let now = Time::from_millis(ms);
            let mut p = numbered(ms, 1_000);
            (p.ecn, p.enqueued) = (ecn, now);
            pie.enqueue(now, p, &mut drops);
            since += 1;
            if !drops.is_empty() {
                drops.clear();
                gaps.push(since);
                since = 0;
            }
            // 10 % too much.
            if ms % 11 != 0 {
                let served = pie.dequeue(now, &mut drops).packet();
                marks += u32::from(served.is_some_and(|p| p.ecn == Ecn::Ce));
            }
        }
        (gaps, marks)
    };
    let plain = PieConfig::default();
    let (drops, marks) = gaps(plain, Ecn::Ect0);
    assert!(drops.len() > 2_000 && marks == 0, "off by default");
    let (drops, marks) = gaps(PieConfig { ecn: true, ..plain }, Ecn::NotEct);
    assert!(drops.len() > 2_000 && marks == 0, "not for those who do not understand it");
    let (drops, marks) = gaps(PieConfig { ecn: true, ..plain }, Ecn::Ect0);
    assert!(marks > 500, "{marks} marks");
    // Marks do not shorten this queue, so the probability passes 10 % and drops set in.
    assert!(drops.len() > 1_000);
    // The distance between drops varies less.
    let spread = |config| {
        let (gaps, _) = gaps(config, Ecn::NotEct);
        let late = &gaps[gaps.len() / 2..];
        let mean = late.iter().map(|g| f64::from(*g)).sum::<f64>() / late.len() as f64;
        let square = late.iter().map(|g| (f64::from(*g) - mean).powi(2)).sum::<f64>();
        (square / late.len() as f64).sqrt() / mean
    };
    let (even, random) = (spread(PieConfig { derandomise: true, ..plain }), spread(plain));
    assert!(even < 0.6 * random, "{even} {random}");
}

#[test]
fn the_delay_is_held_at_its_target_under_load() {
    for flows in [5, 20, 50] {
        for latency in [Latency::Timestamps, Latency::DepartureRate] {
            let config = PieConfig { latency, ..PieConfig::default() };
            let r = load(flows, QueueSpec::Pie(Limit::Bdp(4.0), config));
            let ms = r.mean_sojourn.as_secs_f64() * 1e3;
            println!(
                "{flows} flows, {latency:?}: mean {ms:.1} ms, 95 % {:.1} ms, utilisation {:.3}",
                r.sojourn_quantile(0.95).as_secs_f64() * 1e3,
                r.utilisation
            );
            assert!((10.0..=20.0).contains(&ms), "{flows} flows, {latency:?}: {ms} ms");
            assert!(r.utilisation > 0.9, "{flows} flows: {}", r.utilisation);
        }
    }
}
