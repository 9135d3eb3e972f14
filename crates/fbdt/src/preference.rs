//! Which paths are used: cheap ones first, dear ones where these do not keep up, and backups where
//! nothing else is left. The paper has no such thing: its radios are all used.

use std::time::Duration;

use airlane_base::Time;

use crate::path::Preference;
use crate::{PathId, Sender};

/// A dear path is used once all cheaper ones have had something to send for so long without a break.
const BACKLOG_TIMEOUT: Duration = Duration::from_secs(1);
/// Or for so long, while it has been of use within [`RECENT_USE`]: what waiting a second saves is
/// not worth a second of waiting again and again.
const RECENT_BACKLOG_TIMEOUT: Duration = Duration::from_millis(100);
/// Time for which a path counts as one that has just been of use.
const RECENT_USE: Duration = Duration::from_secs(10);

impl Sender {
    /// Sets the preference of `path` for segments that are sent from now on.
    pub fn prefer(&mut self, path: PathId, preference: Preference) {
        if let Some(path) = &mut self.paths[path.0] {
            path.preference = preference;
        }
        self.compare_preferences();
    }

    /// A path of this preference is about to join: until it has, or it is `until`, dearer ones are not
    /// used.
    pub fn expect(&mut self, preference: Preference, until: Time) {
        self.expected = Some((preference, until));
    }

    /// Sets whether the other end is known not to be heard on `path`, by other means than this stream:
    /// if so, paths of less preference are used at once.
    pub fn set_unresponsive(&mut self, path: PathId, is_unresponsive: bool) {
        if let Some(path) = &mut self.paths[path.0] {
            path.is_unresponsive = is_unresponsive;
        }
    }

    /// To be called when paths come, go or change.
    pub(crate) fn compare_preferences(&mut self) {
        let mut all = self.paths.iter().flatten().map(|path| path.preference);
        let first = all.next();
        self.has_preferences = all.any(|other| Some(other) != first);
        let best = self.paths.iter().flatten().map(|path| path.preference).min();
        self.expected = self.expected.filter(|(expected, _)| best.is_none_or(|b| b > *expected));
    }

    /// True if `path` is used now.
    pub(crate) fn is_used(&self, now: Time, path: PathId) -> bool {
        self.used_from(now, path).is_some_and(|from| from <= now)
    }

    /// From when on `path` is used if nothing changes; `None` if never.
    pub(crate) fn used_from(&self, now: Time, path: PathId) -> Option<Time> {
        let own = self.paths[path.0].as_ref()?;
        let expected = self.expected.filter(|(expected, _)| *expected < own.preference);
        let mut from = expected.map_or(Time::ZERO, |(_, until)| until);
        if !self.has_preferences {
            return Some(from);
        }
        let was_of_use = own.used_at.is_some_and(|at| now - at < RECENT_USE);
        let backlog_timeout = if was_of_use { RECENT_BACKLOG_TIMEOUT } else { BACKLOG_TIMEOUT };
        for other in self.paths.iter().flatten().filter(|other| other.preference < own.preference) {
            let out = if other.is_unresponsive { Some(Time::ZERO) } else { other.silent_from() };
            let is_alike = other.preference.is_backup == own.preference.is_backup;
            let pressed =
                other.busy_since.map(|since| since + backlog_timeout).filter(|_| is_alike);
            from = from.max(out.into_iter().chain(pressed).min()?);
        }
        Some(from)
    }

    /// The paths that are used now, the most reliable first.
    pub(crate) fn used(&self, now: Time) -> impl Iterator<Item = PathId> + '_ {
        self.order.iter().copied().filter(move |path| self.is_used(now, *path))
    }

    /// Time at which to look again whether `path` is used, which it is not now: what others take
    /// meanwhile may fall silent. `None` if nothing is under way.
    pub(crate) fn look_at(&self, now: Time, path: PathId) -> Option<Time> {
        let look = now + RECENT_BACKLOG_TIMEOUT;
        (self.unarrived() > 0).then(|| self.used_from(now, path).map_or(look, |at| at.min(look)))
    }

    /// Before a path is asked: all have something to send if there is anything.
    pub(crate) fn note_work(&mut self, now: Time) {
        if self.has_preferences && self.has_work() {
            for path in self.paths.iter_mut().flatten() {
                path.busy_since.get_or_insert(now);
            }
        }
    }

    /// After `path` was asked, and whether it took something.
    pub(crate) fn note_use(&mut self, now: Time, path: PathId, took: bool) {
        if !self.has_preferences {
            return;
        }
        let has_work = self.has_work();
        let Some(path) = &mut self.paths[path.0] else { return };
        if took {
            path.used_at = Some(now);
        } else if !has_work {
            path.busy_since = None;
        }
    }
}
