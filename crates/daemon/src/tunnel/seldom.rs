//! Warnings that strangers can provoke: one a minute of each kind.

use std::collections::BTreeMap;
use std::time::Duration;

use airlane_base::Time;
use airlane_runtime::RuntimeHandle;
use parking_lot::Mutex;

/// Between two warnings of a kind.
const PAUSE: Duration = Duration::from_secs(60);

/// What was warned of.
#[derive(Debug)]
pub(super) struct Seldom {
    runtime: RuntimeHandle,
    /// By kind: when it was said last, how often it has been withheld since, and how often it was
    /// there in all.
    kinds: Mutex<BTreeMap<&'static str, Kind>>,
}

#[derive(Debug, Default)]
struct Kind {
    said: Option<Time>,
    withheld: u64,
    total: u64,
}

impl Seldom {
    pub(super) fn new(runtime: RuntimeHandle) -> Self {
        Self { runtime, kinds: Mutex::default() }
    }

    /// Logs a warning, unless one of its kind was logged within the last minute.
    pub(super) fn warn(&self, kind: &'static str, message: &str) {
        if let Some(withheld) = self.note(kind) {
            match withheld {
                0 => tracing::warn!("{message}"),
                more => tracing::warn!("{message} (and {more} more like it)"),
            }
        }
    }

    /// How many there were of each kind.
    pub(super) fn totals(&self) -> Vec<(&'static str, u64)> {
        self.kinds.lock().iter().map(|(kind, of)| (*kind, of.total)).collect()
    }

    /// Notes one; if it is to be said, how many of its kind were not.
    fn note(&self, kind: &'static str) -> Option<u64> {
        let now = self.runtime.now();
        let mut kinds = self.kinds.lock();
        let of = kinds.entry(kind).or_default();
        of.total += 1;
        if of.said.is_some_and(|said| now - said < PAUSE) {
            of.withheld += 1;
            return None;
        }
        of.said = Some(now);
        Some(std::mem::take(&mut of.withheld))
    }
}

#[cfg(test)]
mod tests {
    use airlane_base::Seed;
    use airlane_runtime::real_time::TokioRuntime;

    use super::*;

    #[tokio::test]
    async fn a_kind_is_said_once_and_counted() {
        let seldom = Seldom::new(TokioRuntime::new(Seed(1)));
        assert_eq!(seldom.note("a"), Some(0));
        assert_eq!(seldom.note("a"), None);
        assert_eq!(seldom.note("b"), Some(0));
        assert_eq!(seldom.totals(), [("a", 2), ("b", 1)]);
    }
}
