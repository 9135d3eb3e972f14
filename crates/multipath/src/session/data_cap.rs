//! Data caps of metered interfaces, and how a client keeps both ends within them.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use airlane_fbdt::Preference;
use airlane_runtime::RuntimeExt;

use crate::session::client::{Interface, RETRY_INTERVAL};
use crate::subflow::Subflow;
use crate::subflow::frame::Body;
use crate::subflow::meter::{on_air, on_subflow};

/// Interval at which what is left of a data cap is divided between both ends.
const DIVIDE_INTERVAL: Duration = Duration::from_millis(20);
/// With less than this left of a data cap there is no subflow: it is for what waits for no credit,
/// acknowledgements above all, and the frame by which a credit is never used up.
const MIN_LEFT: u64 = 256 << 10;
/// Reason for which an interface whose data cap is used up has no subflow.
const SPENT: &str = "nothing is left of its cap";

/// The use of an interface. Both ends keep to it.
#[derive(Clone, Debug, Default)]
pub struct InterfaceConfig {
    /// Its price, and whether it is a backup.
    pub preference: Preference,
    /// Rate limit of each end, bit/s on the air.
    pub max_bps: Option<u64>,
    /// Data cap of both directions together.
    pub data_cap: Option<Arc<DataCap>>,
}

/// Bytes that a metered interface may carry in both directions together, since this began. Its owner keeps
/// the account: it may grant few at a time, having noted down that they are gone.
#[derive(Debug, Default)]
pub struct DataCap {
    granted: AtomicU64,
    used: AtomicU64,
    is_spent: AtomicBool,
}

impl DataCap {
    /// A data cap of which nothing is granted yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the bytes that are granted in all, no fewer than before.
    pub fn grant(&self, total: u64) {
        self.granted.fetch_max(total, Ordering::Relaxed);
    }

    /// Sets whether no more will be granted for now: if so, the interface's subflow is ended when little
    /// is left.
    pub fn set_spent(&self, is_spent: bool) {
        self.is_spent.store(is_spent, Ordering::Relaxed);
    }

    /// True if no more will be granted for now.
    pub fn is_spent(&self) -> bool {
        self.is_spent.load(Ordering::Relaxed)
    }

    /// Number of bytes granted in all.
    pub fn granted(&self) -> u64 {
        self.granted.load(Ordering::Relaxed)
    }

    /// Number of bytes used, as last counted: it lags by some hundredths of a second.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    pub(crate) fn set_used(&self, used: u64) {
        self.used.fetch_max(used, Ordering::Relaxed);
    }
}

impl Interface {
    /// Waits until there is a data cap to connect on.
    pub(crate) async fn has_data(&self) {
        let Some(data_cap) = &self.terms.data_cap else { return };
        while self.left(data_cap) < MIN_LEFT {
            self.set_spent();
            self.shared.runtime.sleep(RETRY_INTERVAL).await;
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

    /// Rest of the data cap for now, in bytes.
    fn left(&self, data_cap: &DataCap) -> u64 {
        let used = self.seen().view().on_air_bytes;
        data_cap.set_used(used);
        data_cap.granted().saturating_sub(used)
    }

    /// Divides what is left of the data cap between both ends, so that both together never use more, and
    /// ends the subflow when too little is left to divide.
    pub(crate) async fn keep_to_data_cap(&self, subflow: &Arc<Subflow>) -> Infallible {
        let Some(data_cap) = &self.terms.data_cap else { return std::future::pending().await };
        let mut allowed = 0;
        loop {
            let left = self.left(data_cap);
            if left < MIN_LEFT && (data_cap.is_spent() || left < MIN_LEFT / 4) {
                self.set_spent();
                subflow.end();
                return std::future::pending().await;
            }
            let (sent, received) = (subflow.meter.sent(), subflow.counts().received_bytes);
            let mut others = on_air(allowed - received.min(allowed));
            let allows = others < left / 4;
            if allows {
                allowed = received + on_subflow(left / 2);
                others = left / 2;
            }
            // First less for this end, then more for the other.
            subflow.meter.set_limit(sent + on_subflow(left.saturating_sub(others)));
            if allows {
                subflow.post(0, Body::Credit(allowed));
            }
            self.shared.runtime.sleep(DIVIDE_INTERVAL).await;
        }
    }
}
