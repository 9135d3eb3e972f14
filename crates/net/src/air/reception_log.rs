//! Records of what is heard in the air: by the radio of a host, which is all that whoever runs on that host may
//! know of the air; and by a monitor, which misses nothing.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use airlane_wifi::Heard;
use parking_lot::{Mutex, MutexGuard};

/// Records at most that nobody has taken; older ones are forgotten.
const MAX_RECORDS: usize = 1 << 16;

/// Records of what a radio has heard and nobody has taken yet: a handle that may be cloned and
/// passed to whoever runs on the radio's host.
#[derive(Clone, Debug, Default)]
pub struct ReceptionLog(Arc<Mutex<VecDeque<Heard>>>);

impl ReceptionLog {
    /// Takes what was heard since this was called last, in the order of the ends.
    pub fn take(&self) -> Vec<Heard> {
        self.lock().drain(..).collect()
    }

    pub(super) fn hear(&self, heard: Heard) {
        let mut records = self.lock();
        if records.len() == MAX_RECORDS {
            records.pop_front();
        }
        records.push_back(heard);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Heard>> {
        self.0.lock()
    }
}

/// Gets what a monitor hears: each transmission when it ends.
pub(super) struct Monitor(Box<dyn FnMut(&Heard) + Send>);

impl Monitor {
    pub(super) fn new(hear: impl FnMut(&Heard) + Send + 'static) -> Self {
        Self(Box::new(hear))
    }

    pub(super) fn hear(&mut self, heard: &Heard) {
        (self.0)(heard);
    }
}

impl fmt::Debug for Monitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Monitor").finish_non_exhaustive()
    }
}
