//! What the tasks of a stream share: both halves of the protocol, and who waits for what.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use airlane_base::Time;
use airlane_fbdt::wire::{Ack, Frame, Segment};
use airlane_fbdt::{MAX_PATHS, PathId, Receiver, Sender, SenderCounts};
use airlane_runtime::{RuntimeHandle, Timer};
use bytes::{Bytes, BytesMut};

use super::Settings;
use super::error::MultipathError;
use super::hello::Agreed;

/// An acknowledgement is due after so many bytes that arrived or were read.
const ACK_EVERY_BYTES: u64 = 64 << 10;
/// Or after so long, if there are fewer.
const ACK_DELAY: Duration = Duration::from_millis(1);

/// What came on a path, and what left on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathCounts {
    /// The path's number at the end that has the radios.
    pub radio: u8,
    /// Whether it is there.
    pub is_open: bool,
    /// Bytes of segments that it was first to bring.
    pub first_bytes: u64,
    /// Bytes of segments that another had brought before.
    pub duplicate_bytes: u64,
    /// Bytes of segments that were handed to it.
    pub taken_bytes: u64,
}

/// What a stream has done.
#[derive(Clone, Debug, Default)]
pub struct StreamCounts {
    /// Of each radio that ever had a path, by its number.
    pub paths: Vec<PathCounts>,
    /// Of the sending half.
    pub sender: SenderCounts,
    /// Bytes that wait for others before them.
    pub held_bytes: u64,
}

/// The part of a stream that all of its tasks see.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) runtime: RuntimeHandle,
    state: Arc<Mutex<State>>,
}

/// A path of a stream, until it is dropped, however its task ends.
pub(super) struct Attached {
    shared: Shared,
    id: PathId,
}

impl Attached {
    pub(super) fn shared(&self) -> &Shared {
        &self.shared
    }

    pub(super) fn id(&self) -> PathId {
        self.id
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        self.shared.detach(self.id);
    }
}

/// Both halves, once both ends have agreed.
struct Halves {
    agreed: Agreed,
    sender: Sender,
    receiver: Receiver,
}

struct State {
    settings: Settings,
    halves: Option<Halves>,
    paths: [Option<PathTasks>; MAX_PATHS],
    radios: Vec<PathCounts>,
    /// Tasks of the application.
    writer: Option<Waker>,
    reader: Option<Waker>,
    /// Whoever waits for the end, or for a path to come or go.
    watchers: Vec<Waker>,
    finished: bool,
    /// Bytes that came or were read, of which acknowledgements tell.
    progress: u64,
    failure: Option<MultipathError>,
}

/// What the tasks of a path wait for.
struct PathTasks {
    radio: u8,
    sender: Option<Waker>,
    acker: Option<Waker>,
    /// Up to where the last acknowledgement told, and since when there is more.
    told: u64,
    since: Option<Time>,
    end_told: bool,
}

impl Shared {
    pub(super) fn new(runtime: RuntimeHandle, settings: Settings) -> Self {
        let state = State {
            settings,
            halves: None,
            paths: [const { None }; MAX_PATHS],
            radios: Vec::new(),
            writer: None,
            reader: None,
            watchers: Vec::new(),
            finished: false,
            progress: 0,
            failure: None,
        };
        Self { runtime, state: Arc::new(Mutex::new(state)) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A path has come, on which both ends agreed on the same as on every other path of the stream.
    pub(super) fn attach(&self, radio: u8, agreed: Agreed) -> Result<Attached, MultipathError> {
        let now = self.runtime.now();
        let mut state = self.lock();
        if let Some(e) = &state.failure {
            return Err(e.clone());
        }
        let (send_memory, finished) = (state.settings.send_memory, state.finished);
        let halves = state.halves.get_or_insert_with(|| {
            let mut sender = Sender::new(agreed.config, send_memory);
            if finished {
                sender.finish();
            }
            Halves { agreed, sender, receiver: Receiver::new(agreed.config) }
        });
        if halves.agreed != agreed {
            return Err(MultipathError::Protocol("another stream of the same id"));
        }
        let path = halves.sender.open(now).ok_or(MultipathError::Protocol("too many paths"))?;
        let tasks =
            PathTasks { radio, sender: None, acker: None, told: 0, since: None, end_told: false };
        state.paths[path.index()] = Some(tasks);
        state.radio(radio).is_open = true;
        state.wake_all();
        Ok(Attached { shared: self.clone(), id: path })
    }

    /// A path has gone: others send what was on its way.
    fn detach(&self, path: PathId) {
        let mut state = self.lock();
        if let Some(halves) = &mut state.halves {
            halves.sender.close(path);
        }
        if let Some(gone) = state.paths[path.index()].take() {
            state.radio(gone.radio).is_open = false;
        }
        state.wake_all();
    }

    /// The application wants no more of it.
    pub(super) fn give_up(&self) {
        let is_over = self.lock().is_over();
        if !is_over {
            self.fail(MultipathError::GivenUp);
        }
    }

    /// Ends the stream for all of its tasks.
    pub(super) fn fail(&self, error: MultipathError) {
        let mut state = self.lock();
        state.failure.get_or_insert(error);
        state.wake_all();
    }

    /// The segment that `path` sends next.
    pub(super) fn poll_segment(
        &self,
        cx: &mut Context<'_>,
        path: PathId,
        timer: &mut Box<dyn Timer>,
    ) -> Poll<Result<Segment, MultipathError>> {
        let now = self.runtime.now();
        let mut state = self.lock();
        let State { failure, halves, paths, radios, .. } = &mut *state;
        if let Some(e) = failure {
            return Poll::Ready(Err(e.clone()));
        }
        let (Some(halves), Some(tasks)) = (halves, &mut paths[path.index()]) else {
            return Poll::Ready(Err(MultipathError::Ended));
        };
        if let Some(segment) = halves.sender.next(now, path) {
            counts_of(radios, tasks.radio).taken_bytes += segment.payload.len() as u64;
            let is_last = halves.sender.end().is_some();
            if halves.sender.room() > 0 {
                wake(&mut state.writer);
            }
            if is_last {
                state.wake_ackers();
            }
            return Poll::Ready(Ok(segment));
        }
        tasks.sender = Some(cx.waker().clone());
        if let Some(at) = halves.sender.next_event(path) {
            drop(state);
            // It may have come already: then at once again, in the task's next turn.
            if timer.poll_at(at, cx).is_ready() {
                cx.waker().wake_by_ref();
            }
        }
        Poll::Pending
    }

    /// A segment came on `path`.
    pub(super) fn on_segment(&self, path: PathId, segment: Segment) -> Result<(), MultipathError> {
        let bytes = segment.payload.len() as u64;
        let mut state = self.lock();
        let State { halves, paths, radios, progress, .. } = &mut *state;
        let (Some(halves), Some(tasks)) = (halves, &paths[path.index()]) else {
            return Err(MultipathError::Ended);
        };
        let counts = counts_of(radios, tasks.radio);
        if halves.receiver.on_segment(segment)? {
            counts.first_bytes += bytes;
            *progress += bytes;
            wake(&mut state.reader);
            let now = self.runtime.now();
            state.on_progress(now);
        } else {
            counts.duplicate_bytes += bytes;
        }
        Ok(())
    }

    /// A frame came on a control stream.
    pub(super) fn on_control(&self, frame: &Frame) -> Result<(), MultipathError> {
        let now = self.runtime.now();
        let mut state = self.lock();
        let Some(halves) = &mut state.halves else { return Err(MultipathError::Ended) };
        match frame {
            Frame::Ack(ack) => {
                halves.sender.on_ack(now, ack)?;
                state.wake_senders();
                wake(&mut state.writer);
            }
            Frame::End(windows) => {
                halves.receiver.on_end(*windows)?;
                wake(&mut state.reader);
            }
            Frame::Segment(_) => {
                return Err(MultipathError::Protocol("data on the control stream"));
            }
        }
        if state.is_over() {
            state.wake_all();
        }
        Ok(())
    }

    /// What `path` is to tell the other end: an acknowledgement, or the end of the stream.
    pub(super) fn poll_control(
        &self,
        cx: &mut Context<'_>,
        path: PathId,
        timer: &mut Box<dyn Timer>,
    ) -> Poll<Result<Bytes, MultipathError>> {
        let now = self.runtime.now();
        let mut state = self.lock();
        let State { failure, halves, paths, progress, .. } = &mut *state;
        if let Some(e) = failure {
            return Poll::Ready(Err(e.clone()));
        }
        let (Some(halves), Some(tasks)) = (halves, &mut paths[path.index()]) else {
            return Poll::Ready(Err(MultipathError::Ended));
        };
        if let Some(windows) = halves.sender.end().filter(|_| !tasks.end_told) {
            tasks.end_told = true;
            return Poll::Ready(Ok(encoded(&Frame::End(windows))));
        }
        let is_new = *progress > tasks.told;
        let due = tasks.since.map(|since| since + ACK_DELAY).filter(|_| is_new);
        let is_much = *progress >= tasks.told + ACK_EVERY_BYTES;
        if is_much || due.is_some_and(|due| now >= due) || (is_new && halves.receiver.is_done()) {
            (tasks.told, tasks.since) = (*progress, None);
            let ack: Ack = halves.receiver.ack();
            return Poll::Ready(Ok(encoded(&Frame::Ack(ack))));
        }
        tasks.acker = Some(cx.waker().clone());
        if let Some(due) = due {
            drop(state);
            if timer.poll_at(due, cx).is_ready() {
                cx.waker().wake_by_ref();
            }
        }
        Poll::Pending
    }

    /// Takes what there is room for off `data`; ready when all of it is taken.
    pub(super) fn poll_write(
        &self,
        cx: &mut Context<'_>,
        data: &mut Bytes,
    ) -> Poll<Result<(), MultipathError>> {
        let mut state = self.lock();
        if let Some(e) = &state.failure {
            return Poll::Ready(Err(e.clone()));
        }
        if let Some(halves) = &mut state.halves {
            let before = data.len();
            halves.sender.push(data);
            if data.len() < before {
                state.wake_senders();
            }
            if data.is_empty() {
                return Poll::Ready(Ok(()));
            }
        }
        state.writer = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Nothing comes after what was written.
    pub(super) fn finish(&self) {
        let mut state = self.lock();
        state.finished = true;
        if let Some(halves) = &mut state.halves {
            halves.sender.finish();
        }
        state.wake_all();
    }

    /// All that is there in order; nothing after the end.
    pub(super) fn poll_read(
        &self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Vec<Bytes>, MultipathError>> {
        let mut state = self.lock();
        let mut pieces = Vec::new();
        let mut is_done = false;
        if let Some(halves) = &mut state.halves {
            while let Some(piece) = halves.receiver.read() {
                pieces.push(piece);
            }
            is_done = halves.receiver.is_done();
        }
        if !pieces.is_empty() || is_done {
            let read: usize = pieces.iter().map(Bytes::len).sum();
            state.progress += read as u64;
            let now = self.runtime.now();
            state.on_progress(now);
            if state.is_over() {
                state.wake_all();
            }
            return Poll::Ready(Ok(pieces));
        }
        if let Some(e) = &state.failure {
            return Poll::Ready(Err(e.clone()));
        }
        state.reader = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Ready when the stream is over in both directions, or has failed.
    pub(super) fn poll_over(&self, cx: &mut Context<'_>) -> Poll<Result<(), MultipathError>> {
        let mut state = self.lock();
        if state.is_over() {
            return Poll::Ready(Ok(()));
        }
        if let Some(e) = &state.failure {
            return Poll::Ready(Err(e.clone()));
        }
        state.watch(cx);
        Poll::Pending
    }

    /// Ready when a path is there, if `wanted`, or none.
    pub(super) fn poll_has_path(&self, cx: &mut Context<'_>, wanted: bool) -> Poll<()> {
        let mut state = self.lock();
        if state.paths.iter().any(Option::is_some) == wanted {
            return Poll::Ready(());
        }
        state.watch(cx);
        Poll::Pending
    }

    pub(super) fn counts(&self) -> StreamCounts {
        let state = self.lock();
        StreamCounts {
            paths: state.radios.clone(),
            sender: state.halves.as_ref().map(|h| h.sender.counts()).unwrap_or_default(),
            held_bytes: state.halves.as_ref().map_or(0, |h| h.receiver.held_bytes()),
        }
    }
}

impl State {
    fn radio(&mut self, radio: u8) -> &mut PathCounts {
        counts_of(&mut self.radios, radio)
    }

    /// Whether nothing is left to do in either direction.
    fn is_over(&self) -> bool {
        self.halves.as_ref().is_some_and(|h| h.sender.is_done() && h.receiver.is_done())
    }

    /// Something came or was read: wakes whoever has to tell of it now, or to wait for more.
    fn on_progress(&mut self, now: Time) {
        for path in self.paths.iter_mut().flatten() {
            let is_due = self.progress >= path.told + ACK_EVERY_BYTES;
            let is_first = path.since.is_none() && self.progress > path.told;
            path.since = path.since.or(is_first.then_some(now));
            if is_due || is_first {
                wake(&mut path.acker);
            }
        }
    }

    fn watch(&mut self, cx: &Context<'_>) {
        if !self.watchers.iter().any(|known| known.will_wake(cx.waker())) {
            self.watchers.push(cx.waker().clone());
        }
    }

    fn wake_senders(&mut self) {
        self.paths.iter_mut().flatten().for_each(|path| wake(&mut path.sender));
    }

    fn wake_ackers(&mut self) {
        self.paths.iter_mut().flatten().for_each(|path| wake(&mut path.acker));
    }

    fn wake_all(&mut self) {
        self.wake_senders();
        self.wake_ackers();
        wake(&mut self.writer);
        wake(&mut self.reader);
        self.watchers.drain(..).for_each(Waker::wake);
    }
}

fn counts_of(radios: &mut Vec<PathCounts>, radio: u8) -> &mut PathCounts {
    let place = match radios.binary_search_by_key(&radio, |counts| counts.radio) {
        Ok(place) => place,
        Err(place) => {
            radios.insert(place, PathCounts { radio, ..PathCounts::default() });
            place
        }
    };
    &mut radios[place]
}

fn wake(task: &mut Option<Waker>) {
    if let Some(task) = task.take() {
        task.wake();
    }
}

fn encoded(frame: &Frame) -> Bytes {
    let mut out = BytesMut::new();
    frame.encode(&mut out);
    out.freeze()
}
