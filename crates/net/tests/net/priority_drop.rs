//! Priority dropping: who makes room for whom.

use std::net::Ipv4Addr;

use crate::common::packet;
use airlane_base::{Packet, Seed, Time};
use airlane_net::{Capacity, Dropped, PriorityDrop, Queue};
use airlane_octopus::{Header, Marking};
use proptest::prelude::*;

/// The packets of a message: priority, number, how many.
fn message(priority: u8, number: u32, packets: u32) -> Vec<Packet> {
    let (src, dst) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
    let one = |n: u32| {
        let marking = Marking { priority, ..Marking::default() };
        let (first, last) = (n == 0, n + 1 == packets);
        let header = Header { stream: 1, message: number, marking, first, last };
        let mut made = *packet(src.into(), dst.into(), 1_228);
        made.payload[..12].copy_from_slice(&header.encode().unwrap());
        made.id = u64::from(number) << 8 | u64::from(n);
        made
    };
    (0..packets).map(one).collect()
}

/// Numbers of the messages of packets, each once.
fn numbers<'a>(packets: impl Iterator<Item = &'a Packet>) -> Vec<u64> {
    let mut all: Vec<u64> = packets.map(|p| p.id >> 8).collect();
    all.dedup();
    all
}

fn dropped(drops: &[Dropped]) -> Vec<u64> {
    numbers(drops.iter().map(|d| &*d.packet))
}

#[test]
fn what_matters_less_makes_room_and_nothing_is_dropped_before() {
    let mut queue = PriorityDrop::new(Capacity::Packets(10), Seed(1));
    let mut drops = Vec::new();
    let mut enqueue = |queue: &mut PriorityDrop, packets: Vec<Packet>| {
        packets.into_iter().for_each(|p| queue.enqueue(Time::ZERO, Box::new(p), &mut drops));
        dropped(&drops)
    };
    enqueue(&mut queue, message(2, 0, 3));
    enqueue(&mut queue, message(3, 1, 3));
    assert!(enqueue(&mut queue, message(3, 2, 4)).is_empty());
    // Full: both of priority 3 go, that of priority 2 stays.
    assert_eq!(enqueue(&mut queue, message(2, 3, 2)), [1, 2]);
    assert_eq!(queue.len(), 5);
    // Nothing of lower priority is left for one of priority 3: it goes itself, whole.
    enqueue(&mut queue, message(1, 4, 4));
    assert_eq!(enqueue(&mut queue, message(3, 5, 3)), [1, 2, 5]);
    assert_eq!(queue.len(), 9);
    // What has begun to leave goes on.
    assert_eq!(queue.dequeue(Time::ZERO, &mut Vec::new()).packet().unwrap().id >> 8, 0);
    let packets = message(1, 6, 4);
    packets.into_iter().for_each(|p| queue.enqueue(Time::ZERO, Box::new(p), &mut drops));
    assert_eq!(dropped(&drops), [1, 2, 5, 3]);
    let left = std::iter::from_fn(|| queue.dequeue(Time::ZERO, &mut Vec::new()).packet());
    assert_eq!(numbers(left.collect::<Vec<_>>().iter().map(|p| &**p)), [0, 4, 6]);
}

proptest! {
    /// Of a message all packets leave, or none of those that had not begun to.
    #[test]
    fn messages_leave_whole_or_not_at_all(
        steps in prop::collection::vec((0u8..=3, 1u32..6, 0usize..6), 1..60),
    ) {
        let mut queue = PriorityDrop::new(Capacity::Packets(12), Seed(1));
        let (mut drops, mut left, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
        for (number, (priority, packets, leave)) in steps.into_iter().enumerate() {
            sizes.push(packets);
            for packet in message(priority, number as u32, packets) {
                queue.enqueue(Time::ZERO, Box::new(packet), &mut drops);
                prop_assert!(queue.len() <= 12);
            }
            for _ in 0..leave {
                left.extend(queue.dequeue(Time::ZERO, &mut drops).packet());
            }
        }
        left.extend(std::iter::from_fn(|| queue.dequeue(Time::ZERO, &mut drops).packet()));
        for (number, size) in sizes.iter().enumerate() {
            let count = left.iter().filter(|p| p.id >> 8 == number as u64).count();
            prop_assert!(count == 0 || count == *size as usize, "{count} of {size}");
        }
        prop_assert_eq!(left.len() + drops.len(), sizes.iter().sum::<u32>() as usize);
    }
}
