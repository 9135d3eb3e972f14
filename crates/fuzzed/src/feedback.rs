//! Cupid's reports (`docs/design/cupid.md`), through to the controller of a sender.

use std::time::Duration;

use airlane_base::{Rate, Seed, Time};
use airlane_congestion::{Algorithm, ControllerConfig, Grant, Signal};
use airlane_cupid::{FEEDBACK_BYTES, Feedback, Inbox};

/// Any bytes as reports: they are read or refused, come out as they went in, and leave a sender with a
/// window and a rate.
///
/// The input is steps: a byte of time, in 4 ms, and a report.
pub fn feedback(data: &[u8]) {
    let mut inbox = Inbox::new();
    let mut controller = ControllerConfig::new(Algorithm::Cupid).build(Time::ZERO, 1_350, Seed(1));
    let (mut now, mut taken) = (Time::ZERO, 0);
    for step in data.chunks(FEEDBACK_BYTES + 1) {
        let [wait, report @ ..] = step else { break };
        now += Duration::from_millis(u64::from(*wait) * 4);
        if let Ok(feedback) = Feedback::decode(report) {
            assert_eq!(Feedback::decode(&feedback.encode()), Ok(feedback));
        }
        if let Ok(Some(feedback)) = inbox.take(now, report) {
            let (rate, interval) = (feedback.rate, feedback.interval());
            let (has_room, is_full) = (feedback.has_room, feedback.is_full());
            let is_isolated = feedback.is_isolated;
            let grant = Grant { rate, interval, has_room, is_full, is_isolated };
            assert!(controller.on_signal(now, Signal::Grant(grant)));
            taken += 1;
        }
        assert!(controller.window() >= 1_350);
        assert!(controller.pacing_rate().is_none_or(|rate| rate > Rate::ZERO));
    }
    assert_eq!(inbox.counts().taken, taken);
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let steps = (0..6_u8).flat_map(|n| {
        let report = Feedback {
            sequence: u16::from(n).wrapping_sub(3),
            rate: Rate::from_mbps(f64::from(1_u8 << n)),
            utilisation: 255 - n,
            stations: n,
            interval_ms: 20,
            confidence: 200,
            has_room: n % 2 == 0,
            is_isolated: n % 3 == 0,
        };
        [&[5][..], &report.encode()].concat()
    });
    vec![steps.collect()]
}
