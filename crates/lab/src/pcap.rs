//! Captures of a world: what every host sent and received, as tcpdump on it would have seen it.
//!
//! One pcap file per run, nanosecond timestamps in virtual time, raw IPv4 packets with UDP
//! headers. The packets of the null cipher are QUIC to look at, but no dissector can open them;
//! with `--tls` and `--keylog` they can be read to the last frame.

use std::fs::File;
use std::io::BufWriter;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use airlane_base::{InputError, Packet};
use airlane_net::network::{Fate, Network, Observer, Record};
use parking_lot::Mutex;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::{DataLink, TsResolution};

use crate::error::LabError;

const IP_HEADER: usize = 20;
const UDP_HEADER: usize = 8;

/// A capture that runs.
#[derive(Clone)]
pub(crate) struct Capture {
    file: PathBuf,
    writer: Arc<Mutex<Sink>>,
}

struct Sink {
    /// `None` once it is finished.
    pcap: Option<PcapWriter<BufWriter<File>>>,
    error: Option<String>,
}

/// `label` as the name of a file.
pub(crate) fn file_name(label: &str) -> String {
    label.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect()
}

/// Captures everything that `network` carries into a file of `dir` named after `label`.
pub(crate) fn attach(
    network: &mut Network,
    dir: &Path,
    label: &str,
) -> Result<Capture, InputError> {
    std::fs::create_dir_all(dir).map_err(|e| InputError::io(dir, "make the folder", &e))?;
    let file = dir.join(format!("{}.pcap", file_name(label)));
    let created = File::create(&file).map_err(|e| InputError::io(&file, "write", &e))?;
    let header = PcapHeader {
        datalink: DataLink::RAW,
        ts_resolution: TsResolution::NanoSecond,
        ..PcapHeader::default()
    };
    let pcap = PcapWriter::with_header(BufWriter::new(created), header)
        .map_err(|e| InputError::new(format!("cannot write: {e}"), "").at_file(&file))?;
    let sink = Sink { pcap: Some(pcap), error: None };
    let capture = Capture { file, writer: Arc::new(Mutex::new(sink)) };
    network.observe(capture.clone());
    Ok(capture)
}

impl Observer for Capture {
    fn record(&mut self, record: &Record<'_>) {
        // Both ends, as two captures put together: what was sent and lost is seen once.
        if !matches!(record.fate, Fate::Sent | Fate::Delivered) {
            return;
        }
        let mut sink = self.writer.lock();
        let Sink { pcap: Some(pcap), error } = &mut *sink else { return };
        let data = ip_packet(record.packet);
        let at = Duration::from_nanos(record.at.as_nanos());
        let packet = PcapPacket::new(at, data.len() as u32, &data);
        if let Err(e) = pcap.write_packet(&packet) {
            error.get_or_insert_with(|| e.to_string());
        }
    }
}

impl Capture {
    /// Closes the file.
    pub(crate) fn finish(self) -> Result<(), LabError> {
        let mut sink = self.writer.lock();
        let error = sink.error.take();
        let closed = match sink.pcap.take() {
            Some(pcap) => pcap.into_writer().into_inner().map(drop).map_err(|e| e.to_string()),
            None => Ok(()),
        };
        match error.map_or(closed, Err) {
            Ok(()) => Ok(()),
            Err(e) => {
                let about = InputError::new(format!("the capture is cut short: {e}"), "free space");
                Err(about.at_file(&self.file).into())
            }
        }
    }
}

/// The datagram with its IPv4 and UDP headers.
fn ip_packet(packet: &Packet) -> Vec<u8> {
    let v4 = |ip: IpAddr| match ip {
        IpAddr::V4(ip) => ip,
        // Networks hand out IPv4 addresses only.
        IpAddr::V6(_) => Ipv4Addr::UNSPECIFIED,
    };
    let (src, dst) = (v4(packet.src.ip()), v4(packet.dst.ip()));
    let total = IP_HEADER + UDP_HEADER + packet.payload.len();
    let mut out = Vec::with_capacity(total);
    out.extend_from_slice(&[0x45, packet.traffic_class().octet()]);
    out.extend_from_slice(&(total as u16).to_be_bytes());
    out.extend_from_slice(&(packet.id as u16).to_be_bytes());
    // Do not fragment; 64 hops; UDP; checksum follows.
    out.extend_from_slice(&[0x40, 0, 64, 17, 0, 0]);
    out.extend_from_slice(&src.octets());
    out.extend_from_slice(&dst.octets());
    let sum = checksum(&out);
    out[10..12].copy_from_slice(&sum.to_be_bytes());
    let udp = ((UDP_HEADER + packet.payload.len()) as u16).to_be_bytes();
    out.extend_from_slice(&packet.src.port().to_be_bytes());
    out.extend_from_slice(&packet.dst.port().to_be_bytes());
    out.extend_from_slice(&udp);
    // No UDP checksum, which IPv4 allows (RFC 768).
    out.extend_from_slice(&[0, 0]);
    out.extend_from_slice(&packet.payload);
    out
}

/// The internet checksum (RFC 1071) of a header of even length.
fn checksum(header: &[u8]) -> u16 {
    let sum: u32 =
        header.chunks_exact(2).map(|c| u32::from(u16::from_be_bytes([c[0], c[1]]))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use airlane_base::{Dscp, Ecn, FlowId, IP_UDP_HEADER_BYTES, Progress, Rate, Seed, Time};
    use airlane_net::{BuiltDumbbell, Dumbbell};
    use pcap_file::pcap::PcapReader;

    use super::*;

    #[test]
    fn headers_say_dscp_and_ecn_and_their_checksum_is_right() {
        let spec = Dumbbell::new(Rate::from_mbps(1.0), Duration::from_millis(10), 1.0, 1);
        let BuiltDumbbell { mut network, servers, clients, .. } = spec.build(Seed(1));
        let dir = std::env::temp_dir().join(format!("airlane-pcap-{}", std::process::id()));
        let capture = attach(&mut network, &dir, "a run").unwrap();
        let end = |host, port| SocketAddr::new(network.addresses(host)[0], port);
        let (src, dst) = (end(servers[0], 4_000), end(clients[0], 5_000));
        let classes = [(Dscp::DEFAULT, Ecn::NotEct), (Dscp::AF41, Ecn::Ect0), (Dscp::EF, Ecn::Ce)];
        for (id, (dscp, ecn)) in (0..).zip(classes) {
            let packet = Packet {
                id,
                flow: FlowId(0),
                src,
                dst,
                ecn,
                dscp,
                sent: Time::ZERO,
                enqueued: Time::ZERO,
                progress: Progress::default(),
                header_bytes: IP_UDP_HEADER_BYTES,
                payload: vec![7; 5],
            };
            network.send(Time::ZERO, Box::new(packet));
        }
        while network.poll(Time::from_millis(1_000)).is_some() {}
        capture.finish().unwrap();
        let file = File::open(dir.join("a_run.pcap")).unwrap();
        let mut reader = PcapReader::new(file).unwrap();
        let mut octets = Vec::new();
        while let Some(packet) = reader.next_packet() {
            let packet = packet.unwrap();
            assert_eq!((packet.data.len(), checksum(&packet.data[..IP_HEADER])), (33, 0));
            octets.push(packet.data[1]);
        }
        std::fs::remove_dir_all(dir).unwrap();
        // What was sent, and what arrived.
        let sent = [0, 34 << 2 | 2, 46 << 2 | 3];
        assert_eq!(octets, [sent, sent].concat());
    }
}
