//! Frames on a path of MPTCP's meta level (`docs/design/mptcp.md`).

use airlane_mptcp::wire::{Ack, Frame, Segment};
use bytes::{Bytes, BytesMut};

/// Any bytes on a path: they are frames or refused, and a frame comes out as it went in.
pub fn mptcp(data: &[u8]) {
    let mut bytes = BytesMut::from(data);
    while let Ok(Some(frame)) = Frame::decode(&mut bytes) {
        let mut again = BytesMut::new();
        frame.encode(&mut again);
        assert_eq!(Frame::decode(&mut again), Ok(Some(frame)));
    }
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let mut bytes = BytesMut::new();
    let segment = |dsn, bytes: &'static [u8]| {
        Frame::Segment(Segment { dsn, payload: Bytes::from_static(bytes) })
    };
    let frames = [
        segment(0, b"hello"),
        Frame::Ack(Ack { data_ack: 5, window: 4096 }),
        segment(5, &[7; 1100]),
        Frame::End(1105),
    ];
    for frame in frames {
        frame.encode(&mut bytes);
    }
    vec![bytes.to_vec()]
}
