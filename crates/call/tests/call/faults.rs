//! Faults: clients and servers that vanish, optimisers that take long, channels that carry nothing, participants who
//! do not keep to the protocol. The call goes on, and nobody stays held.

use std::sync::Arc;
use std::time::Duration;

use airlane_base::{Rate, Time};
use airlane_call::{CoordinationConfig, Deviation, Optimiser, ServerConfig};
use airlane_plum::{State, Target};

use crate::conference::{
    HELD_UPLINK, LENGTH, PLUM, SETTLED, VANILLA, coordinated, plum, scene, scene_with, yielding,
};
use crate::world::{
    Client, Outcome, Setup, call, call_with_restart, half_duplex, half_duplex_steps, link,
};

fn seconds(s: u64) -> Duration {
    Duration::from_secs(s)
}

/// Frames that a client showed from one time to another.
fn shown(outcome: &Outcome, client: usize, from: Duration, to: Duration) -> usize {
    let within = |at: Time| (from..to).contains(&at.since_start());
    outcome.shown[client].iter().filter(|record| record.shown.is_some_and(within)).count()
}

/// A client whose channel carries nothing any more while it is held. The others do not notice, and once its
/// connection is given up it is no part of the call.
#[test]
fn a_client_that_vanishes_while_held_holds_up_nobody() {
    let gone = half_duplex_steps(&[(seconds(0), 12.0), (seconds(12), 0.0)]);
    let length = seconds(90);
    let clients = vec![gone.into(), link(50.0).into(), link(50.0).into()];
    // The one of three with the least capacity is to receive more and to send less; of two nobody is held.
    let server = coordinated(|rates| {
        let least = rates.iter().min().copied();
        let ample = Target { up: Rate::from_mbps(1000.0), down: Rate::from_mbps(1000.0) };
        let target = |rate: &Rate| match Some(*rate) == least {
            true => Target { up: rate.scale(0.2), down: rate.scale(0.8) },
            false => ample,
        };
        (rates.len() == 3).then(|| rates.iter().map(target).collect())
    });
    let outcome = call(clients, server, length);
    assert!(outcome.channel(0).iter().any(|r| r.state == State::ClientConstrained));
    let last = outcome.channel(0).last().expect("records").at.since_start();
    assert!(last < seconds(80), "it is still there after {last:?}");
    for client in 1..3 {
        assert_eq!(outcome.ended[client], None);
        // The other one's video.
        let frames = shown(&outcome, client, seconds(20), length);
        assert!(frames > 70 * 19, "client {client}: {frames} frames");
        // Once it is forgotten nobody is held.
        let channel = outcome.channel(client).into_iter();
        let mut late = channel.filter(|record| record.at.since_start() > seconds(85));
        assert!(late.all(|record| record.state == State::Natural), "client {client}");
    }
}

/// A server that is gone for 5 s and then knows nothing: the clients join again, and are held again only as the new
/// one decides.
#[test]
fn a_server_that_restarts_has_its_call_back() {
    let accesses = [half_duplex(12.0), link(50.0), link(50.0)];
    let clients = accesses.map(Client::from).into();
    let length = seconds(50);
    let restart = Some((seconds(15), seconds(20)));
    let outcome = call_with_restart(clients, yielding(0.2), restart, length);
    assert_eq!(outcome.ended, vec![None; 3]);
    for client in 0..3 {
        assert!(shown(&outcome, client, seconds(5), seconds(15)) > 2 * 19 * 9);
        let frames = shown(&outcome, client, seconds(40), length);
        assert!(frames > 2 * 19 * 9, "client {client}: {frames} frames");
    }
    // Without a server nobody is held for longer than a notice holds.
    let held = outcome.encoded[0].iter().filter(|record| record.target.is_some());
    let held: Vec<_> = held.map(|record| record.at.since_start()).collect();
    assert!(held.iter().any(|at| *at < seconds(15)), "it was never held");
    assert!(!held.iter().any(|at| (seconds(19)..seconds(20)).contains(at)));
}

/// An optimiser that takes this long in virtual time.
fn slow(time: Duration) -> ServerConfig {
    // A future has no clock but one that it brings along: a counter of polls, one each 100 ms.
    let polls = time.as_millis() / 100;
    let optimiser = Optimiser(Arc::new(move |rates| {
        let mut left = polls;
        Box::pin(std::future::poll_fn(move |_| {
            left = left.saturating_sub(1);
            if left > 0 {
                return std::task::Poll::Pending;
            }
            let target = |rate: &Rate| match rate.mbps() < 30.0 {
                true => Target { up: rate.scale(0.8), down: rate.scale(0.2) },
                false => Target { up: *rate, down: *rate },
            };
            std::task::Poll::Ready(Some(rates.iter().map(target).collect()))
        }))
    }));
    let coordination = yielding(0.8).coordination.expect("coordination");
    let coordination = CoordinationConfig { optimiser, ..coordination };
    ServerConfig { coordination: Some(coordination), ..ServerConfig::default() }
}

/// A result that comes late is followed; one that does not come leaves everybody Natural; media flows either way.
#[test]
fn an_optimiser_that_takes_long_holds_up_no_media() {
    let late = scene(slow(seconds(1)));
    let first = late.channel(0).into_iter().find(|r| r.state == State::ServerConstrained);
    let first = first.expect("a late result is followed").at.since_start();
    // Changes are looked for after 5 s.
    assert!(first >= Duration::from_millis(5_800), "{first:?}");
    let never = scene(slow(seconds(1000)));
    assert!(never.channels.iter().all(|record| record.state == State::Natural));
    for client in 0..4 {
        let (a, b) =
            (shown(&VANILLA, client, SETTLED, LENGTH), shown(&never, client, SETTLED, LENGTH));
        assert!(b as f64 > 0.98 * a as f64, "client {client}: {b} frames, {a} without");
    }
}

/// A channel that carries nothing from the beginning: its client never joins, and nobody waits for it.
#[test]
fn a_channel_that_never_carries_anything_is_no_part_of_the_call() {
    let dead = half_duplex(0.001);
    let clients = vec![dead.into(), half_duplex(12.0).into(), link(50.0).into(), link(50.0).into()];
    let outcome = call(clients, yielding(0.8), LENGTH);
    assert_eq!(outcome.ids[0], None);
    assert!(outcome.channel(1).iter().any(|r| r.state == State::ServerConstrained));
    for client in 1..4 {
        assert!(shown(&outcome, client, SETTLED, LENGTH) > 2 * 19 * 19);
    }
}

/// Rates that the client on the half-duplex channel and, in the mean, the others receive, Mbit/s.
fn received(outcome: &Outcome) -> (f64, f64) {
    assert_eq!(outcome.ended, vec![None; 4]);
    let others = (1..4).map(|i| outcome.received_mbps(i, SETTLED, LENGTH)).sum::<f64>() / 3.0;
    (outcome.received_mbps(0, SETTLED, LENGTH), others)
}

/// Participants who report wrong estimates, or ignore what they are held to, get no more than without coordination
/// or by being honest, whichever is more, and the others lose no more than what coordination brought them.
#[test]
fn lies_gain_no_more_than_what_there_is_without_coordination() {
    let lies: [(&str, Setup); 3] = [
        ("ten times its estimate", |c| c.deviation.reported_share = 10.0),
        ("a tenth of its estimate", |c| c.deviation.reported_share = 0.1),
        ("ignores notices", |c| {
            c.deviation = Deviation { follows_notices: false, ..Deviation::default() };
        }),
    ];
    let vanilla = received(&VANILLA);
    let servers = [("Plum", &PLUM, plum(0.1)), ("0.2 up", &HELD_UPLINK, yielding(0.2))];
    for (name, honest, server) in servers {
        let truth = received(honest);
        for (lie, setup) in lies {
            let (own, others) = received(&scene_with(setup, server.clone()));
            let bound = 1.1 * truth.0.max(vanilla.0);
            assert!(own <= bound, "{name}, {lie}: {own} Mbit/s, honest {truth:?}, {vanilla:?}");
            let floor = 0.9 * truth.1.min(vanilla.1);
            assert!(others >= floor, "{name}, {lie}: {others}, honest {truth:?}, {vanilla:?}");
        }
    }
}
