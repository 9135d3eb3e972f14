//! The rules, and what they are judged by.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::Time;
use airlane_runtime::RuntimeHandle;
use parking_lot::Mutex;

use super::{NotAllowed, OwnAddresses, Rules};
use crate::request::Target;

/// Time for which the interfaces' addresses are taken to be as they were.
const KEPT: Duration = Duration::from_secs(1);

/// Policy on the targets that a client may be connected to, as this machine's interfaces are now.
#[derive(Debug)]
pub(crate) struct TargetPolicy {
    runtime: RuntimeHandle,
    rules: Rules,
    own: Mutex<Option<(Time, Arc<OwnAddresses>)>>,
}

impl TargetPolicy {
    pub(crate) fn new(runtime: RuntimeHandle, rules: Rules) -> Self {
        Self { runtime, rules, own: Mutex::default() }
    }

    /// Checks whether a client that asked for `target` may be connected to `address`: the one that
    /// it is then connected to, as a name may stand for another the next time.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn check(&self, target: &Target, address: IpAddr) -> Result<(), NotAllowed> {
        self.rules.check(target, address, &self.own())
    }

    fn own(&self) -> Arc<OwnAddresses> {
        let now = self.runtime.now();
        let mut kept = self.own.lock();
        match &*kept {
            Some((at, own)) if now - *at < KEPT => own.clone(),
            _ => {
                let own = Arc::new(OwnAddresses::now());
                *kept = Some((now, own.clone()));
                own
            }
        }
    }
}
