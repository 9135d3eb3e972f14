//! The packet path in virtual time.

use std::net::SocketAddr;
use std::time::Duration;

use airlane_base::{DropReason, Dscp, Ecn, IP_UDP_HEADER_BYTES};
use airlane_base::{Rate, Seed, Time, TrafficClass};
use airlane_link::{Direction, Engine, LinkSpec, Way, dumbbell};
use airlane_net::{
    GilbertElliott, Impairment, JitterLaw, Limit, Opportunities, PieConfig, QueueSpec, Supply,
};
use proptest::prelude::*;

use crate::common::packet;

/// When, which way, how large.
pub type Train = Vec<(Time, Direction, usize)>;
/// When, which way, tag, payload bytes.
pub type Arrivals = Vec<(Time, Direction, u32, usize)>;

fn push(engine: &mut Engine, at: Time, direction: Direction, tag: u32, payload: &[u8]) -> Time {
    let class = Ecn::Ect0.into();
    let at = engine.push(at, direction, tag, class, IP_UDP_HEADER_BYTES, payload);
    at.expect("memory")
}

fn drain(engine: &mut Engine, now: Time, into: &mut Arrivals) {
    while let Some(d) = engine.poll(now) {
        assert!(d.at <= now);
        into.push((d.at, d.direction, d.tag, d.packet.payload.len()));
        engine.recycle(d.packet);
    }
}

/// Sends a train, polling at every event (`late` false) or only when the next packet is sent.
pub fn run(spec: &LinkSpec, train: &Train, late: bool) -> (Arrivals, Engine) {
    let mut engine = Engine::new(spec);
    let mut arrivals = Arrivals::new();
    let payload = vec![7; 65_000];
    for (tag, (at, direction, size)) in train.iter().enumerate() {
        while let Some(next) = engine.next_event().filter(|next| !late && next < at) {
            drain(&mut engine, next, &mut arrivals);
        }
        let sent = push(&mut engine, *at, *direction, tag as u32, &payload[..*size]);
        assert_eq!(sent, *at, "nothing later has happened");
    }
    drain(&mut engine, Time::FAR_FUTURE - Duration::from_secs(1), &mut arrivals);
    assert_eq!(engine.next_event(), None);
    (arrivals, engine)
}

pub fn of(arrivals: &Arrivals, direction: Direction) -> Arrivals {
    arrivals.iter().filter(|a| a.1 == direction).copied().collect()
}

pub fn train() -> impl Strategy<Value = Train> {
    let packet = (0_u64..3_000_000, any::<bool>(), 0_usize..3_000);
    proptest::collection::vec(packet, 0..150).prop_map(|packets| {
        let mut at = 0;
        let step = |(gap, up, size)| {
            at += gap;
            let direction = if up { Direction::Up } else { Direction::Down };
            (Time::from_nanos(at), direction, size)
        };
        packets.into_iter().map(step).collect()
    })
}

pub fn way() -> impl Strategy<Value = Way> {
    let limit = prop_oneof![
        (1_usize..40).prop_map(Limit::Packets),
        (3_100_u64..60_000).prop_map(Limit::Bytes),
        (0.1_f64..5.0).prop_map(Limit::Bdp),
    ];
    let queue = (limit, any::<bool>()).prop_map(|(limit, pie)| match pie {
        true => QueueSpec::Pie(limit, PieConfig { ecn: true, ..PieConfig::default() }),
        false => QueueSpec::DropTail(limit),
    });
    let supply = prop_oneof![
        (1.0_f64..100.0).prop_map(|mbps| Supply::Constant(Rate::from_mbps(mbps))),
        proptest::collection::vec(0_u32..400, 1..60).prop_map(|mut millis| {
            millis.sort_unstable();
            millis.push(401);
            Supply::Opportunities(Opportunities::new(millis).expect("ascends").into())
        }),
    ];
    let burst = GilbertElliott::bursts(0.2, 3.0);
    let jitter = JitterLaw::Uniform(Duration::from_millis(3));
    let impairment = prop_oneof![
        Just(Impairment::Bernoulli(0.1)),
        Just(Impairment::GilbertElliott(burst)),
        Just(Impairment::Jitter { law: jitter, reorder: false }),
    ];
    let impairments = proptest::collection::vec(impairment, 0..3);
    (supply, queue, 0_u64..50, impairments).prop_map(|(supply, queue, delay, impairments)| {
        let delay = Duration::from_millis(delay);
        Way { delay, impairments, ..Way::new(supply, queue) }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn every_packet_comes_out_in_order_or_is_dropped_with_a_reason(
        (up, down, train, seed) in (way(), way(), train(), any::<u64>())
    ) {
        let spec = LinkSpec::new(up, down, Seed(seed));
        let (arrivals, engine) = run(&spec, &train, false);
        for direction in Direction::BOTH {
            let tally = engine.tally(direction);
            prop_assert!(tally.conserves());
            prop_assert_eq!(tally.held, (0, 0));
            prop_assert_eq!(engine.in_link(direction), (0, 0));
            let sent = train.iter().filter(|(_, d, _)| *d == direction).count();
            prop_assert_eq!(tally.pushed.0, sent as u64);
            let arrived = of(&arrivals, direction);
            prop_assert_eq!(tally.polled.0, arrived.len() as u64);
            // No element here reorders: times and tags ascend.
            prop_assert!(arrived.is_sorted_by_key(|a| a.0));
            prop_assert!(arrived.is_sorted_by(|a, b| a.2 < b.2));
            for (at, _, tag, size) in arrived {
                let (sent_at, _, sent_size) = train[tag as usize];
                prop_assert!(at >= sent_at && size == sent_size);
            }
        }
    }

    /// What is noticed late happens at the same time all the same.
    #[test]
    fn late_polls_change_nothing(
        (up, down, train, seed) in (way(), way(), train(), any::<u64>())
    ) {
        let spec = LinkSpec::new(up, down, Seed(seed));
        let ((timely, _), (late, _)) = (run(&spec, &train, false), run(&spec, &train, true));
        for direction in Direction::BOTH {
            prop_assert_eq!(of(&timely, direction), of(&late, direction));
        }
    }

    /// A direction is the laboratory's dumbbell, to the nanosecond.
    #[test]
    fn the_laboratory_delivers_at_the_same_times(
        (way, train, seed) in (way(), train(), any::<u64>())
    ) {
        let spec = LinkSpec::new(crate::common::wide(), way.clone(), Seed(seed));
        let (ours, _) = run(&spec, &train, false);
        let mut lab = dumbbell(&way).build(Seed(seed).split("down"));
        let end = |host| SocketAddr::new(lab.network.addresses(host)[0], 9);
        let ends = (end(lab.servers[0]), end(lab.clients[0]));
        for (at, _, size) in train.iter().filter(|(_, d, _)| *d == Direction::Down) {
            lab.network.send(*at, packet(*at, ends, *size));
        }
        let late = Time::FAR_FUTURE - Duration::from_secs(1);
        let theirs: Vec<_> = std::iter::from_fn(|| lab.network.poll(late))
            .map(|d| (d.at, d.packet.payload.len()))
            .collect();
        let ours: Vec<_> =
            of(&ours, Direction::Down).into_iter().map(|(at, _, _, n)| (at, n)).collect();
        prop_assert_eq!(ours, theirs);
    }
}

#[test]
fn tags_classes_headers_and_payloads_come_back() {
    let mut engine = Engine::new(&crate::common::open());
    let tags = [0, 1, 0xffff, 0x1_0000, 0xdead_beef, u32::MAX];
    for tag in tags {
        push(&mut engine, Time::ZERO, Direction::Up, tag, &tag.to_be_bytes());
    }
    let class = TrafficClass { dscp: Dscp::AF42, ecn: Ecn::Ce };
    let size = engine.push(Time::ZERO, Direction::Up, 5, class, 0, &[3; 40]);
    assert_eq!(size, Some(Time::ZERO));
    let mut out = Vec::new();
    while let Some(d) = engine.poll(Time::from_millis(1)) {
        out.push(d);
    }
    for (d, tag) in out.iter().zip(tags) {
        assert_eq!((d.tag, &d.packet.payload[..]), (tag, &tag.to_be_bytes()[..]));
        assert_eq!((d.packet.traffic_class(), d.packet.ip_bytes()), (Ecn::Ect0.into(), 32));
    }
    let last = out.last().expect("seven packets");
    assert_eq!((last.tag, last.packet.traffic_class(), last.packet.ip_bytes()), (5, class, 40));
    // A packet that is used again has nothing of its last journey.
    for d in out {
        engine.recycle(d.packet);
    }
    push(&mut engine, Time::from_millis(2), Direction::Up, 0, &[]);
    let next = engine.poll(Time::from_millis(3)).expect("one packet").packet;
    assert_eq!((next.traffic_class(), next.ip_bytes()), (Ecn::Ect0.into(), 28));
}

#[test]
fn an_arrival_that_is_read_late_never_turns_time_back() {
    let mut engine = Engine::new(&crate::common::open());
    // 1000 bytes at 1 Gbit/s: 8 us.
    push(&mut engine, Time::ZERO, Direction::Up, 0, &[0; 972]);
    assert_eq!(engine.poll(Time::from_millis(5)).map(|d| d.at), Some(Time::from_micros(8)));
    let at = push(&mut engine, Time::from_micros(3), Direction::Up, 1, &[0; 972]);
    assert_eq!(at, Time::from_micros(8));
    // The other direction has its own time.
    let at = push(&mut engine, Time::from_micros(3), Direction::Down, 2, &[0; 972]);
    assert_eq!(at, Time::from_micros(3));
}

#[test]
fn memory_is_bounded_and_freed() {
    let up = Way { delay: Duration::from_secs(1), ..crate::common::wide() };
    let spec =
        LinkSpec { max_held_bytes: 100_000, ..LinkSpec::new(up, crate::common::wide(), Seed(1)) };
    let mut engine = Engine::new(&spec);
    let mut fill = |now: Time| {
        let taken = (0..1_000).filter(|_| {
            let class = TrafficClass::default();
            engine.push(now, Direction::Up, 0, class, IP_UDP_HEADER_BYTES, &[0; 972]).is_some()
        });
        let taken = taken.count() as u64;
        assert_eq!(engine.tally(Direction::Up).held.0, taken);
        while engine.poll(now + Duration::from_secs(2)).is_some() {}
        (taken, engine.refused(Direction::Up))
    };
    let (first, refused) = fill(Time::ZERO);
    // A packet of 1000 bytes takes them and 256 more.
    assert_eq!((first, refused), (79, (921, 921_000)));
    let (second, _) = fill(Time::from_millis(3_000));
    assert_eq!(second, 79);
    let tally = engine.tally(Direction::Up);
    assert_eq!((tally.polled.0, tally.dropped[DropReason::Overflow.index()].0), (158, 0));
}

/// A machine that let the link's thread wait has packets leave later than totals were taken.
#[test]
fn totals_that_were_taken_too_early_leave_nothing_waiting() {
    // Ten times 1000 bytes at 1 Mbit/s: 80 ms.
    let slow =
        Way::new(Supply::Constant(Rate::from_mbps(1.0)), QueueSpec::DropTail(Limit::Packets(20)));
    let mut engine = Engine::new(&LinkSpec::new(slow, crate::common::wide(), Seed(1)));
    for tag in 0..10 {
        push(&mut engine, Time::ZERO, Direction::Up, tag, &[0; 972]);
    }
    let early = engine.link_stats(Direction::Up, Time::from_millis(100));
    drain(&mut engine, Time::from_millis(100), &mut Arrivals::new());
    let later = engine.link_stats(Direction::Up, Time::from_millis(101));
    let report = later.since(&early);
    assert_eq!(
        (report.carried_packets, report.mean_queue_packets, report.mean_queue_bytes),
        (10, 0.0, 0.0)
    );
}
