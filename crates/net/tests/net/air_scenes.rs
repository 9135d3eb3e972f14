//! Scenes that have an outcome of their own: stations that do not hear each other, that are unlike
//! strong, that nothing reaches, that are very many, that leave.

use std::time::Duration;

use airlane_base::{Seed, Time};
use airlane_net::air::{
    Air, ApConfig, ChannelConfig, Protection, RateControl, SchedulerKind, StationConfig, StationId,
};
use airlane_net::{Direction, Node};
use airlane_wifi::{Format, Width};

use crate::air::{ap, mbps, saturate, station};
use crate::common::numbered;

/// 802.11a at 24 Mbit/s, a frame at a time.
fn plain() -> ApConfig {
    ApConfig {
        format: Format::Ofdm,
        width: Width::Mhz20,
        streams: 1,
        window: 1,
        rate_control: RateControl::Fixed { mcs: 4, streams: 1 },
        ..ap()
    }
}

fn build(config: ApConfig, stations: &[StationConfig], seed: u64) -> (Air, Vec<StationId>) {
    let air = Air::new(ChannelConfig::default(), Seed(seed));
    let point = air.add_ap(config);
    let stations = stations.iter().map(|s| air.add_station(point, s.clone())).collect();
    (air, stations)
}

fn up(stations: &[StationId]) -> Vec<(StationId, Direction)> {
    stations.iter().map(|s| (*s, Direction::Up)).collect()
}

#[test]
fn stations_that_do_not_hear_each_other_collide_and_rts_helps() {
    let span = Duration::from_secs(5);
    let total = |snr_to_others_db: f64, protection: Protection| {
        let one = StationConfig { snr_to_others_db, ..station(30.0) };
        let config = ApConfig { protection, ..plain() };
        let (mut air, stations) = build(config, &[one.clone(), one], 1);
        let came = saturate(&mut air, &up(&stations), 1_500, span);
        mbps(came.iter().sum(), span)
    };
    let open = total(40.0, Protection::Never);
    let hidden = total(-40.0, Protection::Never);
    let protected = total(-40.0, Protection::From(0));
    println!("hear each other {open:.2}, hidden {hidden:.2}, with RTS {protected:.2} Mbit/s");
    assert!(hidden < 0.65 * open, "hidden stations get {hidden} of {open} Mbit/s");
    assert!(protected > 1.3 * hidden, "RTS gives {protected} instead of {hidden} Mbit/s");
    assert!(protected < open);
}

#[test]
fn the_stronger_of_two_hidden_stations_captures_the_receiver() {
    let span = Duration::from_secs(5);
    let shares = |near_db: f64, far_db: f64| {
        let one = |snr| StationConfig { snr_to_others_db: -40.0, ..station(snr) };
        let (mut air, stations) = build(plain(), &[one(near_db), one(far_db)], 2);
        let came = saturate(&mut air, &up(&stations), 1_500, span);
        came[0] as f64 / (came[0] + came[1]) as f64
    };
    let alike = shares(30.0, 30.0);
    let stronger = shares(50.0, 25.0);
    println!("alike {alike:.3}, 25 dB stronger {stronger:.3}");
    // Two that are alike fare by chance: whoever is ahead has the shorter window.
    assert!((0.2..0.8).contains(&alike), "{alike}");
    assert!(stronger > 0.9, "{stronger}");
}

#[test]
fn a_station_that_sends_with_less_power_gets_less_through_than_to_it() {
    let span = Duration::from_secs(2);
    let config = ApConfig { rate_control: RateControl::Ideal, ..ap() };
    let weak = StationConfig { up_db: -20.0, ..station(35.0) };
    let (mut air, stations) = build(config.clone(), std::slice::from_ref(&weak), 3);
    let down = saturate(&mut air, &[(stations[0], Direction::Down)], 1_500, span)[0];
    let (mut air, stations) = build(config.clone(), &[weak], 3);
    let less = saturate(&mut air, &up(&stations), 1_500, span)[0];
    let (mut air, stations) = build(config, &[station(15.0)], 3);
    let alike = saturate(&mut air, &up(&stations), 1_500, span)[0];
    assert!(less < down / 2, "{less} up, {down} down");
    let off = less as f64 / alike as f64 - 1.0;
    assert!(off.abs() < 0.02, "up with 20 dB less: {less}, at 15 dB both ways: {alike}");
}

#[test]
fn what_nothing_reaches_is_given_up() {
    for protection in [Protection::Never, Protection::From(0)] {
        let config = ApConfig { protection, retries: 4, ..ap() };
        let (mut air, stations) = build(config, &[station(-30.0)], 4);
        let mut drops = Vec::new();
        for id in 0..100 {
            let direction = if id % 2 == 0 { Direction::Down } else { Direction::Up };
            let port = Air::port(stations[0], direction);
            air.push(Time::ZERO, port, numbered(id, 1_500), &mut drops);
        }
        while let Some(at) = air.next_event() {
            assert!(at < Time::from_millis(10_000), "it does not end");
            assert!(air.poll(at, &mut drops).is_none(), "something came");
        }
        assert_eq!(drops.len(), 100);
        assert!(air.airtime().iter().all(|airtime| airtime.given_up == 50));
    }
}

#[test]
fn two_hundred_stations_share_a_channel() {
    let span = Duration::from_secs(2);
    let config = ApConfig { rate_control: RateControl::Ideal, ..ap() };
    let all: Vec<StationConfig> = (0..200).map(|n| station(15.0 + f64::from(n % 40))).collect();
    let (mut air, stations) = build(config, &all, 5);
    let ways: Vec<_> = stations
        .iter()
        .enumerate()
        .map(|(i, s)| (*s, if i % 4 == 0 { Direction::Up } else { Direction::Down }))
        .collect();
    let came = saturate(&mut air, &ways, 1_500, span);
    let charged: Duration = air.airtime().iter().map(|a| a.charged).sum();
    println!("{:.0} Mbit/s, charged {charged:?}", mbps(came.iter().sum(), span));
    // Fifty contend with the access point: not each has its turn in two seconds.
    let served = came.iter().filter(|bytes| **bytes > 0).count();
    assert!(served >= 180, "{served} of 200 were served");
    let (mut air, _) = build(ap(), &all, 5);
    let came = saturate(&mut air, &up(&stations), 1_500, span);
    assert!(mbps(came.iter().sum(), span) > 20.0);
}

#[test]
fn stations_leave_at_any_moment_of_an_exchange() {
    for protection in [Protection::Never, Protection::From(0)] {
        for microseconds in (0..3_000).step_by(37) {
            let config = ApConfig { protection, retries: 3, ..ap() };
            let (mut air, stations) = build(config, &[station(40.0), station(40.0)], 6);
            let mut drops = Vec::new();
            for id in 0..400 {
                let direction = if id % 2 == 0 { Direction::Down } else { Direction::Up };
                let port = Air::port(stations[id as usize / 2 % 2], direction);
                air.push(Time::ZERO, port, numbered(id, 1_500), &mut drops);
            }
            let leaves = Time::from_micros(microseconds);
            let mut came = 0;
            let mut has_left = false;
            loop {
                let next = air.next_event();
                if !has_left && next.is_none_or(|next| next > leaves) {
                    air.poll(leaves, &mut drops);
                    air.leave(stations[0], &mut drops);
                    has_left = true;
                    continue;
                }
                let Some(at) = next else { break };
                assert!(at < Time::from_millis(10_000), "it does not end");
                while air.poll(at, &mut drops).is_some() {
                    came += 1;
                }
            }
            assert_eq!(came + drops.len(), 400, "left at {microseconds} us");
            assert!(came >= 200, "the other's packets come: {came}");
            let port = Air::port(stations[0], Direction::Up);
            air.push(Time::from_millis(20_000), port, numbered(1_000, 1_500), &mut drops);
            assert_eq!(air.counters(port).held, (0, 0), "nothing leaves a station that is gone");
        }
    }
}

#[test]
fn what_a_station_sends_counts_where_both_directions_do() {
    let span = Duration::from_secs(3);
    // Two that only receive; the third sends as well, and has its share by that alone.
    let shares = |both: bool| {
        let config = ApConfig { scheduler: SchedulerKind::AirtimeDeficit { both }, ..ap() };
        let (mut air, stations) = build(config, &[station(50.0), station(50.0), station(50.0)], 7);
        let mut ways: Vec<_> = stations.iter().map(|s| (*s, Direction::Down)).collect();
        ways.push((stations[2], Direction::Up));
        saturate(&mut air, &ways, 1_500, span);
        let charged: Vec<f64> = air.airtime().iter().map(|a| a.charged.as_secs_f64()).collect();
        let total: f64 = charged.iter().sum();
        charged.into_iter().map(|c| c / total).collect::<Vec<_>>()
    };
    let (sent, both) = (shares(false), shares(true));
    println!("sent alone {sent:.2?}, both {both:.2?}");
    assert!(sent[4] > 0.1, "{sent:?}");
    assert!(both[4] < 0.02, "{both:?}");
    assert!((both[0] - both[2]).abs() < 0.05, "{both:?}");
}
