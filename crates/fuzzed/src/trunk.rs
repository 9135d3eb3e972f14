//! The first messages of a path, and frames on a line of a trunk (`docs/wire/tunnel.md`).

use airlane_apps::multipath::trunk::{Body, Preference, Reason, TrunkFrame, TrunkHello};
use airlane_apps::multipath::{Protocol, Terms};
use bytes::{Bytes, BytesMut};

/// Any bytes on a line: they are frames or refused, a frame comes out as it went in, and so do first
/// messages.
pub fn trunk(data: &[u8]) {
    if let Ok(hello) = TrunkHello::decode(data) {
        assert_eq!(&hello.encode()[..], data);
    }
    let mut bytes = BytesMut::from(data);
    while let Ok(Some(frame)) = TrunkFrame::decode(&mut bytes) {
        let mut again = BytesMut::from(&frame.encode()[..]);
        assert!(matches!(TrunkFrame::decode(&mut again), Ok(Some(same)) if same == frame));
        assert!(again.is_empty());
    }
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let preference = Preference { price: 3, is_backup: true };
    let limits = (Some(8_000_000), Some(1 << 20));
    let (max_bps, allowance) = limits;
    let line = TrunkHello { trunk: [7; 16], radio: 1, preference, max_bps, allowance };
    let protocol = Protocol::Mptcp;
    let (segment_bytes, window_bytes, receive_memory) = (1200, 120_000, 1 << 24);
    let terms = Terms { protocol, segment_bytes, window_bytes, receive_memory };
    let lane = crate::mptcp::seeds().concat();
    let bodies = [
        Body::Open { terms, request: Bytes::from_static(b"a request") },
        Body::Accept(terms),
        Body::Lane(BytesMut::from(&lane[..])),
        Body::Control(BytesMut::from(&lane[..])),
        Body::Reset(Reason::Full),
    ];
    let of_line = [Body::Ping(1), Body::Pong(u64::MAX), Body::Allow(1 << 40)];
    let of_stream = bodies.into_iter().map(|body| TrunkFrame { stream: 4, body });
    let frames = of_line.into_iter().map(|body| TrunkFrame { stream: 0, body }).chain(of_stream);
    let frames: Vec<u8> = frames.flat_map(|frame| frame.encode()).collect();
    vec![line.encode().to_vec(), frames]
}
