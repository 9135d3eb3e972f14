//! SOCKS5 (RFC 1928), the tunnel's own requests and datagrams (`docs/reference/wire/tunnel.md`),
//! and rules.

use airlane_tunnel::{DatagramFrame, DenyRule, Rule, ServerAddress, Target, TunnelRequest, socks};
use bytes::BytesMut;

/// Any bytes from a client of SOCKS, and in the tunnel's requests and datagrams: they are understood or
/// refused, and what is understood comes out as it went in.
pub fn socks(data: &[u8]) {
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
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = text.parse::<ServerAddress>();
        // What is denied can be allowed.
        assert!(text.parse::<DenyRule>().is_err() || text.parse::<Rule>().is_ok());
    }
    let mut bytes = BytesMut::from(data);
    while let Ok(Some(frame)) = DatagramFrame::decode(&mut bytes) {
        let again = DatagramFrame::encode(&frame.target, &frame.payload);
        let mut again = BytesMut::from(&again.unwrap_or_default()[..]);
        assert_eq!(DatagramFrame::decode(&mut again), Ok(Some(frame)));
    }
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let targets = ["10.0.0.1:53", "[fd00::1]:53", "example.org:443"];
    let targets = targets.map(|text| Target::parse(text).expect("it is a target"));
    let greeting = [5, 2, 0, 1];
    let mut seeds = vec![TunnelRequest::Datagrams.encode().to_vec()];
    let mut frames = Vec::new();
    for target in targets {
        let datagram = socks::datagram_from(&target, b"payload");
        frames.extend(DatagramFrame::encode(&target, b"payload").expect("it is short"));
        // A request has the datagram's address behind three bytes of its own.
        let address = datagram.strip_suffix(b"payload").and_then(|d| d.get(3..)).unwrap_or(&[]);
        let connect = [&[5, 1, 0], address].concat();
        seeds.push([&greeting[..], &connect].concat());
        seeds.push(connect);
        seeds.push([&[5, 3, 0], address].concat());
        seeds.push(datagram.to_vec());
        seeds.push(TunnelRequest::Connect(target).encode().to_vec());
    }
    seeds.push(frames);
    for text in ["*.example.org:443", "[fd00::/8]:80-443", "10.0.0.0/8", "[::ffff:10.0.0.0/104]"] {
        seeds.push(text.into());
    }
    seeds
}
