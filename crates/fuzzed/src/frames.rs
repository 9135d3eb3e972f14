//! Transmissions of 802.11 for the seeds of several targets: one of each kind of frame.

use std::time::Duration;

use airlane_base::Time;
use airlane_capture::{Records, Writer};
use airlane_wifi::{Address, BlockAck, Frame, FrameKind, Heard, Vector, What};

/// Transmissions that a receiver heard, 1 ms apart.
fn heard() -> Vec<Heard> {
    let (point, station) = (Address([2, 0, 0, 0, 0, 0]), Address([2, 0, 0, 0, 0, 1]));
    let down = Frame {
        kind: FrameKind::QosData,
        receiver: station,
        transmitter: Some(point),
        bssid: Some(point),
        is_down: true,
        bytes: 1_500,
        is_retry: false,
        sequence: 17,
        remaining: Duration::from_micros(44),
        tid: 5,
        block_ack: None,
    };
    let up = Frame { receiver: point, transmitter: Some(station), is_down: false, ..down };
    // Control frames have neither sequence number nor network.
    let control = Frame { bssid: None, bytes: 20, sequence: 0, tid: 0, ..up };
    let unsigned = Frame { transmitter: None, bytes: 14, remaining: Duration::ZERO, ..control };
    let all = Frame { receiver: Address::BROADCAST, bytes: 200, tid: 0, ..down };
    let came = BlockAck { start: 17, came: [0b1011, 0, 0, 0] };
    let one = |frame| vec![frame];
    let frames = [
        vec![down, Frame { sequence: 18, ..down }, Frame { sequence: 19, ..down }],
        one(up),
        one(Frame { kind: FrameKind::Data, tid: 0, ..up }),
        one(Frame { kind: FrameKind::Null, bytes: 30, ..up }),
        one(Frame { kind: FrameKind::Beacon, ..all }),
        one(Frame { kind: FrameKind::Management, ..all }),
        one(Frame { kind: FrameKind::Rts, ..control }),
        one(Frame { kind: FrameKind::Cts, ..unsigned }),
        one(Frame { kind: FrameKind::Ack, ..unsigned }),
        one(Frame {
            kind: FrameKind::BlockAck,
            bytes: 32,
            tid: 5,
            block_ack: Some(came),
            ..control
        }),
        one(Frame { kind: FrameKind::BlockAckRequest, bytes: 24, tid: 5, ..control }),
        one(Frame { kind: FrameKind::PowerSavePoll, remaining: Duration::ZERO, ..control }),
    ];
    let whats = frames.into_iter().enumerate().map(|(n, frames)| What::Frames {
        vector: Vector::ofdm(n as u8 % 8),
        is_aggregate: frames.len() > 1,
        frames,
    });
    let whats = [What::Energy, What::Header(Vector::ofdm(0))].into_iter().chain(whats);
    let at = |n: u64| Time::from_micros(1_000 * n);
    let duration = Duration::from_micros(300);
    (1..).zip(whats).map(|(n, what)| Heard { at: at(n), duration, what }).collect()
}

/// Two captures of them: with Airlane's notes, and as other programs write them.
pub(crate) fn captures() -> [Vec<u8>; 2] {
    [Writer::new(Vec::new()), Writer::plain(Vec::new())].map(|writer| {
        let mut writer = writer.expect("memory takes it");
        for heard in heard() {
            writer.write(&heard).expect("802.11 has these frames");
        }
        writer.finish().expect("memory takes it")
    })
}

/// The records of both captures: radiotap headers with what follows them.
pub(crate) fn records() -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for capture in captures() {
        let mut records = Records::new(&capture[..]).expect("our own");
        while let Some(record) = records.read().expect("our own") {
            found.push(record.bytes.to_vec());
        }
    }
    found
}
