//! The rates at which window-based controllers ask to be sent.

use std::time::Duration;

use airlane_base::Rate;

/// Windows per round-trip time in slow start: the window doubles within the round.
pub const SLOW_START_GAIN: f64 = 2.0;

/// Windows per round-trip time in congestion avoidance: a little above 1, so that the window and not
/// the pacer limits the flow (RFC 9002, section 7.7, which names 1.25). How fast a flow answers an acknowledgement of many packets,
/// and how many it lets go at once ([`crate::pacer::BURST_PACKETS`]), decides how bursty the flows
/// with large windows are, and so what a weight is worth under droptail:
/// `docs/design/controllers.md`.
pub const AVOIDANCE_GAIN: f64 = 1.05;

/// Below this window the pacer carries the rate: 1.5 packets per round trip cannot be had from
/// whole packets in flight.
pub const PACED_WINDOW_PACKETS: f64 = 2.0;

/// Windows per round-trip time in avoidance at a window of `packets`: 1 up to
/// [`PACED_WINDOW_PACKETS`], [`AVOIDANCE_GAIN`] from one packet above it, linear between.
pub fn avoidance_gain(packets: f64) -> f64 {
    1.0 + (AVOIDANCE_GAIN - 1.0) * (packets - PACED_WINDOW_PACKETS).clamp(0.0, 1.0)
}

/// The rate of `gain` windows per round trip, `None` before a round trip was measured.
pub fn rate(window_bytes: f64, gain: f64, smoothed_rtt: Option<Duration>) -> Option<Rate> {
    let rtt = smoothed_rtt?.as_secs_f64().max(1e-6);
    Some(Rate::from_bps_f64(window_bytes * 8.0 * gain / rtt))
}

/// Bytes that may leave in one burst at `rate`: one packet below 1.2 Mbit/s, two below 24, then
/// one millisecond's worth up to 64 KB (draft-cardwell-iccrg-bbr-congestion-control-00, section
/// 4.2.2).
pub fn quantum(rate: Rate, mtu: u64) -> u64 {
    if rate.bps() < 1_200_000 {
        mtu
    } else if rate.bps() < 24_000_000 {
        2 * mtu
    } else {
        rate.bytes_in(Duration::from_millis(1)).clamp(2 * mtu, (64 << 10).max(2 * mtu))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_per_round_trip() {
        let r = rate(12_500.0, 1.0, Some(Duration::from_millis(100)));
        assert_eq!(r, Some(Rate::from_mbps(1.0)));
        assert_eq!(rate(12_500.0, 1.0, None), None);
        assert_eq!(avoidance_gain(1.5), 1.0);
        assert!((avoidance_gain(2.5) - (1.0 + AVOIDANCE_GAIN) / 2.0).abs() < 1e-12);
        assert_eq!(avoidance_gain(80.0), AVOIDANCE_GAIN);
    }

    #[test]
    fn quanta_follow_the_draft() {
        assert_eq!(quantum(Rate::from_mbps(1.0), 1350), 1350);
        assert_eq!(quantum(Rate::from_mbps(10.0), 1350), 2700);
        assert_eq!(quantum(Rate::from_mbps(80.0), 1350), 10_000);
        assert_eq!(quantum(Rate::from_mbps(8_000.0), 1350), 65_536);
    }
}
