//! What participants of a call get of each other.

use std::time::Duration;

use airlane_call_daemon::CallLimits;
use airlane_call_daemon::client::ClientSummary;

use crate::world::{Disturbance, Member, Outcome, call, half_duplex, link};

const S: Duration = Duration::from_secs(1);

fn run(members: Vec<Member>, limits: CallLimits) -> Vec<ClientSummary> {
    call(members, limits, Disturbance::Nothing).into_iter().map(Outcome::unwrap).collect()
}

/// Summary of what a client received of another.
fn of<'a>(
    summary: &'a ClientSummary,
    name: &str,
) -> &'a airlane_call_daemon::client::ReceivedSummary {
    summary.received.iter().find(|person| person.name == name).unwrap()
}

#[test]
fn everybody_sees_everybody_without_a_freeze() {
    let members = (0..3).map(|_| Member::new(&[400], 15 * S)).collect();
    let summaries = run(members, CallLimits::default());
    for summary in &summaries {
        assert_eq!(summary.failure, None);
        assert_eq!(summary.received.len(), 2, "{summary:?}");
        for person in &summary.received {
            assert!((24.0..26.0).contains(&person.frame_rate), "{person:?}");
            assert!((350e3..450e3).contains(&person.bitrate_bps), "{person:?}");
            assert_eq!(person.freezes, 0, "{person:?}");
        }
    }
}

#[test]
fn who_has_little_bandwidth_gets_the_lower_encoding() {
    let members = vec![
        Member::new(&[150, 800], 30 * S),
        Member::new(&[], 30 * S),
        Member::new(&[], 30 * S).on(link(0.5, 1.0)),
    ];
    let summaries = run(members, CallLimits::default());
    let (ample, thin) = (of(&summaries[1], "p0"), of(&summaries[2], "p0"));
    // The first seconds are of the lower one, until the estimate has grown.
    assert!(ample.bitrate_bps > 600e3, "{ample:?}");
    assert!((120e3..250e3).contains(&thin.bitrate_bps), "{thin:?}");
    assert!(thin.frame_rate > 24.0, "{thin:?}");
}

/// Three on ample links and one on a half-duplex channel that cannot carry what all have to say.
fn shared_channel(is_coordinated: bool) -> Vec<ClientSummary> {
    let mut members = vec![Member::new(&[600], 30 * S).on(half_duplex(&[(Duration::ZERO, 1.5)]))];
    members.extend((0..3).map(|_| Member::new(&[100, 500], 30 * S)));
    run(members, CallLimits { is_coordinated, ..CallLimits::default() })
}

#[test]
fn a_channel_that_both_directions_share_is_coordinated_where_plum_is_on() {
    let (plum, vanilla) = (shared_channel(true), shared_channel(false));
    // However it is divided, each direction is left enough for video that one can follow.
    assert!(plum[0].notices > 0, "{:?}", plum[0]);
    assert!(plum[0].ceiling_bps.is_none_or(|bps| bps > 230_000), "{:?}", plum[0]);
    assert_eq!((vanilla[0].notices, vanilla[0].ceiling_bps), (0, None));
    // Nobody else's channel is a bottleneck.
    for summary in &plum[1..] {
        assert_eq!(summary.ceiling_bps, None, "{summary:?}");
    }
    for summary in plum.iter().chain(&vanilla) {
        assert_eq!(summary.failure, None);
        assert!(summary.received.iter().all(|person| person.frame_rate > 10.0), "{summary:?}");
    }
}

#[test]
fn a_room_takes_no_more_than_it_may() {
    let limits = CallLimits { max_participants: 2, ..CallLimits::default() };
    let members = (0..3).map(|i| Member::new(&[100], 5 * S).from(S * i)).collect();
    let outcomes = call(members, limits, Disturbance::Nothing);
    assert!(outcomes[0].is_ok() && outcomes[1].is_ok());
    assert_eq!(outcomes[2], Err(airlane_call_daemon::Refusal::RoomFull));
}
