//! The discard timer: what waited too long, and nothing else.

use std::net::Ipv4Addr;
use std::time::Duration;

use airlane_base::{DropReason, Packet, Time};
use airlane_net::{Capacity, DiscardTimer, Dropped, Queue};

use crate::common::packet;

fn numbered(id: u64) -> Box<Packet> {
    let (src, dst) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
    let mut made = packet(src.into(), dst.into(), 1_228);
    made.id = id;
    made
}

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

fn of(drops: &mut Vec<Dropped>) -> Vec<(u64, DropReason)> {
    drops.drain(..).map(|drop| (drop.packet.id, drop.reason)).collect()
}

#[test]
fn a_packet_goes_once_it_has_waited_for_the_timer() {
    let mut queue = DiscardTimer::new(Duration::from_millis(100), Capacity::Packets(3));
    let mut drops = Vec::new();
    for (id, ms) in [(0, 0), (1, 10), (2, 50), (3, 60)] {
        queue.enqueue(at(ms), numbered(id), &mut drops);
    }
    assert_eq!(of(&mut drops), [(3, DropReason::Overflow)], "it holds three");
    assert_eq!(queue.dequeue(at(99), &mut drops).packet().unwrap().id, 0);
    // Who comes finds the room of whom the timer took.
    for id in [4, 5] {
        queue.enqueue(at(110), numbered(id), &mut drops);
    }
    assert_eq!(of(&mut drops), [(1, DropReason::Aqm)]);
    assert_eq!((queue.len(), queue.bytes()), (3, 3 * u64::from(numbered(0).ip_bytes())));
    assert_eq!(queue.dequeue(at(150), &mut drops).packet().unwrap().id, 4);
    assert_eq!(of(&mut drops), [(2, DropReason::Aqm)]);
    assert!(queue.dequeue(at(210), &mut drops).packet().is_none());
    assert_eq!(of(&mut drops), [(5, DropReason::Aqm)]);
    assert_eq!((queue.len(), queue.bytes()), (0, 0));
}
