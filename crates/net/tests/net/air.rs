//! The medium of 802.11 against closed forms.

use std::time::Duration;

use airlane_base::{Dscp, Ecn, FlowId, IP_UDP_HEADER_BYTES, Packet, Progress, Rate, Seed, Time};
use airlane_net::air::{
    Air, ApConfig, ChannelConfig, Descriptors, Protection, RateControl, SchedulerKind, Signal,
    StationConfig, StationId,
};
use airlane_net::{Capacity, Direction, Limit, Node, QueueSpec};
use airlane_wifi::{
    Access, Band, Format, Guard, PlannedExchange, Response, Timing, Vector, Width, mac,
};

pub(crate) fn ap() -> ApConfig {
    ApConfig {
        format: Format::He,
        width: Width::Mhz80,
        guard: Guard::Ns800,
        streams: 2,
        window: 64,
        max_air: Duration::from_micros(5_484),
        max_amsdu: 0,
        retries: 7,
        protection: Protection::Never,
        is_encrypted: false,
        has_categories: false,
        contention: None,
        scheduler: SchedulerKind::RoundRobin,
        queue: QueueSpec::DropTail(Limit::Packets(1_000)),
        pool: Capacity::Unlimited,
        rate_control: RateControl::Fixed { mcs: 11, streams: 2 },
        slow_below: None,
        descriptors: Descriptors::Unlimited,
        has_beacons: false,
        position: None,
        power_dbm: 20.0,
        snr_to_others_db: 40.0,
    }
}

pub(crate) fn station(snr_db: f64) -> StationConfig {
    StationConfig {
        signal: Signal::Fixed(snr_db),
        up_db: 0.0,
        power_save: None,
        contention: None,
        snr_to_others_db: 40.0,
        queue: QueueSpec::DropTail(Limit::Packets(1_000)),
        rate_control: None,
    }
}

pub(crate) fn packet(id: u64, ip_bytes: u32) -> Box<Packet> {
    let end = "10.0.0.1:1".parse().unwrap();
    Box::new(Packet {
        id,
        flow: FlowId(0),
        src: end,
        dst: end,
        ecn: Ecn::NotEct,
        dscp: Dscp::default(),
        sent: Time::ZERO,
        enqueued: Time::ZERO,
        progress: Progress::default(),
        header_bytes: IP_UDP_HEADER_BYTES,
        payload: vec![0; (ip_bytes - u32::from(IP_UDP_HEADER_BYTES)) as usize],
    })
}

/// Keeps the queues of these ports full for so long; IP bytes that came, by port.
pub(crate) fn saturate(
    air: &mut Air,
    ways: &[(StationId, Direction)],
    ip_bytes: u32,
    span: Duration,
) -> Vec<u64> {
    let mut drops = Vec::new();
    let mut now = Time::ZERO;
    let mut id = 0;
    let end = Time::ZERO + span;
    let mut came = vec![0; ways.len()];
    let mut next: Vec<u64> = vec![0; ways.len()];
    loop {
        for (i, (station, direction)) in ways.iter().enumerate() {
            let port = Air::port(*station, *direction);
            while air.counters(port).held.0 < 600 {
                id += 1;
                air.push(now, port, packet(id << 8 | i as u64, ip_bytes), &mut drops);
            }
        }
        let Some(at) = air.next_event().filter(|at| *at <= end) else { break };
        now = at;
        while let Some(packet) = air.poll(now, &mut drops) {
            let way = (packet.id & 0xff) as usize;
            assert!(packet.id > next[way], "out of order");
            next[way] = packet.id;
            came[way] += u64::from(packet.ip_bytes());
        }
    }
    for (station, direction) in ways {
        let counters = air.counters(Air::port(*station, *direction));
        assert!(counters.conserves(), "{counters:?}");
    }
    came
}

pub(crate) fn mbps(bytes: u64, span: Duration) -> f64 {
    Rate::of(bytes, span).mbps()
}

#[test]
fn one_saturated_station_gets_what_the_frame_sequence_leaves() {
    let span = Duration::from_secs(2);
    for (window, mcs) in [(64, 11), (256, 11), (4, 7), (1, 0)] {
        let config =
            ApConfig { window, rate_control: RateControl::Fixed { mcs, streams: 2 }, ..ap() };
        let mut air = Air::new(ChannelConfig::default(), Seed(1));
        let ap = air.add_ap(config.clone());
        let a = air.add_station(ap, station(60.0));
        let came = saturate(&mut air, &[(a, Direction::Down)], 1_500, span)[0];
        let vector = config.vector(mcs, 2);
        let frame = mac::in_aggregate(mac::mpdu(1_500, false));
        let frames = (vector.max_bytes(config.max_air) / frame).clamp(1, window as u32);
        let response = match (frames, window) {
            (1, _) => Response::Ack,
            (_, 0..=64) => Response::BlockAck64,
            _ => Response::BlockAck256,
        };
        let cost = PlannedExchange { vector, bytes: frames * frame, is_protected: false, response };
        let each = cost.with_contention(&Timing::of(Band::Ghz5), &Access::BEST_EFFORT);
        let expected = f64::from(frames * 1_500) * 8.0 / each.as_secs_f64() / 1e6;
        let measured = mbps(came, span);
        let off = measured / expected - 1.0;
        assert!(off.abs() < 0.01, "{window} frames, MCS {mcs}: {measured} instead of {expected}");
        // The definition of airtime: a saturated channel is charged as a whole.
        let charged = air.airtime()[0].charged.as_secs_f64() / span.as_secs_f64();
        assert!((charged - 1.0).abs() < 0.03, "{window} frames: {charged}");
    }
}

#[test]
fn who_contends_with_other_parameters_gets_another_share() {
    let span = Duration::from_secs(4);
    let share_of_down = |of_ap: Option<Access>, of_station: Option<Access>| {
        let rate_control = RateControl::Fixed { mcs: 7, streams: 1 };
        let mut air = Air::new(ChannelConfig::default(), Seed(1));
        let ap = air.add_ap(ApConfig { contention: of_ap, rate_control, ..ap() });
        let a = air.add_station(ap, StationConfig { contention: of_station, ..station(60.0) });
        let came = saturate(&mut air, &[(a, Direction::Down), (a, Direction::Up)], 1_500, span);
        came[0] as f64 / (came[0] + came[1]) as f64
    };
    let even = share_of_down(None, None);
    assert!((0.45..0.55).contains(&even), "{even}");
    assert_eq!(share_of_down(Some(Access::BEST_EFFORT), Some(Access::BEST_EFFORT)), even);
    let ahead = Some(Access { aifsn: 1, cw_min: 7, ..Access::BEST_EFFORT });
    let down = share_of_down(ahead, None);
    let up = 1.0 - share_of_down(None, ahead);
    assert!((0.65..0.95).contains(&down), "{down}");
    assert!((down - up).abs() < 0.05, "{down} down, {up} up");
}

/// Bianchi's model (IEEE JSAC 2000) of `n` saturated stations: the throughput in IP bits/s.
fn bianchi(n: u32, vector: Vector, ip_bytes: u32) -> f64 {
    let timing = Timing::of(Band::Ghz5);
    let access = Access::BEST_EFFORT;
    let (w, m) = (f64::from(access.cw_min) + 1.0, 6);
    // tau of the collision probability p, and p of tau: bisection.
    let tau = |p: f64| {
        let sum: f64 = (0..m).map(|i| (2.0 * p).powi(i)).sum();
        2.0 / (1.0 + w + p * w * sum)
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..100 {
        let p = f64::midpoint(low, high);
        let implied = 1.0 - (1.0 - tau(p)).powi(n as i32 - 1);
        if implied > p { low = p } else { high = p }
    }
    let tau = tau(low);
    let bytes = mac::mpdu(ip_bytes, false);
    let cost = PlannedExchange { vector, bytes, is_protected: false, response: Response::Ack };
    let aifs = timing.aifs(&access);
    let success = (cost.without_contention(&timing) + aifs).as_secs_f64();
    // The others wait EIFS.
    let ack = Vector::ofdm(0).duration(mac::ACK);
    let collision = (vector.duration(bytes) + timing.sifs + ack + aifs).as_secs_f64();
    let any = 1.0 - (1.0 - tau).powi(n as i32);
    let one = f64::from(n) * tau * (1.0 - tau).powi(n as i32 - 1);
    let slot = timing.slot.as_secs_f64();
    let mean = (1.0 - any) * slot + one * success + (any - one) * collision;
    one * f64::from(ip_bytes) * 8.0 / mean
}

#[test]
fn saturated_stations_contend_as_bianchi_says() {
    let span = Duration::from_secs(20);
    let vector = Vector::ofdm(4);
    for n in [5, 10, 20, 40] {
        let config = ApConfig {
            format: Format::Ofdm,
            width: Width::Mhz20,
            streams: 1,
            window: 1,
            retries: 60,
            rate_control: RateControl::Fixed { mcs: 4, streams: 1 },
            ..ap()
        };
        // No capture: two frames at once are both lost.
        let channel = ChannelConfig { capture_db: 200.0, ..ChannelConfig::default() };
        let mut air = Air::new(channel, Seed(u64::from(n)));
        let ap = air.add_ap(config);
        let ways: Vec<_> =
            (0..n).map(|_| (air.add_station(ap, station(40.0)), Direction::Up)).collect();
        let total: u64 = saturate(&mut air, &ways, 1_500, span).iter().sum();
        let (measured, expected) = (mbps(total, span), bianchi(n, vector, 1_500) / 1e6);
        let off = measured / expected - 1.0;
        println!(
            "{n} stations: {measured:.3} instead of {expected:.3} Mbit/s ({:+.2} %)",
            100.0 * off
        );
        assert!(off.abs() < 0.03, "{n} stations: {measured} instead of {expected} Mbit/s");
    }
}
