//! A sender's state through its public interface, in virtual time.

use std::time::Duration;

use airlane_base::{Rate, Seed, Time};
use airlane_congestion::{
    Ack, Acked, Algorithm, Controller, ControllerConfig, Limit, Loss, LossCause, Marked, PathId,
    SendReadiness, SendState, Sent, Signal,
};
use parking_lot::Mutex;
use proptest::prelude::*;

const MTU: u16 = 1350;
const BYTES: Option<u64> = Some(MTU as u64);
const RTT: Duration = Duration::from_millis(20);
const A: PathId = PathId(0);
const B: PathId = PathId(1);

fn at(ms: u64) -> Time {
    Time::from_millis(ms)
}

fn state(config: ControllerConfig) -> SendState {
    let mut state = SendState::new(Time::ZERO);
    state.open(Time::ZERO, A, config.build(Time::ZERO, MTU.into(), Seed(1)), MTU.into());
    state
}

fn acked(pn: u64) -> Acked {
    Acked { pn, smoothed_rtt: RTT }
}

/// Sends what may leave; what holds the next packet back.
fn send_all(state: &mut SendState, now: Time, path: PathId, next: &mut u64) -> SendReadiness {
    state.begin(path);
    loop {
        match state.next(now, path, BYTES) {
            SendReadiness::Open => {
                state.no_data_waits(now, path);
                assert!(state.on_sent(now, path, *next, MTU));
                *next += 1;
            }
            held => return held,
        }
    }
}

#[test]
fn the_verdict_says_what_holds_a_packet_back() {
    let mut state = state(ControllerConfig::new(Algorithm::Reno));
    let mut next = 0;
    assert_eq!(state.next(at(1), A, None), SendReadiness::NothingToSend);
    assert_eq!(state.next(at(1), A, BYTES), SendReadiness::Open);
    // Without a round-trip time nothing is paced: ten packets, the initial window.
    assert_eq!(send_all(&mut state, at(1), A, &mut next), SendReadiness::Window);
    assert_eq!((next, state.in_flight(A)), (10, 10 * u64::from(MTU)));
    assert_eq!(state.gate(A, MTU.into()), None);
    // The round trip is known from here on: two windows of twelve packets per 20 ms.
    for pn in 0..2 {
        assert!(state.on_acked(at(21), A, &acked(pn)).is_some());
    }
    assert!(state.on_ack_end(at(21), A));
    // Twelve packets, of which eight are in flight, and the pacer has saved up for four.
    let SendReadiness::Paced(until) = send_all(&mut state, at(21), A, &mut next) else {
        assert_eq!(next, 14);
        return;
    };
    assert!(until > at(21) && until < at(23), "{until}");
    assert_eq!(state.gate(A, MTU.into()), Some(until));
    assert_eq!(state.next(until, A, BYTES), SendReadiness::Open);
    assert_eq!(state.next(until, A, None), SendReadiness::NothingToSend);
    assert_eq!(state.next(until, B, BYTES), SendReadiness::NothingToSend, "no such path");
}

#[test]
fn two_paths_with_the_same_numbers_do_not_meet() {
    let mut state = state(ControllerConfig::new(Algorithm::Reno));
    let bbr = ControllerConfig::Bbr.build(at(1), MTU.into(), Seed(2));
    state.open(at(1), B, bbr, MTU.into());
    for pn in 0..4 {
        assert!(state.on_sent(at(2), A, pn, MTU));
        assert!(state.on_sent(at(3), B, pn, 1000));
        assert!(!state.on_sent(at(3), B, pn, 1000), "a number is used once");
    }
    assert_eq!(state.on_acked(at(13), B, &acked(1)).map(|p| (p.at, p.bytes)), Some((at(3), 1000)));
    assert_eq!(state.on_acked(at(13), B, &acked(1)), None);
    state.on_ack_end(at(13), B);
    assert_eq!(state.on_lost(at(30), A, 1).map(|p| p.bytes), Some(MTU));
    assert_eq!((state.in_flight(A), state.in_flight(B)), (3 * u64::from(MTU), 3000));
    assert_eq!(
        (state.rtt(A).is_none(), state.rtt(B).unwrap().min),
        (true, Duration::from_millis(10))
    );
    let (a, b) = (state.counts(at(30), A), state.counts(at(30), B));
    assert_eq!((a.lost_packets, a.acked_packets, b.lost_packets, b.acked_packets), (1, 0, 0, 1));
    // What a path leaves behind when it is closed is not forgotten.
    state.close(B);
    let total = state.total(at(30));
    assert_eq!((total.sent_packets, total.abandoned_packets, total.acked_packets), (8, 3, 1));
    assert_eq!(state.newest(), Some(A));
}

#[test]
fn what_was_asked_holds_for_paths_to_come() {
    let cubic = || ControllerConfig::cubic(1.0).build(Time::ZERO, MTU.into(), Seed(1));
    let mut state = state(ControllerConfig::cubic(1.0));
    assert!(state.signal(at(1), Signal::Weight(3.5)));
    assert!(!state.signal(at(1), Signal::Rate(Rate::from_mbps(1.0))));
    state.open(at(2), B, cubic(), MTU.into());
    state.close(A);
    assert_eq!(state.last_signals().weight, Some(3.5));

    let rate = Rate::from_mbps(12.0);
    let mut state = self::state(ControllerConfig::new(Algorithm::Explicit));
    assert!(state.signal(at(1), Signal::Rate(rate)));
    let fresh = ControllerConfig::new(Algorithm::Explicit).build(at(2), MTU.into(), Seed(1));
    state.open(at(2), B, fresh, MTU.into());
    assert_eq!(state.controller(B).unwrap().pacing_rate(), Some(rate));
}

#[test]
fn a_path_under_another_address_goes_on_and_the_old_one_can_be_gone_back_to() {
    let mut state = state(ControllerConfig::Bbr);
    let mut next = 0;
    send_all(&mut state, at(1), A, &mut next);
    for pn in 0..5 {
        state.on_acked(at(21), A, &acked(pn));
    }
    state.on_ack_end(at(21), A);
    let (window, rate) = (state.window(A), state.controller(A).unwrap().pacing_rate());
    assert!(rate.is_some());
    state.open_like(at(22), B, A);
    assert_eq!((state.window(B), state.in_flight(B)), (window, 0));
    assert_eq!(state.controller(B).unwrap().pacing_rate(), rate);
    assert_eq!(state.rtt(B).unwrap().min, RTT);
    // The new path collapses, and is given up.
    state.on_sent(at(23), B, next, MTU);
    state.on_lost(at(60), B, next);
    assert!(state.on_losses_end(at(60), B, true));
    assert!(state.window(B) < window);
    state.close(B);
    assert_eq!((state.newest(), state.window(A)), (Some(A), window));
    assert_eq!(state.in_flight(A), 5 * u64::from(MTU));
    assert!(state.on_acked(at(70), A, &acked(5)).is_some());
}

/// Remembers what it is told.
#[derive(Clone, Debug, Default)]
struct Witness {
    heard: std::sync::Arc<Mutex<Heard>>,
}

#[derive(Debug, Default)]
struct Heard {
    limits: Vec<Limit>,
    causes: Vec<LossCause>,
    marked: Vec<(u64, u64)>,
    delivered: Vec<u64>,
}

impl Controller for Witness {
    fn on_sent(&mut self, _: &Sent) {}
    fn on_ack(&mut self, ack: &Ack) {
        let mut heard = self.heard.lock();
        heard.limits.push(ack.limit);
        heard.delivered.extend(ack.sample.map(|s| s.delivered));
    }
    fn on_loss(&mut self, loss: &Loss) {
        self.heard.lock().causes.push(loss.cause);
    }
    fn on_marked(&mut self, marked: &Marked) {
        self.heard.lock().marked.push((marked.pn, marked.in_flight));
    }
    fn window(&self) -> u64 {
        5 * u64::from(MTU)
    }
    fn pacing_rate(&self) -> Option<Rate> {
        // A packet per millisecond, and two at once after a pause.
        Some(Rate::of(MTU.into(), Duration::from_millis(1)))
    }
    fn burst_packets(&self) -> f64 {
        2.0
    }
    fn name(&self) -> &'static str {
        "witness"
    }
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
    fn takes_samples(&self) -> bool {
        true
    }
}

#[test]
fn a_controller_hears_what_limited_sending_why_packets_count_as_lost_and_of_marks() {
    let witness = Witness::default();
    let heard = witness.heard.clone();
    let mut state = SendState::new(Time::ZERO);
    state.open(Time::ZERO, A, Box::new(witness), MTU.into());
    let mut next = 0;
    // Its own burst; then the pacer holds, then the window.
    assert_eq!(send_all(&mut state, at(10), A, &mut next), SendReadiness::Paced(at(11)));
    assert_eq!(next, 2);
    for ms in 11..13 {
        assert_eq!(send_all(&mut state, at(ms), A, &mut next), SendReadiness::Paced(at(ms + 1)));
    }
    assert_eq!(send_all(&mut state, at(13), A, &mut next), SendReadiness::Window);
    state.on_acked(at(15), A, &acked(0));
    state.on_ack_end(at(15), A);
    assert_eq!(heard.lock().limits, [Limit::Window]);
    assert_eq!(send_all(&mut state, at(15), A, &mut next), SendReadiness::Window);
    // Nothing more to send: packets that left before something waited were limited by the pacer,
    // or the window; those that leave from here on by nothing but the application.
    assert_eq!(state.next(at(16), A, None), SendReadiness::NothingToSend);
    for pn in 1..6 {
        state.on_acked(at(20), A, &acked(pn));
    }
    state.on_ack_end(at(20), A);
    for pn in 6..12 {
        assert_eq!(state.next(at(30 + 2 * pn), A, BYTES), SendReadiness::Open);
        state.no_data_waits(at(30 + 2 * pn), A);
        state.on_sent(at(30 + 2 * pn), A, pn, MTU);
        assert_eq!(state.next(at(30 + 2 * pn), A, None), SendReadiness::NothingToSend);
        if pn == 9 {
            state.on_acked(at(49), A, &acked(6));
            state.on_ack_end(at(49), A);
        }
    }
    assert_eq!(heard.lock().limits.last(), Some(&Limit::Application));
    // Eight by number, ten by time; and a mark with the acknowledgement of the eleventh.
    state.on_acked(at(60), A, &acked(11));
    state.on_ack_end(at(60), A);
    state.on_lost(at(60), A, 8);
    state.on_lost(at(70), A, 10);
    state.on_losses_end(at(70), A, false);
    state.on_marked(at(70), A, 1);
    let heard = heard.lock();
    assert_eq!(heard.causes, [LossCause::Reordering, LossCause::Late]);
    assert_eq!(heard.marked, [(11, 2 * u64::from(MTU))]);
    assert_eq!(state.total(at(70)).mark_reports, 1);
    assert!(heard.delivered.is_sorted() && heard.delivered.len() > 3, "{:?}", heard.delivered);
}

#[test]
fn what_a_queue_dropped_on_purpose_is_off_the_flight_and_no_controller_hears_of_it() {
    let witness = Witness::default();
    let heard = witness.heard.clone();
    let mut state = SendState::new(Time::ZERO);
    state.open(Time::ZERO, A, Box::new(witness), MTU.into());
    for pn in 0..4 {
        state.on_sent(at(pn), A, pn, MTU);
    }
    assert!(state.on_dropped(at(30), A, 1).is_some());
    assert!(state.on_dropped(at(30), A, 1).is_none());
    assert!(!state.on_losses_end(at(30), A, true));
    state.on_lost(at(31), A, 2);
    assert!(state.on_losses_end(at(31), A, true));
    assert_eq!(heard.lock().causes.len(), 1);
    assert_eq!(state.in_flight(A), 2 * u64::from(MTU));
    assert_eq!(state.total(at(31)).lost_packets, 2);
}

#[test]
fn busy_time_is_the_time_in_which_data_waited() {
    let mut state =
        state(ControllerConfig::Explicit { rate: Rate::of(1350, Duration::from_millis(1)) });
    let mut next = 0;
    while next < 20 {
        let now = at(100 + next);
        state.begin(A);
        if state.next(now, A, BYTES) == SendReadiness::Open {
            state.no_data_waits(now, A);
            state.on_sent(now, A, next, MTU);
        }
        state.next(now, A, BYTES);
        next += 1;
    }
    assert_eq!(state.total(at(119)).busy, Duration::from_millis(19));
    // It goes on as long as something waits, and no longer.
    assert_eq!(state.total(at(125)).busy, Duration::from_millis(25));
    state.next(at(125), A, None);
    assert_eq!(state.total(at(500)).busy, Duration::from_millis(25));
}

proptest! {
    /// Whatever happens to packets, on whatever path: each is in flight, acknowledged, lost or left
    /// behind, and bytes in flight are those of the packets in flight.
    #[test]
    fn every_packet_sent_is_accounted_for(
        steps in prop::collection::vec((0u8..10, 0u32..3, 0u64..40, 1u16..1_500), 1..400),
        algorithm in prop::sample::select(Algorithm::ALL.to_vec()),
    ) {
        let build = || ControllerConfig::new(algorithm).build(Time::ZERO, MTU.into(), Seed(1));
        let mut state = SendState::new(Time::ZERO);
        let mut open = std::collections::BTreeMap::new();
        let (mut now, mut next, mut number) = (Time::ZERO, 0u64, 0);
        let (mut sent, mut acked_n, mut lost, mut left) = (0u64, 0u64, 0u64, 0u64);
        for (step, path, pn, bytes) in steps {
            let path = PathId(number + path);
            match step {
                0 => {
                    now += Duration::from_micros(u64::from(bytes) * 10);
                }
                1 if !open.contains_key(&path) => {
                    state.open(now, path, build(), MTU.into());
                    open.insert(path, std::collections::BTreeMap::new());
                }
                2 if bytes < 200 => {
                    state.close(path);
                    left += open.remove(&path).map_or(0, |p| p.len() as u64);
                    number += 1; // A number is not given again.
                }
                3 => {
                    let hit = state.on_lost(now, path, pn).is_some();
                    prop_assert_eq!(hit, open.get_mut(&path).and_then(|p| p.remove(&pn)).is_some());
                    lost += u64::from(hit);
                    state.on_losses_end(now, path, pn == 3);
                }
                4 | 5 => {
                    let hit = state.on_acked(now, path, &acked(pn)).is_some();
                    prop_assert_eq!(hit, open.get_mut(&path).and_then(|p| p.remove(&pn)).is_some());
                    acked_n += u64::from(hit);
                    prop_assert_eq!(state.on_ack_end(now, path), hit);
                }
                6 => state.on_marked(now, path, 1),
                _ => {
                    let took = state.on_sent(now, path, next, bytes);
                    prop_assert_eq!(took, open.contains_key(&path));
                    if let Some(packets) = open.get_mut(&path) {
                        packets.insert(next, u64::from(bytes));
                        sent += 1;
                    }
                    next += 1;
                }
            }
            for (path, packets) in &open {
                prop_assert_eq!(state.in_flight(*path), packets.values().sum::<u64>());
            }
            let total = state.total(now);
            let in_flight: u64 = open.values().map(|p| p.len() as u64).sum();
            prop_assert_eq!((total.sent_packets, total.acked_packets), (sent, acked_n));
            prop_assert_eq!((total.lost_packets, total.abandoned_packets), (lost, left));
            prop_assert_eq!(sent, acked_n + lost + left + in_flight);
        }
    }
}
