//! BBR version 3 on links, alone and beside others, with version 1 as the measure.

use std::sync::Arc;
use std::time::Duration;

use airlane_base::{Rate, Seed, Time};
use airlane_congestion::{Ack, Algorithm, Controller, ControllerConfig, Loss, Marked, Sent};
use parking_lot::Mutex;

use crate::harness::{
    AckPolicy, Discipline, Flow, FlowResult, OnOff, Outcome, PACKET_BYTES, Scene, run,
};

/// State of a controller after an acknowledgement.
#[derive(Clone, Copy, Debug)]
struct Look {
    at: Time,
    /// Pacing rate in bandwidths, less one percent.
    gain: f64,
    /// Window in bytes.
    window: u64,
    bandwidth: Rate,
}

/// A controller that writes down how it is after each acknowledgement.
#[derive(Debug)]
struct RecordingController {
    inner: Box<dyn Controller>,
    looks: Arc<Mutex<Vec<Look>>>,
}

impl Controller for RecordingController {
    fn on_sent(&mut self, sent: &Sent) {
        self.inner.on_sent(sent);
    }
    fn on_ack(&mut self, ack: &Ack) {
        self.inner.on_ack(ack);
    }
    fn on_ack_end(&mut self, now: Time, in_flight: u64) {
        self.inner.on_ack_end(now, in_flight);
        let Some(bandwidth) = self.inner.bandwidth() else { return };
        let rate = self.inner.pacing_rate().unwrap_or_default();
        let gain = rate.as_f64() / bandwidth.as_f64() / 0.99;
        let window = self.inner.window();
        self.looks.lock().push(Look { at: now, gain, window, bandwidth });
    }
    fn on_loss(&mut self, loss: &Loss) {
        self.inner.on_loss(loss);
    }
    fn on_marked(&mut self, marked: &Marked) {
        self.inner.on_marked(marked);
    }
    fn window(&self) -> u64 {
        self.inner.window()
    }
    fn pacing_rate(&self) -> Option<Rate> {
        self.inner.pacing_rate()
    }
    fn takes_samples(&self) -> bool {
        true
    }
    fn name(&self) -> &'static str {
        "watched"
    }
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self { inner: self.inner.clone_box(), looks: Arc::clone(&self.looks) })
    }
}

/// A link with a droptail queue.
#[derive(Clone, Copy)]
struct Link {
    mbps: f64,
    rtt: Duration,
    queue_bdp: f64,
    /// Send jitter in service times.
    jitter: f64,
}

impl Link {
    const fn new(mbps: f64, rtt_ms: u64, queue_bdp: f64) -> Self {
        Self { mbps, rtt: Duration::from_millis(rtt_ms), queue_bdp, jitter: 1.0 }
    }

    fn bdp_bytes(self) -> f64 {
        self.mbps * 1e6 / 8.0 * self.rtt.as_secs_f64()
    }

    fn run(self, seconds: u64, warmup: u64, flows: Vec<Flow>) -> Outcome {
        let service = Rate::from_mbps(self.mbps).time_for(PACKET_BYTES + 28);
        let packets = self.rtt.div_duration_f64(service) * self.queue_bdp;
        let scene = Scene {
            discipline: Discipline::DropTail(packets.round().max(1.0) as usize),
            service,
            jitter: self.jitter,
            duration: Duration::from_secs(seconds),
            warmup: Duration::from_secs(warmup),
            seed: Seed(1),
        };
        run(&scene, flows)
    }

    fn flow(self, algorithm: Algorithm, seed: u64) -> Flow {
        let config = ControllerConfig::new(algorithm);
        Flow::new(config.build(Time::ZERO, PACKET_BYTES, Seed(seed)), self.rtt)
    }

    /// A flow that is watched.
    fn watched(self, seed: u64) -> (Flow, Arc<Mutex<Vec<Look>>>) {
        let mut flow = self.flow(Algorithm::Bbr3, seed);
        let looks = Arc::new(Mutex::new(Vec::new()));
        flow.controller =
            Box::new(RecordingController { inner: flow.controller, looks: Arc::clone(&looks) });
        (flow, looks)
    }

    /// `n` flows of one kind, started five seconds apart.
    fn several(self, algorithm: Algorithm, n: u64) -> Outcome {
        let flows = (0..n).map(|i| {
            let mut flow = self.flow(algorithm, i);
            flow.start = Time::from_millis(5_000 * i);
            flow
        });
        self.run(60, 25, flows.collect())
    }
}

fn lost_share(out: &Outcome) -> f64 {
    let sum = |of: fn(&FlowResult) -> u64| out.flows.iter().map(of).sum::<u64>();
    let lost = sum(|f| f.lost);
    lost as f64 / (lost + sum(|f| f.packets)) as f64
}

/// Wait that a tenth of all packets stays below, in ms: what stands in the queue all the time.
fn standing_ms(out: &Outcome) -> f64 {
    out.flows.iter().map(|f| f.wait_ms(0.1)).sum::<f64>() / out.flows.len() as f64
}

fn jain(out: &Outcome) -> f64 {
    let sum = |power| out.flows.iter().map(|f| (f.packets as f64).powi(power)).sum::<f64>();
    sum(1).powi(2) / (out.flows.len() as f64 * sum(2))
}

/// Times at which something begins to hold for a controller, and for how long it does.
fn spells(looks: &[Look], is: impl Fn(&Look) -> bool) -> Vec<(Time, Duration)> {
    looks
        .chunk_by(|a, b| is(a) == is(b))
        .filter(|spell| is(&spell[0]))
        .map(|spell| (spell[0].at, spell[spell.len() - 1].at - spell[0].at))
        .collect()
}

#[test]
fn alone_it_fills_links_loses_nothing_and_leaves_no_standing_queue() {
    for (mbps, rtt_ms) in [(4.0, 10), (4.0, 100), (20.0, 40), (50.0, 20), (120.0, 10), (120.0, 100)]
    {
        let link = Link::new(mbps, rtt_ms, 4.0);
        let out = link.run(30, 5, vec![link.flow(Algorithm::Bbr3, 1)]);
        let what = format!("{mbps} Mbit/s, {rtt_ms} ms");
        assert!(out.link.utilisation > 0.95, "{what}: {:.3}", out.link.utilisation);
        assert_eq!(out.flows[0].lost, 0, "{what}");
        let standing = standing_ms(&out) / rtt_ms as f64;
        // A packet takes 2.8 ms at 4 Mbit/s, and the least window is more than that path holds.
        let most = if link.bdp_bytes() < 10_000.0 { 1.5 } else { 0.1 };
        assert!(standing < most, "{what}: {standing:.3} round trips");
    }
}

#[test]
fn acknowledgements_of_ten_and_paths_below_a_packet_do_not_stall_it() {
    let link = Link::new(20.0, 40, 2.0);
    let mut flow = link.flow(Algorithm::Bbr3, 1);
    flow.acks = AckPolicy::decimated(link.rtt);
    let out = link.run(30, 5, vec![flow]);
    assert!(out.link.utilisation > 0.95, "{:.3}", out.link.utilisation);
    let tiny = Link::new(0.2, 10, 50.0);
    let (flow, looks) = tiny.watched(1);
    let out = tiny.run(60, 10, vec![flow]);
    assert!(out.link.utilisation > 0.95, "{:.3}", out.link.utilisation);
    assert!(looks.lock().iter().all(|look| look.window >= 4 * PACKET_BYTES));
}

#[test]
fn it_probes_every_two_to_three_seconds_and_drains_what_it_has_probed() {
    let link = Link::new(20.0, 100, 4.0);
    let (flow, looks) = link.watched(1);
    link.run(60, 5, vec![flow]);
    let looks = looks.lock();
    let near = |look: &Look, gain: f64| (look.gain / gain - 1.0).abs() < 0.01;
    let ups = spells(&looks, |look| near(look, 1.25));
    assert!((12..30).contains(&ups.len()), "{}", ups.len());
    for pair in ups.windows(2) {
        let apart = (pair[1].0 - pair[0].0).as_secs_f64();
        // ProbeRTT in between starts the wait anew.
        assert!((2.0..6.5).contains(&apart), "{apart:.2} s");
    }
    let mut cut_short = 0;
    for (start, lasts) in &ups {
        let end = looks.partition_point(|look| look.at <= *start + *lasts);
        let Some(next) = looks.get(end) else { continue };
        if !near(next, 0.9) {
            cut_short += 1;
            continue;
        }
        // Three rounds without growth.
        let rounds = lasts.div_duration_f64(link.rtt);
        assert!((2.5..5.0).contains(&rounds), "at {start}: {rounds:.1} rounds");
    }
    // By ProbeRTT.
    assert!(cut_short <= ups.len() / 4, "{cut_short} of {}", ups.len());
}

#[test]
fn on_a_path_of_few_packets_it_probes_as_often_as_reno_would_lose_one() {
    let link = Link::new(4.0, 40, 4.0);
    let (flow, looks) = link.watched(1);
    link.run(30, 5, vec![flow]);
    let ups = spells(&looks.lock(), |look| (look.gain / 1.25 - 1.0).abs() < 0.01);
    let apart = ups.windows(2).map(|pair| pair[1].0 - pair[0].0);
    let mut rounds: Vec<f64> = apart.map(|apart| apart.div_duration_f64(link.rtt)).collect();
    rounds.sort_unstable_by(f64::total_cmp);
    // The path holds 14.5 packets. To it come the rounds of the probe and of the one before it.
    let median = rounds[rounds.len() / 2];
    assert!((15.0..30.0).contains(&median), "{median:.1} rounds");
}

#[test]
fn after_a_probe_that_lost_too_much_it_stops_there_and_goes_on_if_nothing_is_lost() {
    let link = Link { jitter: 0.0, ..Link::new(20.0, 40, 0.5) };
    let (flow, looks) = link.watched(1);
    let out = link.run(60, 5, vec![flow]);
    let ups = spells(&looks.lock(), |look| (look.gain / 1.25 - 1.0).abs() < 0.01);
    let rounds = |span: Duration| span.div_duration_f64(link.rtt);
    // The first probe is long, and loses. Of those that follow one stops early and one goes on at once, but
    // for those that ProbeRTT cuts short.
    assert!(rounds(ups[0].1) > 3.5, "{:?}", ups[0]);
    let twins = ups.windows(2).filter(|pair| {
        rounds(pair[0].1) < 2.5 && rounds(pair[1].0 - (pair[0].0 + pair[0].1)) < 3.5
    });
    let twins = twins.count();
    assert!(twins >= 10 && 2 * twins >= ups.len() - 3, "{twins} of {}", ups.len());
    assert!((1..100).contains(&out.flows[0].lost), "{}", out.flows[0].lost);
}

#[test]
fn the_waits_between_probes_are_drawn_from_the_seed() {
    let link = Link::new(20.0, 100, 4.0);
    let first_up = |seed| {
        let (flow, looks) = link.watched(seed);
        link.run(6, 1, vec![flow]);
        let ups = spells(&looks.lock(), |look| (look.gain - 1.25).abs() < 0.01);
        ups[0].0
    };
    assert_eq!(first_up(1), first_up(1));
    let mut times: Vec<Time> = (1..=5).map(first_up).collect();
    times.sort_unstable();
    times.dedup();
    assert!(times.len() > 2, "{times:?}");
}

#[test]
fn every_five_seconds_it_halves_the_window_for_a_fifth_of_a_second() {
    // Without jitter no round trip is ever shorter than the least, which would put ProbeRTT off.
    let link = Link { jitter: 0.0, ..Link::new(20.0, 40, 4.0) };
    let (flow, looks) = link.watched(1);
    link.run(60, 5, vec![flow]);
    let looks = looks.lock();
    let half = 0.5 * link.bdp_bytes();
    // From the first second on: before that the window grows.
    let looks = &looks[looks.partition_point(|look| look.at < Time::from_millis(1_000))..];
    let dips = spells(looks, |look| (look.window as f64 / half - 1.0).abs() < 0.1);
    assert!((9..=12).contains(&dips.len()), "{}", dips.len());
    for pair in dips.windows(2) {
        let apart = (pair[1].0 - pair[0].0).as_secs_f64();
        assert!((5.2..5.5).contains(&apart), "{apart:.2} s");
    }
    for (at, lasts) in &dips {
        assert!((0.2..0.35).contains(&lasts.as_secs_f64()), "at {at}: {lasts:?}");
    }
    let least = looks.iter().map(|look| look.window).min();
    assert!(least.is_some_and(|least| least as f64 > 0.9 * half), "{least:?} of {half}");
}

#[test]
fn after_a_pause_it_goes_on_at_the_bandwidth_and_looks_for_no_round_trip() {
    let link = Link::new(20.0, 40, 4.0);
    let (mut flow, looks) = link.watched(1);
    let (on, off) = (Duration::from_secs(3), Duration::from_secs(6));
    flow.on_off = Some(OnOff { on, off, phase: Duration::ZERO });
    let out = link.run(60, 1, vec![flow]);
    let looks = looks.lock();
    for pair in looks.windows(2).filter(|pair| pair[1].at - pair[0].at > Duration::from_secs(5)) {
        let [before, after] = pair else { panic!("two") };
        assert!(after.window as f64 > 1.5 * link.bdp_bytes(), "{after:?}");
        assert!(after.bandwidth.as_f64() > 0.95 * before.bandwidth.as_f64(), "{after:?}");
        assert!(after.gain < 1.3, "{after:?}");
    }
    let grown = looks.partition_point(|look| look.at < Time::from_millis(1_000));
    let dips = spells(&looks[grown..], |look| (look.window as f64) < 0.7 * link.bdp_bytes());
    assert!(dips.is_empty(), "{dips:?}");
    assert_eq!(out.flows[0].lost, 0);
    assert!(out.link.utilisation > 0.28, "{:.3} of a third", out.link.utilisation);
}

#[test]
fn bandwidth_that_comes_and_goes_is_followed() {
    let link = Link::new(50.0, 40, 1.0);
    // Another flow takes nine tenths from 20 s to 40 s, and yields to nothing.
    let (flow, looks) = link.watched(1);
    let config = ControllerConfig::Explicit { rate: Rate::from_mbps(44.0) };
    let mut other = Flow::new(config.build(Time::ZERO, PACKET_BYTES, Seed(2)), link.rtt);
    let secs = Duration::from_secs;
    other.on_off = Some(OnOff { on: secs(20), off: secs(60), phase: secs(60) });
    let out = link.run(60, 5, vec![flow, other]);
    let rate = |from: usize, to: usize| {
        let packets: u32 = out.flows[0].bins[10 * from..10 * to].iter().sum();
        f64::from(packets) * (PACKET_BYTES + 28) as f64 * 8.0 / 1e6 / (to - from) as f64
    };
    assert!(rate(10, 20) > 45.0, "{:.1}", rate(10, 20));
    assert!(rate(30, 40) < 12.0, "{:.1}", rate(30, 40));
    assert!(rate(45, 60) > 40.0, "{:.1}", rate(45, 60));
    let at = |secs: u64| {
        let looks = looks.lock();
        let index = looks.partition_point(|look| look.at < Time::from_millis(1_000 * secs));
        looks[index].bandwidth.mbps()
    };
    assert!(at(19) > 45.0 && at(39) < 20.0, "{:.1}, {:.1}", at(19), at(39));
}

#[test]
fn several_in_a_shallow_queue_lose_no_more_than_two_percent_where_version_1_loses_far_more() {
    for n in [2, 4] {
        let link = Link::new(20.0, 40, 0.5);
        let [new, old] = [Algorithm::Bbr3, Algorithm::Bbr].map(|a| link.several(a, n));
        assert!(new.link.utilisation > 0.95, "{n}: {:.3}", new.link.utilisation);
        let (new, old) = (lost_share(&new), lost_share(&old));
        assert!(new < 0.02, "{n}: {new:.4}");
        assert!(old > 4.0 * new, "{n}: {new:.4} and {old:.4}");
    }
}

#[test]
fn two_share_evenly_and_let_the_queue_drain_as_version_1_does_not() {
    for queue_bdp in [1.0, 4.0] {
        let link = Link::new(20.0, 40, queue_bdp);
        let [new, old] = [Algorithm::Bbr3, Algorithm::Bbr].map(|a| link.several(a, 2));
        assert!(jain(&new) > 0.95, "{queue_bdp}: {:.3}", jain(&new));
        assert!(new.link.utilisation > 0.95, "{queue_bdp}: {:.3}", new.link.utilisation);
        let (new, old) = (standing_ms(&new), standing_ms(&old));
        assert!(new < 0.6 * old, "{queue_bdp} BDP: {new:.1} and {old:.1} ms");
    }
}

#[test]
fn beside_cubic_both_have_their_part_in_queues_of_any_depth() {
    for queue_bdp in [1.0, 2.0, 4.0] {
        let link = Link::new(10.0, 40, queue_bdp);
        let share = |algorithm| {
            let flows = vec![link.flow(algorithm, 1), link.flow(Algorithm::Cubic, 2)];
            let out = link.run(120, 20, flows);
            assert!(out.link.utilisation > 0.95, "{:.3}", out.link.utilisation);
            out.flows[0].packets as f64 / (out.flows[0].packets + out.flows[1].packets) as f64
        };
        let (new, old) = (share(Algorithm::Bbr3), share(Algorithm::Bbr));
        assert!((0.35..0.75).contains(&new), "{queue_bdp} BDP: {new:.2}");
        if queue_bdp <= 1.0 {
            assert!(old > 0.8, "{old:.2}");
        }
    }
}
