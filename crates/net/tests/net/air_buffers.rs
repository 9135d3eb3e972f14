//! What waits at an access point, and where.

use std::net::Ipv4Addr;
use std::time::Duration;

use airlane_base::{Packet, Rate, Seed, Time};
use airlane_net::air::{Air, ApConfig, ChannelConfig, Descriptors, RateControl, SchedulerKind};
use airlane_net::queue::CodelConfig;
use airlane_net::{Direction, Limit, Node, QueueSpec};

use crate::air::{ap, mbps, station};
use crate::common::numbered;

const SPAN: Duration = Duration::from_secs(3);

/// A packet for a station.
fn packet(id: u64, station: usize) -> Box<Packet> {
    let mut packet = numbered(id, 1_500);
    packet.dst.set_ip(Ipv4Addr::from(10 << 24 | station as u32).into());
    packet
}

/// Offers each station of these SNRs so many Mbit/s; what they get, and how long packets take on average, ms.
fn offer(config: ApConfig, offers: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut air = Air::new(ChannelConfig::default(), Seed(1));
    let point = air.add_ap(config);
    let stations: Vec<_> =
        offers.iter().map(|(snr, _)| air.add_station(point, station(*snr))).collect();
    let mut next: Vec<Time> = vec![Time::ZERO; offers.len()];
    let mut sent: Vec<(Time, usize)> = Vec::new();
    let mut came = vec![(0_u64, 0.0); offers.len()];
    let mut drops = Vec::new();
    let end = Time::ZERO + SPAN;
    loop {
        let (who, due) = next.iter().copied().enumerate().min_by_key(|(_, at)| *at).unwrap();
        let event = air.next_event();
        if event.is_none_or(|event| due <= event) {
            if due >= end {
                break;
            }
            let id = sent.len() as u64;
            sent.push((due, who));
            air.push(due, Air::port(stations[who], Direction::Down), packet(id, who), &mut drops);
            next[who] = due + Rate::from_mbps(offers[who].1).time_for(1_500);
        } else if let Some(at) = event {
            while let Some(packet) = air.poll(at, &mut drops) {
                let (since, who) = sent[packet.id as usize];
                came[who].0 += 1_500;
                came[who].1 += (at - since).as_secs_f64() * 1e3;
            }
        }
    }
    for one in &stations {
        assert!(air.counters(Air::port(*one, Direction::Down)).conserves());
    }
    let each = |(bytes, ms): (u64, f64)| (mbps(bytes, SPAN), ms * 1_500.0 / (bytes.max(1)) as f64);
    came.into_iter().map(each).collect()
}

#[test]
fn shared_descriptors_make_the_near_wait_for_the_far() {
    let config = |descriptors| ApConfig {
        descriptors,
        rate_control: RateControl::Ideal,
        scheduler: SchedulerKind::AirtimeDeficit { both: false },
        ..ap()
    };
    // Far is offered more than it can have, near less.
    let offers = [(50.0, 100.0), (6.0, 300.0)];
    let apart = offer(config(Descriptors::Unlimited), &offers);
    let each = offer(config(Descriptors::PerStation(512)), &offers);
    let shared = offer(config(Descriptors::Shared(512)), &offers);
    println!("apart {apart:.1?}, of each {each:.1?}, shared {shared:.1?}");
    assert!(apart[0].0 > 95.0 && each[0].0 > 95.0, "near gets what it asks for");
    assert!(shared[0].0 < 0.8 * apart[0].0, "it waits behind far: {shared:?}");
    assert!(shared[0].1 > 5.0 * apart[0].1, "{shared:?} {apart:?}");
}

#[test]
fn what_is_handed_over_escapes_the_limit_of_the_queue() {
    let config = |descriptors| ApConfig {
        descriptors,
        queue: QueueSpec::DropTail(Limit::Packets(100)),
        rate_control: RateControl::Fixed { mcs: 1, streams: 1 },
        ..ap()
    };
    let offers = [(40.0, 200.0)];
    let direct = offer(config(Descriptors::Unlimited), &offers)[0];
    let few = offer(config(Descriptors::PerStation(64)), &offers)[0];
    let many = offer(config(Descriptors::PerStation(2_000)), &offers)[0];
    println!("direct {direct:.1?}, 64 {few:.1?}, 2000 {many:.1?}");
    assert!((few.0 / direct.0 - 1.0).abs() < 0.05, "the air is as full: {few:?} {direct:?}");
    assert!(few.1 > direct.1 && many.1 > 3.0 * few.1, "{many:?} {few:?} {direct:?}");
}

#[test]
fn slow_stations_are_allowed_more_delay() {
    let codel = QueueSpec::FqCodel(Limit::Packets(10_000), CodelConfig::default());
    let config = |slow_below| ApConfig {
        slow_below,
        queue: codel.clone(),
        rate_control: RateControl::Fixed { mcs: 0, streams: 1 },
        width: airlane_wifi::Width::Mhz20,
        ..ap()
    };
    // Somewhat more than 8.6 Mbit/s, at which CoDel's drops bring delay down in a few seconds.
    let offers = [(40.0, 8.0)];
    let usual = offer(config(None), &offers)[0];
    let slow = offer(config(Some(Rate::from_bps(12_000_000))), &offers)[0];
    let fast = offer(config(Some(Rate::from_bps(1_000_000))), &offers)[0];
    println!("usual {usual:.1?}, slow {slow:.1?}, not slow enough {fast:.1?}");
    assert!(slow.1 > 1.3 * usual.1, "{slow:?} {usual:?}");
    assert_eq!(fast, usual);
}
