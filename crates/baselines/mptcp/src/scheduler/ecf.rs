//! ECF: earliest completion first (Lim, Nahum, Towsley, Gibbens: ECF: An MPTCP path scheduler to
//! manage heterogeneous paths, CoNEXT 2017, algorithm 1).
//!
//! With `k` bytes waiting, the fastest path F without room and S the best that has some, F is
//! waited for if that sends all of it before S would:
//!
//! ```text
//! n = 1 + k / CWND_F
//! n * RTT_F < (1 + waiting * beta) * (RTT_S + delta)    and
//! k / CWND_S * RTT_S >= 2 * RTT_F + delta
//! ```
//!
//! `waiting` is 1 after F was waited for, until the first line fails. As in the authors' module in
//! mptcp v0.95, `k` is no less than one window of the path: to send anything takes a round trip.

use super::{Meta, View, lowest_rtt};

const BETA: f64 = 0.25;

#[derive(Clone, Debug, Default)]
pub(crate) struct Ecf {
    waiting: bool,
}

impl Ecf {
    pub(crate) fn pick(&mut self, meta: &Meta, paths: &[View]) -> Option<usize> {
        let fast = lowest_rtt(paths, |_| true)?;
        let free = lowest_rtt(paths, |p| p.has_room)?;
        if free.path == fast.path {
            return Some(fast.path);
        }
        let windows = |p: &View| (meta.waiting as f64 / p.cwnd.max(1) as f64).max(1.0);
        let (rtt_fast, rtt_free) = (fast.srtt.as_secs_f64(), free.srtt.as_secs_f64());
        let delta = fast.rttvar.max(free.rttvar).as_secs_f64();
        let margin = if self.waiting { 1.0 + BETA } else { 1.0 };
        if (1.0 + windows(fast)) * rtt_fast >= margin * (rtt_free + delta) {
            self.waiting = false;
            return Some(free.path);
        }
        if windows(free) * rtt_free >= 2.0 * rtt_fast + delta {
            self.waiting = true;
            return None;
        }
        Some(free.path)
    }
}
