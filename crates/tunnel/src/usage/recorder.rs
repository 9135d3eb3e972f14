//! Grants metered interfaces what their caps leave, some at a time, and notes it down before.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use airlane_multipath::DataCap;
use parking_lot::Mutex;

use super::cap::Cap;
use super::file::UsageFile;

/// Between two looks at what was used.
pub(crate) const LOOK: Duration = Duration::from_millis(50);
/// A cap is granted in about so many parts: what a crash may cost of it.
const PARTS: u64 = 64;
/// Bytes of such a part at least and at most.
const MIN_PART: u64 = 1 << 20;
const MAX_PART: u64 = 32 << 20;

/// A metered interface.
struct MeteredInterface {
    name: String,
    cap: Cap,
    data_cap: Arc<DataCap>,
    /// Locked for a moment only, never while the file is written: figures are shown meanwhile.
    account: Mutex<PeriodAccount>,
}

/// Relation of the data cap's count, which begins with this process, to that of the period.
#[derive(Clone, Debug)]
struct PeriodAccount {
    period: String,
    /// Bytes that had been used in the period when this process began to count in it, and those of the
    /// data_cap.
    before: u64,
    begun: u64,
}

impl PeriodAccount {
    /// Bytes of the period, by bytes of the data_cap.
    fn of_period(&self, of_quota: u64) -> u64 {
        self.before + of_quota.saturating_sub(self.begun)
    }
}

/// Usage of a metered interface.
#[derive(Clone, Debug)]
pub(crate) struct Usage {
    pub(crate) cap: Cap,
    pub(crate) used_bytes: u64,
    pub(crate) period: String,
}

/// Keeps the account of all metered interfaces.
pub(crate) struct UsageRecorder {
    book: Mutex<UsageFile>,
    interfaces: Vec<MeteredInterface>,
}

impl UsageRecorder {
    /// An account of these interfaces, of which nothing is granted yet.
    pub(crate) fn new(
        book: UsageFile,
        interfaces: impl IntoIterator<Item = (String, Cap, Arc<DataCap>)>,
        now_s: u64,
    ) -> Self {
        let begin = |(name, cap, data_cap): (String, Cap, Arc<DataCap>)| {
            let (period, before) = book.used(&name, cap, now_s);
            let account = Mutex::new(PeriodAccount { period, before, begun: 0 });
            MeteredInterface { name, cap, data_cap, account }
        };
        let interfaces = interfaces.into_iter().map(begin).collect();
        Self { book: Mutex::new(book), interfaces }
    }

    /// Grants what is due at a time, seconds since 1970; blocks while that is written.
    ///
    /// # Errors
    /// If something cannot be written. Then that is not granted.
    pub(crate) fn grant(&self, now_s: u64) -> io::Result<()> {
        let mut book = self.book.lock();
        let mut granted = Ok(());
        for MeteredInterface { name, cap, data_cap, account } in &self.interfaces {
            let period = cap.period.name(now_s);
            let is_new = period > account.lock().period;
            if is_new {
                *account.lock() = PeriodAccount { period, before: 0, begun: data_cap.used() };
            }
            let account = account.lock().clone();
            let used = account.of_period(data_cap.used());
            let reserved = account.of_period(data_cap.granted());
            let part = (cap.bytes / PARTS).clamp(MIN_PART, MAX_PART);
            let is_due = is_new || reserved.saturating_sub(used) < part / 2;
            if is_due && reserved < cap.bytes {
                let next = reserved.max(used + part).min(cap.bytes);
                match book.note(name, account.period.clone(), next) {
                    Ok(()) => data_cap.grant(account.begun + next - account.before),
                    Err(e) => granted = Err(e),
                }
            }
            data_cap.set_spent(account.of_period(data_cap.granted()) >= cap.bytes);
        }
        granted
    }

    /// Notes down what was used, now that nothing more will be; `used` says it of each data_cap.
    ///
    /// # Errors
    /// If it cannot be written. Then more counts as used than was.
    pub(crate) fn close(&self, used: impl Fn(&str) -> u64) -> io::Result<()> {
        let mut book = self.book.lock();
        for interface in &self.interfaces {
            let account = interface.account.lock().clone();
            let used = account.of_period(used(&interface.name));
            book.note(&interface.name, account.period, used)?;
        }
        Ok(())
    }

    /// Usage of an interface, if it is metered; `used` of its data cap.
    pub(crate) fn usage(&self, name: &str, used: u64) -> Option<Usage> {
        let interface = self.interfaces.iter().find(|interface| interface.name == name)?;
        let account = interface.account.lock().clone();
        let used_bytes = account.of_period(used);
        Some(Usage { cap: interface.cap, used_bytes, period: account.period })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::usage::Period;

    const NOVEMBER: u64 = 1_796_000_000;
    const DECEMBER: u64 = 1_797_000_000;
    const CAP: Cap = Cap { bytes: 100_000_000, period: Period::Month };

    fn recorder(file: &Path, now_s: u64) -> (UsageRecorder, Arc<DataCap>) {
        let data_cap = Arc::new(DataCap::new());
        let book = UsageFile::open(file).unwrap();
        let interface = ("wwan0".to_owned(), CAP, data_cap.clone());
        (UsageRecorder::new(book, [interface], now_s), data_cap)
    }

    /// Bytes that a process that begins now may use at most.
    fn left(file: &Path, now_s: u64) -> u64 {
        let book = UsageFile::open(file).unwrap();
        CAP.bytes - book.used("wwan0", CAP, now_s).1
    }

    #[test]
    fn whatever_is_granted_was_noted_down_before() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("usage.json");
        let mut granted_before = 0;
        // Each process ends without a word.
        for round in 1.. {
            let (recorder, data_cap) = recorder(&file, NOVEMBER);
            recorder.grant(NOVEMBER).unwrap();
            let granted = data_cap.granted();
            drop(recorder);
            assert_eq!(left(&file, NOVEMBER), CAP.bytes - granted_before - granted);
            granted_before += granted;
            if data_cap.is_spent() {
                assert_eq!((granted_before, round), (CAP.bytes, 64));
                break;
            }
        }
        let (recorder, data_cap) = recorder(&file, NOVEMBER);
        recorder.grant(NOVEMBER).unwrap();
        assert_eq!((data_cap.granted(), data_cap.is_spent()), (0, true));
        // The next month.
        recorder.grant(DECEMBER).unwrap();
        assert_eq!((data_cap.granted() > 0, data_cap.is_spent()), (true, false));
    }

    #[test]
    fn what_was_not_used_is_there_again_after_an_orderly_end() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("usage.json");
        let (recorder, data_cap) = recorder(&file, NOVEMBER);
        recorder.grant(NOVEMBER).unwrap();
        assert!(data_cap.granted() > 1_000_000);
        recorder.close(|_| 12_345).unwrap();
        assert_eq!(recorder.usage("wwan0", 12_345).unwrap().used_bytes, 12_345);
        drop(recorder);
        assert_eq!(left(&file, NOVEMBER), CAP.bytes - 12_345);
    }

    #[test]
    fn what_cannot_be_noted_down_is_not_granted() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("state/usage.json");
        let (recorder, data_cap) = recorder(&file, NOVEMBER);
        std::fs::remove_dir_all(folder.path().join("state")).unwrap();
        recorder.grant(NOVEMBER).unwrap_err();
        assert_eq!((data_cap.granted(), data_cap.is_spent()), (0, false));
    }
}
