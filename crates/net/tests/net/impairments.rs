//! Delay, jitter and loss against closed forms.

use std::time::Duration;

use crate::common::numbered;
use airlane_base::{Seed, Time};
use airlane_net::{GilbertElliott, Impairment, JitterLaw, Node, PeriodicLoss, Port};

/// Which of `n` packets, one per millisecond, come out, and when.
fn run(node: &mut dyn Node, n: u64) -> Vec<(u64, Time)> {
    let (mut out, mut drops) = (Vec::new(), Vec::new());
    let mut sent = 0;
    loop {
        let next = node.next_event();
        let send = (sent < n).then(|| Time::from_millis(sent));
        let Some(at) = [next, send].into_iter().flatten().min() else { break };
        if Some(at) == next {
            while let Some(p) = node.poll(at, &mut drops) {
                out.push((p.id, at));
            }
        } else {
            node.push(at, Port::ONLY, numbered(sent, 100), &mut drops);
            sent += 1;
        }
    }
    assert!(node.counters(Port::ONLY).conserves());
    assert_eq!(node.counters(Port::ONLY).held, (0, 0));
    assert_eq!(out.len() + drops.len(), n as usize);
    out
}

/// Seconds of extra delay of each packet.
fn delays(out: &[(u64, Time)]) -> Vec<f64> {
    out.iter().map(|(id, at)| (*at - Time::from_millis(*id)).as_secs_f64()).collect()
}

fn mean(v: &[f64]) -> f64 {
    v.iter().sum::<f64>() / v.len() as f64
}

#[test]
fn constant_delay_is_constant() {
    let mut node = Impairment::Delay(Duration::from_nanos(2_500_001)).build(Seed(1));
    for (id, at) in run(&mut *node, 100) {
        assert_eq!(at, Time::from_nanos(id * 1_000_000 + 2_500_001));
    }
}

#[test]
fn jitter_has_its_law_and_keeps_order_when_told() {
    let max = Duration::from_millis(20);
    for (law, want_mean, want_sd) in [
        (JitterLaw::Uniform(max), 0.010, 0.020 / 12_f64.sqrt()),
        (JitterLaw::Normal(max, Duration::from_millis(4)), 0.020, 0.004),
    ] {
        let free = run(&mut *Impairment::Jitter { law, reorder: true }.build(Seed(2)), 20_000);
        let d = delays(&free);
        let m = mean(&d);
        let sd = mean(&d.iter().map(|x| (x - m).powi(2)).collect::<Vec<_>>()).sqrt();
        assert!((m / want_mean - 1.0).abs() < 0.02, "{law:?}: mean {m}");
        assert!((sd / want_sd - 1.0).abs() < 0.02, "{law:?}: sd {sd}");
        assert!(free.windows(2).any(|w| w[1].0 < w[0].0), "some overtake");
        let kept = run(&mut *Impairment::Jitter { law, reorder: false }.build(Seed(2)), 20_000);
        assert!(kept.windows(2).all(|w| w[0].0 + 1 == w[1].0 && w[0].1 <= w[1].1));
    }
}

#[test]
fn the_seed_decides_what_is_lost() {
    let lost = |seed| run(&mut *Impairment::Bernoulli(0.3).build(Seed(seed)), 200);
    assert_eq!(lost(1), lost(1));
    assert_ne!(lost(1), lost(2));
    assert_eq!(run(&mut *Impairment::Bernoulli(0.0).build(Seed(1)), 100).len(), 100);
    assert!(run(&mut *Impairment::Bernoulli(1.0).build(Seed(1)), 100).is_empty());
}

#[test]
fn periodic_loss_counts_packets_and_nothing_else() {
    let law = PeriodicLoss { every: 4, first: 2 };
    let arrived = run(&mut *Impairment::PeriodicLoss(law).build(Seed(1)), 12);
    let ids: Vec<u64> = arrived.iter().map(|(id, _)| *id).collect();
    assert_eq!(ids, [0, 1, 3, 4, 5, 7, 8, 9, 11]);
    let all = PeriodicLoss { every: 1, first: 0 };
    assert!(run(&mut *Impairment::PeriodicLoss(all).build(Seed(1)), 5).is_empty());
}

#[test]
fn losses_have_their_rate_and_bursts_their_length() {
    let n = 400_000;
    for (law, rate, burst) in [
        // Independent losses at p come in runs of 1/(1-p).
        (Impairment::Bernoulli(0.05), 0.05, 1.0 / 0.95),
        (Impairment::GilbertElliott(GilbertElliott::bursts(0.02, 5.0)), 0.02, 5.0),
        (Impairment::GilbertElliott(GilbertElliott::bursts(0.10, 1.5)), 0.10, 1.5),
    ] {
        let arrived = run(&mut *law.build(Seed(3)), n);
        let lost = n - arrived.len() as u64;
        let bursts = arrived.windows(2).filter(|w| w[1].0 > w[0].0 + 1).count() as f64;
        let got = lost as f64 / n as f64;
        assert!((got / rate - 1.0).abs() < 0.05, "{law:?}: rate {got}");
        assert!((lost as f64 / bursts / burst - 1.0).abs() < 0.05, "{law:?}: burst");
    }
    // Losses in both states: p = 0.01, r = 0.1, so 1/11 of the time bad.
    let law = GilbertElliott { to_bad: 0.01, to_good: 0.1, loss_good: 0.01, loss_bad: 0.5 };
    let want = (0.1 * 0.01 + 0.01 * 0.5) / 0.11;
    assert!((law.loss_rate() - want).abs() < 1e-12);
    let arrived = run(&mut *Impairment::GilbertElliott(law).build(Seed(4)), n).len() as f64;
    assert!(((1.0 - arrived / n as f64) / want - 1.0).abs() < 0.05);
}
