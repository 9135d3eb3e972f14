//! Marks of PDU Sets in packets of RTP, and the queue of a cell that reads them (`crates/pdu-set`, `crates/net`).

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use airlane_base::{Dscp, Ecn, FlowId, IP_UDP_HEADER_BYTES, Packet, Progress, Rate, Seed, Time};
use airlane_net::{Limit, OctopusConfig, QueueSpec};
use airlane_pdu_set::{DEFAULT_ID, PduSetFields, PduSetImportance, PduSetMark, marked_packet};

/// Packets that the queue holds.
const CAPACITY: usize = 20;

/// Any datagrams in the queue of a cell: a mark that is read is written the same, those without one leave unless the
/// queue is full, and none vanishes.
///
/// The input is a byte with the extension's identifier; then of each datagram a byte of what happens, one of its length,
/// and its bytes.
pub fn pdu_set(data: &[u8]) {
    let Some((&id, mut rest)) = data.split_first() else { return };
    let config = OctopusConfig { pdu_set_id: Some(id), ..OctopusConfig::default() };
    let spec = QueueSpec::Octopus(Limit::Packets(CAPACITY), config);
    let mut queue = spec.build(Rate::from_mbps(5.0), Duration::from_millis(20), Seed(1));
    let (mut now, mut taken, mut left, mut drops) = (Time::ZERO, 0, 0, Vec::new());
    while let Some((&[step, length], tail)) = rest.split_first_chunk() {
        let (datagram, tail) = tail.split_at(tail.len().min(length.into()));
        rest = tail;
        now = Time::from_nanos(now.as_nanos() + (u64::from(step) << 18));
        if step & 3 == 0 {
            left += usize::from(queue.dequeue(now, &mut drops).packet().is_some());
        }
        if let Some(marked) = marked_packet(datagram, id) {
            assert_eq!(datagram[8..12], marked.ssrc.to_be_bytes());
            let again = PduSetMark::decode(&marked.mark.encode(), PduSetFields::default());
            assert_eq!(again, Ok(marked.mark));
        }
        taken += 1;
        queue.enqueue(now, packet(datagram), &mut drops);
        assert!(queue.len() <= CAPACITY);
        assert_eq!(taken, left + drops.len() + queue.len());
    }
    while queue.dequeue(now, &mut drops).packet().is_some() {
        left += 1;
    }
    assert_eq!((taken, queue.bytes()), (left + drops.len(), 0));
}

fn packet(payload: &[u8]) -> Box<Packet> {
    let at = |port| SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port);
    Box::new(Packet {
        id: 0,
        flow: FlowId(0),
        src: at(4460),
        dst: at(5000),
        ecn: Ecn::NotEct,
        dscp: Dscp::DEFAULT,
        sent: Time::ZERO,
        enqueued: Time::ZERO,
        progress: Progress::default(),
        header_bytes: IP_UDP_HEADER_BYTES,
        payload: payload.to_vec(),
    })
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    // Frames of two packets, of which later ones drop earlier ones; every third step one leaves.
    let frames = |is_two_byte_form: bool| {
        let mut all = vec![DEFAULT_ID];
        for n in 0..12_u8 {
            let importance = [1, 15, 5, 15, 2, 15][usize::from(n / 2)];
            let mark = PduSetMark {
                ends_set: n % 2 == 1,
                importance: PduSetImportance::new(importance).expect("four bits"),
                set_sequence: 1020 + u16::from(n / 2),
                pdu_sequence: n % 2,
                ..PduSetMark::default()
            };
            let (profile, head) = match is_two_byte_form {
                true => ([0x10, 0], vec![3, 1, 9, DEFAULT_ID, 3]),
                false => ([0xbe, 0xde], vec![0x30, 9, DEFAULT_ID << 4 | 2]),
            };
            let mut datagram = vec![0x90, 96, 0, n, 0, 0, 0, n / 2, 0, 0, 0, 7];
            datagram.extend(profile);
            datagram.extend([0, 2]);
            datagram.extend([head, mark.encode()].concat());
            datagram.resize(24, 0);
            datagram.extend([0xaa; 8]);
            let step = if n % 3 == 2 { 4 } else { 1 };
            all.extend([step, datagram.len() as u8]);
            all.extend(datagram);
        }
        all
    };
    vec![frames(false), frames(true)]
}
