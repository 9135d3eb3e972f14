//! What a metered radio may carry.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use airlane_fbdt::Preference;

/// How a radio is used, as the end that has it wants it. The other end keeps to it as well.
#[derive(Clone, Debug, Default)]
pub struct RadioTerms {
    /// Its price, and whether it is a backup.
    pub preference: Preference,
    /// Bits per second that each end sends over it at most, as counted on the air.
    pub most_bps: Option<u64>,
    /// What both directions together may cost.
    pub quota: Option<std::sync::Arc<Quota>>,
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
