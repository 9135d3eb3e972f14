//! The first messages of a multipath session, and frames on a subflow
//! (`docs/reference/wire/multipath.md`).

use airlane_multipath::{Body, Preference, Reason, SessionHello, SubflowFrame};
use airlane_multipath::{Protocol, Terms};
use bytes::{Bytes, BytesMut};

/// Any bytes on a subflow: they are frames or refused, a frame comes out as it went in, and so do first
/// messages.
pub fn subflow(data: &[u8]) {
    if let Ok(hello) = SessionHello::decode(data) {
        assert_eq!(&hello.encode()[..], data);
    }
    let mut bytes = BytesMut::from(data);
    while let Ok(Some(frame)) = SubflowFrame::decode(&mut bytes) {
        let mut again = BytesMut::from(&frame.encode()[..]);
        assert!(matches!(SubflowFrame::decode(&mut again), Ok(Some(same)) if same == frame));
        assert!(again.is_empty());
    }
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let preference = Preference { price: 3, is_backup: true };
    let limits = (Some(8_000_000), Some(1 << 20));
    let (max_bps, credit) = limits;
    let hello = SessionHello { session: [7; 16], interface: 1, preference, max_bps, credit };
    let protocol = Protocol::Mptcp;
    let (segment_bytes, window_bytes, receive_memory) = (1200, 120_000, 1 << 24);
    let terms = Terms { protocol, segment_bytes, window_bytes, receive_memory };
    let data = crate::mptcp::seeds().concat();
    let bodies = [
        Body::Open { terms, request: Bytes::from_static(b"a request") },
        Body::Accept(terms),
        Body::Data(BytesMut::from(&data[..])),
        Body::Control(BytesMut::from(&data[..])),
        Body::Reset(Reason::Full),
    ];
    let of_subflow = [Body::Ping(1), Body::Pong(u64::MAX), Body::Credit(1 << 40)];
    let of_stream = bodies.into_iter().map(|body| SubflowFrame { stream: 4, body });
    let frames =
        of_subflow.into_iter().map(|body| SubflowFrame { stream: 0, body }).chain(of_stream);
    let frames: Vec<u8> = frames.flat_map(|frame| frame.encode()).collect();
    vec![hello.encode().to_vec(), frames]
}
