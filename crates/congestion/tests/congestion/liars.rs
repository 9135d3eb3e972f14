//! Receivers that report what they like: what they take from a flow that plays fair beside them, on a wire
//! that has nothing to do with the air.

use std::time::Duration;

use airlane_base::{Rate, Seed, Time};
use airlane_congestion::{Algorithm, ControllerConfig, Fallback, Grant, PathId, SendState, Signal};

use crate::harness::{Discipline, Flow, OnOff, PACKET_BYTES, Reports, Scene, run};

const RTT: Duration = Duration::from_millis(20);
const WIRE_MBPS: f64 = 20.0;
const SECONDS: u64 = 20;
const WARMUP_SECONDS: u64 = 2;

/// What a liar does.
#[derive(Clone, Copy, Debug)]
struct Lie {
    mbps: f64,
    has_room: bool,
    is_full: bool,
    /// It reports for so long, and then pauses for so long.
    reports: Duration,
    pause: Duration,
    /// Time between reports, which it also announces.
    every: Duration,
}

impl Lie {
    /// The air is full, and a gigabit is its share.
    const FULL: Self = Self {
        mbps: 1_000.0,
        has_room: false,
        is_full: true,
        reports: Duration::from_secs(3_600),
        pause: Duration::ZERO,
        every: Duration::from_millis(4),
    };

    const fn ms(self, reports: u64, pause: u64) -> Self {
        let (reports, pause) = (Duration::from_millis(reports), Duration::from_millis(pause));
        Self { reports, pause, ..self }
    }

    fn flow(self, id: u64) -> Flow {
        let config = ControllerConfig::Cupid { fallback: Fallback::Cubic, weight: 1.0 };
        let mut flow = Flow::new(config.build(Time::ZERO, PACKET_BYTES, Seed(id)), RTT);
        let tell = Box::new(move |now: Time, _: &[u64]| {
            let nanos = u128::from(now.as_nanos());
            let phase = nanos % (self.reports + self.pause).as_nanos();
            let grant = Grant {
                rate: Rate::from_mbps(self.mbps),
                interval: self.every,
                has_room: self.has_room,
                is_full: self.is_full,
                is_isolated: false,
            };
            (phase < self.reports.as_nanos()).then_some(Signal::Grant(grant))
        });
        flow.reports = Some(Reports { every: self.every, tell });
        flow
    }
}

fn plain(id: u64) -> Flow {
    let config = ControllerConfig::new(Algorithm::Cubic);
    Flow::new(config.build(Time::ZERO, PACKET_BYTES, Seed(100 + id)), RTT)
}

/// What the victim has of its fair share, beside these.
fn kept(beside: Vec<Flow>, bdp: f64, seed: u64) -> f64 {
    let service = Duration::from_secs_f64((PACKET_BYTES + 28) as f64 * 8.0 / (WIRE_MBPS * 1e6));
    let scene = Scene {
        discipline: Discipline::DropTail((RTT.div_duration_f64(service) * bdp).ceil() as usize),
        service,
        jitter: 1.0,
        duration: Duration::from_secs(SECONDS),
        warmup: Duration::from_secs(WARMUP_SECONDS),
        seed: Seed(seed),
    };
    let flows = beside.len() + 1;
    let all: Vec<Flow> = std::iter::once(plain(0)).chain(beside).collect();
    let packets = run(&scene, all).flows[0].packets;
    let carried = (SECONDS - WARMUP_SECONDS) as f64 / service.as_secs_f64();
    packets as f64 * flows as f64 / carried
}

/// The modes of `tests/attacks/h3cli.py`, and others of their kind.
fn lies() -> Vec<(&'static str, Lie)> {
    let room = Lie { has_room: true, is_full: false, ..Lie::FULL };
    vec![
        ("lie", Lie::FULL),
        ("cycle", Lie::FULL.ms(250, 150)),
        ("room", room),
        ("room, with pauses", room.ms(250, 150)),
        ("long pauses", Lie::FULL.ms(1_000, 1_000)),
        ("short pauses", Lie::FULL.ms(100, 60)),
        ("one burst every 3 s", Lie::FULL.ms(200, 2_800)),
        ("every 40 ms", Lie { every: Duration::from_millis(40), ..Lie::FULL.ms(500, 300) }),
        ("three times the wire", Lie { mbps: 60.0, ..Lie::FULL.ms(250, 150) }),
        ("not quite full", Lie { is_full: false, ..Lie::FULL.ms(250, 150) }),
    ]
}

#[test]
fn a_victim_keeps_its_share_beside_a_liar_and_beside_two() {
    let mut wrong = Vec::new();
    for bdp in [1.0, 4.0] {
        let honest = [kept(vec![plain(1)], bdp, 1), kept(vec![plain(1), plain(2)], bdp, 1)];
        println!("{bdp} BDP, plain: {:.2} beside one, {:.2} beside two", honest[0], honest[1]);
        for (what, lie) in lies() {
            let one = kept(vec![lie.flow(1)], bdp, 1);
            let two = kept(vec![lie.flow(1), lie.flow(2)], bdp, 1);
            println!("{bdp} BDP, {what}: {one:.2} beside one, {two:.2} beside two");
            if one < 0.8 || two < 0.8 {
                wrong.push((what, bdp, one, two));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn pauses_in_sending_teach_a_liar_s_sender_nothing_new() {
    for (on, off) in [(400, 200), (2_000, 500)] {
        let mut liar = Lie::FULL.flow(1);
        let (on, off) = (Duration::from_millis(on), Duration::from_millis(off));
        liar.on_off = Some(OnOff { on, off, phase: Duration::ZERO });
        let kept = kept(vec![liar], 1.0, 1);
        println!("sends for {on:?}, pauses for {off:?}: {kept:.2}");
        assert!(kept >= 0.8, "{on:?}, {off:?}: {kept}");
    }
}

/// The window of a connection that goes on under another address, whose receiver may have been refuted
/// before that.
fn window_on_a_later_path(is_refuted: bool) -> u64 {
    let build = || {
        let config = ControllerConfig::Cupid { fallback: Fallback::Cubic, weight: 1.0 };
        config.build(Time::ZERO, PACKET_BYTES, Seed(1))
    };
    let (now, first, second) = (Time::from_millis(1), PathId(1), PathId(2));
    let rate = Rate::from_mbps(1_000.0);
    let grant = Grant { rate, interval: RTT, has_room: false, is_full: true, is_isolated: false };
    let mut state = SendState::new(now);
    state.open(now, first, build(), PACKET_BYTES);
    assert!(state.signal(now, Signal::Grant(grant)));
    if is_refuted {
        assert!(state.signal(now, Signal::Refuted));
    }
    state.open(now, second, build(), PACKET_BYTES);
    state.close(first);
    assert!(state.signal(now, Signal::Grant(grant)));
    assert_eq!(state.last_signals().is_refuted, is_refuted);
    state.window(second)
}

#[test]
fn another_address_does_not_clear_a_liar() {
    assert!(window_on_a_later_path(false) > 1_000 * PACKET_BYTES);
    assert_eq!(window_on_a_later_path(true), 10 * PACKET_BYTES);
}
