//! Any bytes from a client of SOCKS, and in the tunnel's own requests and datagrams: they are
//! understood or refused, and what is understood comes out as it went in.
#![no_main]

use airlane_daemon::tunnel::{DatagramFrame, TunnelRequest, socks};
use bytes::BytesMut;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let mut said = BytesMut::from(data);
    if let Ok(true) = socks::greeting(&mut said) {
        let _ = socks::request(&mut said);
    }
    let _ = socks::request(&mut BytesMut::from(data));
    if let Some((target, payload)) = socks::datagram(data) {
        let again = socks::datagram_from(&target, payload);
        assert_eq!(socks::datagram(&again), Some((target, payload)));
    }
    if let Some(request) = TunnelRequest::decode(data) {
        assert_eq!(&request.encode()[..], data);
    }
    let mut bytes = BytesMut::from(data);
    while let Ok(Some(frame)) = DatagramFrame::decode(&mut bytes) {
        let again = DatagramFrame::encode(&frame.target, &frame.payload);
        let mut again = BytesMut::from(&again.unwrap_or_default()[..]);
        assert_eq!(DatagramFrame::decode(&mut again), Ok(Some(frame)));
    }
});
