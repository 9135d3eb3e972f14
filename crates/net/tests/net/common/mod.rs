//! Packets and shared data for tests.

pub mod reno;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use airlane_base::{Dscp, Ecn, FlowId, IP_UDP_HEADER_BYTES, Packet, Progress, Time};

/// A packet of so many IP bytes between two addresses.
pub fn packet(src: IpAddr, dst: IpAddr, ip_bytes: u32) -> Box<Packet> {
    Box::new(Packet {
        id: 0,
        flow: FlowId(0),
        src: SocketAddr::new(src, 1_000),
        dst: SocketAddr::new(dst, 2_000),
        ecn: Ecn::NotEct,
        dscp: Dscp::DEFAULT,
        sent: Time::ZERO,
        enqueued: Time::ZERO,
        progress: Progress::default(),
        header_bytes: IP_UDP_HEADER_BYTES,
        payload: vec![0; (ip_bytes - u32::from(IP_UDP_HEADER_BYTES)) as usize],
    })
}

/// A numbered packet for nodes that do not look at addresses.
pub fn numbered(id: u64, ip_bytes: u32) -> Box<Packet> {
    let nowhere = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
    Box::new(Packet { id, ..*packet(nowhere, nowhere, ip_bytes) })
}

/// The folder of shared data; `None`, with a word about it, where there is none.
pub fn shared_data() -> Option<PathBuf> {
    let root = std::env::var_os("AIRLANE_DATA").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data")),
        PathBuf::from,
    );
    if root.is_dir() {
        return Some(root);
    }
    assert!(
        std::env::var("AIRLANE_STRICT").as_deref() != Ok("1"),
        "the shared data is missing and AIRLANE_STRICT=1 allows no skip"
    );
    println!("left out: the recorded traces (set AIRLANE_DATA)");
    None
}
