//! Reports on the wire: the vectors of docs/reference/wire/cupid.md, and everything that may come.

use std::time::Duration;

use airlane_base::{Rate, Time};
use airlane_cupid::{FEEDBACK_BYTES, Feedback, FeedbackError, Inbox, VERSION};
use proptest::prelude::*;

/// Reports and bytes as docs/reference/wire/cupid.md has them.
fn vectors() -> Vec<(Feedback, &'static str)> {
    let least = Feedback {
        sequence: 0,
        rate: Rate::ZERO,
        utilisation: 0,
        stations: 0,
        interval_ms: 1,
        confidence: 0,
        has_room: false,
        is_isolated: false,
    };
    let usual = Feedback {
        sequence: 258,
        rate: Rate::from_mbps(86.4),
        utilisation: Feedback::part(0.8),
        stations: 3,
        interval_ms: 40,
        confidence: 255,
        has_room: false,
        is_isolated: false,
    };
    let all = Feedback {
        sequence: u16::MAX,
        rate: Rate::from_bps(0xff_ffff * 1_000),
        utilisation: 255,
        stations: 255,
        interval_ms: 255,
        confidence: 255,
        has_room: true,
        is_isolated: false,
    };
    vec![
        (least, "10 00 00 00 00 00 00 00 01 00"),
        (usual, "10 01 02 01 51 80 cc 03 28 ff"),
        (Feedback { has_room: true, ..usual }, "11 01 02 01 51 80 cc 03 28 ff"),
        (Feedback { is_isolated: true, ..usual }, "12 01 02 01 51 80 cc 03 28 ff"),
        (all, "11 ff ff ff ff ff ff ff ff ff"),
    ]
}

fn hex(text: &str) -> Vec<u8> {
    text.split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
}

#[test]
fn reports_are_as_documented() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/wire/cupid.md");
    let page = std::fs::read_to_string(page).unwrap();
    for (feedback, text) in vectors() {
        assert_eq!(feedback.encode().to_vec(), hex(text), "{feedback:?}");
        assert_eq!(Feedback::decode(&hex(text)), Ok(feedback));
        assert!(page.contains(text), "{text} is not in docs/reference/wire/cupid.md");
    }
}

#[test]
fn what_is_no_report_is_told_apart() {
    let bytes = hex(vectors()[1].1);
    for len in 0..FEEDBACK_BYTES {
        assert_eq!(Feedback::decode(&bytes[..len]), Err(FeedbackError::Truncated(len)));
    }
    for version in (0..16).filter(|&v| v != VERSION) {
        let mut other = bytes.clone();
        other[0] = version << 4;
        assert_eq!(Feedback::decode(&other), Err(FeedbackError::Version(version)));
    }
    let mut other = bytes.clone();
    other[8] = 0;
    assert_eq!(Feedback::decode(&other), Err(FeedbackError::Interval));
    // Reserved bits and what follows are for those who come later.
    let mut later = bytes.clone();
    later[0] |= 0x0c;
    later.push(7);
    assert_eq!(Feedback::decode(&later), Feedback::decode(&bytes));
    let huge = Feedback { rate: Rate::from_bps(u64::MAX), ..vectors()[1].0 };
    assert_eq!(Feedback::decode(&huge.encode()).unwrap().rate, Rate::from_bps(16_777_215_000));
}

#[test]
fn late_and_lost_reports_are_borne_and_counted() {
    let mut inbox = Inbox::new();
    let report = |sequence| Feedback { sequence, ..vectors()[1].0 }.encode();
    let mut now = Time::from_millis(1);
    let mut take = |ms, sequence| {
        now += Duration::from_millis(ms);
        inbox.take(now, &report(sequence)).unwrap().map(|feedback| feedback.sequence)
    };
    assert_eq!(take(40, 65_534), Some(65_534));
    assert_eq!(take(40, 65_534), None, "the same again");
    assert_eq!(take(40, 1), Some(1), "two were lost, and it wrapped");
    assert_eq!(take(5, 65_535), None, "late");
    assert_eq!(take(5, 0), None, "late");
    assert_eq!(take(40, 2), Some(2));
    assert_eq!(take(990, 1), None);
    assert_eq!(take(20, 1), Some(1), "after a second of silence its sender began anew");
    assert!(inbox.take(now, b"nothing").is_err());
    let counts = inbox.counts();
    assert_eq!((counts.taken, counts.skipped, counts.stale, counts.refused), (4, 2, 4, 1));
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
        if let Ok(feedback) = Feedback::decode(&bytes) {
            prop_assert_eq!(Feedback::decode(&feedback.encode()), Ok(feedback));
            prop_assert!(feedback.interval() > Duration::ZERO);
        }
    }
}
