//! Octopus' decision core: pairs of a packet that comes and one that leaves.

use std::collections::VecDeque;
use std::hint::black_box;

use airlane_base::Time;
use airlane_link::thread_cpu;
use airlane_octopus::{Capacity, HEADER_BYTES, Header, Marking, Options, Queue};

use crate::bar::{Figure, Problem, Rule, Setting, median};
use crate::clock::Watch;

const STREAMS: u16 = 64;
/// Packets of a message.
const PACKETS: u32 = 4;
/// Packets that wait.
const WAITING: usize = 1_024;
/// Messages of a stream before they begin anew.
const MESSAGES: u32 = 64;
const IP_BYTES: u32 = 1_200;

pub(super) fn measure(setting: &Setting) -> Result<Vec<Figure>, Problem> {
    let pairs = if setting.quick { 2_000_000 } else { 50_000_000 };
    let packets = packets();
    let (mut ours, mut peer, mut dropped) = (Vec::new(), Vec::new(), 0);
    for _ in 0..setting.rounds(5) {
        let (rate, share) = octopus(&packets, pairs);
        ours.push(rate);
        dropped = share;
        peer.push(plain(&packets, pairs));
    }
    Ok(vec![Figure {
        bar: "octopus".into(),
        ours: median(ours) / 1e6,
        peer: Some(median(peer) / 1e6),
        unit: "million pairs/s",
        rule: Rule::AtLeast(20.0),
        note: format!(
            "a packet comes, its header is read, and one leaves or is dropped, per second of processor time of \
             one thread; {STREAMS} streams, messages of {PACKETS} packets with priorities, droppers \
             and bitrates, {WAITING} waiting, {dropped} % dropped; the peer is a first-in, first-out \
             queue that reads nothing; medians"
        ),
    }])
}

/// A few messages of every stream, the streams in turn.
fn packets() -> Vec<[u8; HEADER_BYTES]> {
    let mut packets = Vec::new();
    for message in 0..MESSAGES {
        for number in 0..PACKETS {
            for stream in 0..STREAMS {
                let marking = Marking {
                    priority: (message % 4) as u8,
                    drops: (message % 2 == 0).then_some(2),
                    bitrate_kbps: 6_000 * (message % 4),
                    slack_ms: 0,
                };
                let (first, last) = (number == 0, number + 1 == PACKETS);
                let header = Header { stream, message, marking, first, last };
                packets.push(header.encode().expect("values in their ranges"));
            }
        }
    }
    packets
}

/// Pairs per second, and percent of the packets that were dropped.
fn octopus(packets: &[[u8; HEADER_BYTES]], pairs: u64) -> (f64, u64) {
    let capacity = Capacity { packets: 2 * WAITING, ip_bytes: u64::MAX };
    let mut queue = Queue::new(capacity, Options::default());
    let mut dropped = 0_u64;
    let rate = per_second(packets, pairs, |now, packet| {
        let header = Header::decode(packet).ok();
        queue.enqueue(now, 7, header.as_ref(), IP_BYTES, 1_u64, |d| dropped += d.packet);
        if queue.len() > WAITING {
            black_box(queue.dequeue(now, |d| dropped += d.packet));
        }
    });
    (rate, dropped * 100 / pairs)
}

fn plain(packets: &[[u8; HEADER_BYTES]], pairs: u64) -> f64 {
    let mut queue = VecDeque::with_capacity(2 * WAITING);
    per_second(packets, pairs, |now, _| {
        queue.push_back((now, IP_BYTES, 1_u64));
        if queue.len() > WAITING {
            black_box(queue.pop_front());
        }
    })
}

/// Packets in turn, 10 us apart.
fn per_second(
    packets: &[[u8; HEADER_BYTES]],
    pairs: u64,
    mut pair: impl FnMut(Time, &[u8; HEADER_BYTES]),
) -> f64 {
    let (watch, cpu) = (Watch::start(), thread_cpu());
    for (i, packet) in packets.iter().cycle().take(pairs as usize).enumerate() {
        pair(Time::from_micros(10 * i as u64), black_box(packet));
    }
    let used = thread_cpu().zip(cpu).map_or_else(|| watch.elapsed(), |(end, start)| end - start);
    pairs as f64 / used.as_secs_f64()
}
