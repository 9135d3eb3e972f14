//! Stations that sleep between beacons.

use std::time::Duration;

use airlane_base::{Seed, Time};
use airlane_net::air::{Air, ApConfig, ChannelConfig, StationConfig};
use airlane_net::{Direction, Node};

use crate::air::{ap, mbps, saturate, station};
use crate::common::numbered;

fn sleepy() -> StationConfig {
    StationConfig { power_save: Some(Duration::from_millis(100)), ..station(40.0) }
}

/// When packets that are sent at these times come, milliseconds later.
fn delays(has_beacons: bool, direction: Direction, sent_ms: &[u64]) -> Vec<f64> {
    let mut air = Air::new(ChannelConfig::default(), Seed(1));
    let point = air.add_ap(ApConfig { has_beacons, ..ap() });
    let one = air.add_station(point, sleepy());
    let port = Air::port(one, direction);
    let mut drops = Vec::new();
    let mut came = Vec::new();
    for (id, ms) in sent_ms.iter().chain([&100_000]).enumerate() {
        let at = Time::from_millis(*ms);
        while let Some(next) = air.next_event().filter(|next| *next <= at) {
            while let Some(packet) = air.poll(next, &mut drops) {
                let sent = Time::from_millis(sent_ms[packet.id as usize]);
                came.push((next - sent).as_secs_f64() * 1e3);
            }
        }
        if id < sent_ms.len() {
            air.push(at, port, numbered(id as u64, 1_000), &mut drops);
        }
    }
    assert!(drops.is_empty());
    came
}

#[test]
fn what_comes_for_a_sleeper_waits_for_the_next_beacon() {
    for has_beacons in [false, true] {
        // Awake at first, and just behind another packet; asleep otherwise.
        let sent = [50, 60, 1_000, 1_010, 3_033, 5_077, 7_001];
        let came = delays(has_beacons, Direction::Down, &sent);
        println!("{came:.2?}");
        assert_eq!(came.len(), sent.len());
        assert!(came[0] < 5.0 && came[1] < 5.0);
        for delay in &came[2..] {
            assert!((0.0..108.0).contains(delay), "{delay} ms");
        }
        let waited = [2, 4, 5, 6].map(|i: usize| came[i]);
        assert!(waited.iter().sum::<f64>() > 60.0, "they wait for half an interval: {waited:?}");
        // Those that waited together come together.
        assert!((came[2] - came[3] - 10.0).abs() < 2.0 || came[3] < 2.0, "{came:?}");
    }
}

#[test]
fn a_sleeper_that_sends_is_awake_at_once() {
    let came = delays(true, Direction::Up, &[50, 1_000, 3_033, 5_077]);
    assert_eq!(came.len(), 4);
    assert!(came.iter().all(|delay| *delay < 5.0), "{came:?}");
}

#[test]
fn beacons_take_their_air_and_busy_stations_do_not_sleep() {
    let span = Duration::from_secs(4);
    let run = |has_beacons: bool, one: StationConfig| {
        let mut air = Air::new(ChannelConfig::default(), Seed(1));
        let point = air.add_ap(ApConfig { has_beacons, ..ap() });
        let one = air.add_station(point, one);
        let came = saturate(&mut air, &[(one, Direction::Down)], 1_500, span)[0];
        (mbps(came, span), air.beacons(point))
    };
    let (plain, none) = run(false, station(40.0));
    let (with, sent) = run(true, station(40.0));
    assert_eq!(none.0, 0);
    assert!((37..=40).contains(&sent.0), "{sent:?}");
    let share = sent.1.as_secs_f64() / span.as_secs_f64();
    assert!((with / plain - (1.0 - share)).abs() < 0.01, "{with} of {plain}, beacons {share}");
    let (busy, _) = run(false, sleepy());
    assert!((busy / plain - 1.0).abs() < 0.01, "{busy} of {plain}");
}
