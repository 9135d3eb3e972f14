//! What a round trip showed of the path.

use std::time::Duration;

use airlane_base::{Rate, Time};

use crate::controller::{Ack, Rtt};

/// The shortest round: below it, aggregates of a WiFi link make any figure.
const MIN_ROUND: Duration = Duration::from_millis(40);
/// A round trip that was never less than this above the least of the connection, or a quarter of that,
/// has stood in a queue all the while; lumps of aggregates come and go.
const QUEUE: Duration = Duration::from_millis(15);
const QUEUE_PART: u32 = 4;
/// Loss above this share, and of more than so many packets, is congestion; a WiFi link that gives up
/// frames stays below.
const LOSS_PART: u64 = 50;
const LOSS_PACKETS: u64 = 3;
/// Loss above one packet of so many leaves no doubt.
const HEAVY_LOSS_PART: u64 = 5;

/// A round that goes on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    began: Time,
    acked: u64,
    lost: u64,
    min_rtt: Duration,
    is_app_limited: bool,
    last_rate: Rate,
}

/// Findings of a round.
pub(super) struct RoundFindings {
    /// Packets were lost, or stood in a queue, and the application was not what limited it.
    pub is_congested: bool,
    /// All packets stood in a queue.
    pub is_queued: bool,
    /// So many were lost that one round is enough.
    pub is_heavy: bool,
    /// Rate that arrived.
    pub delivered: Rate,
}

impl Round {
    pub fn new(now: Time) -> Self {
        Self {
            began: now,
            acked: 0,
            lost: 0,
            min_rtt: Duration::MAX,
            is_app_limited: false,
            last_rate: Rate::ZERO,
        }
    }

    pub fn on_ack(&mut self, ack: &Ack) {
        self.acked += ack.bytes;
        self.min_rtt = self.min_rtt.min(ack.rtt.latest);
        self.is_app_limited |= ack.app_limited();
    }

    pub fn on_loss(&mut self, bytes: u64) {
        self.lost = self.lost.saturating_add(bytes);
    }

    /// Rate that arrived in the last round that is over.
    pub fn last_rate(&self) -> Rate {
        self.last_rate
    }

    /// True if a fifth of it was lost so far, which leaves no doubt.
    pub fn is_heavy(&self, mtu: u64) -> bool {
        self.lost > LOSS_PACKETS * mtu
            && self.lost.saturating_mul(HEAVY_LOSS_PART) > self.acked.saturating_add(self.lost)
    }

    /// Ends the round if it is time, and begins the next.
    pub fn end(&mut self, now: Time, rtt: &Rtt, mtu: u64) -> Option<RoundFindings> {
        let elapsed = now.since(self.began);
        if elapsed < rtt.smoothed.max(MIN_ROUND) || self.acked == 0 {
            return None;
        }
        let is_lossy = self.lost > LOSS_PACKETS * mtu
            && self.lost.saturating_mul(LOSS_PART) > self.acked.saturating_add(self.lost);
        let is_heavy = self.is_heavy(mtu);
        let is_queued = self.min_rtt > rtt.min + (rtt.min / QUEUE_PART).max(QUEUE);
        let delivered = Rate::of(self.acked, elapsed);
        let is_congested = !self.is_app_limited && (is_lossy || is_queued);
        *self = Self { last_rate: delivered, ..Self::new(now) };
        Some(RoundFindings { is_congested, is_queued, is_heavy, delivered })
    }
}
