//! The scheduler of upstream Linux (5.18, MPTCP v1), which calls itself BLEST: the path that would
//! be the first to send all that it holds takes the next 64 KiB.
//!
//! The time that a path needs for that is `held / rate`, with an average of its pacing rate that
//! moves at each burst as much as the burst weighs beside what is held. A kernel's send buffer
//! holds much more than a path of this crate takes at once. It belongs to how the scheduler works,
//! so the sender keeps the rest of it ([`kernel_memory`](crate::kernel_memory)).

use crate::MAX_PATHS;

use super::{Meta, View};

/// Bytes of a burst (MPTCP_SEND_BURST_SIZE).
pub(crate) const BURST: u64 = 1 << 16;

#[derive(Clone, Debug, Default)]
pub(crate) struct Linux {
    /// The path that has a burst, and what is left of it.
    last: Option<(usize, u64)>,
    /// The average of each path's pacing rate; zero before its first burst.
    rates: [f64; MAX_PATHS],
}

impl Linux {
    /// `has_room` of a path says here that its send buffer has.
    pub(crate) fn pick(&self, paths: &[View]) -> Option<usize> {
        if let Some((last, left)) = self.last
            && left > 0
            && paths.iter().any(|p| p.path == last && p.is_usable && p.has_room)
        {
            return Some(last);
        }
        let linger = |p: &View| p.in_flight as f64 / self.rate(p);
        let first = paths.iter().filter(|p| p.is_usable);
        let first = first.min_by(|a, b| linger(a).total_cmp(&linger(b)))?;
        first.has_room.then_some(first.path)
    }

    pub(crate) fn on_taken(&mut self, meta: &Meta, path: &View) {
        let left = match self.last {
            Some((last, left)) if last == path.path && left > 0 => left,
            _ => {
                let burst = BURST.min(meta.window_left);
                let (held, new) = (path.in_flight as f64, burst as f64);
                if held + new > 0.0 {
                    self.rates[path.path] =
                        (self.rate(path) * held + path.pacing_bps * new) / (held + new);
                }
                burst
            }
        };
        self.last = Some((path.path, left.saturating_sub(meta.next_bytes)));
    }

    pub(crate) fn forget(&mut self, path: usize) {
        self.rates[path] = 0.0;
        self.last = self.last.filter(|(last, _)| *last != path);
    }

    fn rate(&self, path: &View) -> f64 {
        let average = self.rates[path.path];
        if average > 0.0 { average } else { path.pacing_bps }
    }
}
