//! What the operator's log was told once already.

use std::collections::BTreeSet;

use parking_lot::Mutex;

/// More is neither remembered nor said: what strangers provoke must not fill the log.
const MAX_SAID: usize = 1000;

/// What was said.
#[derive(Debug, Default)]
pub(crate) struct Said(Mutex<BTreeSet<String>>);

impl Said {
    /// Whether this is to be said: the first time that it comes up.
    pub(crate) fn is_news(&self, what: &str) -> bool {
        let mut said = self.0.lock();
        said.len() < MAX_SAID && said.insert(what.to_owned())
    }
}
