//! The sending end: cuts the stream into segments, and says which path sends what next.

use std::collections::VecDeque;

use airlane_base::{ByteQueue, Time};
use bytes::Bytes;

use crate::flight::Flights;
use crate::kernel_memory::{socket_bytes, stream_bytes};
use crate::path::Path;
use crate::scheduler::{Meta, Scheduler, View};
use crate::wire::{Ack, MAX_SEGMENTS, Segment};
use crate::{Config, MAX_PATHS, Options, PathId, PathState, SchedulerKind};

/// Counts of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounts {
    /// Bytes that were cut into segments.
    pub distinct_bytes: u64,
    /// Bytes of segments that a path sent while another had them on its way.
    pub redundant_bytes: u64,
    /// Bytes of segments that were on their way on a path, and no other, when it ended.
    pub moved_bytes: u64,
    /// Segments that were sent again early, as they alone held the window up.
    pub early: u64,
    /// Times that nothing was acknowledged, or a path had fallen silent, for a timeout.
    pub timeouts: u64,
    /// Times that a path was held to half of its window.
    pub penalties: u64,
}

/// An acknowledgement of what was never sent, or a window that was not agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("found an acknowledgement of what was never sent, or a window that was not agreed on")]
pub struct AckError;

/// Kind of segment that a path is to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// The next segment of the stream.
    New,
    /// The first segment that its scheduler gave it.
    Queued,
    /// A segment that others have, or had.
    Again(u64),
    /// The same, as it alone holds the window up.
    Early(u64),
}

/// The sending end of a stream.
///
/// A driver says what every path can do, and then hands over until there is nothing more:
///
/// ```
/// # use airlane_base::Time;
/// # use airlane_mptcp::{Config, Options, PathState, SchedulerKind, Sender};
/// # let (now, mut written) = (Time::ZERO, 0);
/// let mut sender = Sender::new(Config::default(), 8 << 20, Options::of(SchedulerKind::Blest));
/// let path = sender.open(now).unwrap();
/// sender.push(&mut bytes::Bytes::from_static(&[7; 10_000]));
/// while let Some(path) = sender.chosen(now) {
///     let segment = sender.next(now, path).unwrap();
///     written += segment.payload.len() as u64;
///     // Whether it takes more, now that it has this one.
///     let state = PathState { in_flight: written, has_room: written < 14_480, ..<_>::default() };
///     sender.update(now, path, state);
/// }
/// assert_eq!(written, 10_000);
/// ```
#[derive(Clone, Debug)]
pub struct Sender {
    pub(crate) config: Config,
    pub(crate) options: Options,
    pub(crate) send_memory: u64,
    pub(crate) paths: [Option<Path>; MAX_PATHS],
    scheduler: Scheduler,
    /// Bytes that were not handed over.
    pub(crate) buffer: ByteQueue,
    finished: bool,
    pub(crate) flights: Flights,
    /// The first byte that was not handed over (snd_nxt).
    pub(crate) next_dsn: u64,
    /// The first byte that was not acknowledged (snd_una).
    acknowledged: u64,
    /// The right edge of the receiver's window.
    pub(crate) window: u64,
    /// Ends of the segments that the application at the other end has not taken.
    ends: VecDeque<u64>,
    /// Time at which something was acknowledged last, or sent after everything was, or a timeout
    /// passed.
    pub(crate) last_progress: Time,
    pub(crate) retransmissions: u64,
    pub(crate) counts: SenderCounts,
    /// Views of the paths for schedulers, kept for their memory.
    views: Vec<View>,
}

impl Sender {
    /// A stream without paths. It holds at most `send_memory` bytes that were not acknowledged.
    pub fn new(config: Config, send_memory: u64, options: Options) -> Self {
        Self {
            config,
            options,
            send_memory,
            paths: [const { None }; MAX_PATHS],
            scheduler: Scheduler::new(options.scheduler),
            buffer: ByteQueue::default(),
            finished: false,
            flights: Flights::default(),
            next_dsn: 0,
            acknowledged: 0,
            window: config.receive_memory,
            ends: VecDeque::new(),
            last_progress: Time::ZERO,
            retransmissions: 0,
            counts: SenderCounts::default(),
            views: Vec::new(),
        }
    }

    /// A path joins; `None` if there are [`MAX_PATHS`] already. It has the state of
    /// [`PathState::default`] until [`Self::update`].
    pub fn open(&mut self, now: Time) -> Option<PathId> {
        let path = self.paths.iter().position(Option::is_none)?;
        self.paths[path] = Some(Path::new(now));
        self.scheduler.forget(path);
        self.grow_socket(path);
        Some(PathId(path))
    }

    /// A path ended, with all that was on its way: other paths send it.
    pub fn close(&mut self, path: PathId) {
        if self.paths[path.0].take().is_none() {
            return;
        }
        self.scheduler.forget(path.0);
        let live = self.live();
        self.counts.moved_bytes += self.flights.give_back(path.0, live, true);
    }

    /// Updates what `path` can do now. Tell it before [`Self::chosen`] and [`Self::next`], and
    /// after each segment that the path took: between, what it took counts as on its way, and the
    /// rest as it was.
    pub fn update(&mut self, now: Time, path: PathId, state: PathState) {
        let first = self.flights.first();
        let Some(of) = self.paths[path.0].as_mut() else { return };
        if of.update(now, state, first) {
            self.flights.keep(path.0);
        }
        self.grow_socket(path.0);
    }

    /// Lets the send buffer of a path's socket grow with its window.
    fn grow_socket(&mut self, path: usize) {
        let packet_bytes = self.options.kernel_packet_bytes;
        if let Some(of) = &mut self.paths[path] {
            let PathState { cwnd, mss, .. } = of.state;
            of.socket_bytes = of.socket_bytes.max(socket_bytes(cwnd, mss, packet_bytes));
        }
    }

    /// Number of bytes that [`Self::push`] would take now.
    pub fn room(&self) -> u64 {
        if self.finished {
            return 0;
        }
        let kernel = stream_bytes(self.options.scheduler, self.paths.iter().flatten());
        self.send_memory.min(kernel.unwrap_or(u64::MAX)).saturating_sub(self.held())
    }

    /// Bytes that were pushed and have not arrived.
    pub fn unarrived(&self) -> u64 {
        self.held()
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

    /// Length of the stream in bytes, once it is finished.
    pub fn end(&self) -> Option<u64> {
        self.finished.then_some(self.next_dsn + self.buffer.len())
    }

    /// True if the stream is finished and all of it has arrived.
    pub fn is_done(&self) -> bool {
        self.finished && self.buffer.is_empty() && self.flights.is_empty()
    }

    /// Bytes that were not acknowledged, handed over or not.
    pub(crate) fn held(&self) -> u64 {
        self.flights.bytes() + self.buffer.len()
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.finished
    }

    /// A path that took the first segment which was not acknowledged: all that came behind that
    /// waits for it. `None` if nothing is on its way.
    pub fn head(&self) -> Option<PathId> {
        let carriers = self.flights.get(self.flights.first())?.carriers;
        (carriers != 0).then(|| PathId(carriers.trailing_zeros() as usize))
    }

    /// Counts of the sender.
    pub fn counts(&self) -> SenderCounts {
        self.counts
    }

    /// The path that [`Self::next`] has a segment for now; `None` if there is none for any. Then ask
    /// again after the next [`Self::push`], [`Self::on_ack`], [`Self::close`] or [`Self::update`],
    /// or at [`Self::next_event`].
    pub fn chosen(&mut self, now: Time) -> Option<PathId> {
        self.decide(now, None).map(|(path, _)| PathId(path))
    }

    /// Segment that `path` sends next; `None` if the scheduler gives it nothing now, or has
    /// something for another path first: [`Self::chosen`] says for which.
    ///
    /// The segment counts as on its way on that path from now on.
    pub fn next(&mut self, now: Time, path: PathId) -> Option<Segment> {
        let (picked, what) = self.decide(now, Some(path.0))?;
        if picked != path.0 {
            return None;
        }
        let number = match what {
            What::New => self.cut(now, picked),
            What::Queued => self.unqueue(picked)?,
            What::Again(number) => number,
            What::Early(number) => {
                self.counts.early += 1;
                number
            }
        };
        self.hand_over(now, picked, number, matches!(what, What::Again(_) | What::Early(_)))
    }

    /// Time at which [`Self::next`] may have a segment for a path that had none, if nothing else
    /// happens before.
    pub fn next_event(&self, path: PathId) -> Option<Time> {
        self.paths[path.0].as_ref()?;
        self.next_timeout()
    }

    /// An acknowledgement came, on any path. An older one than the last tells nothing new.
    ///
    /// # Errors
    /// If it acknowledges what was never sent, or has a window that was not agreed on: the peer is
    /// not one to go on with.
    pub fn on_ack(&mut self, now: Time, ack: &Ack) -> Result<(), AckError> {
        // The application there takes no more than has arrived.
        let most = ack.data_ack.saturating_add(self.config.receive_memory);
        if ack.data_ack > self.next_dsn || ack.window > most || ack.window < ack.data_ack {
            return Err(AckError);
        }
        self.window = self.window.max(ack.window);
        let consumed = self.window - self.config.receive_memory;
        while self.ends.front().is_some_and(|end| *end <= consumed) {
            self.ends.pop_front();
        }
        self.acknowledged = self.acknowledged.max(ack.data_ack);
        if self.flights.acknowledge(self.acknowledged) {
            self.last_progress = now;
            let first = self.flights.first();
            for path in self.paths.iter_mut().flatten() {
                path.drop_below(first);
            }
        }
        let meta = self.meta(now);
        self.scheduler.observe(&meta);
        Ok(())
    }

    /// Decides on the next segment and the path that sends it. `asked` is preferred where several
    /// could.
    fn decide(&mut self, now: Time, asked: Option<usize>) -> Option<(usize, What)> {
        self.look_at_timeouts(now);
        if self.options.scheduler == SchedulerKind::Redundant {
            return self.decide_redundant(asked);
        }
        if let Some(found) = self.reinjection() {
            return Some(found);
        }
        let meta = self.meta(now);
        self.scheduler.observe(&meta);
        if self.options.scheduler.is_linux() {
            self.fill_queues(now);
            let is_ready = |path: &usize| {
                let path = self.paths[*path].as_ref();
                path.is_some_and(|p| !p.queue.is_empty() && p.state.has_room)
            };
            let all = 0..MAX_PATHS;
            return asked.into_iter().chain(all).find(is_ready).map(|path| (path, What::Queued));
        }
        if self.next_bytes() > 0 {
            return self.pick(&meta).map(|view| (view.path, What::New));
        }
        self.early(now)
    }

    /// Every path sends everything that is not acknowledged, from its pointer on; the first to get
    /// to the end goes on with what is new.
    fn decide_redundant(&mut self, asked: Option<usize>) -> Option<(usize, What)> {
        let (first, end) = (self.flights.first(), self.flights.end());
        let has_new = self.next_bytes() > 0;
        let what = |path: usize| {
            let of = self.paths[path].as_ref()?;
            if !of.state.has_room || of.state.in_flight >= of.state.cwnd {
                return None;
            }
            let number = of.pointer.max(first);
            let what = if number < end { Some(What::Again(number)) } else { None };
            Some((path, what.or(has_new.then_some(What::New))?))
        };
        match asked {
            Some(path) => what(path),
            None => (0..MAX_PATHS).find_map(what),
        }
    }

    /// The path that the scheduler gives the next segment.
    fn pick(&mut self, meta: &Meta) -> Option<View> {
        let mut views = std::mem::take(&mut self.views);
        self.look_at_paths(&mut views);
        let picked = self.scheduler.pick(meta, &views);
        let view = picked.and_then(|path| views.iter().find(|v| v.path == path).copied());
        self.views = views;
        view
    }

    fn look_at_paths(&self, views: &mut Vec<View>) {
        views.clear();
        let is_linux = self.options.scheduler.is_linux();
        for (number, path) in self.paths.iter().enumerate() {
            let Some(path) = path else { continue };
            let (state, cwnd) = (&path.state, path.cwnd());
            let in_flight = state.in_flight + path.queued;
            let has_room = if is_linux {
                in_flight < path.socket_bytes
            } else {
                state.has_room && in_flight < cwnd
            };
            views.push(View {
                path: number,
                is_usable: !path.is_silent,
                has_room,
                cwnd,
                in_flight,
                srtt: state.srtt,
                rttvar: state.rttvar,
                min_rtt: state.min_rtt,
                pacing_bps: state.pacing_bps(),
                mss: state.mss,
            });
        }
    }

    fn meta(&self, now: Time) -> Meta {
        Meta {
            now,
            window: self.window.saturating_sub(self.acknowledged),
            window_left: self.window.saturating_sub(self.next_dsn),
            waiting: self.buffer.len(),
            next_bytes: self.next_bytes(),
            acknowledged: self.acknowledged,
            retransmissions: self.retransmissions,
        }
    }

    /// Bytes of the next new segment; 0 if there is none, or no window for it.
    fn next_bytes(&self) -> u64 {
        let wanted = self.buffer.len().min(self.config.segment_bytes.into());
        let left = self.window.saturating_sub(self.next_dsn);
        if self.ends.len() >= MAX_SEGMENTS {
            0
        } else if wanted <= left {
            wanted
        } else if self.flights.is_empty() {
            // Part of a segment only if nothing would open the window further.
            left
        } else {
            0
        }
    }

    /// Lets the scheduler fill the send buffers of the paths.
    fn fill_queues(&mut self, now: Time) {
        while self.next_bytes() > 0 {
            let meta = self.meta(now);
            let Some(view) = self.pick(&meta) else { return };
            let number = self.cut(now, view.path);
            let Some(flight) = self.flights.get_mut(number) else { return };
            flight.carriers |= 1 << view.path;
            let bytes = flight.payload.len() as u64;
            if let Some(path) = self.paths[view.path].as_mut() {
                path.queue.push_back((number, bytes));
                path.queued += bytes;
            }
        }
    }

    /// The first segment in a path's queue.
    fn unqueue(&mut self, path: usize) -> Option<u64> {
        let of = self.paths[path].as_mut()?;
        let (number, bytes) = of.queue.pop_front()?;
        of.queued -= bytes;
        Some(number)
    }

    /// Cuts the next segment off the buffer for a path.
    fn cut(&mut self, now: Time, path: usize) -> u64 {
        let meta = self.meta(now);
        let mut views = std::mem::take(&mut self.views);
        self.look_at_paths(&mut views);
        if let Some(view) = views.iter().find(|v| v.path == path) {
            self.scheduler.on_taken(&meta, view);
        }
        self.views = views;
        if self.flights.is_empty() {
            self.last_progress = now;
        }
        let payload = self.buffer.take(meta.next_bytes as usize);
        let bytes = payload.len() as u64;
        let number = self.flights.push(self.next_dsn, payload);
        self.next_dsn += bytes;
        self.ends.push_back(self.next_dsn);
        self.counts.distinct_bytes += bytes;
        number
    }

    fn hand_over(&mut self, now: Time, path: usize, number: u64, again: bool) -> Option<Segment> {
        let flight = self.flights.get_mut(number)?;
        let bytes = flight.payload.len() as u64;
        if flight.was_sent && flight.carriers & !(1 << path) != 0 {
            self.counts.redundant_bytes += bytes;
        }
        flight.was_sent = true;
        flight.carriers |= 1 << path;
        let segment = Segment { dsn: flight.dsn, payload: flight.payload.clone() };
        if again {
            self.retransmissions += 1;
            self.flights.sent_again(number);
        }
        let of = self.paths[path].as_mut()?;
        of.pointer = of.pointer.max(number + 1);
        of.take(now, bytes);
        Some(segment)
    }
}
