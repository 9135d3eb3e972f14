//! Faults of networks, peers and strangers: the call goes on, and nobody stays held.

use std::time::Duration;

use airlane_call_daemon::CallLimits;
use airlane_call_daemon::client::ClientSummary;

use crate::world::{Disturbance, Member, Outcome, call, half_duplex, observed_call};

const S: Duration = Duration::from_secs(1);

#[test]
fn a_link_that_is_dead_for_ten_seconds_is_used_again() {
    let dead = half_duplex(&[(Duration::ZERO, 4.0), (20 * S, 0.0), (30 * S, 4.0)]);
    let limits = CallLimits { silence_timeout: 30 * S, ..CallLimits::default() };
    let end = 36 * S;
    let members = vec![Member::new(&[300], end).on(dead), Member::new(&[300], end)];
    for outcome in call(members, limits, Disturbance::Nothing) {
        let summary = outcome.unwrap();
        assert_eq!((&summary.failure, summary.ceiling_bps), (&None, None), "{summary:?}");
        // The pause is that of the link, and video is there within 5 s of its return.
        let video = &summary.received[0];
        assert!((10.0..15.0).contains(&video.frozen_s), "{video:?}");
        assert!(video.frames > 20 * 25, "{video:?}");
    }
}

/// Time at which the faults of a call with a held uplink come, and in which nobody may be held any more.
const FAULT: Duration = Duration::from_secs(25);
const NATURAL_WITHIN: Duration = Duration::from_secs(10);

/// Members of a call of four of whom the first one's uplink is held at the time of the fault: it is on a half-duplex
/// channel that carries 1.5 Mbit/s, and from the fault on `after_mbps`. It ends when it must be free.
fn held(after_mbps: f64) -> Vec<Member> {
    let channel = half_duplex(&[(Duration::ZERO, 1.5), (FAULT, after_mbps)]);
    let end = FAULT + NATURAL_WITHIN;
    let mut members = vec![Member::new(&[600], end).on(channel)];
    members.extend((0..3).map(|_| Member::new(&[100, 500], end)));
    members
}

/// Summaries of a call's clients, none of whom the server holds a second before the end.
fn ends(members: Vec<Member>) -> Vec<ClientSummary> {
    let (outcomes, status) = observed_call(members, CallLimits::default(), Disturbance::Nothing);
    let mut participants = status.rooms.iter().flat_map(|room| &room.participants);
    assert!(participants.all(|of| of.quality.state == "natural"), "{status:?}");
    outcomes.into_iter().map(Outcome::unwrap).collect()
}

#[test]
fn who_is_held_is_free_soon_after_its_link_is_dead() {
    let all = ends(held(0.0));
    assert!(all[0].notices > 0, "it was never held: {:?}", all[0]);
    assert!(all.iter().all(|summary| summary.ceiling_bps.is_none()), "{all:?}");
}

#[test]
fn who_is_held_is_free_soon_after_all_others_vanished() {
    let mut members = held(1.5);
    for other in &mut members[1..] {
        (other.span, other.vanishes) = ((Duration::ZERO, FAULT), true);
    }
    let first = &ends(members)[0];
    assert!(first.notices > 0, "it was never held: {first:?}");
    assert_eq!(first.ceiling_bps, None, "{first:?}");
}

#[test]
fn a_client_that_vanished_disturbs_nobody() {
    let end = 35 * S;
    let members =
        vec![Member::new(&[300], end), Member::new(&[300], end), Member::new(&[300], 15 * S)];
    let mut members = members;
    members[2].vanishes = true;
    for (i, summary) in ends(members).iter().take(2).enumerate() {
        let other = &summary.received[0];
        assert_eq!(other.name, format!("p{}", 1 - i));
        assert_eq!((other.freezes, summary.ceiling_bps), (0, None), "{summary:?}");
        assert!((24.0..26.0).contains(&other.frame_rate), "{summary:?}");
    }
}

#[test]
fn a_client_that_stood_still_for_ten_seconds_goes_on() {
    let end = 36 * S;
    let mut members: Vec<_> = (0..3).map(|_| Member::new(&[300], end)).collect();
    members[2] = Member::new(&[300], end).pausing(20 * S, 30 * S);
    let all = ends(members);
    for summary in &all {
        assert_eq!((&summary.failure, summary.ceiling_bps), (&None, None), "{summary:?}");
        for video in &summary.received {
            // Video of who stood still is there within 5 s of its end; to its system what came meanwhile came in time.
            let frozen = if video.name == "p2" { 9.9..15.0 } else { 0.0..0.1 };
            assert!(frozen.contains(&video.frozen_s), "{}: {video:?}", summary.name);
            assert!(video.frames > 20 * 25, "{video:?}");
        }
    }
}

#[test]
fn the_place_of_a_client_that_vanished_is_free_again() {
    let limits =
        CallLimits { max_participants: 2, silence_timeout: 10 * S, ..CallLimits::default() };
    let members = || vec![Member::new(&[100], 40 * S), Member::new(&[100], 5 * S).vanishing()];
    let mut early = members();
    early.push(Member::new(&[100], 40 * S).from(12 * S));
    let mut late = members();
    late.push(Member::new(&[100], 40 * S).from(18 * S));
    assert!(call(early, limits, Disturbance::Nothing)[2].is_err());
    let late = call(late, limits, Disturbance::Nothing);
    let third = late[2].as_ref().unwrap();
    assert!(third.received[0].frame_rate > 24.0, "{third:?}");
}

#[test]
fn clients_are_told_when_the_server_stops() {
    let members = vec![Member::new(&[100], 30 * S), Member::new(&[100], 30 * S)];
    for outcome in call(members, CallLimits::default(), Disturbance::Stop(10 * S)) {
        let summary = outcome.unwrap();
        assert!(summary.failure.is_some());
        assert!(summary.length_s < 11.0, "{summary:?}");
    }
}

#[test]
fn what_strangers_send_to_the_port_disturbs_nobody() {
    // First bytes of STUN, DTLS, TURN channels, RTP and RTCP (RFC 7983), whole headers of some, and noise.
    let mut datagrams: Vec<Vec<u8>> = Vec::new();
    for first in 0..=255u8 {
        for length in [1, 12, 20, 60, 1200] {
            let mut bytes: Vec<u8> = (0..length).map(|i: u32| (i * 37) as u8 ^ first).collect();
            bytes[0] = first;
            datagrams.push(bytes);
        }
    }
    let binding = |name: &[u8]| {
        let mut attribute = vec![0, 6, 0, name.len() as u8];
        attribute.extend_from_slice(name);
        attribute.resize(attribute.len().next_multiple_of(4), 0);
        let mut request = vec![0, 1, 0, attribute.len() as u8, 0x21, 0x12, 0xa4, 0x42];
        request.extend_from_slice(&[9; 12]);
        request.extend_from_slice(&attribute);
        request
    };
    (0..200u8).for_each(|n| datagrams.push(binding(&[b'a', n, b':', b'b'])));
    let members = vec![Member::new(&[300], 15 * S), Member::new(&[300], 15 * S)];
    let disturbance = Disturbance::Datagrams(5 * S, datagrams);
    for outcome in call(members, CallLimits::default(), disturbance) {
        let summary = outcome.unwrap();
        assert_eq!((&summary.failure, summary.received[0].freezes), (&None, 0), "{summary:?}");
        assert!((24.0..26.0).contains(&summary.received[0].frame_rate), "{summary:?}");
    }
}
