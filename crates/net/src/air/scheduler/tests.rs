use std::time::Duration;

use airlane_base::{Rate, Time};

use super::super::ids::Id;
use super::*;

fn link(place: usize) -> LinkId {
    LinkId::at(place)
}

fn pick(place: usize) -> Pick {
    Pick::Link(link(place))
}

fn candidate(place: usize, packets: usize) -> Candidate {
    let bytes = packets as u64 * 1_500;
    Candidate {
        link: link(place),
        backlog: Backlog { packets, bytes },
        outstanding: 0,
        rate: Rate::from_mbps(if place == 0 { 600.0 } else { 60.0 }),
        around: Duration::from_micros(200),
        full: 60_000,
        packets: 64,
    }
}

/// Serves two links that always have something to send: one fast, one slow.
fn serve(kind: SchedulerKind, times: usize) -> [(u64, Duration); 2] {
    let mut scheduler = kind.build();
    let mut given = [(0, Duration::ZERO); 2];
    let candidates = [candidate(0, 100), candidate(1, 100)];
    for n in 0..times {
        scheduler.arrived(Time::from_micros(n as u64), link(n % 2));
        let Pick::Link(served) = scheduler.pick(Time::from_micros(n as u64), &candidates) else {
            panic!("nobody is served");
        };
        let place = served.place();
        let bytes = if place == 0 { 60_000 } else { 30_000 };
        let charge = candidates[place].rate.time_for(bytes);
        scheduler.served(served, charge, bytes);
        given[place].0 += bytes;
        given[place].1 += charge;
    }
    given
}

#[test]
fn each_way_shares_what_it_says() {
    let [fast, slow] = serve(SchedulerKind::RoundRobin, 1_000);
    assert_eq!((fast.0, slow.0), (30_000_000, 15_000_000));
    let [fast, slow] = serve(SchedulerKind::PacketDeficit, 3_000);
    assert!((fast.0 as f64 / slow.0 as f64 - 1.0).abs() < 0.01, "{fast:?} {slow:?}");
    let [fast, slow] = serve(SchedulerKind::AirtimeDeficit { both: false }, 3_000);
    let ratio = fast.1.as_secs_f64() / slow.1.as_secs_f64();
    assert!((ratio - 1.0).abs() < 0.01, "{fast:?} {slow:?}");
    let [fast, slow] = serve(SchedulerKind::MaximumRate, 100);
    assert_eq!((fast.0, slow.0), (6_000_000, 0));
}

#[test]
fn who_has_a_whole_aggregate_is_served_fastest() {
    let mut scheduler = SchedulerKind::MaximumRate.build();
    let few = Candidate { rate: candidate(0, 1).rate, ..candidate(1, 10) };
    let picks: Vec<Pick> =
        (0..3).map(|_| scheduler.pick(Time::ZERO, &[candidate(0, 100), few])).collect();
    assert_eq!(picks, [Pick::Link(link(0)); 3]);
    // Beyond one, more packets do not count.
    let more = Candidate { rate: few.rate, ..candidate(1, 1_000) };
    let picks: Vec<Pick> =
        (0..4).map(|_| scheduler.pick(Time::ZERO, &[candidate(0, 100), more])).collect();
    assert_eq!(picks, [1, 0, 1, 0].map(pick));
}

#[test]
fn the_longest_queue_goes_first() {
    let mut scheduler = SchedulerKind::LongestQueue.build();
    let candidates = [candidate(0, 100), candidate(1, 200)];
    assert_eq!(scheduler.pick(Time::ZERO, &candidates), pick(1));
    let full = [candidate(0, 999), candidate(1, 1_000), candidate(2, 3)];
    let picks: Vec<Pick> = (0..4).map(|_| scheduler.pick(Time::ZERO, &full)).collect();
    assert_eq!(picks, [0, 1, 0, 1].map(pick));
}

#[test]
fn first_in_first_out_goes_by_the_oldest_packet_however_many_an_aggregate_takes() {
    let mut scheduler = SchedulerKind::Fifo.build();
    for place in [0, 0, 0, 1, 0, 1] {
        scheduler.arrived(Time::ZERO, link(place));
    }
    let mut served = |a, b| scheduler.pick(Time::ZERO, &[a, b]);
    assert_eq!(served(candidate(0, 4), candidate(1, 2)), pick(0));
    // An aggregate took the first three.
    assert_eq!(served(candidate(0, 1), candidate(1, 2)), pick(1));
    assert_eq!(served(candidate(0, 1), candidate(1, 1)), pick(0));
    // It took the last one, and it has to be sent again.
    let again = Candidate { outstanding: 1_500, ..candidate(0, 0) };
    assert_eq!(served(again, candidate(1, 1)), pick(0));
    // As much as was taken later of another: the older one goes first.
    let later = Candidate { outstanding: 1_500, ..candidate(1, 0) };
    assert_eq!(served(again, later), pick(0));
}

#[test]
fn what_fills_no_aggregate_is_held_for_so_long() {
    let hold = Duration::from_millis(10);
    let mut scheduler = SchedulerKind::FullAggregate { hold }.build();
    scheduler.arrived(Time::from_millis(1), link(0));
    scheduler.arrived(Time::from_millis(3), link(1));
    let few = [candidate(0, 3), candidate(1, 4)];
    let at = |ms| Time::from_millis(ms);
    assert_eq!(scheduler.pick(at(4), &few), Pick::Wait(at(11)));
    assert_eq!(scheduler.pick(at(4), &[few[0], candidate(1, 64)]), pick(1));
    assert_eq!(scheduler.pick(at(11), &few), pick(0));
    // However long one was held: who fills an aggregate goes first.
    let one_fills = [few[0], candidate(1, 64)];
    assert_eq!(scheduler.pick(at(40), &one_fills), pick(1));
    assert_eq!(scheduler.pick(at(60), &one_fills), pick(1));
    assert_eq!(scheduler.pick(at(61), &few), pick(0));
}
