//! The shares of one managed connection, one per session. Each has a weight; the connection's
//! weight is the sum over those whose players play (`delivery_tracker`).
//!
//! Two figures feed Minerva's weight of a share: the bytes delivered to its session and the time in
//! which it had data to send. The connection measures both for all sessions together;
//! [`Shares::divide_progress`] divides them.

use std::sync::Arc;
use std::time::Duration;

use airlane_base::Time;
use airlane_minerva::{Progress, Request, SentCurve, Update, Watching};
use parking_lot::{Mutex, MutexGuard};

use super::super::provider::WeightRule;
use super::super::viewer::Viewer;
use super::delivery_tracker::{Activity, DeliveryTracker, Taken};
use super::{SESSION_TIMEOUT, SessionKey};
use crate::cmcd::Cmcd;

/// Interval between checks whether the last bytes of answers that have ended were delivered.
const TAIL: Duration = Duration::from_millis(50);
/// Maximum time of these checks after the connection delivered something. Bodies are counted from
/// packets, whose overhead is not known to the byte, so that a rest of them may never be.
const MAX_TAIL: Duration = Duration::from_secs(1);

/// One session's share of a connection.
#[derive(Debug)]
struct Share {
    /// Its session.
    key: SessionKey,
    /// The number of the session.
    session: u64,
    rule: WeightRule,
    /// The last update of its weight.
    update: Option<Update>,
    /// Its part of the connection's totals.
    progress: Progress,
    /// Bytes of its bodies that were handed over to the connection and are not counted as delivered
    /// yet.
    pending: u64,
    /// Responses of which not all was handed over to the connection.
    responses: u32,
    /// Tracker of what its player takes.
    delivery_tracker: DeliveryTracker,
    /// Activity of its session, as it was last looked at.
    activity: Activity,
    /// The time of its session's last request on the connection.
    last_request: Time,
}

/// The shares of a connection under a lock of their own: what concerns one connection alone does not
/// wait for the others. Who holds the lock of all sessions may take this one, and not the other way
/// round.
#[derive(Clone, Debug)]
pub(in super::super) struct ConnectionShares(Arc<Mutex<Shares>>);

impl ConnectionShares {
    /// None yet, on a connection that began with this weight.
    pub(super) fn new(plain: f64) -> Self {
        Self(Arc::new(Mutex::new(Shares::new(plain))))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Shares> {
        // A task that panicked does not end the sessions of others.
        self.0.lock()
    }

    /// Time of the next call of [`Self::poll`].
    pub(in super::super) fn next_event(&self) -> Option<Time> {
        self.lock().next_event()
    }

    /// Computes the weights that are due. Also ends the shares of silent sessions, but for the last
    /// share: [`super::Sessions::end_shares`] has to hear of these.
    pub(in super::super) fn poll(&self, now: Time, totals: Progress) -> Updates {
        let mut shares = self.lock();
        shares.divide_progress(now, totals);
        let sessions = shares.poll(now);
        let ended = shares.end_silent_shares(now);
        let updated = sessions
            .iter()
            .filter_map(|(key, update)| Some((shares.find(key)?.session, update.weight)));
        let updated = updated.collect();
        Updates { sessions, ended, weight: shares.changed_weight(), shares: updated }
    }
}

/// Changes that were due on a connection.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in super::super) struct Updates {
    /// The new weights, by session.
    pub(in super::super) sessions: Vec<(SessionKey, Update)>,
    /// The sessions whose shares ended.
    pub(in super::super) ended: Vec<SessionKey>,
    /// The weight to set on the connection, if it changed.
    pub(in super::super) weight: Option<f64>,
    /// The weights of the shares among each other, by the numbers of their sessions.
    pub(in super::super) shares: Vec<(u64, f64)>,
}

/// The shares of a connection.
#[derive(Debug)]
pub(super) struct Shares {
    /// In the order of their keys. Most connections have one, which is read several times a second:
    /// in a tree it would take more memory, and more cache lines.
    all: Vec<Share>,
    /// The weight that the connection began with, which it has while nobody plays.
    plain: f64,
    /// The connection's totals when they were last divided.
    last_totals: Progress,
    last_divided_at: Time,
    /// Last division of the totals at which they had grown.
    last_delivered_at: Time,
    /// The connection's weight as [`Shares::changed_weight`] last returned it.
    told_weight: Option<f64>,
    /// Time of the last look for silent shares.
    last_silence_check: Time,
}

impl Share {
    /// True if something is to be delivered to its session.
    fn is_waiting(&self) -> bool {
        self.responses > 0 || self.pending > 0
    }
}

impl Shares {
    /// None yet, on a connection that began with this weight.
    fn new(plain: f64) -> Self {
        Self {
            all: Vec::new(),
            plain,
            last_totals: Progress::default(),
            last_divided_at: Time::ZERO,
            last_delivered_at: Time::ZERO,
            told_weight: None,
            last_silence_check: Time::ZERO,
        }
    }

    /// Position of a session's share; else the position at which it would be.
    fn place(&self, key: &SessionKey) -> Result<usize, usize> {
        self.all.binary_search_by(|share| share.key.cmp(key))
    }

    fn find(&self, key: &SessionKey) -> Option<&Share> {
        self.place(key).ok().map(|at| &self.all[at])
    }

    fn find_mut(&mut self, key: &SessionKey) -> Option<&mut Share> {
        self.place(key).ok().map(|at| &mut self.all[at])
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn has(&self, key: &SessionKey) -> bool {
        self.place(key).is_ok()
    }

    pub(super) fn is_of(&self, key: &SessionKey, session: u64) -> bool {
        self.find(key).is_some_and(|s| s.session == session)
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &SessionKey> {
        self.all.iter().map(|s| &s.key)
    }

    /// The last update of a session's weight.
    pub(super) fn last_update(&self, key: &SessionKey) -> Option<Update> {
        self.find(key)?.update
    }

    /// A session gets a share, with chunks of length `chunk`.
    ///
    /// The first one under Minerva changes no weight: it begins at the one that the connection has
    /// from its start.
    pub(super) fn join(
        &mut self,
        now: Time,
        (key, session): (SessionKey, u64),
        rule: WeightRule,
        chunk: Duration,
        totals: Progress,
    ) {
        if self.told_weight.is_none() && matches!(rule, WeightRule::Minerva(_)) {
            self.told_weight = Some(rule.weight());
        }
        if self.all.is_empty() {
            self.last_silence_check = now;
        }
        let place = self.place(&key);
        let share = Share {
            key,
            session,
            rule,
            update: None,
            progress: Progress { min_rtt: totals.min_rtt, ..Progress::default() },
            pending: 0,
            responses: 0,
            delivery_tracker: DeliveryTracker::new(now, chunk),
            activity: Activity::New,
            last_request: now,
        };
        match place {
            Ok(at) => self.all[at] = share,
            Err(at) => self.all.insert(at, share),
        }
    }

    /// A session's share ends.
    pub(super) fn leave(&mut self, key: &SessionKey) {
        if let Ok(at) = self.place(key) {
            self.all.remove(at);
        }
    }

    /// A session requests something. `picture` is there for a chunk of video: what follows from the
    /// request, how the session was watched before, and its player now.
    pub(super) fn on_request(
        &mut self,
        now: Time,
        key: &SessionKey,
        picture: Option<(Request, Watching, &Viewer)>,
        cmcd: &Cmcd,
    ) {
        let Some(share) = self.find_mut(key) else { return };
        share.last_request = now;
        share.responses += 1;
        let Some((request, before, viewer)) = picture else { return };
        share.delivery_tracker.on_request();
        let WeightRule::Minerva(minerva) = &mut share.rule else { return };
        if viewer.watching() != before {
            minerva.on_watching(now, viewer.watching(), None);
        }
        minerva.on_request(now, request, share.progress);
        if let Some(curve) = cmcd.value.as_deref().and_then(|text| SentCurve::from_text(text).ok())
        {
            minerva.on_curve(curve);
        }
    }

    /// The playback rate or visibility of a session changed.
    pub(super) fn on_watching(
        &mut self,
        now: Time,
        key: &SessionKey,
        watching: Watching,
        buffer: Option<Duration>,
    ) {
        if let Some(Share { rule: WeightRule::Minerva(minerva), .. }) = self.find_mut(key) {
            minerva.on_watching(now, watching, buffer);
        }
    }

    pub(super) fn on_body_handed_over(&mut self, key: &SessionKey, bytes: u64) {
        if let Some(share) = self.find_mut(key) {
            share.pending += bytes;
        }
    }

    pub(super) fn on_taken(&mut self, now: Time, key: &SessionKey, taken: &Taken) {
        if let Some(share) = self.find_mut(key) {
            share.delivery_tracker.on_taken(now, taken);
            share.activity = share.delivery_tracker.activity(now);
        }
    }

    /// A response ended; `picture`: it was to a request for a chunk of the picture.
    pub(super) fn on_response_end(&mut self, key: &SessionKey, picture: bool) {
        if let Some(share) = self.find_mut(key) {
            share.responses = share.responses.saturating_sub(1);
            if picture {
                share.delivery_tracker.on_end();
            }
        }
    }

    /// True if the connection's weight changes as soon as what waits has been delivered.
    pub(super) fn is_ending(&self) -> bool {
        self.all.len() > 1
            && self.last_divided_at - self.last_delivered_at < MAX_TAIL
            && self.all.iter().any(|s| s.responses == 0 && s.pending > 0)
    }

    /// The weight of a session among those of its connection.
    pub(super) fn share_weight(&self, key: &SessionKey) -> Option<f64> {
        Some(self.find(key)?.rule.weight())
    }

    /// Time at which a weight is due, a player has been idle for long enough to count no more or,
    /// if nothing leads to a poll before, silent shares are to be looked for.
    pub(super) fn next_event(&self) -> Option<Time> {
        let due = self.all.iter().filter_map(|s| s.rule.next_event()).min();
        let counted = self.all.iter().filter(|s| s.activity != Activity::Stopped);
        let due = due.into_iter().chain(counted.map(|s| s.delivery_tracker.expires())).min();
        let due =
            due.into_iter().chain(self.is_ending().then(|| self.last_divided_at + TAIL)).min();
        let check = (self.all.len() > 1).then(|| self.last_silence_check + SESSION_TIMEOUT);
        due.into_iter().chain(check).min()
    }

    /// The new weights that are due.
    pub(super) fn poll(&mut self, now: Time) -> Vec<(SessionKey, Update)> {
        let mut updates = Vec::new();
        for share in &mut self.all {
            let WeightRule::Minerva(minerva) = &mut share.rule else { continue };
            if let Some(update) = minerva.poll(now, share.progress) {
                share.update = Some(update);
                updates.push((share.key.clone(), update));
            }
        }
        updates
    }

    /// Ends the shares of sessions without a request for [`SESSION_TIMEOUT`], except the last share.
    /// Returns the keys of these sessions.
    pub(super) fn end_silent_shares(&mut self, now: Time) -> Vec<SessionKey> {
        self.last_silence_check = now;
        let silent = |s: &Share| s.responses == 0 && now - s.last_request >= SESSION_TIMEOUT;
        let mut ended = Vec::new();
        while self.all.len() > 1
            && let Some((_, at)) = (self.all.iter().enumerate())
                .filter(|(_, s)| silent(s))
                .map(|(at, s)| (s.last_request, at))
                .min()
        {
            ended.push(self.all.remove(at).key);
        }
        ended
    }

    /// The connection's weight: the sum over the shares whose players play. While there is none, one
    /// that has just begun counts, the heaviest if there are several; without any it is plain. Of
    /// several shares those count that wait for something: what one does not need is not the others'.
    /// `None` while no session has a share.
    pub(super) fn weight(&self) -> Option<f64> {
        let is_only = self.all.len() == 1;
        let of = |activity| {
            let those = self.all.iter().filter(move |s| s.activity == activity);
            those.filter(move |s| is_only || s.is_waiting()).map(|s| s.rule.weight())
        };
        if self.all.is_empty() {
            return None;
        }
        let playing = of(Activity::Playing).reduce(|sum, weight| sum + weight);
        playing.or_else(|| of(Activity::New).reduce(f64::max)).or(Some(self.plain))
    }

    /// The connection's weight, if it is another than this returned last.
    pub(super) fn changed_weight(&mut self) -> Option<f64> {
        let weight = self.weight()?;
        (self.told_weight.replace(weight) != Some(weight)).then_some(weight)
    }

    /// Divides what the connection did since the last call among the shares. The only share has all
    /// of it. Of several, delivered bytes go to each in proportion to its pending bytes, busy time
    /// to each that has anything pending.
    pub(super) fn divide_progress(&mut self, now: Time, totals: Progress) {
        let acked = totals.acked_bytes.saturating_sub(self.last_totals.acked_bytes);
        let busy = totals.busy.saturating_sub(self.last_totals.busy);
        let passed = now - self.last_divided_at;
        // Another thread may have read totals later and come here first.
        self.last_totals.acked_bytes += acked;
        self.last_totals.busy += busy;
        self.last_divided_at = self.last_divided_at.max(now);
        if acked > 0 {
            self.last_delivered_at = self.last_divided_at;
        }
        let is_only = self.all.len() == 1;
        let pending: u64 = self.all.iter().map(|s| s.pending).sum();
        // What is on the connection beside sessions has a plain share of it.
        let whole: f64 = self.plain + self.all.iter().map(|s| s.rule.weight()).sum::<f64>();
        for share in &mut self.all {
            share.delivery_tracker.on_due(acked as f64 * share.rule.weight() / whole);
            share.activity = share.delivery_tracker.activity(now);
            share.progress.min_rtt = totals.min_rtt;
            let part = u128::from(acked) * u128::from(share.pending);
            let part = part.checked_div(u128::from(pending)).unwrap_or(0);
            let part = u64::try_from(part).unwrap_or(u64::MAX).min(share.pending);
            share.pending -= part;
            if is_only {
                share.progress.acked_bytes += acked;
                share.progress.busy += busy;
            } else {
                share.progress.acked_bytes += part;
                if share.is_waiting() {
                    share.progress.busy += busy.min(passed);
                }
            }
        }
    }

    /// Number of sessions that play, and wait for something if there are several.
    #[cfg(test)]
    pub(super) fn counting(&self) -> usize {
        let is_only = self.all.len() == 1;
        let playing = self.all.iter().filter(|s| s.activity == Activity::Playing);
        playing.filter(|s| is_only || s.is_waiting()).count()
    }

    #[cfg(test)]
    pub(super) fn delivered(&self, key: &SessionKey) -> Option<u64> {
        Some(self.find(key)?.progress.acked_bytes)
    }
}
