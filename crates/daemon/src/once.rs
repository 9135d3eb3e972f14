//! Messages that are logged once.

use std::collections::BTreeSet;

use parking_lot::Mutex;

/// Messages that are remembered. Further ones are not logged: what strangers provoke must not fill
/// the log.
const MAX_MESSAGES: usize = 1000;

/// The messages that were logged.
#[derive(Debug, Default)]
pub(crate) struct Once(Mutex<BTreeSet<String>>);

impl Once {
    /// Whether this message is to be logged: it is the first of its text.
    pub(crate) fn is_first(&self, message: &str) -> bool {
        let mut logged = self.0.lock();
        logged.len() < MAX_MESSAGES && logged.insert(message.to_owned())
    }
}
