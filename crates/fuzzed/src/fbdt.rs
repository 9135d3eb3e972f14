//! Frames on a path of FBDT (`docs/reference/wire/fbdt.md`), and what its two ends make of them.

use airlane_base::Time;
use airlane_fbdt::wire::{Ack, Frame, Ranges, Segment};
use airlane_fbdt::{Config, Receiver, Sender};
use bytes::{Bytes, BytesMut};

/// Any bytes on a path: they are frames or refused, a frame comes out as it went in, and neither end
/// holds more than was agreed.
pub fn fbdt(data: &[u8]) {
    let config = Config { segment_bytes: 256, window_bytes: 4096, receive_memory: 16_384 };
    let mut sender = Sender::new(config, 16_384);
    let Some(path) = sender.open(Time::ZERO) else { return };
    let mut receiver = Receiver::new(config);
    let mut bytes = BytesMut::from(data);
    while let Ok(Some(frame)) = Frame::decode(&mut bytes) {
        let mut again = BytesMut::new();
        frame.encode(&mut again);
        assert_eq!(Frame::decode(&mut again), Ok(Some(frame.clone())));
        let refused = match frame {
            Frame::Segment(segment) => receiver.on_segment(Time::ZERO, segment).is_err(),
            Frame::End(windows) => receiver.on_end(windows).is_err(),
            Frame::Ack(ack) => sender.on_ack(Time::ZERO, path, &ack).is_err(),
        };
        if refused {
            return;
        }
        assert!(receiver.held_bytes() <= config.receive_memory);
        let _ = receiver.ack(0);
    }
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let segment = |window, index, count, bytes| {
        let payload = Bytes::from(vec![index as u8; bytes]);
        Frame::Segment(Segment { window, index, count, payload })
    };
    let mut missing = Ranges::default();
    missing.push(1, 3);
    missing.push(5, 8);
    let told = Ack { received: 800, complete: 2, consumed: 4096, missing: vec![(3, missing)] };
    vec![
        // A receiver's side: two windows with segments out of order, and the end of the stream.
        frames(&[
            segment(0, 1, 3, 256),
            segment(1, 0, 1, 100),
            segment(0, 0, 3, 256),
            segment(0, 2, 3, 256),
            Frame::End(2),
        ]),
        // A sender's, of which nothing was sent yet; and what it would refuse.
        frames(&[Frame::Ack(Ack::default()), Frame::Ack(told)]),
    ]
}

fn frames(frames: &[Frame]) -> Vec<u8> {
    let mut bytes = BytesMut::new();
    frames.iter().for_each(|frame| frame.encode(&mut bytes));
    bytes.to_vec()
}
