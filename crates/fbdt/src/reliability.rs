//! How reliable a path is, in how much of the time that it had data on its way something arrived,
//! and how fast it has been of late.

use std::time::Duration;

use airlane_base::Time;

/// Time is looked at in slots of this length (definitions: reliability of a radio).
const SLOT: Duration = Duration::from_millis(100);
/// Weight of a slot in the average: 63 % of it is the last three seconds.
const GAIN: f64 = 1.0 / 30.0;
/// Slots of which the best is a path's recent rate. Of a second's, a path that has become ten times
/// slower would hold memory as if it were fast for all of that.
const RECENT: usize = 3;
/// Slots without a word that are looked at one by one.
const MAX_SILENT_SLOTS: u64 = 300;

/// The history of one path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reliability {
    slot: u64,
    has_progress: bool,
    was_busy: bool,
    was_busy_before: bool,
    score: f64,
    bytes: u64,
    rate_bps: f64,
    /// Bytes of the last slots, in turn.
    recent: [u64; RECENT],
}

impl Reliability {
    pub(crate) fn new(now: Time) -> Self {
        let slot = slot_of(now);
        Self {
            slot,
            has_progress: false,
            was_busy: false,
            was_busy_before: false,
            score: 1.0,
            bytes: 0,
            rate_bps: 0.0,
            recent: [0; RECENT],
        }
    }

    /// Time has come to `now`; `is_busy` says whether the path has data on its way since the last
    /// call.
    pub(crate) fn advance(&mut self, now: Time, is_busy: bool) {
        let slot = slot_of(now);
        for past in 0..(slot - self.slot.min(slot)).min(MAX_SILENT_SLOTS) {
            self.recent[((self.slot + past) % RECENT as u64) as usize] = self.bytes;
            if self.was_busy {
                self.score += GAIN * (f64::from(u8::from(self.has_progress)) - self.score);
                let rate = self.bytes as f64 * 8.0 / SLOT.as_secs_f64();
                self.rate_bps += GAIN * (rate - self.rate_bps);
            }
            self.was_busy_before = self.was_busy;
            (self.has_progress, self.bytes, self.was_busy) = (false, 0, is_busy);
        }
        self.slot = slot.max(self.slot);
        self.was_busy |= is_busy;
    }

    /// So many bytes arrived. Call [`Self::advance`] first.
    pub(crate) fn on_progress(&mut self, bytes: u64) {
        self.has_progress = true;
        self.was_busy = true;
        self.bytes += bytes;
    }

    /// The share of its busy slots in which something arrived, the latest counting most: 0 to 1.
    pub(crate) fn score(&self) -> f64 {
        self.score
    }

    /// The best rate of the last slots, bits per second.
    pub(crate) fn recent_bps(&self) -> f64 {
        let most = self.recent.iter().copied().max().unwrap_or(0).max(self.bytes);
        most as f64 * 8.0 / SLOT.as_secs_f64()
    }

    /// Its rate since the beginning of the last whole slot, bits per second; `None` unless it was
    /// busy all the time.
    pub(crate) fn current_bps(&self, now: Time) -> Option<f64> {
        let before = (self.slot + RECENT as u64 - 1) % RECENT as u64;
        let (was_busy, bytes) = match slot_of(now).saturating_sub(self.slot) {
            0 => (self.was_busy && self.was_busy_before, self.recent[before as usize] + self.bytes),
            1 => (self.was_busy, self.bytes),
            _ => (self.was_busy, 0),
        };
        let passed_ns = SLOT.as_nanos() as u64 + now.as_nanos() % SLOT.as_nanos() as u64;
        was_busy.then(|| bytes as f64 * 8e9 / passed_ns as f64)
    }

    /// Its rate while busy, bits per second; 0 until something has arrived.
    pub(crate) fn rate_bps(&self) -> f64 {
        self.rate_bps
    }
}

fn slot_of(now: Time) -> u64 {
    now.as_nanos() / SLOT.as_nanos() as u64
}
