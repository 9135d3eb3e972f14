//! How paths share the memory at both ends.

use std::time::Duration;

use airlane_base::Time;

use crate::path::Path;
use crate::{PathId, Sender};

/// However slow a path is, it may have an even part of the memory over this on its way: enough to
/// show that it has become faster. With a quarter of this the slowest of four held more than goes
/// with its rate, and the others waited for it.
const MIN_PART: f64 = 32.0;
/// Windows that memory holds at least: with fewer, paths idle at their boundaries.
const MIN_WINDOWS: u64 = 6;
/// Segments of a window at least, where there is memory for them: with fewer, what is sent again costs
/// more than what smaller windows save.
const MIN_SEGMENTS: u64 = 16;
/// A path is late if what it takes comes after so many times as long as memory takes to fill.
const LATE: f64 = 2.0;

impl Sender {
    /// True if `path` has less on its way than its part of the memory, but for that of a window whose
    /// ends have not met. What a path took and has not delivered fills memory that the others need
    /// too, so each is held to the part that goes with its rate: then all take equally long to
    /// deliver what they have.
    pub(crate) fn is_within_part(&self, now: Time, path: PathId) -> bool {
        let Some(own) = self.paths[path.0].as_ref() else { return false };
        let all = self.recent_bps();
        let even = 1.0 / self.used(now).count() as f64;
        let recent = own.reliability.recent_bps();
        let part = if all > 0.0 { (recent / all).max(even / MIN_PART) } else { even };
        let has = own.handed - own.received;
        !self.options.shares_memory || has == 0 || (has as f64) < part * self.shared() as f64
    }

    /// True if what `path` takes would come so late that memory is full before, so that others which
    /// are in time, or far sooner, had to wait for it: such a path sends copies alone. Where these are
    /// silent it takes segments again after as long as it takes itself: before, they may speak again
    /// by the time that these would come.
    pub(crate) fn is_late(&self, now: Time, path: PathId) -> bool {
        let all = self.recent_bps();
        if !self.options.shares_memory || all <= 0.0 {
            return false;
        }
        let fills_s = self.shared() as f64 * 8.0 / all;
        let most = Duration::from_secs_f64((LATE * fills_s).min(1e6));
        let own = self.paths[path.0].as_ref().and_then(|p| p.time);
        let Some((own, _)) = own.filter(|(own, _)| *own > most) else { return false };
        // A path that has just joined is given the chance: what it takes will show.
        let is_sooner =
            |p: &Path| p.time.is_none_or(|(mean, _)| mean <= most || mean.mul_f64(LATE) <= own);
        let is_other = |p: &Path| is_sooner(p) && !p.is_silent(now, own);
        self.used(now).any(|p| self.paths[p.0].as_ref().is_some_and(is_other))
    }

    /// The recent rate of all paths together, bits per second.
    fn recent_bps(&self) -> f64 {
        self.paths.iter().flatten().map(|p| p.reliability.recent_bps()).sum()
    }

    /// Memory that the paths share: without that of a window whose ends have not met.
    fn shared(&self) -> u64 {
        self.memory().saturating_sub(self.max_cut())
    }

    /// Bytes that both ends hold.
    fn memory(&self) -> u64 {
        self.config.receive_memory.min(self.send_memory)
    }

    /// Bytes of the next window at most: what all paths have on their way at their recent rates and
    /// the longest of their times. A larger one would add no rate, as several are open at
    /// once, and what came from its end would wait for longer. Before a path's time is known,
    /// and where one window is open at a time, it is what was agreed on.
    pub(crate) fn window_bytes(&self) -> u64 {
        if !self.options.pipelines_windows {
            return self.max_cut();
        }
        let times = self.paths.iter().flatten().filter_map(|p| p.time);
        let Some(longest) = times.map(|(mean, _)| mean).max() else { return self.max_cut() };
        let on_way = self.recent_bps() / 8.0 * longest.as_secs_f64();
        let least = MIN_SEGMENTS * u64::from(self.config.segment_bytes);
        (on_way as u64).max(least).min(self.max_cut())
    }

    /// Bytes of a window at most: what was agreed on, or less where memory holds few of these.
    pub(crate) fn max_cut(&self) -> u64 {
        let (most, least) = (self.config.window_bytes.into(), self.config.segment_bytes.into());
        (self.memory() / MIN_WINDOWS).min(most).max(least)
    }
}
