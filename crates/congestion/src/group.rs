//! Groups of controllers whose growth is coupled (RFC 6356).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

/// The paths that are coupled: those of one stream at the end that sends it.
///
/// Clones are the same group. Controllers join it ([`Controller::couple`](crate::Controller::couple)) and leave when dropped.
#[derive(Clone, Default)]
pub struct Group(Arc<Mutex<Members>>);

/// State that the members of a group share.
#[derive(Debug, Default)]
struct Members {
    next: u64,
    /// In the order in which they joined, so that sums do not depend on addresses.
    paths: Vec<Member>,
}

#[derive(Debug)]
struct Member {
    number: u64,
    window: f64,
    /// `None` before the first sample: such a path takes no part in sums.
    rtt: Option<Duration>,
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Group").field("paths", &self.lock().paths.len()).finish()
    }
}

impl PartialEq for Group {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Group {
    /// A group without members.
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, Members> {
        self.0.lock()
    }

    /// Number of members.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.lock().paths.len()
    }

    /// Takes a place in the group.
    pub(crate) fn join(&self) -> Membership {
        let mut members = self.lock();
        let number = members.next;
        members.next += 1;
        members.paths.push(Member { number, window: 0.0, rtt: None });
        Membership { group: self.clone(), number }
    }
}

/// A place in a group, which is given up when dropped.
#[derive(Debug)]
pub(crate) struct Membership {
    group: Group,
    number: u64,
}

impl Membership {
    /// The group.
    pub(crate) fn group(&self) -> &Group {
        &self.group
    }

    /// Tells the others this path's window, in bytes, and round trip, and takes from them the share
    /// of NewReno's growth that is left to it: RFC 6356, section 3, grows by the lesser of
    /// alpha * acked * mss / (sum of windows) and acked * mss / window, that is by
    /// min(1, alpha * window / (sum of windows)) of what NewReno grows by.
    pub(crate) fn share(&self, window: f64, rtt: Duration) -> f64 {
        let mut members = self.group.lock();
        if let Some(own) = members.paths.iter_mut().find(|m| m.number == self.number) {
            (own.window, own.rtt) = (window, Some(rtt));
        }
        share(window, members.paths.iter().filter_map(|m| Some((m.window, m.rtt?))))
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.group.lock().paths.retain(|m| m.number != self.number);
    }
}

/// alpha * `window` / (sum of windows), at most 1, with
/// alpha = (sum of windows) * max(w/rtt^2) / (sum of w/rtt)^2 over `paths`, which are windows and
/// round trips (RFC 6356, section 3; the sum cancels).
fn share(window: f64, paths: impl Iterator<Item = (f64, Duration)>) -> f64 {
    let (mut best, mut sum) = (0.0f64, 0.0f64);
    for (window, rtt) in paths {
        let rtt = rtt.as_secs_f64().max(1e-6);
        best = best.max(window / (rtt * rtt));
        sum += window / rtt;
    }
    if sum > 0.0 { (window * best / (sum * sum)).min(1.0) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn assert_shares(paths: &[(f64, Duration)], wanted: &[f64]) {
        for ((window, _), wanted) in paths.iter().zip(wanted) {
            let found = share(*window, paths.iter().copied());
            assert!((found - wanted).abs() < 1e-12, "{found} instead of {wanted} in {paths:?}");
        }
    }

    #[test]
    fn a_share_is_that_of_the_equation() {
        assert_shares(&[(10_000.0, ms(50))], &[1.0]);
        // Equal round trips: window * largest window / (sum of windows)^2.
        assert_shares(&[(30_000.0, ms(20)), (10_000.0, ms(20))], &[9.0 / 16.0, 3.0 / 16.0]);
        // w/rtt^2 is 1e6 and 4e6, the sum of w/rtt 4e5: 40 000 * 4e6 / 1.6e11, and a quarter of that.
        assert_shares(&[(40_000.0, ms(200)), (10_000.0, ms(50))], &[1.0, 0.25]);
        // Never more than NewReno: without the bound this were 25.
        assert_shares(&[(100_000.0, ms(1_000)), (1_000.0, ms(10))], &[1.0, 0.25]);
    }
}
