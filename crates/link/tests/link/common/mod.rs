//! Requests and sockets for tests.

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use airlane_base::{Dscp, Ecn, FlowId, IP_UDP_HEADER_BYTES, Packet, Progress, Rate, Seed, Time};
use airlane_link::{Link, LinkConfig, LinkSpec, Mode, Totals, UdpSpec, Way, WayTotals};
use airlane_net::{Limit, QueueSpec};

/// Longer than anything takes here, also on a busy machine.
pub const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// A way of 1 Gbit/s that holds 4 MB.
pub fn wide() -> Way {
    Way::new(Rate::from_mbps(1_000.0), QueueSpec::DropTail(Limit::Bytes(4_000_000)))
}

/// A link that hardly shows.
pub fn open() -> LinkSpec {
    LinkSpec::new(wide(), wide(), Seed(1))
}

/// A UDP packet with a payload of `size` zeros, sent at `at` between two hosts of the laboratory.
pub fn packet(at: Time, (src, dst): (SocketAddr, SocketAddr), size: usize) -> Box<Packet> {
    Box::new(Packet {
        id: 0,
        flow: FlowId(0),
        src,
        dst,
        ecn: Ecn::Ect0,
        dscp: Dscp::DEFAULT,
        sent: at,
        enqueued: at,
        progress: Progress::default(),
        header_bytes: IP_UDP_HEADER_BYTES,
        payload: vec![0; size],
    })
}

pub fn addr(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

/// A socket that gives up after a while.
pub fn socket(address: &str) -> UdpSocket {
    let socket = UdpSocket::bind(address).expect("a free port");
    socket.set_read_timeout(Some(TEST_TIMEOUT)).expect("a timeout");
    socket
}

/// A forwarder on a free port of `listen` to this socket.
pub fn forwarder(link: LinkSpec, listen: &str, target: &UdpSocket) -> Link {
    let target = target.local_addr().expect("a bound socket");
    start(link, UdpSpec::new([addr(listen)], target))
}

pub fn start(link: LinkSpec, udp: UdpSpec) -> Link {
    let request = LinkConfig { link, mode: Mode::Udp(udp), realtime: None };
    Link::start(&request).unwrap_or_else(|e| panic!("{e}"))
}

/// Where its clients send to.
pub fn port(link: &Link) -> u16 {
    link.address().expect("a forwarder has an address").port()
}

/// The totals once they satisfy a condition.
pub fn totals_when(link: &mut Link, what: &str, holds: impl Fn(&Totals) -> bool) -> Totals {
    let mut waited = Duration::ZERO;
    loop {
        let totals = link.totals().unwrap_or_else(|e| panic!("{e}"));
        if holds(&totals) {
            return totals;
        }
        assert!(waited < TEST_TIMEOUT, "waited in vain for {what}: {totals:?}");
        let step = Duration::from_millis(5);
        assert!(!link.wait(step), "the link ended");
        waited += step;
    }
}

/// Everything that came went, was dropped or is there.
pub fn conserves(totals: &Totals) {
    for WayTotals { received, delivered, dropped, held, .. } in [&totals.up, &totals.down] {
        let (packets, bytes) = dropped.total();
        assert_eq!(received.0, delivered.0 + packets + held.0, "{totals:?}");
        assert_eq!(received.1, delivered.1 + bytes + held.1, "{totals:?}");
    }
}
