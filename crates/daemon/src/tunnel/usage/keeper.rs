//! Grants metered radios what their caps leave, some at a time, and notes it down before.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use airlane_apps::multipath::trunk::Quota;
use parking_lot::Mutex;

use super::book::Book;
use super::cap::Cap;

/// Between two looks at what was used.
pub(in crate::tunnel) const LOOK: Duration = Duration::from_millis(50);
/// A cap is granted in about so many parts: what a crash may cost of it.
const PARTS: u64 = 64;
/// Bytes of such a part at least and at most.
const MIN_PART: u64 = 1 << 20;
const MAX_PART: u64 = 32 << 20;

/// A metered radio.
struct Metered {
    name: String,
    cap: Cap,
    quota: Arc<Quota>,
    /// Locked for a moment only, never while the file is written: figures are shown meanwhile.
    account: Mutex<Account>,
}

/// How the quota, which counts from this process' beginning, and the period go together.
#[derive(Clone, Debug)]
struct Account {
    period: String,
    /// Bytes that had been used in the period when this process began to count in it, and those of the
    /// quota.
    before: u64,
    begun: u64,
}

impl Account {
    /// Bytes of the period, by bytes of the quota.
    fn of_period(&self, of_quota: u64) -> u64 {
        self.before + of_quota.saturating_sub(self.begun)
    }
}

/// What a metered radio has used.
#[derive(Clone, Debug)]
pub(in crate::tunnel) struct Usage {
    pub(in crate::tunnel) cap: Cap,
    pub(in crate::tunnel) used_bytes: u64,
    pub(in crate::tunnel) period: String,
}

/// Keeps the account of all metered radios.
pub(in crate::tunnel) struct Keeper {
    book: Mutex<Book>,
    radios: Vec<Metered>,
}

impl Keeper {
    /// An account of these radios, of which nothing is granted yet.
    pub(in crate::tunnel) fn new(
        book: Book,
        radios: impl IntoIterator<Item = (String, Cap, Arc<Quota>)>,
        now_s: u64,
    ) -> Self {
        let begin = |(name, cap, quota): (String, Cap, Arc<Quota>)| {
            let (period, before) = book.used(&name, cap, now_s);
            let account = Mutex::new(Account { period, before, begun: 0 });
            Metered { name, cap, quota, account }
        };
        let radios = radios.into_iter().map(begin).collect();
        Self { book: Mutex::new(book), radios }
    }

    /// Grants what is due at a time, seconds since 1970; blocks while that is written.
    ///
    /// # Errors
    /// If something cannot be written. Then that is not granted.
    pub(in crate::tunnel) fn grant(&self, now_s: u64) -> io::Result<()> {
        let mut book = self.book.lock();
        let mut granted = Ok(());
        for Metered { name, cap, quota, account } in &self.radios {
            let period = cap.period.name(now_s);
            let is_new = period > account.lock().period;
            if is_new {
                *account.lock() = Account { period, before: 0, begun: quota.used() };
            }
            let account = account.lock().clone();
            let used = account.of_period(quota.used());
            let reserved = account.of_period(quota.granted());
            let part = (cap.bytes / PARTS).clamp(MIN_PART, MAX_PART);
            let is_due = is_new || reserved.saturating_sub(used) < part / 2;
            if is_due && reserved < cap.bytes {
                let next = reserved.max(used + part).min(cap.bytes);
                match book.note(name, account.period.clone(), next) {
                    Ok(()) => quota.grant(account.begun + next - account.before),
                    Err(e) => granted = Err(e),
                }
            }
            quota.set_spent(account.of_period(quota.granted()) >= cap.bytes);
        }
        granted
    }

    /// Notes down what was used, now that nothing more will be; `used` says it of each quota.
    ///
    /// # Errors
    /// If it cannot be written. Then more counts as used than was.
    pub(in crate::tunnel) fn close(&self, used: impl Fn(&str) -> u64) -> io::Result<()> {
        let mut book = self.book.lock();
        for radio in &self.radios {
            let account = radio.account.lock().clone();
            let used = account.of_period(used(&radio.name));
            book.note(&radio.name, account.period, used)?;
        }
        Ok(())
    }

    /// What a radio has used, if it is metered; `used` of its quota.
    pub(in crate::tunnel) fn usage(&self, name: &str, used: u64) -> Option<Usage> {
        let radio = self.radios.iter().find(|radio| radio.name == name)?;
        let account = radio.account.lock().clone();
        let used_bytes = account.of_period(used);
        Some(Usage { cap: radio.cap, used_bytes, period: account.period })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::tunnel::usage::Period;

    const NOVEMBER: u64 = 1_796_000_000;
    const DECEMBER: u64 = 1_797_000_000;
    const CAP: Cap = Cap { bytes: 100_000_000, period: Period::Month };

    fn keeper(file: &Path, now_s: u64) -> (Keeper, Arc<Quota>) {
        let quota = Arc::new(Quota::new());
        let book = Book::open(file).unwrap();
        let radio = ("wwan0".to_owned(), CAP, quota.clone());
        (Keeper::new(book, [radio], now_s), quota)
    }

    /// What a process that begins now may use at most.
    fn left(file: &Path, now_s: u64) -> u64 {
        let book = Book::open(file).unwrap();
        CAP.bytes - book.used("wwan0", CAP, now_s).1
    }

    #[test]
    fn whatever_is_granted_was_noted_down_before() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("usage.json");
        let mut granted_before = 0;
        // Each process ends without a word.
        for round in 1.. {
            let (keeper, quota) = keeper(&file, NOVEMBER);
            keeper.grant(NOVEMBER).unwrap();
            let granted = quota.granted();
            drop(keeper);
            assert_eq!(left(&file, NOVEMBER), CAP.bytes - granted_before - granted);
            granted_before += granted;
            if quota.is_spent() {
                assert_eq!((granted_before, round), (CAP.bytes, 64));
                break;
            }
        }
        let (keeper, quota) = keeper(&file, NOVEMBER);
        keeper.grant(NOVEMBER).unwrap();
        assert_eq!((quota.granted(), quota.is_spent()), (0, true));
        // The next month.
        keeper.grant(DECEMBER).unwrap();
        assert_eq!((quota.granted() > 0, quota.is_spent()), (true, false));
    }

    #[test]
    fn what_was_not_used_is_there_again_after_an_orderly_end() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("usage.json");
        let (keeper, quota) = keeper(&file, NOVEMBER);
        keeper.grant(NOVEMBER).unwrap();
        assert!(quota.granted() > 1_000_000);
        keeper.close(|_| 12_345).unwrap();
        assert_eq!(keeper.usage("wwan0", 12_345).unwrap().used_bytes, 12_345);
        drop(keeper);
        assert_eq!(left(&file, NOVEMBER), CAP.bytes - 12_345);
    }

    #[test]
    fn what_cannot_be_noted_down_is_not_granted() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("state/usage.json");
        let (keeper, quota) = keeper(&file, NOVEMBER);
        std::fs::remove_dir_all(folder.path().join("state")).unwrap();
        keeper.grant(NOVEMBER).unwrap_err();
        assert_eq!((quota.granted(), quota.is_spent()), (0, false));
    }
}
