//! What a link does with a queue that holds packets and serves none.

use std::collections::VecDeque;
use std::time::Duration;

use crate::common::numbered;
use airlane_base::{Packet, Rate, Time};
use airlane_net::{Dequeued, Dropped, Node, Opportunities, Port, Queue, SerialLink, TraceLink};

/// Lets each packet go so long after its arrival; `None`: only once `most` of them wait.
pub struct Holding {
    hold: Option<Duration>,
    most: usize,
    waiting: VecDeque<Box<Packet>>,
}

impl Queue for Holding {
    fn enqueue(&mut self, _: Time, packet: Box<Packet>, _: &mut Vec<Dropped>) {
        self.waiting.push_back(packet);
    }

    fn dequeue(&mut self, now: Time, _: &mut Vec<Dropped>) -> Dequeued {
        let Some(first) = self.waiting.front() else { return Dequeued::Empty };
        match self.hold.map(|hold| first.enqueued + hold) {
            Some(at) if at > now => Dequeued::NotBefore(at),
            None if self.waiting.len() < self.most => Dequeued::Empty,
            _ => self.waiting.pop_front().into(),
        }
    }

    fn len(&self) -> usize {
        self.waiting.len()
    }

    fn bytes(&self) -> u64 {
        self.waiting.iter().map(|p| u64::from(p.ip_bytes())).sum()
    }

    fn name(&self) -> &'static str {
        "holding"
    }
}

pub fn holding(hold: Option<Duration>) -> Box<dyn Queue> {
    Box::new(Holding { hold, most: 2, waiting: VecDeque::new() })
}

/// Pushes packets of 1500 bytes at these milliseconds, and tells when which came out. Panics if the
/// link asks to be polled more often than a link has reason to.
fn run(link: &mut dyn Node, arrivals: &[u64]) -> Vec<(u64, Time)> {
    let (mut out, mut drops) = (Vec::new(), Vec::new());
    let mut arrivals = arrivals.iter().copied().enumerate().peekable();
    for turn in 0.. {
        assert!(turn < 50, "the link spins");
        let arrival = arrivals.peek().map(|(_, ms)| Time::from_millis(*ms));
        let event = link.next_event();
        let Some(at) = arrival.into_iter().chain(event).min() else { break };
        if event == Some(at) {
            while let Some(p) = link.poll(at, &mut drops) {
                out.push((p.id, at));
            }
            assert!(link.next_event().is_none_or(|next| next > at), "the link spins at {at}");
        } else if let Some((i, _)) = arrivals.next() {
            link.push(at, Port::ONLY, numbered(i as u64, 1_500), &mut drops);
        }
        assert!(link.counters(Port::ONLY).conserves());
    }
    out
}

/// A link of a packet per millisecond, and one of an opportunity per millisecond.
fn links(hold: Option<Duration>) -> [Box<dyn Node>; 2] {
    let every_ms = Opportunities::new(vec![1]).expect("a trace");
    [
        Box::new(SerialLink::constant(Rate::from_mbps(12.0), holding(hold))),
        Box::new(TraceLink::new(every_ms.into(), Duration::ZERO, holding(hold))),
    ]
}

#[test]
fn a_link_asks_again_when_the_queue_says() {
    for mut link in links(Some(Duration::from_micros(5_500))) {
        let ids: Vec<(u64, u64)> = run(&mut *link, &[0, 10, 20])
            .into_iter()
            .map(|(id, at)| (id, at.as_nanos().div_ceil(1_000_000)))
            .collect();
        // 5.5 ms after the arrival, then a millisecond of service or the next opportunity.
        let serial = vec![(0, 7), (1, 17), (2, 27)];
        let trace = vec![(0, 6), (1, 16), (2, 26)];
        assert!(ids == serial || ids == trace, "{ids:?}");
    }
}

#[test]
fn a_link_whose_queue_serves_nothing_waits_for_an_arrival() {
    for mut link in links(None) {
        let out = run(&mut *link, &[0, 10, 20]);
        let ids: Vec<u64> = out.iter().map(|(id, _)| *id).collect();
        assert_eq!(ids, [0, 1], "one waits for another, which came after 10 and after 20 ms");
        assert!(out[0].1 >= Time::from_millis(10) && out[1].1 >= Time::from_millis(20));
        assert_eq!(link.next_event(), None);
        assert_eq!(link.counters(Port::ONLY).held, (1, 1_500));
    }
}

#[test]
#[should_panic(expected = "serves nothing before")]
fn a_queue_that_names_a_time_that_has_passed_is_a_fault() {
    struct Wrong;
    impl Queue for Wrong {
        fn enqueue(&mut self, _: Time, _: Box<Packet>, _: &mut Vec<Dropped>) {}
        fn dequeue(&mut self, now: Time, _: &mut Vec<Dropped>) -> Dequeued {
            Dequeued::NotBefore(now)
        }
        fn len(&self) -> usize {
            1
        }
        fn bytes(&self) -> u64 {
            1_500
        }
        fn name(&self) -> &'static str {
            "wrong"
        }
    }
    let mut link = SerialLink::constant(Rate::from_mbps(12.0), Box::new(Wrong));
    link.push(Time::ZERO, Port::ONLY, numbered(0, 1_500), &mut Vec::new());
}
