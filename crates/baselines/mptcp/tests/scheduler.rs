//! Decisions of the schedulers, computed by hand.

use std::time::Duration;

use airlane_base::Time;
use airlane_mptcp::wire::{Ack, Segment};
use airlane_mptcp::{Config, Options, PathId, PathState, SchedulerKind, Sender};

/// A window of so many packets of 1000 bytes, of which some are on their way.
fn state(srtt_ms: u64, cwnd: u64, in_flight: u64) -> PathState {
    PathState {
        cwnd: 1000 * cwnd,
        in_flight: 1000 * in_flight,
        srtt: Duration::from_millis(srtt_ms),
        min_rtt: Duration::from_millis(srtt_ms),
        mss: 1000,
        ..PathState::default()
    }
}

/// A sender with segments of 1000 bytes, so many waiting, and two paths with these states.
fn sender(kind: SchedulerKind, memory: u64, waiting: usize, paths: [PathState; 2]) -> Pair {
    let config = Config { segment_bytes: 1000, receive_memory: 1000 * memory };
    let mut sender = Sender::new(config, 10_000_000, Options::of(kind));
    let ids = paths.map(|state| {
        let id = sender.open(Time::ZERO).unwrap();
        sender.update(Time::ZERO, id, state);
        id
    });
    sender.push(&mut vec![7; 1000 * waiting].into());
    Pair { sender, ids }
}

struct Pair {
    sender: Sender,
    ids: [PathId; 2],
}

impl Pair {
    fn chosen_at(&mut self, millis: u64) -> Option<usize> {
        self.sender.chosen(Time::from_millis(millis)).map(PathId::index)
    }

    fn next(&mut self, millis: u64, path: usize) -> Option<Segment> {
        self.sender.next(Time::from_millis(millis), self.ids[path])
    }

    fn update(&mut self, millis: u64, path: usize, state: PathState) {
        self.sender.update(Time::from_millis(millis), self.ids[path], state);
    }

    fn ack(&mut self, millis: u64, data_ack: u64, window: u64) {
        self.sender.on_ack(Time::from_millis(millis), &Ack { data_ack, window }).unwrap();
    }
}

#[test]
fn the_lowest_round_trip_is_filled_first() {
    let mut pair = sender(SchedulerKind::MinRtt, 100, 9, [state(40, 3, 0), state(10, 2, 0)]);
    let order: Vec<usize> = std::iter::from_fn(|| {
        let path = pair.chosen_at(1)?;
        assert_eq!(pair.next(1, 1 - path), None, "not chosen");
        pair.next(1, path).map(|_| path)
    })
    .collect();
    assert_eq!(order, [1, 1, 0, 0, 0], "until both windows are full");
    pair.update(2, 1, PathState { has_room: false, ..state(10, 2, 0) });
    assert_eq!(pair.chosen_at(2), None, "its connection takes nothing");
}

#[test]
fn blest_counts_what_the_fast_path_could_send_meanwhile() {
    // rtts = 100 / 20 = 5; X = 1000 * (10 + (5 - 1) / 2) * 5 = 60 000; with lambda 1.2: 72 000.
    // The slow path has 7 on their way: 72 + 7 + 1 = 80 segments of window are needed.
    for (memory, expected) in [(80, Some(1)), (79, None)] {
        let paths = [state(20, 10, 10), state(100, 20, 7)];
        let mut pair = sender(SchedulerKind::Blest, memory, 200, paths);
        assert_eq!(pair.chosen_at(0), expected, "{memory}");
        // The fast path has room: no question.
        pair.update(0, 0, state(20, 10, 9));
        assert_eq!(pair.chosen_at(0), Some(0));
    }
}

#[test]
fn blest_corrects_its_estimate_once_per_round_trip_of_the_slow_path() {
    // As above with a window of 78: lambda has to fall from 1.2 to 70 / 60 = 1.1667 or below.
    // With this deviation neither counts as silent meanwhile.
    let paths = [state(20, 10, 10), state(100, 20, 7)]
        .map(|state| PathState { rttvar: Duration::from_millis(200), ..state });
    let mut pair = sender(SchedulerKind::Blest, 78, 200, paths);
    for (i, lambda) in (0u64..).zip([1.2, 1.19, 1.18, 1.17]) {
        assert_eq!(pair.chosen_at(100 * i), None, "{lambda}");
    }
    assert_eq!(pair.chosen_at(400), Some(1), "1.16");
}

#[test]
fn ecf_waits_if_the_fast_path_would_be_done_first() {
    let decide = |waiting: usize, rtts: (u64, u64), cwnd: (u64, u64)| {
        let paths = [state(rtts.0, cwnd.0, cwnd.0), state(rtts.1, cwnd.1, 0)];
        sender(SchedulerKind::Ecf, 10_000, waiting, paths).chosen_at(0)
    };
    // n = 1 + 20 / 10 = 3: 3 * 10 < 100, and 20 / 20 * 100 >= 2 * 10: wait.
    assert_eq!(decide(20, (10, 100), (10, 20)), None);
    // n = 1 + 100 / 10 = 11: 11 * 10 >= 100: the slow one helps.
    assert_eq!(decide(100, (10, 100), (10, 20)), Some(1));
    // n = 1 + 89 / 10 = 9.9: 99 < 100.
    assert_eq!(decide(89, (10, 100), (10, 20)), None);
    // Little is left, and still a round trip of the slow one: 1 * 100 >= 2 * 10.
    assert_eq!(decide(1, (10, 100), (10, 20)), None);
    // n = 2: 2 * 60 >= 100.
    assert_eq!(decide(1, (60, 100), (10, 20)), Some(1));
}

#[test]
fn ecf_that_waits_goes_on_waiting_a_quarter_longer() {
    let paths = |rttvar_ms| {
        let rttvar = Duration::from_millis(rttvar_ms);
        [PathState { rttvar, ..state(10, 10, 10) }, state(100, 20, 0)]
    };
    // n = 11, delta 20: 110 < 120, and 5 * 100 >= 20 + 20. Then n = 13: 130 < 1.25 * 120, but not
    // below 120.
    let mut pair = sender(SchedulerKind::Ecf, 10_000, 100, paths(20));
    assert_eq!(pair.chosen_at(0), None);
    pair.sender.push(&mut vec![7; 20_000].into());
    assert_eq!(pair.chosen_at(0), None);
    assert_eq!(sender(SchedulerKind::Ecf, 10_000, 120, paths(20)).chosen_at(0), Some(1));
    // n = 16: 160 >= 150.
    pair.sender.push(&mut vec![7; 30_000].into());
    assert_eq!(pair.chosen_at(0), Some(1));
}

#[test]
fn linux_gives_a_burst_to_the_path_that_is_empty_first() {
    // Held over rate: 20 000 * 8 / 16e6 = 10 ms; 30 000 * 8 / 48e6 = 5 ms.
    let rate = |state, rate_bps| PathState { rate_bps, ..state };
    let paths = [rate(state(10, 8, 20), 16e6), rate(state(90, 200, 30), 48e6)];
    let mut pair = sender(SchedulerKind::Linux, 10_000, 2000, paths);
    let order: Vec<usize> = std::iter::from_fn(|| {
        let path = pair.chosen_at(0)?;
        pair.next(0, path).map(|segment| (segment.dsn / 1000) as usize)
    })
    .collect();
    // A burst is 66 segments. 5 ms: one for path 1, which then has 96 000 bytes or 16 ms. 10 ms: one
    // for path 0: 86 000 bytes or 43 ms. Path 1 again: 162 000 or 27 ms, 228 000 or 38 ms, and
    // 294 000 or 49 ms. Then it is the turn of path 0, whose buffer of 10 * 8704 bytes, from its first
    // window, takes two more and is full.
    assert_eq!(order.len(), 66 + 66 + 3 * 66 + 2, "{order:?}");
    assert_eq!(pair.chosen_at(0), None, "though path 1 has room");
}

#[test]
fn round_robin_takes_turns_and_passes_over_full_paths() {
    let mut pair = sender(SchedulerKind::RoundRobin, 100, 9, [state(10, 3, 0), state(90, 2, 0)]);
    let order: Vec<usize> = std::iter::from_fn(|| {
        let path = pair.chosen_at(0)?;
        pair.next(0, path).map(|_| path)
    })
    .collect();
    assert_eq!(order, [1, 0, 1, 0, 0]);
}

#[test]
fn redundant_paths_send_all_that_is_not_acknowledged() {
    let mut pair = sender(SchedulerKind::Redundant, 100, 9, [state(10, 3, 0), state(90, 4, 0)]);
    let take = |pair: &mut Pair, path| pair.next(0, path).map(|s| s.dsn / 1000);
    assert_eq!([0; 4].map(|_| take(&mut pair, 0)), [Some(0), Some(1), Some(2), None]);
    assert_eq!(take(&mut pair, 1), Some(0));
    pair.ack(0, 2000, 100_000);
    assert_eq!([0; 3].map(|_| take(&mut pair, 1)), [Some(2), Some(3), Some(4)]);
    let counts = pair.sender.counts();
    assert_eq!((counts.distinct_bytes, counts.redundant_bytes), (5000, 2000));
}

#[test]
fn musher_keeps_to_its_share_of_every_hundred() {
    let mut pair = sender(SchedulerKind::Musher, 1000, 500, [state(10, 200, 0), state(20, 30, 0)]);
    let take = |pair: &mut Pair| {
        let path = pair.chosen_at(0)?;
        pair.next(0, path).map(|_| path)
    };
    let order: Vec<usize> = std::iter::from_fn(|| take(&mut pair)).collect();
    // Half and half; the second has room for 30, and the first waits for it.
    assert_eq!(order.iter().filter(|path| **path == 0).count(), 50);
    assert_eq!(order.len(), 80);
    pair.update(0, 1, state(20, 30, 10));
    let order: Vec<usize> = std::iter::from_fn(|| take(&mut pair)).collect();
    assert_eq!(order.iter().filter(|path| **path == 1).count(), 20, "the round is complete");
    assert_eq!(order.iter().filter(|path| **path == 0).count(), 50, "and the next begun");
}

#[test]
fn a_full_window_has_its_first_segment_sent_again_on_a_much_faster_path() {
    for (fast_ms, again) in [(24, true), (25, false)] {
        let paths = [state(fast_ms, 10, 10), state(100, 10, 8)];
        let mut pair = sender(SchedulerKind::MinRtt, 4, 9, paths);
        assert_eq!([0; 2].map(|_| pair.next(0, 1).unwrap().dsn), [0, 1000]);
        pair.update(0, 0, state(fast_ms, 10, 8));
        assert_eq!([0; 2].map(|_| pair.next(0, 0).unwrap().dsn), [2000, 3000]);
        pair.update(1, 0, state(fast_ms, 10, 8));
        assert_eq!(pair.next(1, 0).map(|s| s.dsn), again.then_some(0));
        assert_eq!(pair.next(1, 0), None, "once");
        assert_eq!(pair.sender.counts().early, u64::from(again));
        // The slow path is held to half of its window: five packets, of which it has ten.
        assert_eq!(pair.sender.counts().penalties, 1);
        pair.ack(2, 1000, 5000);
        pair.update(2, 0, state(fast_ms, 10, 10));
        pair.update(2, 1, state(100, 10, 8));
        assert_eq!(pair.chosen_at(2), None, "two arrived: the cap is six");
        pair.update(3, 1, state(100, 10, 6));
        assert_eq!(pair.chosen_at(3), Some(1), "four: it is seven");
    }
}

#[test]
fn a_silent_path_leaves_what_it_has_to_others_until_it_goes_on() {
    let mut pair = sender(SchedulerKind::MinRtt, 100, 9, [state(10, 3, 0), state(90, 9, 0)]);
    assert_eq!([0; 3].map(|_| pair.next(0, 0).unwrap().dsn), [0, 1000, 2000]);
    pair.update(0, 1, PathState { has_room: false, ..state(90, 9, 0) });
    assert_eq!(pair.chosen_at(0), None);
    // No deviation: 200 ms is the least timeout.
    assert_eq!(pair.sender.next_event(pair.ids[1]), Some(Time::from_millis(200)));
    pair.update(200, 1, state(90, 9, 0));
    assert_eq!([0; 3].map(|_| pair.next(200, 1).unwrap().dsn), [0, 1000, 2000]);
    assert_eq!(pair.next(200, 1).unwrap().dsn, 3000, "and then what is new");
    assert_eq!(pair.next(200, 0), None);
    pair.update(210, 0, state(10, 3, 2));
    assert_eq!(pair.next(210, 0).unwrap().dsn, 4000);
    assert_eq!(pair.sender.counts().redundant_bytes, 3000);
}
