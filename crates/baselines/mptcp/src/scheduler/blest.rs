//! BLEST: blocking estimation (Ferlin, Alay, Mehani, Boreli: BLEST: Blocking estimation-based MPTCP
//! scheduler for heterogeneous networks, IFIP Networking 2016, section III).
//!
//! A slower path S keeps a segment in the send window for a round trip of its own. In that time the
//! faster one F could send `X` bytes, with a packet more per round trip, as congestion avoidance has
//! it:
//!
//! ```text
//! rtts = RTT_S / RTT_F
//! X = MSS_F * (CWND_F + (rtts - 1) / 2) * rtts
//! ```
//!
//! S takes the segment only if that fits the window beside all that S has on its way:
//!
//! ```text
//! X * lambda <= |window| - MSS_S * (in flight of S + 1)
//! ```
//!
//! `lambda` corrects X: up if something had to be sent again, down if not. Its bounds and steps are
//! those of the authors' module in mptcp v0.95.

use airlane_base::Time;

use super::{Meta, View, lowest_rtt};

const FIRST_LAMBDA: i32 = 1200;
const MIN_LAMBDA: i32 = 1000;
const MAX_LAMBDA: i32 = 1300;
/// Up, after retransmissions.
const STEP_UP: i32 = 40;
/// Down, without.
const STEP_DOWN: i32 = 10;

#[derive(Clone, Debug)]
pub(crate) struct Blest {
    /// In thousandths.
    lambda: i32,
    updated: Option<Time>,
    retransmissions: u64,
}

impl Default for Blest {
    fn default() -> Self {
        Self { lambda: FIRST_LAMBDA, updated: None, retransmissions: 0 }
    }
}

impl Blest {
    pub(crate) fn pick(&mut self, meta: &Meta, paths: &[View]) -> Option<usize> {
        let fast = lowest_rtt(paths, |_| true)?;
        let free = lowest_rtt(paths, |p| p.has_room)?;
        if free.path == fast.path || fast.srtt.is_zero() {
            return Some(free.path);
        }
        self.update_lambda(meta, free);
        let rtts = free.srtt.as_secs_f64() / fast.srtt.as_secs_f64();
        let faster = (fast.cwnd as f64 + fast.mss as f64 * (rtts - 1.0) / 2.0) * rtts;
        let left = meta.window as f64 - (free.in_flight + meta.next_bytes) as f64;
        let fits = faster * f64::from(self.lambda) / 1000.0 <= left;
        fits.then_some(free.path)
    }

    /// Once per round trip of the slower path.
    fn update_lambda(&mut self, meta: &Meta, slow: &View) {
        let since = *self.updated.get_or_insert(meta.now);
        if meta.now - since < slow.min_rtt.max(slow.srtt / 8) {
            return;
        }
        let again = meta.retransmissions > self.retransmissions;
        let lambda = self.lambda + if again { STEP_UP } else { -STEP_DOWN };
        self.lambda = lambda.clamp(MIN_LAMBDA, MAX_LAMBDA);
        (self.updated, self.retransmissions) = (Some(meta.now), meta.retransmissions);
    }
}
