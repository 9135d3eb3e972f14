//! Whole conferences, in virtual time.

use std::sync::LazyLock;
use std::time::Duration;

use airlane_base::Rate;
use airlane_call::{
    CoordinationConfig, DEFAULT_OPTIMISER_TIMEOUT, LastNConfig, Optimiser, ServerConfig,
};
use airlane_plum::{
    CapacityMethod, CoordinatorConfig, OptimiserConfig, Problem, State, Target, Targets,
    solver_for, targets,
};

use crate::world::{Client, Outcome, Setup, call, half_duplex, half_duplex_steps, link};

pub const LENGTH: Duration = Duration::from_secs(30);
/// Everything has settled by then.
pub const SETTLED: Duration = Duration::from_secs(10);

/// Coordination with Plum's optimiser.
pub fn plum(rho: f64) -> ServerConfig {
    let config = OptimiserConfig { rho, ..OptimiserConfig::default() };
    coordinated(move |rates| {
        let capacities: Vec<f64> = rates.iter().map(|rate| rate.as_f64() / 1000.0).collect();
        let problem = Problem::new(&capacities, &config).ok()?;
        let Targets::Constrained(found) = targets(&*solver_for(&problem), &problem, None) else {
            return None;
        };
        let rate = |kbps: &f64| Rate::from_bps_f64(kbps * 1000.0);
        let both = found.up.iter().zip(&found.down);
        Some(both.map(|(up, down)| Target { up: rate(up), down: rate(down) }).collect())
    })
}

pub fn coordinated(
    optimise: impl Fn(&[Rate]) -> Option<Vec<Target>> + Send + Sync + 'static,
) -> ServerConfig {
    ServerConfig {
        coordination: Some(CoordinationConfig {
            coordinator: CoordinatorConfig::default(),
            optimiser: Optimiser::immediate(optimise),
            optimiser_timeout: DEFAULT_OPTIMISER_TIMEOUT,
            restores: true,
        }),
        ..ServerConfig::default()
    }
}

/// Gives every channel under 30 Mbit/s this share of itself for its uplink.
pub fn yielding(up: f64) -> ServerConfig {
    coordinated(move |rates| {
        let target = |rate: &Rate| match rate.mbps() < 30.0 {
            true => Target { up: rate.scale(up), down: rate.scale(1.0 - up) },
            false => Target { up: *rate, down: *rate },
        };
        Some(rates.iter().map(target).collect())
    })
}

/// A client on a half-duplex channel of 12 Mbit/s, and three with 50 Mbit/s each way.
pub fn scene(server: ServerConfig) -> Outcome {
    scene_with(|_| {}, server)
}

/// The scene with other settings of the client on the half-duplex channel.
pub fn scene_with(setup: Setup, server: ServerConfig) -> Outcome {
    let first = Client { setup, ..half_duplex(12.0).into() };
    let clients = vec![first, link(50.0).into(), link(50.0).into(), link(50.0).into()];
    call(clients, server, LENGTH)
}

// Outcomes of the scene that several tests look at: a conference takes seconds to compute.
/// Without coordination.
pub static VANILLA: LazyLock<Outcome> = LazyLock::new(|| scene(ServerConfig::default()));
/// With Plum's optimiser.
pub static PLUM: LazyLock<Outcome> = LazyLock::new(|| scene(plum(0.1)));
/// The half-duplex channel's downlink held to a fifth.
pub static HELD_DOWNLINK: LazyLock<Outcome> = LazyLock::new(|| scene(yielding(0.8)));
/// The half-duplex channel's uplink held to a fifth.
pub static HELD_UPLINK: LazyLock<Outcome> = LazyLock::new(|| scene(yielding(0.2)));

pub fn mean_mbps(outcome: &Outcome) -> f64 {
    let clients = outcome.shown.len();
    let sum: f64 = (0..clients).map(|i| outcome.received_mbps(i, SETTLED, LENGTH)).sum();
    sum / clients as f64
}

/// Largest relative distance of the capacity that the server knows from the truth, once settled.
fn capacity_error(outcome: &Outcome, client: usize, truth_mbps: f64) -> f64 {
    let settled = outcome.channel(client).into_iter();
    let settled = settled.filter(|record| record.at.since_start() >= SETTLED);
    let error = |rate: Rate| (rate.mbps() / truth_mbps - 1.0).abs();
    settled.map(|r| r.capacity.map_or(f64::INFINITY, error)).fold(0.0, f64::max)
}

#[test]
fn everybody_sees_everybody() {
    let outcome =
        call((0..4).map(|_| link(50.0).into()).collect(), ServerConfig::default(), LENGTH);
    assert_eq!(outcome.ended, vec![None; 4]);
    for client in 0..4 {
        // Three videos of 20 frames per second and at most 10 Mbit/s.
        let frames = outcome.shown[client].len() as f64 / LENGTH.as_secs_f64() / 3.0;
        assert!((19.5..=20.1).contains(&frames), "client {client}: {frames} frames per second");
        let mbps = outcome.received_mbps(client, SETTLED, LENGTH);
        assert!((27.0..31.0).contains(&mbps), "client {client}: {mbps} Mbit/s");
    }
}

#[test]
fn without_coordination_both_directions_take_half_of_the_channel() {
    let outcome = &VANILLA;
    let channel = outcome.channel(0);
    assert!(channel.iter().all(|record| record.state == State::Natural));
    let received = outcome.received_mbps(0, SETTLED, LENGTH);
    assert!((4.5..6.5).contains(&received), "{received}");
    let sent = outcome.sent_mbps(0, SETTLED, LENGTH);
    assert!((4.5..6.5).contains(&sent), "{sent}");
}

#[test]
fn what_one_direction_gives_up_the_other_takes() {
    let held =
        [(&HELD_DOWNLINK, State::ServerConstrained), (&HELD_UPLINK, State::ClientConstrained)];
    for (outcome, state) in held {
        let last = outcome.channel(0).last().copied().expect("records");
        assert_eq!(last.state, state);
        let sent = outcome.sent_mbps(0, SETTLED, LENGTH);
        let received = outcome.received_mbps(0, SETTLED, LENGTH);
        let held = if state == State::ServerConstrained { received } else { sent };
        assert!(held < 2.5, "the direction that is held carries {held} Mbit/s");
        // Headers and acknowledgements take some 7 %.
        assert!(sent + received > 0.85 * 12.0, "{sent} and {received} of 12 Mbit/s");
    }
}

#[test]
fn the_capacity_is_known_whoever_is_held() {
    let halves = scene(yielding(0.5));
    let outcomes: [(&str, &Outcome); 4] = [
        ("nothing", &VANILLA),
        ("the downlink", &HELD_DOWNLINK),
        ("the uplink", &HELD_UPLINK),
        ("half of both", &halves),
    ];
    for (held, outcome) in outcomes {
        let error = capacity_error(outcome, 0, 12.0);
        assert!(error < 0.1, "held is {held}: error {error}");
    }
}

/// Bytes are counted, as the sum of the controllers' estimates is that of a channel which nobody has.
#[test]
fn the_sum_of_estimates_is_not_the_capacity_of_a_channel_that_is_held() {
    let capacity = CapacityMethod::Estimates;
    let error = capacity_error(&scene(ServerConfig { capacity, ..yielding(0.8) }), 0, 12.0);
    assert!(error > 0.2, "{error}");
}

#[test]
fn plum_gives_the_uplink_what_many_wait_for() {
    let (before, after) = (mean_mbps(&VANILLA), mean_mbps(&PLUM));
    assert!(after > 1.03 * before, "{before} Mbit/s became {after}");
    let last = PLUM.channel(0).last().copied().expect("records");
    assert_eq!(last.state, State::ServerConstrained);
    // The others have no channel of which one direction could give something to the other.
    for client in 1..4 {
        assert!(PLUM.channel(client).iter().all(|record| record.state == State::Natural));
    }
}

#[test]
fn without_a_valid_result_everybody_is_natural() {
    let outcome = scene(coordinated(|_| None));
    assert!(outcome.channels.iter().all(|record| record.state == State::Natural));
    let shorter = scene(coordinated(|rates| Some(vec![Target { up: rates[0], down: rates[0] }])));
    assert_eq!(shorter.ended, vec![None; 4]);
}

/// Of four, the two who spoke last are seen: over half a minute everybody is, and nobody all the time.
#[test]
fn the_last_speakers_are_seen() {
    let server = ServerConfig { last_n: Some(LastNConfig::new(2)), ..ServerConfig::default() };
    let outcome = call((0..4).map(|_| link(50.0).into()).collect(), server, LENGTH);
    assert_eq!(outcome.ended, vec![None; 4]);
    let mut frames = 0;
    for client in 0..4 {
        let sources: std::collections::BTreeSet<_> =
            outcome.shown[client].iter().map(|record| record.header.source).collect();
        assert_eq!(sources.len(), 3, "client {client}");
        frames += outcome.shown[client].len();
    }
    // Two are seen by the two others and by each other: 6 of 12 videos.
    let videos = frames as f64 / 20.0 / LENGTH.as_secs_f64();
    assert!((5.0..7.0).contains(&videos), "{videos} videos at a time");
}

#[test]
fn the_same_seed_gives_the_same_call() {
    let again = scene(plum(0.1));
    assert_eq!(again.shown, PLUM.shown);
    assert_eq!(again.channels, PLUM.channels);
}

/// A late participant sees everybody soon; a participant who leaves, held or not, holds up nobody.
#[test]
fn participants_come_and_go() {
    let late = Client { start: Duration::from_secs(8), ..link(50.0).into() };
    let leaves = Client { stop: Some(Duration::from_secs(16)), ..half_duplex(12.0).into() };
    let clients = vec![leaves, link(50.0).into(), link(50.0).into(), late];
    let outcome = call(clients, yielding(0.2), LENGTH);
    assert_eq!(outcome.ended, vec![None; 4]);
    let was_held = |r: &airlane_call::ChannelRecord| r.state == State::ClientConstrained;
    assert!(outcome.channel(0).iter().any(was_held), "the one who left was never held");
    let first = outcome.shown[3].first().expect("frames").shown.expect("shown").since_start();
    assert!(first < Duration::from_millis(8_500), "{first:?}");
    let seen: std::collections::BTreeSet<_> =
        outcome.shown[3].iter().map(|record| record.header.source).collect();
    assert_eq!(seen.len(), 3);
    // Two videos are left, and they go on.
    for client in 1..4 {
        let last = outcome.shown[client].iter().rev().take(40);
        let oldest = last.filter_map(|record| record.shown).min().expect("frames");
        assert!(oldest.since_start() > LENGTH - Duration::from_millis(1_300), "{oldest}");
    }
    assert!(outcome.channel(0).last().expect("records").at.since_start() < Duration::from_secs(17));
}

/// A channel that carries nothing for 10 s while its uplink is held: the video is back within 5 s of the
/// channel, and nobody stays in a state that is not decided.
#[test]
fn a_channel_that_was_gone_comes_back() {
    let seconds = Duration::from_secs;
    let steps = [(seconds(0), 12.0), (seconds(10), 0.0), (seconds(20), 12.0)];
    let clients = vec![half_duplex_steps(&steps).into(), link(50.0).into(), link(50.0).into()];
    let outcome = call(clients, yielding(0.2), LENGTH);
    assert_eq!(outcome.ended, vec![None; 3]);
    for client in 0..3 {
        let source = outcome.ids[(client + 1) % 3].expect("welcome");
        let shown = outcome.shown[client].iter().filter(|r| r.header.source == source);
        let back =
            shown.filter_map(|record| record.shown).filter(|at| at.since_start() > seconds(20));
        let back = back.min().expect("frames after the channel is back").since_start();
        assert!(back < seconds(25), "client {client} sees client {source:?} from {back:?} on");
    }
    let sent = outcome.sent_mbps(0, seconds(25), LENGTH);
    let received = outcome.received_mbps(0, seconds(25), LENGTH);
    assert!(sent < 2.5 && sent + received > 0.8 * 12.0, "{sent} and {received}");
}
