//! Any bytes on a line of a trunk: they are frames or refused, a frame comes out as it went in, and
//! so do first messages.
#![no_main]

use airlane_apps::multipath::trunk::{TrunkFrame, TrunkHello};
use airlane_apps::multipath::Hello;
use bytes::BytesMut;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Ok(hello) = TrunkHello::decode(data) {
        assert_eq!(&hello.encode()[..], data);
    }
    if let Ok(hello) = Hello::decode(data) {
        assert_eq!(&hello.encode()[..], data);
    }
    let mut bytes = BytesMut::from(data);
    while let Ok(Some(frame)) = TrunkFrame::decode(&mut bytes) {
        let mut again = BytesMut::from(&frame.encode()[..]);
        assert!(matches!(TrunkFrame::decode(&mut again), Ok(Some(same)) if same == frame));
        assert!(again.is_empty());
    }
});
