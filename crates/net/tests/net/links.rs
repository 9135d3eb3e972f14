//! Links against closed forms, to the nanosecond and to the packet.

use std::sync::Arc;
use std::time::Duration;

use crate::common::numbered;
use airlane_base::{Rate, Time};
use airlane_net::{
    Capacity, DropTail, Node, Opportunities, Port, RateProfile, SerialLink, Supply, Trace,
    TraceLink,
};
use proptest::prelude::*;

const MS: fn(u64) -> Duration = Duration::from_millis;
const MBPS: fn(f64) -> Rate = Rate::from_mbps;

fn queue() -> Box<DropTail> {
    Box::new(DropTail::new(Capacity::Unlimited))
}

/// Departures (time, id) until `end`.
fn drain(link: &mut impl Node, end: Time) -> Vec<(Time, u64)> {
    let (mut out, mut drops) = (Vec::new(), Vec::new());
    while let Some(at) = link.next_event().filter(|at| *at <= end) {
        while let Some(p) = link.poll(at, &mut drops) {
            out.push((at, p.id));
        }
        assert!(link.counters(Port::ONLY).conserves());
    }
    assert!(drops.is_empty());
    out
}

fn send(link: &mut impl Node, at: Time, id: u64, ip_bytes: u32) {
    link.push(at, Port::ONLY, numbered(id, ip_bytes), &mut Vec::new());
}

fn ms(x: f64) -> Time {
    Time::from_nanos((x * 1e6).round() as u64)
}

#[test]
fn a_packet_in_service_crosses_steps_and_outages_exactly() {
    let steps = [(MS(0), MBPS(8.0)), (MS(1), Rate::ZERO), (MS(3), MBPS(4.0))];
    let profile = Arc::new(RateProfile::new(&steps, None).unwrap());
    let mut link = SerialLink::new(profile, Duration::ZERO, queue());
    // 12 000 bits: 4 000 until 1 ms, none until 3 ms, 8 000 at 4 Mbit/s.
    send(&mut link, ms(0.5), 1, 1_500);
    assert_eq!(drain(&mut link, Time::FAR_FUTURE), [(ms(5.0), 1)]);
    // The last rate holds for ever.
    send(&mut link, Time::from_millis(60_000), 2, 1_000);
    assert_eq!(drain(&mut link, Time::FAR_FUTURE), [(ms(60_002.0), 2)]);
}

#[test]
fn a_periodic_profile_wraps_and_starts_at_its_offset() {
    let steps = [(MS(0), MBPS(8.0)), (MS(10), MBPS(1.0))];
    let profile = Arc::new(RateProfile::new(&steps, Some(MS(20))).unwrap());
    assert_eq!(profile.mean(), MBPS(4.5));
    assert!((profile.bytes_until(MS(50)) - (2.0 * 11_250.0 + 10_000.0)).abs() < 1e-9);
    // Starts 1 ms before the end of the slow half: 1 000 bits, then 11 000 at 8 Mbit/s.
    let mut link = SerialLink::new(Arc::clone(&profile), MS(59), queue());
    send(&mut link, Time::ZERO, 1, 1_500);
    assert_eq!(drain(&mut link, Time::FAR_FUTURE), [(ms(1.0 + 1.375), 1)]);
    // After a thousand idle periods the phase is right: 1 s + 59 ms is 19 ms into a period.
    send(&mut link, Time::from_millis(20_000), 2, 1_500);
    assert_eq!(drain(&mut link, Time::FAR_FUTURE), [(ms(20_002.375), 2)]);
    let stats = link.link_stats(Port::ONLY, ms(20_010.0)).unwrap();
    assert!(
        (stats.capacity_bytes - profile.bytes_until(MS(20_069)) + profile.bytes_until(MS(59)))
            .abs()
            < 1e-3
    );
}

#[test]
fn a_slow_profile_of_a_short_period_takes_no_step_per_period() {
    // One bit per 4 us, in periods of 2 us: 12 000 bits, and the last bit's half lies at the end
    // of the first half of a period.
    let steps = [(Duration::ZERO, Rate::from_bps(500_000)), (Duration::from_micros(1), Rate::ZERO)];
    let profile = RateProfile::new(&steps, Some(Duration::from_micros(2))).unwrap();
    let mut link = SerialLink::new(Arc::new(profile), Duration::ZERO, queue());
    send(&mut link, Time::ZERO, 1, 1_500);
    assert_eq!(drain(&mut link, Time::FAR_FUTURE), [(Time::from_micros(47_999), 1)]);
    // A bit in 146 years.
    let steps = [(Duration::ZERO, Rate::ZERO), (Duration::from_nanos(2), Rate::from_bps(1))];
    let profile = RateProfile::new(&steps, Some(Duration::from_nanos(3))).unwrap();
    let mut link = SerialLink::new(Arc::new(profile), Duration::ZERO, queue());
    send(&mut link, Time::ZERO, 1, 1_500);
    assert_eq!(drain(&mut link, Time::FAR_FUTURE), [(Time::from_nanos(36_000_000_000_000), 1)]);
}

#[test]
fn rate_zero_holds_packets_for_ever() {
    let mut link = SerialLink::constant(Rate::ZERO, queue());
    send(&mut link, Time::ZERO, 1, 100);
    assert_eq!(link.next_event(), None);
    assert_eq!(link.counters(Port::ONLY).held, (1, 100));
}

fn opportunities(ms: &[u32]) -> Arc<Opportunities> {
    Arc::new(Opportunities::new(ms.to_vec()).unwrap())
}

#[test]
fn small_packets_share_large_ones_straddle_and_the_rest_is_lost() {
    let mut link = TraceLink::new(opportunities(&[2, 4, 4, 9]), Duration::ZERO, queue());
    // 1 500 = 400 + 400 + 400 + 300 of the fourth; its last 100 leave in the next.
    for id in 0..4 {
        send(&mut link, ms(1.0), id, 400);
    }
    // 3 000 bytes: 1 400 and 1 500 at 4 ms, 100 at 9 ms.
    send(&mut link, ms(1.0), 4, 3_000);
    let got = drain(&mut link, ms(9.0));
    let at = |m: f64, id| (ms(m), id);
    assert_eq!(got, [at(2.0, 0), at(2.0, 1), at(2.0, 2), at(4.0, 3), at(9.0, 4)]);
    // 1 400 bytes at 9 ms were lost: the next opportunity is at 9 + 2 ms, whole.
    send(&mut link, ms(9.0), 5, 1_500);
    assert_eq!(drain(&mut link, Time::FAR_FUTURE), [at(11.0, 5)]);
    // Idle: opportunities pass. One at the very time of arrival serves.
    send(&mut link, ms(13.5), 6, 1_500);
    assert_eq!(drain(&mut link, Time::FAR_FUTURE), [at(18.0, 6)]);
    send(&mut link, ms(9_000_000.0), 7, 40);
    assert_eq!(drain(&mut link, Time::FAR_FUTURE), [at(9_000_000.0, 7)]);
}

/// The schedule of a trace from `offset` on, written out.
fn schedule(trace: &Opportunities, offset_ms: u64, until_ms: u64) -> Vec<u64> {
    let period = trace.period().as_millis() as u64;
    let offset_ms = offset_ms % period;
    let mut out = Vec::new();
    for cycle in 0..=(until_ms + offset_ms) / period {
        for m in trace.millis() {
            let t = cycle * period + u64::from(*m);
            if t >= offset_ms && t - offset_ms <= until_ms {
                out.push(t - offset_ms);
            }
        }
    }
    out
}

fn saturated(trace: &Arc<Opportunities>, offset_ms: u64, until_ms: u64) {
    let want = schedule(trace, offset_ms, until_ms);
    let mut link = TraceLink::new(Arc::clone(trace), MS(offset_ms), queue());
    for id in 0..want.len() as u64 + 10 {
        send(&mut link, Time::ZERO, id, 1_500);
    }
    let got = drain(&mut link, Time::from_millis(until_ms));
    let got_ms: Vec<u64> = got.iter().map(|(at, _)| at.as_nanos() / 1_000_000).collect();
    assert_eq!(got_ms, want);
    let capacity = link.link_stats(Port::ONLY, Time::from_nanos(until_ms * 1_000_000 + 1)).unwrap();
    assert_eq!(capacity.capacity_bytes, want.len() as f64 * 1_500.0);
}

#[test]
fn a_saturated_trace_reproduces_its_schedule() {
    let trace = opportunities(&[0, 0, 1, 1, 1, 7, 30, 30]);
    for offset in [0, 1, 2, 29, 30, 31] {
        saturated(&trace, offset, 100);
    }
}

#[test]
fn a_recorded_trace_reproduces_its_schedule_to_the_packet() {
    let root = std::env::var("AIRLANE_DATA")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data").into());
    let file = std::path::Path::new(&root).join("cellular/Verizon-LTE-short.down.gz");
    if !file.exists() {
        assert!(std::env::var("AIRLANE_STRICT").as_deref() != Ok("1"), "{file:?} is missing");
        println!("left out: the recorded trace (set AIRLANE_DATA)");
        return;
    }
    let Supply::Opportunities(trace) = Trace::load(file).unwrap().supply() else {
        panic!("it is a Mahimahi trace")
    };
    // More than one period, so that it wraps.
    saturated(&trace, 0, 150_000);
    saturated(&trace, 77_777, 100_000);
}

proptest! {
    /// A link that is never idle carries its capacity, to the packet in service and a nanosecond
    /// of rounding per packet.
    #[test]
    fn a_saturated_link_carries_what_fits(
        pieces in prop::collection::vec((1_u64..50_000, 0_u64..20_000_000), 1..8),
        offset in 0_u64..100_000,
        size in 40_u32..3_000,
    ) {
        let mut start = 0;
        let mut steps = Vec::new();
        for (length, bps) in &pieces {
            steps.push((Duration::from_micros(start), Rate::from_bps(*bps)));
            start += length;
        }
        steps[0].1 = Rate::from_mbps(10.0);
        let profile =
            Arc::new(RateProfile::new(&steps, Some(Duration::from_micros(start))).unwrap());
        let offset = Duration::from_micros(offset % start);
        let mut link = SerialLink::new(Arc::clone(&profile), offset, queue());
        for id in 0..200 {
            send(&mut link, Time::ZERO, id, size);
        }
        let got = drain(&mut link, Time::FAR_FUTURE);
        prop_assert_eq!(got.len(), 200);
        for (i, (at, _)) in got.iter().enumerate() {
            let t = at.since_start() + offset;
            let could = profile.bytes_until(t) - profile.bytes_until(offset);
            let did = (i + 1) as f64 * f64::from(size);
            // 20 Mbit/s is 0.0025 bytes per nanosecond.
            prop_assert!(could >= did - 1e-3 && could <= did + 0.0025 * (i + 1) as f64 + 1e-3,
                "{} of {}", did, could);
        }
    }
}

#[test]
fn rates_are_scaled_and_opportunities_are_not() {
    assert_eq!(Supply::from(MBPS(4.0)).scaled(1.5).unwrap(), Supply::from(MBPS(6.0)));
    let profile = |rates: [f64; 2]| {
        let steps = [(MS(0), MBPS(rates[0])), (MS(70), MBPS(rates[1]))];
        Supply::Profile(Arc::new(RateProfile::new(&steps, Some(MS(100))).unwrap()))
    };
    assert_eq!(profile([4.0, 1.0]).scaled(0.5).unwrap(), profile([2.0, 0.5]));
    let bursts = Supply::Opportunities(Arc::new(Opportunities::new(vec![1, 1, 5]).unwrap()));
    assert_eq!(bursts.clone().scaled(1.0).unwrap(), bursts);
    let error = bursts.scaled(2.0).unwrap_err().to_string();
    assert!(error.starts_with("2 on a trace of delivery opportunities; expected 1: "), "{error}");
}
