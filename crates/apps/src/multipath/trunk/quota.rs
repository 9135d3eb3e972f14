//! What a metered radio may carry, and how the end that has it keeps it to that.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use airlane_fbdt::Preference;
use airlane_runtime::RuntimeExt;

use super::dialer::{RETRY, Radio};
use super::frame::Body;
use super::line::Line;
use super::meter::{on_air, on_line};

/// How often what is left of a quota is divided between both ends.
const DIVIDES: Duration = Duration::from_millis(20);
/// With less than this left of a quota there is no line: it is for what waits for no allowance,
/// acknowledgements above all, and the frame by which an allowance is never used up.
const MIN_LEFT: u64 = 256 << 10;
/// Why a radio has no line then.
const SPENT: &str = "nothing is left of its cap";

/// How a radio is used, as the end that has it wants it. The other end keeps to it as well.
#[derive(Clone, Debug, Default)]
pub struct RadioTerms {
    /// Its price, and whether it is a backup.
    pub preference: Preference,
    /// Bits per second that each end sends over it at most, as counted on the air.
    pub max_bps: Option<u64>,
    /// What both directions together may cost.
    pub quota: Option<Arc<Quota>>,
}

/// How many bytes a metered radio may carry in both directions together, since this began. Whoever
/// grants them keeps the account: it may grant few at a time, having noted down that they are gone.
#[derive(Debug, Default)]
pub struct Quota {
    granted: AtomicU64,
    used: AtomicU64,
    is_spent: AtomicBool,
}

impl Quota {
    /// One of which nothing is granted yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// So many bytes are granted in all, no fewer than before.
    pub fn grant(&self, total: u64) {
        self.granted.fetch_max(total, Ordering::Relaxed);
    }

    /// Whether no more will be granted for now: then the radio's line is ended when little is left.
    pub fn set_spent(&self, is_spent: bool) {
        self.is_spent.store(is_spent, Ordering::Relaxed);
    }

    /// Whether no more will be granted for now.
    pub fn is_spent(&self) -> bool {
        self.is_spent.load(Ordering::Relaxed)
    }

    /// What was granted in all.
    pub fn granted(&self) -> u64 {
        self.granted.load(Ordering::Relaxed)
    }

    /// What was used, as it was last looked at: lags by some hundredths of a second.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    pub(super) fn set_used(&self, used: u64) {
        self.used.fetch_max(used, Ordering::Relaxed);
    }
}

impl Radio {
    /// Waits until there is a quota to connect on.
    pub(super) async fn has_quota(&self) {
        let Some(quota) = &self.terms.quota else { return };
        while self.left(quota) < MIN_LEFT {
            self.set_spent();
            self.shared.runtime.sleep(RETRY).await;
        }
        let mut seen = self.seen();
        if std::mem::take(&mut seen.view.is_spent) {
            seen.view.problem.clear();
        }
    }

    fn set_spent(&self) {
        let mut seen = self.seen();
        seen.view.is_spent = true;
        SPENT.clone_into(&mut seen.view.problem);
    }

    /// What is left of the quota for now.
    fn left(&self, quota: &Quota) -> u64 {
        let used = self.seen().view().on_air_bytes;
        quota.set_used(used);
        quota.granted().saturating_sub(used)
    }

    /// Divides what is left of the quota between both ends, so that both together never use more, and
    /// ends the line when too little is left to divide.
    pub(super) async fn keep_to_quota(&self, line: &Arc<Line>) -> Infallible {
        let Some(quota) = &self.terms.quota else { return std::future::pending().await };
        let mut allowed = 0;
        loop {
            let left = self.left(quota);
            if left < MIN_LEFT && (quota.is_spent() || left < MIN_LEFT / 4) {
                self.set_spent();
                line.end();
                return std::future::pending().await;
            }
            let (sent, received) = (line.meter.sent(), line.counts().received_bytes);
            let mut others = on_air(allowed - received.min(allowed));
            let allows = others < left / 4;
            if allows {
                allowed = received + on_line(left / 2);
                others = left / 2;
            }
            // First less for this end, then more for the other.
            line.meter.allow(sent + on_line(left.saturating_sub(others)));
            if allows {
                line.post(0, Body::Allow(allowed));
            }
            self.shared.runtime.sleep(DIVIDES).await;
        }
    }
}
