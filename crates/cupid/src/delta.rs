//! Throughput of the whole air at a PHY rate: delta before anything was received.

use std::time::Duration;

use airlane_base::{IP_UDP_HEADER_BYTES, Rate};
use airlane_wifi::{Access, Band, MAX_PPDU_DURATION, Response, Timing, Vector, contention, mac};

/// The aggregation of a network, from which its throughput at a PHY rate follows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aggregation {
    /// The most frames of an aggregate, which is the block acknowledgement's window; 1: none.
    pub frames: u32,
    /// Longest PPDU (802.11-2020, 10.12: aPPDUMaxTime, 5.484 ms).
    pub max_duration: Duration,
    /// Bytes of an IP packet.
    pub ip_bytes: u32,
    /// True if frames are encrypted.
    pub is_encrypted: bool,
    /// Packets for each that the receiver's transport sends back; 0: it sends none.
    pub packets_per_ack: u32,
    /// Bytes of such an IP packet.
    pub ack_ip_bytes: u32,
}

impl Default for Aggregation {
    fn default() -> Self {
        Self {
            frames: 64,
            max_duration: MAX_PPDU_DURATION,
            ip_bytes: 1_500,
            is_encrypted: true,
            packets_per_ack: 2,
            ack_ip_bytes: 80,
        }
    }
}

/// Preamble of a PPDU: HE with one or two streams, as HT and VHT within 10 us.
const PREAMBLE: Duration = Duration::from_micros(50);

impl Aggregation {
    /// The rate of UDP payload that the whole air carries at a PHY rate, all aggregates full: one
    /// exchange down and the transport's acknowledgements up, each with what contending costs.
    pub fn delta(&self, phy: Rate, timing: &Timing, access: &Access) -> Rate {
        if phy == Rate::ZERO {
            return Rate::ZERO;
        }
        let mpdu = |ip| mac::mpdu(ip, self.is_encrypted);
        let mut bytes = u64::from(mpdu(self.ip_bytes));
        let mut frames = 1;
        if self.frames > 1 {
            let each = u64::from(mac::in_aggregate(mpdu(self.ip_bytes))).max(1);
            let room = phy.bytes_in(self.max_duration.saturating_sub(PREAMBLE));
            frames = (room / each).clamp(1, u64::from(self.frames));
            bytes = frames * each;
        }
        let response = match self.frames {
            0 | 1 => Response::Ack,
            2..=64 => Response::BlockAck64,
            _ => Response::BlockAck256,
        };
        let around = timing.sifs
            + Vector::ofdm(4).duration(response.bytes())
            + contention(timing, access)
            + PREAMBLE;
        let mut time = around + phy.time_for(bytes);
        if self.packets_per_ack > 0 {
            let acks = frames as f64 / f64::from(self.packets_per_ack);
            let each = mac::in_aggregate(mpdu(self.ack_ip_bytes));
            let exchanges = if self.frames > 1 { acks.min(1.0) } else { acks };
            time += around.mul_f64(exchanges) + phy.time_for(1).mul_f64(acks * f64::from(each));
        }
        let payload = frames * u64::from(self.ip_bytes.saturating_sub(IP_UDP_HEADER_BYTES.into()));
        Rate::of(payload, time)
    }

    /// As [`delta`](Self::delta), for best effort at 5 GHz.
    pub fn usual_delta(&self, phy: Rate) -> Rate {
        self.delta(phy, &Timing::of(Band::Ghz5), &Access::BEST_EFFORT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throughput_rises_with_rate_and_aggregates_and_stays_below_the_rate() {
        let full = Aggregation::default();
        let mut last = Rate::ZERO;
        for mbps in [6.0, 54.0, 144.0, 600.0, 1201.0, 2402.0] {
            let phy = Rate::from_mbps(mbps);
            let delta = full.usual_delta(phy);
            assert!(delta > last && delta < phy, "{mbps}: {delta}");
            let single = Aggregation { frames: 1, ..full }.usual_delta(phy);
            assert!(single <= delta, "{mbps}: {single}");
            last = delta;
        }
        assert_eq!(full.usual_delta(Rate::ZERO), Rate::ZERO);
        // 64 of 1500 bytes at 1201 Mbit/s: 660 us of data and 2 x 219 us around it.
        assert!((660.0..720.0).contains(&full.usual_delta(Rate::from_mbps(1_201.0)).mbps()));
    }
}
