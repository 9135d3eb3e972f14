//! Tests of when the coordinator optimises and which clients it holds.

use std::collections::BTreeMap;
use std::time::Duration;

use airlane_base::{Rate, Time};
use airlane_plum::{ClientChannel, Coordinator, CoordinatorConfig, Decision, State, Target};

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

fn mbps(rate: f64) -> Rate {
    Rate::from_mbps(rate)
}

fn channel(capacity: f64, up: f64, down: f64) -> ClientChannel {
    let rate = |value| Some(mbps(value));
    ClientChannel {
        capacity: rate(capacity),
        up: rate(up),
        down: rate(down),
        state: State::Natural,
    }
}

fn decided(coordinator: &Coordinator<u8>, targets: &[(u8, f64, f64)]) -> BTreeMap<u8, Decision> {
    let target =
        |(key, up, down): &(u8, f64, f64)| (*key, Target { up: mbps(*up), down: mbps(*down) });
    let targets: BTreeMap<_, _> = targets.iter().map(target).collect();
    coordinator.decide(Some(&targets)).into_iter().collect()
}

#[test]
fn it_optimises_at_its_interval_and_only_after_a_change() {
    let mut coordinator = Coordinator::new(CoordinatorConfig::default(), at(0));
    coordinator.on_channel(1, &channel(12.0, 6.0, 6.0));
    assert_eq!(coordinator.poll(at(4_999)), None);
    assert_eq!(coordinator.poll(at(5_000)), Some(vec![(1, mbps(12.0))]));
    coordinator.on_channel(1, &channel(14.0, 7.0, 7.0));
    assert_eq!(coordinator.poll(at(10_000)), None, "17 % are no change");
    coordinator.on_channel(1, &channel(14.5, 7.0, 7.0));
    assert_eq!(coordinator.poll(at(15_000)), Some(vec![(1, mbps(14.5))]));
    // Somebody comes, and goes.
    coordinator.on_channel(2, &channel(50.0, 25.0, 25.0));
    assert!(coordinator.poll(at(20_000)).is_some());
    coordinator.retain(|key| key != 2);
    assert_eq!(coordinator.poll(at(25_000)), Some(vec![(1, mbps(14.5))]));
}

#[test]
fn nobody_is_optimised_before_all_are_known() {
    let mut coordinator = Coordinator::new(CoordinatorConfig::default(), at(0));
    coordinator.on_channel(1, &channel(12.0, 6.0, 6.0));
    coordinator.on_channel(2, &ClientChannel { capacity: None, ..channel(1.0, 1.0, 1.0) });
    assert_eq!(coordinator.poll(at(5_000)), None);
    coordinator.on_channel(2, &channel(50.0, 25.0, 25.0));
    assert_eq!(coordinator.poll(at(10_000)).map(|all| all.len()), Some(2));
}

#[test]
fn a_large_drop_is_answered_at_once_if_that_is_wanted() {
    for (immediate_drop, is_answered) in [(None, false), (Some(0.5), true)] {
        let config = CoordinatorConfig { immediate_drop, ..CoordinatorConfig::default() };
        let mut coordinator = Coordinator::new(config, at(0));
        coordinator.on_channel(1, &channel(12.0, 6.0, 6.0));
        assert!(coordinator.poll(at(5_000)).is_some());
        coordinator.on_channel(1, &channel(5.0, 2.5, 2.5));
        assert_eq!(coordinator.poll(at(5_100)).is_some(), is_answered);
        assert_eq!(coordinator.poll(at(5_200)), None, "it is answered once");
    }
}

#[test]
fn the_direction_that_gives_something_up_for_the_other_is_held() {
    let mut coordinator = Coordinator::new(CoordinatorConfig::default(), at(0));
    for key in 0..4 {
        coordinator.on_channel(key, &channel(12.0, 6.0, 6.0));
    }
    let decisions =
        decided(&coordinator, &[(0, 9.0, 3.0), (1, 2.0, 10.0), (2, 6.0, 5.95), (3, 6.0, 3.0)]);
    assert_eq!(decisions[&0], Decision::Server(mbps(3.0)));
    assert_eq!(decisions[&1], Decision::Client(mbps(2.0)));
    assert_eq!(decisions[&2], Decision::Natural, "within the margin");
    assert_eq!(decisions[&3], Decision::Natural, "the uplink is to get no more than it has");
    // As the paper has it, whatever is lower is held.
    let config = CoordinatorConfig { holds_for_use: false, ..CoordinatorConfig::default() };
    let mut literal = Coordinator::new(config, at(0));
    literal.on_channel(3, &channel(12.0, 6.0, 6.0));
    assert_eq!(decided(&literal, &[(3, 6.0, 3.0)])[&3], Decision::Server(mbps(3.0)));
}

/// Once the downlink is held its controller says less and the uplink's more: what counts is what both had before,
/// in proportion to the capacity of now.
#[test]
fn what_is_held_stays_held_while_its_reason_lasts() {
    let mut coordinator = Coordinator::new(CoordinatorConfig::default(), at(0));
    coordinator.on_channel(0, &channel(12.0, 6.0, 6.0));
    let held = ClientChannel { state: State::ServerConstrained, ..channel(12.0, 9.0, 3.0) };
    coordinator.on_channel(0, &held);
    assert_eq!(decided(&coordinator, &[(0, 9.0, 3.0)])[&0], Decision::Server(mbps(3.0)));
    let halved = ClientChannel { capacity: Some(mbps(6.0)), ..held };
    coordinator.on_channel(0, &halved);
    assert_eq!(decided(&coordinator, &[(0, 4.0, 2.0)])[&0], Decision::Server(mbps(2.0)));
    assert_eq!(decided(&coordinator, &[(0, 3.0, 3.0)])[&0], Decision::Natural);
}

#[test]
fn without_a_result_everybody_is_natural() {
    let mut coordinator = Coordinator::new(CoordinatorConfig::default(), at(0));
    coordinator.on_channel(0, &channel(12.0, 6.0, 6.0));
    coordinator.on_channel(1, &channel(0.0, 0.0, 0.0));
    assert_eq!(coordinator.decide(None), [(0, Decision::Natural), (1, Decision::Natural)]);
    // One that the result does not have, and one whose channel carries nothing.
    let decisions = decided(&coordinator, &[(1, 1.0, 1.0)]);
    assert_eq!(decisions[&0], Decision::Natural);
    assert_eq!(decisions[&1], Decision::Natural);
}
