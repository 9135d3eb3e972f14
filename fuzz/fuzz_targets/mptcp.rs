//! Any bytes on a path of MPTCP's meta level: they are frames or refused, and a frame comes out as it
//! went in.
#![no_main]

use airlane_mptcp::wire::Frame;
use bytes::BytesMut;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let mut bytes = BytesMut::from(data);
    while let Ok(Some(frame)) = Frame::decode(&mut bytes) {
        let mut again = BytesMut::new();
        frame.encode(&mut again);
        assert_eq!(Frame::decode(&mut again), Ok(Some(frame)));
    }
});
