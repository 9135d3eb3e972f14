//! What is known of a link beforehand from its supply.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::common::numbered;
use airlane_base::{Packet, Rate, Time};
use airlane_net::{
    Capacity, Dequeued, DropTail, Dropped, Opportunities, Port, Queue, RateProfile, Supply,
};
use parking_lot::Mutex;
use proptest::prelude::*;

fn supply() -> impl Strategy<Value = Supply> {
    prop_oneof![
        (1_000_000_u64..20_000_000).prop_map(|r| Supply::Constant(Rate::from_bps(r))),
        prop::collection::vec(1_u32..80, 1..20).prop_map(|mut millis| {
            millis.sort_unstable();
            Supply::Opportunities(Arc::new(Opportunities::new(millis).unwrap()))
        }),
        prop::collection::vec(1_u64..20, 1..6).prop_map(|rates| {
            let step = |(i, r): (usize, &u64)| {
                (Duration::from_millis(30 * i as u64), Rate::from_bps(r * 1_000_000))
            };
            let steps: Vec<_> = rates.iter().enumerate().map(step).collect();
            let period = Duration::from_millis(30 * rates.len() as u64);
            Supply::Profile(Arc::new(RateProfile::new(&steps, Some(period)).unwrap()))
        }),
    ]
}

/// A FIFO without end that notes when each packet is asked for.
struct Noting {
    waiting: VecDeque<Box<Packet>>,
    begins: Arc<Mutex<Vec<Time>>>,
}

impl Queue for Noting {
    fn enqueue(&mut self, _: Time, packet: Box<Packet>, _: &mut Vec<Dropped>) {
        self.waiting.push_back(packet);
    }

    fn dequeue(&mut self, now: Time, _: &mut Vec<Dropped>) -> Dequeued {
        let packet = self.waiting.pop_front();
        if packet.is_some() {
            self.begins.lock().push(now);
        }
        packet.into()
    }

    fn len(&self) -> usize {
        self.waiting.len()
    }

    fn bytes(&self) -> u64 {
        self.waiting.iter().map(|p| u64::from(p.ip_bytes())).sum()
    }

    fn name(&self) -> &'static str {
        "noting"
    }
}

proptest! {
    /// What a supply says beforehand of packets that always wait is what its link does, to the
    /// nanosecond.
    #[test]
    fn a_supply_knows_when_its_link_will_serve_which_packet(
        supply in supply(),
        offset_us in 0_u64..500_000,
        from_us in 0_u64..200_000,
        bytes in 100_u32..4_000,
    ) {
        let (offset, from) = (Duration::from_micros(offset_us), Time::from_micros(from_us));
        let begins = Arc::new(Mutex::new(Vec::new()));
        let queue = Noting { waiting: VecDeque::new(), begins: begins.clone() };
        let mut link = supply.link(offset, Box::new(queue));
        let mut drops = Vec::new();
        for id in 0..200 {
            link.push(from, Port::ONLY, numbered(id, bytes), &mut drops);
        }
        while let Some(at) = link.next_event() {
            while link.poll(at, &mut drops).is_some() {}
        }
        let said: Vec<Time> = supply.services(offset, from, bytes).take(200).collect();
        prop_assert_eq!(&*begins.lock(), &said);
    }

    /// What a supply says beforehand is what its link counts, at any offset and after any number of
    /// repetitions.
    #[test]
    fn a_supply_knows_what_its_link_will_have_carried(
        supply in supply(),
        offset_us in 0_u64..500_000,
        at_us in 0_u64..900_000,
    ) {
        let offset = Duration::from_micros(offset_us);
        let at = Time::from_micros(at_us);
        let link = supply.link(offset, Box::new(DropTail::new(Capacity::Unlimited)));
        let counted = link.link_stats(Port::ONLY, at).unwrap().capacity_bytes;
        let said = supply.bytes_until(offset, at);
        prop_assert!((said - counted).abs() < 1e-3, "{} for {}", said, counted);
    }
}
