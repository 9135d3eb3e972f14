//! The real half over loopback: what a datagram carries.

use std::future::poll_fn;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use airlane_base::{Dscp, Ecn, Seed};
use airlane_runtime::Datagram;
use airlane_runtime::real_time::TokioRuntime;

#[tokio::test]
async fn a_datagram_arrives_with_its_ecn_and_without_a_dscp() {
    let runtime = TokioRuntime::new(Seed(1));
    for ip in [IpAddr::from(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()] {
        let bind = || runtime.bind_udp(SocketAddr::new(ip, 0));
        let (from, to) = match (bind(), bind()) {
            (Ok(from), Ok(to)) => (from, to),
            // A machine without IPv6.
            (Err(_), _) | (_, Err(_)) if ip.is_ipv6() => continue,
            (from, to) => panic!("{from:?} {to:?}"),
        };
        for (dscp, ecn) in [(Dscp::DEFAULT, Ecn::NotEct), (Dscp::EF, Ecn::Ect0)] {
            let dst = to.local_addr();
            let payload = b"hello";
            let datagram = Datagram { dst, src: None, ecn, dscp, payload, segment: None };
            poll_fn(|cx| from.poll_send(cx, &datagram)).await.unwrap();
            let received = poll_fn(|cx| to.poll_recv(cx)).await.unwrap();
            assert_eq!((received.src, received.dst_ip), (from.local_addr(), ip));
            assert_eq!((received.ecn, received.dscp), (ecn, None));
            assert_eq!(&received.payload[..], payload);
        }
    }
}
