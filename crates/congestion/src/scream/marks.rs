//! Share of packets that come marked (section 4.2.1.3).

use std::time::Duration;

use airlane_base::Time;

/// Weight of a new share in the average (L4S_AVG_G).
const SHARE_GAIN: f64 = 1.0 / 16.0;

/// Longest time between two updates of the average, if the feedback allows it.
const MAX_UPDATE_INTERVAL: Duration = Duration::from_millis(10);

/// Smoothed share of marked packets.
#[derive(Clone, Debug, Default)]
pub(super) struct MarkedShare {
    /// l4s_alpha.
    alpha: f64,
    /// Packets acknowledged since the last update, and those of them that came marked.
    packets: u64,
    marked: u64,
    updated_at: Option<Time>,
}

impl MarkedShare {
    /// A packet was acknowledged.
    pub fn acknowledged(&mut self) {
        self.packets = self.packets.saturating_add(1);
    }

    /// Counts acknowledged packets that came marked.
    pub fn marked(&mut self, packets: u64) {
        self.marked = self.marked.saturating_add(packets);
    }

    /// Updates the average if that is due. All marks of the packets acknowledged so far are known.
    pub fn update(&mut self, now: Time, rtt: Duration) {
        let interval = MAX_UPDATE_INTERVAL.min(rtt);
        let is_due = self.updated_at.is_none_or(|at| now.since(at) >= interval);
        if self.packets == 0 || !is_due {
            return;
        }
        let share = (self.marked as f64 / self.packets as f64).min(1.0);
        self.alpha += SHARE_GAIN * (share - self.alpha);
        (self.packets, self.marked, self.updated_at) = (0, 0, Some(now));
    }

    /// l4s_alpha: 0 to 1.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }
}
