//! A queue of Octopus (`docs/design/octopus.md`, `docs/reference/wire/octopus.md`).

use airlane_base::{Rate, Time};
use airlane_octopus::{Capacity, HEADER_BYTES, Header, Marking, Options, Queue};

/// Any packets in a queue: headers are read or refused, and come out as they went in; the queue counts
/// right, and lets nothing vanish.
///
/// The input is a byte of options, one of capacity, and per step a byte of what happens, one of the
/// packet's size, and the packet's header.
pub fn octopus(data: &[u8]) {
    let [flags, capacity, packets @ ..] = data else { return };
    let options = Options {
        streams: usize::from(flags & 7) + 1,
        slack: flags & 8 != 0,
        headless: flags & 16 != 0,
        per_packet: flags & 64 != 0,
        ..Options::default()
    };
    let is_given = flags & 32 != 0;
    let capacity = Capacity { packets: usize::from(*capacity & 31), ip_bytes: 40_000 };
    let mut queue = Queue::new(capacity, options);
    queue.set_bandwidth(is_given.then(|| Rate::from_mbps(5.0)));
    let (mut now, mut taken, mut gone) = (Time::ZERO, 0_usize, 0_usize);
    for step in packets.chunks(HEADER_BYTES + 2) {
        let [op, size, packet @ ..] = step else { break };
        now = Time::from_nanos(now.as_nanos() + (u64::from(*op) << 16));
        if op & 3 == 0 {
            gone += usize::from(queue.dequeue(now, |_| gone += 1).is_some());
        } else {
            let header = Header::decode(packet).ok();
            if let Some(header) = header {
                let again = header.encode().expect("what was read fits");
                assert_eq!(Header::decode(&again), Ok(header));
            }
            taken += 1;
            let (stream, bytes) = (u64::from(op & 1), 8 * u32::from(*size));
            queue.enqueue(now, stream, header.as_ref(), bytes, (), |_| gone += 1);
        }
        assert_eq!(taken, gone + queue.len());
    }
    while queue.dequeue(now, |_| gone += 1).is_some() {
        gone += 1;
    }
    assert_eq!((taken, queue.ip_bytes()), (gone, 0));
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    // Three messages of two packets each: the later ones drop the earlier; packets leave in between.
    let messages = (0..6_u8).flat_map(|n| {
        let marking = Marking {
            priority: 1 + n % 3,
            drops: (n >= 2).then_some(1 + n / 4),
            bitrate_kbps: 4_000 * u32::from(n),
            slack_ms: 5 * u16::from(n),
        };
        let (message, first) = (u32::from(n / 2), n % 2 == 0);
        let header = Header { stream: 1, message, marking, first, last: !first };
        let header = header.encode().expect("it fits");
        let leaves = if n == 3 { [&[4, 0][..], &[0; HEADER_BYTES]].concat() } else { Vec::new() };
        [&[5, 150][..], &header, &leaves].concat()
    });
    let messages: Vec<u8> = messages.collect();
    [[1, 4], [8 | 2, 31], [16 | 32, 3], [8 | 16 | 32 | 7, 2]]
        .map(|options| [&options[..], &messages].concat())
        .to_vec()
}
