//! Any packets in an Octopus queue: headers are read or refused, and come out as they went in; the
//! queue counts right, and lets nothing vanish.
#![no_main]

use airlane_base::{Rate, Time};
use airlane_octopus::{Capacity, HEADER_BYTES, Header, Options, Queue};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let [options, capacity, packets @ ..] = data else { return };
    let options = Options {
        streams: usize::from(options & 7) + 1,
        slack: options & 8 != 0,
        headless: options & 16 != 0,
        ..Options::default()
    };
    let is_given = data[0] & 32 != 0;
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
            queue.enqueue(now, u64::from(op & 1), header.as_ref(), 8 * u32::from(*size), (), |_| gone += 1);
        }
        assert_eq!(taken, gone + queue.len());
    }
    while queue.dequeue(now, |_| gone += 1).is_some() {
        gone += 1;
    }
    assert_eq!((taken, queue.ip_bytes()), (gone, 0));
});
