//! The sending end: cuts the stream into windows, and says what each path sends next.

use std::collections::VecDeque;

use airlane_base::{ByteQueue, Time};
use bytes::Bytes;

use crate::path::{Path, Preference};
use crate::window::{Arrived, Taken, Window};
use crate::wire::{Ack, MAX_SEGMENTS, MAX_WINDOWS, Segment};
use crate::{Config, MAX_PATHS, Options, PathId, Redundancy};

/// A path is taken for more reliable than another if its score is higher by so much.
const HYSTERESIS: f64 = 0.1;

/// With all memory full a path sends what another took, if that will take so many times as long as
/// the copy, which may be nearly for nothing otherwise.
const FAR_SOONER: f64 = 2.0;

/// Counts of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounts {
    /// Bytes that were cut into segments.
    pub distinct_bytes: u64,
    /// Bytes of segments that a second path sent, as their own did not arrive in time or so little was
    /// under way that all paths sent it.
    pub redundant_bytes: u64,
    /// Bytes of segments that were on their way on a path when it ended.
    pub moved_bytes: u64,
    /// Windows that are complete.
    pub complete_windows: u64,
}

/// An acknowledgement of what was never sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("found an acknowledgement of what was never sent")]
pub struct AckError;

/// The sending end of a stream.
#[derive(Clone, Debug)]
pub struct Sender {
    pub(crate) config: Config,
    pub(crate) options: Options,
    pub(crate) send_memory: u64,
    pub(crate) paths: [Option<Path>; MAX_PATHS],
    /// The paths, the most reliable first.
    pub(crate) order: Vec<PathId>,
    /// True if paths differ in preference.
    pub(crate) has_preferences: bool,
    /// The preference of a path that is about to join, and how long it is waited for.
    pub(crate) expected: Option<(Preference, Time)>,
    /// Bytes that are not in a window yet.
    buffer: ByteQueue,
    finished: bool,
    /// Windows that are not complete, and the number of the first.
    windows: VecDeque<Window>,
    first: u64,
    /// Bytes in `windows`.
    in_windows: u64,
    /// Bytes of the stream that were cut into windows.
    cut: u64,
    /// Ends of the windows that the application at the other end has not taken, as offsets in the
    /// stream.
    ends: VecDeque<u64>,
    /// Bytes that the application at the other end has taken.
    consumed: u64,
    /// Since when a single segment waits for a path that would be there sooner than those that
    /// were asked.
    deferred: Option<Time>,
    met: Option<f64>,
    counts: SenderCounts,
}

impl Sender {
    /// A stream without paths. It holds at most `send_memory` bytes that have not arrived.
    pub fn new(config: Config, send_memory: u64) -> Self {
        Self::with(config, send_memory, Options::default())
    }

    /// The same with parts left out.
    pub fn with(config: Config, send_memory: u64, options: Options) -> Self {
        Self {
            config,
            options,
            send_memory,
            paths: [const { None }; MAX_PATHS],
            order: Vec::new(),
            has_preferences: false,
            expected: None,
            buffer: ByteQueue::default(),
            finished: false,
            windows: VecDeque::new(),
            first: 0,
            in_windows: 0,
            cut: 0,
            ends: VecDeque::new(),
            consumed: 0,
            deferred: None,
            met: None,
            counts: SenderCounts::default(),
        }
    }

    /// A path joins that is used as any other; `None` if there are [`MAX_PATHS`] already.
    pub fn open(&mut self, now: Time) -> Option<PathId> {
        self.open_with(now, Preference::default())
    }

    /// The same, and it is used as `preference` says.
    pub fn open_with(&mut self, now: Time, preference: Preference) -> Option<PathId> {
        let path = PathId(self.paths.iter().position(Option::is_none)?);
        self.paths[path.0] = Some(Path::new(now, preference));
        self.order.push(path);
        self.compare_preferences();
        Some(path)
    }

    /// A path ended, with all that was on its way: other paths send it.
    pub fn close(&mut self, path: PathId) {
        let Some(gone) = self.paths[path.0].take() else { return };
        self.order.retain(|p| *p != path);
        self.counts.moved_bytes += gone.on_way;
        for window in &mut self.windows {
            window.give_back(path);
        }
        self.compare_preferences();
    }

    /// Number of bytes that [`Self::push`] would take now.
    pub fn room(&self) -> u64 {
        if self.finished {
            return 0;
        }
        self.send_memory.saturating_sub(self.unarrived())
    }

    /// Bytes that were pushed and have not arrived.
    pub fn unarrived(&self) -> u64 {
        self.in_windows + self.buffer.len()
    }

    /// Appends as much of `data` to the stream as there is room for. The rest stays in `data`.
    pub fn push(&mut self, data: &mut Bytes) {
        let most = usize::try_from(self.room()).unwrap_or(usize::MAX).min(data.len());
        if most > 0 {
            self.buffer.push(data.split_to(most));
        }
    }

    /// Nothing comes after what was pushed.
    pub fn finish(&mut self) {
        self.finished = true;
    }

    /// Number of windows of the stream, once it is finished and all of it is cut.
    pub fn end(&self) -> Option<u64> {
        let all_cut = self.finished && self.buffer.is_empty();
        all_cut.then(|| self.first + self.windows.len() as u64)
    }

    /// True if the stream is finished and all of it has arrived.
    pub fn is_done(&self) -> bool {
        self.finished && self.buffer.is_empty() && self.windows.is_empty()
    }

    /// The path that took the first segment which has not arrived: all that came behind that waits
    /// for it. `None` if nothing is on its way.
    pub fn head(&self) -> Option<PathId> {
        self.windows.front()?.head()
    }

    /// Position at which two paths met in the last window that they took whole and alone: the
    /// share of its segments that came from its beginning on. `None` before the first such
    /// window.
    pub fn met(&self) -> Option<f64> {
        self.met
    }

    /// Counts of the sender.
    pub fn counts(&self) -> SenderCounts {
        self.counts
    }

    /// Next segment that `path` sends; `None` if there is nothing for it now. Then ask it again
    /// after the next [`Self::push`], [`Self::on_ack`], [`Self::close`], or at
    /// [`Self::next_event`].
    ///
    /// The segment counts as on its way on that path from now on.
    pub fn next(&mut self, now: Time, path: PathId) -> Option<Segment> {
        self.note_work(now);
        let segment = self.next_segment(now, path);
        self.note_use(now, path, segment.is_some());
        let asked = self.paths[path.0].as_mut()?;
        asked.is_idle = segment.is_none();
        segment
    }

    fn next_segment(&mut self, now: Time, path: PathId) -> Option<Segment> {
        let asked = self.paths[path.0].as_mut()?;
        asked.reliability.advance(now, asked.on_way > 0);
        if !self.is_used(now, path) || !self.is_within_part(now, path) {
            return None;
        }
        if self.is_late(now, path) {
            return self.probe(now, path);
        }
        if self.is_copied()
            && let Some(segment) = self.copy(now, path)
        {
            return Some(segment);
        }
        if let Some(segment) = self.take_again(now, path, false) {
            return Some(segment);
        }
        if let Some(segment) = self.take(now, path) {
            return Some(segment);
        }
        if self.cut_window(now, path) {
            return self.take(now, path);
        }
        // Memory is full at one end, and every segment taken: what others have not delivered is all
        // that there is to do. The paper waits a round trip; here no longer than that helps.
        if self.has_more() { self.take_again(now, path, true) } else { None }
    }

    /// True if the application has more than is in windows.
    fn has_more(&self) -> bool {
        !self.buffer.is_empty() || (self.room() == 0 && !self.finished)
    }

    /// True if faster paths would have something to do: there is what none has taken, or there would
    /// be if memory were not full of what is on its way.
    pub(crate) fn has_work(&self) -> bool {
        let is_on_way = || self.paths.iter().flatten().any(|path| path.on_way > 0);
        let has_room = || self.cut < self.consumed + self.config.receive_memory;
        self.windows.iter().any(|window| !window.is_all_taken())
            || (self.has_more() && (has_room() || is_on_way()))
    }

    /// Time at which [`Self::next`] may have a segment for a path that had none, if nothing
    /// else happens before.
    pub fn next_event(&self, now: Time, path: PathId) -> Option<Time> {
        if !self.is_used(now, path) {
            return self.look_at(now, path);
        }
        if !self.is_within_part(now, path) || self.is_late(now, path) {
            return None;
        }
        let redundancy = self.options.redundancy;
        let due = |window: &Window| {
            let (since, others) = window.waiting(path)?;
            others
                .filter_map(|of| Some(since + redundancy.timeout(self.paths[of.0].as_ref()?)))
                .min()
        };
        let own = self.deferred.and_then(|since| Some(since + self.paths[path.0].as_ref()?.time()));
        let windows = self.windows.iter().filter(|_| redundancy != Redundancy::Off);
        windows.filter_map(due).chain(own).min()
    }

    /// `is_blocked` says that there is nothing else to do: then `path` sends also what it would
    /// deliver far sooner than the path that took it.
    fn take_again(&mut self, now: Time, path: PathId, is_blocked: bool) -> Option<Segment> {
        let redundancy = self.options.redundancy;
        if redundancy == Redundancy::Off || (is_blocked && redundancy == Redundancy::Published) {
            return None;
        }
        let own = now + self.paths[path.0].as_ref()?.redundancy_timeout().mul_f64(FAR_SOONER);
        for (number, window) in (self.first..).zip(&mut self.windows) {
            let is_due = |taken: Taken, all_taken_at: Time| {
                let Some(of) = &self.paths[taken.path.0] else { return true };
                let is_late = || own < of.arrival(now, taken);
                if is_blocked { is_late() } else { now >= all_taken_at + redundancy.timeout(of) }
            };
            if let Some(index) = window.take_again(path, is_due) {
                let segment = segment(window, number, index);
                self.counts.redundant_bytes += segment.payload.len() as u64;
                self.paths[path.0].as_mut()?.hand_over(now, &segment);
                return Some(segment);
            }
        }
        None
    }

    /// A copy for a late path of what another has on its way, one at a time.
    fn probe(&mut self, now: Time, path: PathId) -> Option<Segment> {
        let own = self.paths[path.0].as_ref()?;
        if own.handed > own.received {
            return None;
        }
        self.copy(now, path)
    }

    /// True if so little is under way that all paths send it.
    fn is_copied(&self) -> bool {
        self.unarrived() <= self.options.copied_bytes
    }

    /// A copy of what another path has on its way.
    fn copy(&mut self, now: Time, path: PathId) -> Option<Segment> {
        for (number, window) in (self.first..).zip(&mut self.windows) {
            if let Some(index) = window.copy(path) {
                let segment = segment(window, number, index);
                self.counts.redundant_bytes += segment.payload.len() as u64;
                self.paths[path.0].as_mut()?.hand_over(now, &segment);
                return Some(segment);
            }
        }
        None
    }

    fn take(&mut self, now: Time, path: PathId) -> Option<Segment> {
        let handed = self.paths[path.0].as_ref()?.handed;
        for (number, window) in (self.first..).zip(&mut self.windows) {
            if let Some(index) = window.take(now, path, handed) {
                if window.is_all_taken() {
                    self.met = window.met().or(self.met);
                }
                let segment = segment(window, number, index);
                let taker = self.paths[path.0].as_mut()?;
                taker.hand_over(now, &segment);
                if taker.on_way == 0 {
                    taker.last_progress = now;
                }
                taker.on_way += segment.payload.len() as u64;
                taker.reliability.advance(now, true);
                return Some(segment);
            }
        }
        None
    }

    /// Cuts a window off the buffer for `path` to begin. False if there is nothing to cut, no
    /// memory for it at either end, or if another path would be there sooner with a single segment.
    fn cut_window(&mut self, now: Time, path: PathId) -> bool {
        let wanted = self.buffer.len().min(self.window_bytes());
        if wanted == 0 || self.ends.len() >= MAX_WINDOWS || !self.is_next_due() {
            return false;
        }
        let room = (self.consumed + self.config.receive_memory).saturating_sub(self.cut);
        let size = if room >= wanted { wanted } else { room };
        if size == 0 || (size < wanted && !self.windows.is_empty()) {
            return false;
        }
        let is_single = size <= self.config.segment_bytes.into();
        if is_single && !self.is_copied() && self.is_deferred(now, path) {
            return false;
        }
        self.deferred = None;
        self.sort_paths(now);
        let rate = |p: &PathId| self.paths[p.0].as_ref().map_or(0.0, |p| p.reliability.rate_bps());
        let used: Vec<PathId> = self.used(now).collect();
        let total: f64 = used.iter().map(rate).sum();
        let even = 1.0 / used.len() as f64;
        let share = |p: &PathId| if total > 0.0 { rate(p) / total } else { even };
        let order: Vec<(PathId, f64)> = used.iter().map(|p| (*p, share(p))).collect();
        let segments = self.cut_segments(size);
        self.windows.push_back(if self.options.is_two_way {
            Window::new(segments, &order)
        } else {
            Window::one_way(segments)
        });
        self.ends.push_back(self.cut);
        true
    }

    /// True if another window may be open beside those that are.
    fn is_next_due(&self) -> bool {
        self.options.pipelines_windows || self.windows.back().is_none_or(Window::is_settled)
    }

    /// True if a single segment is left to an idle path that would be there sooner; for no longer
    /// than this one takes itself, in case that the other is never asked.
    fn is_deferred(&mut self, now: Time, path: PathId) -> bool {
        let Some(own) = self.paths[path.0].as_ref() else { return false };
        let (time, expected) = (own.time(), own.expected(now));
        let is_sooner = |p: &Path| p.is_idle && p.expected(now) < expected;
        let sooner: Vec<PathId> =
            self.used(now).filter(|p| self.paths[p.0].as_ref().is_some_and(is_sooner)).collect();
        if sooner.is_empty() {
            return false;
        }
        if now < *self.deferred.get_or_insert(now) + time {
            return true;
        }
        // They have not come: they are not idle but dead.
        for late in sooner {
            if let Some(late) = &mut self.paths[late.0] {
                late.is_idle = false;
            }
        }
        false
    }

    fn cut_segments(&mut self, size: u64) -> Vec<Bytes> {
        let most = u64::from(self.config.segment_bytes);
        let mut segments = Vec::with_capacity(size.div_ceil(most) as usize);
        let mut left = size.min(most * u64::from(MAX_SEGMENTS));
        self.in_windows += left;
        self.cut += left;
        self.counts.distinct_bytes += left;
        while left > 0 {
            let length = left.min(most) as usize;
            segments.push(self.buffer.take(length));
            left -= length as u64;
        }
        segments
    }

    /// Puts the more reliable paths first; of similar ones the order stays.
    fn sort_paths(&mut self, now: Time) {
        for path in self.paths.iter_mut().flatten() {
            path.reliability.advance(now, path.on_way > 0);
        }
        if !self.options.adapts_directions {
            return;
        }
        let score = |p: PathId| self.paths[p.0].as_ref().map_or(0.0, |p| p.reliability.score());
        for end in (1..self.order.len()).rev() {
            for i in 0..end {
                if score(self.order[i + 1]) > score(self.order[i]) + HYSTERESIS {
                    self.order.swap(i, i + 1);
                }
            }
        }
    }

    /// An acknowledgement came on `path`. An older one than the last tells nothing new.
    ///
    /// # Errors
    /// If it acknowledges what was never sent: the peer is not one to go on with.
    pub fn on_ack(&mut self, now: Time, path: PathId, ack: &Ack) -> Result<(), AckError> {
        if let Some(of) = &mut self.paths[path.0] {
            if ack.received > of.handed {
                return Err(AckError);
            }
            if ack.received > of.received {
                (of.received, of.heard_at) = (ack.received, now);
            }
            if let Some((_, at)) = of.watched.take_if(|(handed, _)| of.received >= *handed) {
                of.sample(now - at);
            }
        }
        let opened = self.first + self.windows.len() as u64;
        let last = ack.missing.last().map_or(0, |(window, _)| window.saturating_add(1));
        if ack.complete.max(last) > opened || ack.consumed > self.cut {
            return Err(AckError);
        }
        self.consumed = self.consumed.max(ack.consumed);
        while self.ends.front().is_some_and(|end| *end <= self.consumed) {
            self.ends.pop_front();
        }
        let mut arrived = [Arrived::default(); MAX_PATHS];
        let complete = ack.complete.saturating_sub(self.first) as usize;
        for window in self.windows.iter_mut().take(complete) {
            window.on_complete(&mut arrived);
        }
        for (number, missing) in &ack.missing {
            let Some(place) = number.checked_sub(self.first) else { continue };
            if let Some(window) = self.windows.get_mut(place as usize) {
                window.on_missing(missing, &mut arrived);
            }
        }
        while self.windows.front().is_some_and(Window::is_complete) {
            if let Some(window) = self.windows.pop_front() {
                self.in_windows -= window.bytes();
                self.first += 1;
                self.counts.complete_windows += 1;
            }
        }
        for (path, arrived) in self.paths.iter_mut().zip(arrived) {
            if let Some(path) = path.as_mut().filter(|_| arrived.bytes > 0) {
                path.on_arrival(now, arrived);
            }
        }
        Ok(())
    }
}

fn segment(window: &Window, number: u64, index: u32) -> Segment {
    Segment { window: number, index, count: window.count(), payload: window.payload(index) }
}
