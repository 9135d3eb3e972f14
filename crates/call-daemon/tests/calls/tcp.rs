//! Calls of clients whose media is on connections over TCP.

use std::time::Duration;

use airlane_call_daemon::{CallLimits, CallStatus};

use crate::carrier::Carrier;
use crate::world::{Disturbance, Member, call, observed_call};

const S: Duration = Duration::from_secs(1);

/// Transport of each participant as the server says it.
fn transports(status: &CallStatus) -> Vec<&'static str> {
    status.rooms[0].participants.iter().map(|of| of.transport).collect()
}

#[test]
fn clients_over_tcp_and_udp_see_each_other_without_a_freeze() {
    let members = vec![
        Member::new(&[400], 15 * S).over(Carrier::Tcp),
        Member::new(&[400], 15 * S).over(Carrier::Tcp),
        Member::new(&[400], 15 * S),
    ];
    let (outcomes, status) = observed_call(members, CallLimits::default(), Disturbance::Nothing);
    assert_eq!(transports(&status), ["tcp", "tcp", "udp"]);
    assert_eq!((status.tcp_connections, status.tcp_dropped_datagrams_total), (2, 0));
    for outcome in outcomes {
        let summary = outcome.unwrap();
        assert_eq!((&summary.failure, summary.received.len()), (&None, 2), "{summary:?}");
        for person in &summary.received {
            assert!((24.0..26.0).contains(&person.frame_rate), "{person:?}");
            assert!((350e3..450e3).contains(&person.bitrate_bps), "{person:?}");
            assert_eq!(person.freezes, 0, "{person:?}");
        }
    }
}

#[test]
fn a_client_that_reads_nothing_any_more_loses_what_does_not_fit_and_delays_nobody() {
    let members = vec![
        Member::new(&[400], 20 * S).over(Carrier::Stalled(5 * S)),
        Member::new(&[400], 20 * S).over(Carrier::Tcp),
        Member::new(&[400], 20 * S),
    ];
    let (outcomes, status) = observed_call(members, CallLimits::default(), Disturbance::Nothing);
    // Two videos of 400 kbit/s for 14 s, less what waits and what was on its way.
    assert!(status.tcp_dropped_datagrams_total > 100, "{status:?}");
    assert!(status.tcp_dropped_bytes_total > 200_000, "{status:?}");
    assert_eq!(status.tcp_connections, 2);
    for outcome in &outcomes[1..] {
        let summary = outcome.as_ref().unwrap();
        for person in &summary.received {
            assert_eq!(person.freezes, 0, "{person:?}");
        }
    }
}

#[test]
fn a_connection_that_is_cut_and_made_again_carries_the_call_on() {
    let members =
        vec![Member::new(&[400], 20 * S).over(Carrier::Remade(8 * S)), Member::new(&[400], 20 * S)];
    let (outcomes, status) = observed_call(members, CallLimits::default(), Disturbance::Nothing);
    assert_eq!((transports(&status), status.tcp_connections), (vec!["tcp", "udp"], 1));
    for outcome in outcomes {
        let summary = outcome.unwrap();
        // Until the client's next check finds the server on the new connection.
        let video = &summary.received[0];
        assert!(summary.failure.is_none() && video.frozen_s < 5.0, "{summary:?}");
        assert!(video.frames > 14 * 25, "{video:?}");
    }
}

#[test]
fn a_connection_from_a_clients_address_is_not_the_clients_without_its_password() {
    let members = vec![
        Member::new(&[400], 15 * S).over(Carrier::Shadowed(5 * S)),
        Member::new(&[400], 15 * S),
    ];
    let (outcomes, status) = observed_call(members, CallLimits::default(), Disturbance::Nothing);
    assert_eq!((transports(&status), status.tcp_connections), (vec!["udp"; 2], 0));
    for outcome in outcomes {
        let summary = outcome.unwrap();
        assert_eq!((&summary.failure, summary.received[0].freezes), (&None, 0), "{summary:?}");
    }
}

#[test]
fn a_client_that_vanishes_leaves_no_connection() {
    let limits = CallLimits { silence_timeout: 10 * S, ..CallLimits::default() };
    let members = vec![
        Member::new(&[100], 20 * S),
        Member::new(&[100], 5 * S).over(Carrier::Tcp).vanishing(),
    ];
    let (_, status) = observed_call(members, limits, Disturbance::Nothing);
    assert_eq!((transports(&status), status.tcp_connections), (vec!["udp"], 0));
}

#[test]
fn clients_over_tcp_are_told_when_the_server_stops() {
    let member = || Member::new(&[100], 30 * S).over(Carrier::Tcp);
    let disturbance = Disturbance::Stop(10 * S);
    for outcome in call(vec![member(), member()], CallLimits::default(), disturbance) {
        let summary = outcome.unwrap();
        assert!(summary.failure.is_some());
        assert!(summary.length_s < 11.0, "{summary:?}");
    }
}
