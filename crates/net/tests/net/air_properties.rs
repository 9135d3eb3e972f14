//! Whatever stands on a channel: the medium of 802.11 conserves packets, keeps their order, ends, and
//! does the same again.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use airlane_base::{Dscp, Packet, Seed, Time};
use airlane_net::air::{
    Air, AirAttempt, Airtime, ApConfig, AttemptOutcome, ChannelConfig, Descriptors, Protection,
    RateControl, SchedulerKind, StationConfig, StationId,
};
use airlane_net::{Capacity, Direction, Limit, Node, QueueSpec};
use airlane_wifi::{Access, Band, Format, FrameKind, Guard, Timing, What, Width, contention};
use proptest::prelude::*;

use crate::air::{ap, station};
use crate::common::numbered;

/// What a run is made of.
#[derive(Clone, Debug)]
struct Scene {
    ap: ApConfig,
    stations: Vec<StationConfig>,
    /// Microseconds since the packet before, station, whether up, IP bytes, DSCP.
    arrivals: Vec<(u64, usize, bool, u32, u8)>,
    seed: u64,
}

/// What came of it.
#[derive(Debug, PartialEq)]
struct Outcome {
    /// When which packet came.
    came: Vec<(Time, u64)>,
    dropped: Vec<u64>,
    airtime: Vec<Airtime>,
    ended: Time,
    uses: Vec<AirAttempt>,
}

fn schedulers() -> impl Strategy<Value = SchedulerKind> {
    prop_oneof![
        Just(SchedulerKind::RoundRobin),
        Just(SchedulerKind::PacketDeficit),
        any::<bool>().prop_map(|both| SchedulerKind::AirtimeDeficit { both }),
        Just(SchedulerKind::Fifo),
        Just(SchedulerKind::LongestQueue),
        (0_u64..=20)
            .prop_map(|ms| SchedulerKind::FullAggregate { hold: Duration::from_millis(ms) }),
        Just(SchedulerKind::MaximumRate),
    ]
}

/// A format and what it may go with: width, streams.
fn formats() -> impl Strategy<Value = (Format, Width, u8)> {
    prop_oneof![
        Just((Format::Ofdm, Width::Mhz20, 1)),
        Just((Format::Ht, Width::Mhz40, 2)),
        Just((Format::Vht, Width::Mhz80, 2)),
        Just((Format::He, Width::Mhz80, 2)),
        Just((Format::He, Width::Mhz160, 4)),
    ]
}

fn rate_controls() -> impl Strategy<Value = RateControl> {
    prop_oneof![
        Just(RateControl::Ideal),
        Just(RateControl::Minstrel),
        (0_u8..=7).prop_map(|mcs| RateControl::Fixed { mcs, streams: 1 }),
    ]
}

fn descriptors() -> impl Strategy<Value = Descriptors> {
    prop_oneof![
        2 => Just(Descriptors::Unlimited),
        1 => (1_usize..100).prop_map(Descriptors::PerStation),
        1 => (1_usize..100).prop_map(Descriptors::Shared),
    ]
}

fn aps() -> impl Strategy<Value = ApConfig> {
    let window = prop_oneof![Just(1), Just(2), Just(9), Just(64), Just(256)];
    let amsdu = prop_oneof![Just(0), Just(3_839), Just(11_454)];
    let protection = prop_oneof![
        Just(Protection::Never),
        Just(Protection::From(0)),
        Just(Protection::From(3_000)),
    ];
    let limits = (1_usize..200, prop_oneof![Just(usize::MAX), 1_usize..100]);
    let rest = (0_u8..=7, any::<bool>(), any::<bool>(), 200_u64..=5_484);
    (
        formats(),
        window,
        amsdu,
        protection,
        (schedulers(), rate_controls(), descriptors()),
        limits,
        rest,
    )
        .prop_map(
            |((format, width, streams), window, max_amsdu, protection, kinds, limits, rest)| {
                let (retries, is_encrypted, has_categories, max_air) = rest;
                ApConfig {
                    format,
                    width,
                    guard: Guard::Ns800,
                    streams,
                    window,
                    max_air: Duration::from_micros(max_air),
                    max_amsdu,
                    retries,
                    protection,
                    is_encrypted,
                    has_categories,
                    scheduler: kinds.0,
                    queue: QueueSpec::DropTail(Limit::Packets(limits.0)),
                    pool: match limits.1 {
                        usize::MAX => Capacity::Unlimited,
                        packets => Capacity::Packets(packets),
                    },
                    rate_control: kinds.1,
                    descriptors: kinds.2,
                    ..ap()
                }
            },
        )
}

fn stations() -> impl Strategy<Value = Vec<StationConfig>> {
    // From what never comes to what always does, and from stations that do not hear each other on.
    let one = (-12.0_f64..60.0, -40.0_f64..50.0, 1_usize..100).prop_map(|(snr, others, limit)| {
        StationConfig {
            snr_to_others_db: others,
            queue: QueueSpec::DropTail(Limit::Packets(limit)),
            ..station(snr)
        }
    });
    prop::collection::vec(one, 1..6)
}

fn scenes() -> impl Strategy<Value = Scene> {
    let gap = prop_oneof![4 => Just(0), 4 => 0_u64..300, 1 => 0_u64..200_000];
    let arrival = (gap, 0_usize..6, any::<bool>(), 28_u32..2_400, 0_u8..64);
    (aps(), stations(), prop::collection::vec(arrival, 1..300), any::<u64>())
        .prop_map(|(ap, stations, arrivals, seed)| Scene { ap, stations, arrivals, seed })
}

/// Runs a scene until nothing is left to do.
fn run(scene: &Scene, has_listeners: bool) -> Outcome {
    let mut air = Air::new(ChannelConfig::default(), Seed(scene.seed));
    let point = air.add_ap(scene.ap.clone());
    let stations: Vec<StationId> =
        scene.stations.iter().map(|s| air.add_station(point, s.clone())).collect();
    let ears: Vec<_> = match has_listeners {
        true => stations.iter().map(|s| air.listen(*s)).collect(),
        false => Vec::new(),
    };
    air.keep_attempts();
    let mut outcome = Outcome {
        came: Vec::new(),
        dropped: Vec::new(),
        airtime: Vec::new(),
        ended: Time::ZERO,
        uses: Vec::new(),
    };
    let mut drops = Vec::new();
    let mut tags: BTreeMap<u64, (usize, Dscp)> = BTreeMap::new();
    let mut last: BTreeMap<(usize, Dscp), u64> = BTreeMap::new();
    let mut now = Time::ZERO;
    let mut at = Time::ZERO;
    let mut steps = 0;
    let mut arrivals = scene.arrivals.iter().enumerate().peekable();
    loop {
        let due = arrivals.peek().map(|(_, (gap, ..))| at + Duration::from_micros(*gap));
        let next = air.next_event();
        let arrives = due.is_some_and(|due| next.is_none_or(|next| due <= next));
        if arrives && let Some((id, (_, who, is_up, bytes, dscp))) = arrivals.next() {
            at = due.unwrap_or(at);
            now = now.max(at);
            let direction = if *is_up { Direction::Up } else { Direction::Down };
            let port = Air::port(stations[who % stations.len()], direction);
            let mut packet: Box<Packet> = numbered(id as u64, *bytes);
            let host = Ipv4Addr::from(10 << 24 | (who % stations.len()) as u32);
            packet.dst.set_ip(host.into());
            packet.dscp = Dscp::new(*dscp).unwrap();
            tags.insert(id as u64, (usize::from(port.0), packet.dscp));
            air.push(now, port, packet, &mut drops);
        } else {
            let Some(next) = next else { break };
            assert!(next >= now, "events do not go back");
            now = next;
            while let Some(packet) = air.poll(now, &mut drops) {
                let tag = tags[&packet.id];
                let before = last.insert(tag, packet.id);
                assert!(before.is_none_or(|before| before < packet.id), "out of order");
                outcome.came.push((now, packet.id));
            }
            assert!(air.next_event().is_none_or(|next| next > now), "polling ends");
        }
        outcome.dropped.extend(drops.drain(..).map(|dropped| dropped.packet.id));
        for port in 0..air.ports() {
            let counters = air.counters(airlane_net::Port(port));
            assert!(counters.conserves(), "{counters:?}");
        }
        steps += 1;
        assert!(steps < 1_000_000, "it does not end");
    }
    assert_eq!(outcome.came.len() + outcome.dropped.len(), scene.arrivals.len());
    for port in 0..air.ports() {
        assert_eq!(air.counters(airlane_net::Port(port)).held, (0, 0));
    }
    for heard in ears.iter().flat_map(|ears| ears.take()) {
        let What::Frames { frames, .. } = heard.what else { continue };
        let data: Vec<u16> =
            frames.iter().filter(|f| f.kind == FrameKind::QosData).map(|f| f.sequence).collect();
        let Some(first) = data.first() else { continue };
        assert!(data.len() <= scene.ap.window);
        let farthest = data.iter().map(|number| number.wrapping_sub(*first) & 0xfff).max();
        assert!(farthest.is_some_and(|far| usize::from(far) < scene.ap.window), "{data:?}");
    }
    outcome.airtime = air.airtime();
    outcome.uses = air.take_attempts();
    outcome.ended = now;
    outcome
}

/// The account of the air agrees with who held it when.
fn check_account(scene: &Scene, outcome: &Outcome) {
    for used in &outcome.uses {
        assert!(used.frames as usize <= scene.ap.window, "{used:?}");
        assert!(used.from < used.until && used.until <= outcome.ended, "{used:?}");
    }
    for (port, airtime) in outcome.airtime.iter().enumerate() {
        let uses = outcome.uses.iter().filter(|used| usize::from(used.port.0) == port);
        assert_eq!(uses.count() as u64, airtime.attempts);
        if !scene.ap.has_categories {
            let each = contention(&Timing::of(Band::Ghz5), &Access::BEST_EFFORT);
            let attempts = u32::try_from(airtime.attempts).unwrap();
            assert_eq!(airtime.charged, airtime.bare + each * attempts);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn scenes_conserve_order_end_and_repeat(scene in scenes()) {
        let outcome = run(&scene, true);
        check_account(&scene, &outcome);
        prop_assert_eq!(&outcome, &run(&scene, true));
        // Listening changes nothing.
        prop_assert_eq!(&outcome, &run(&scene, false));
    }

    #[test]
    fn where_all_hear_each_other_what_is_charged_and_what_is_idle_make_up_the_time(
        scene in scenes()
    ) {
        let mut scene = scene;
        scene.ap.has_categories = false;
        for one in &mut scene.stations {
            let queue = one.queue.clone();
            *one = StationConfig { snr_to_others_db: 55.0, queue, ..station(55.0) };
        }
        let outcome = run(&scene, false);
        // Attempts overlap only where they collide, and between two lies AIFS at least.
        // Who waits in vain holds the air no longer: others have begun to count meanwhile.
        let timing = Timing::of(Band::Ghz5);
        let ack_timeout = timing.sifs + timing.slot + timing.detection;
        let until = |u: &AirAttempt| match u.outcome {
            AttemptOutcome::Delivered(_) => u.until,
            AttemptOutcome::Collided | AttemptOutcome::Lost => u.until - ack_timeout,
        };
        let mut uses: Vec<(Time, Time)> =
            outcome.uses.iter().map(|u| (u.from, until(u).max(u.from))).collect();
        uses.sort_unstable();
        let (mut busy, mut idle, mut until) = (Duration::ZERO, Duration::ZERO, Time::ZERO);
        let aifs = timing.aifs(&Access::BEST_EFFORT);
        for (from, to) in uses {
            if from >= until {
                let gap = from.since(until);
                prop_assert!(gap >= aifs, "a gap of {:?}", gap);
                idle += gap;
                busy += to.since(from);
            } else {
                busy += to.since(until.min(to));
            }
            until = until.max(to);
        }
        prop_assert_eq!(busy + idle, until.since(Time::ZERO));
        let bare: Duration = outcome.airtime.iter().map(|a| a.bare).sum();
        let unanswered: u64 = outcome.airtime.iter().map(|a| a.unanswered).sum();
        if unanswered == 0 {
            prop_assert_eq!(bare, busy);
        } else {
            prop_assert!(bare <= busy + Duration::from_millis(6) * u32::try_from(unanswered).unwrap());
        }
    }
}
