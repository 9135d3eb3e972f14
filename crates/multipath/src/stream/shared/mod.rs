//! What the tasks of a stream share: its engine, and who waits for what.

mod application;
mod paths;

use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Waker};
use std::time::Duration;

use airlane_base::{Histogram, Time};
use airlane_fbdt::Preference;
use airlane_quic::ControlHandle;
use airlane_runtime::RuntimeHandle;

use crate::engine::Scheme;
use crate::engine::{self, Engine, MAX_PATHS, SentCounts};
use crate::error::MultipathError;
use crate::terms::Terms;

/// An acknowledgement is due after so many bytes that arrived or were read.
const ACK_EVERY_BYTES: u64 = 64 << 10;
/// Or after so long, if there are fewer.
const ACK_DELAY: Duration = Duration::from_millis(1);

/// A stream without any path fails after so long.
pub(crate) const NO_PATH_TIMEOUT: Duration = Duration::from_secs(30);
/// A better path that is about to join is waited for no longer than this.
const EXPECTED_PATH_TIMEOUT: Duration = Duration::from_secs(1);

/// A path that joins a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewPath {
    /// The number of its interface.
    pub(crate) interface: u8,
    pub(crate) preference: Preference,
    /// The preference of a better one that is about to join too.
    pub(crate) expected: Option<Preference>,
}

/// Counts of what came on a path, and what left on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathCounts {
    /// The path's number at the end that has the interfaces.
    pub interface: u8,
    /// True if the path is open.
    pub is_open: bool,
    /// Bytes of segments that it was first to bring.
    pub first_bytes: u64,
    /// Bytes of segments that another had brought before.
    pub duplicate_bytes: u64,
    /// Bytes of segments that were handed to it.
    pub taken_bytes: u64,
}

/// Counts of a stream.
#[derive(Clone, Debug, Default)]
pub struct StreamCounts {
    /// Of each interface that ever had a path, by its number.
    pub paths: Vec<PathCounts>,
    /// Of the sending connection.
    pub sent: SentCounts,
    /// Bytes that came and were not read: they wait for others before them.
    pub held_bytes: u64,
    /// The interface that took the first segment sent which has not arrived.
    pub head: Option<u8>,
    /// Position at which two paths met in FBDT's last window: the share that came from its
    /// beginning on.
    pub met: Option<f64>,
}

/// The part of a stream that all of its tasks see.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) runtime: RuntimeHandle,
    state: Arc<Mutex<State>>,
}

/// Key of a path of a stream: its place, which is used again when it is gone, and the number of
/// paths before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PathKey {
    place: usize,
    serial: u64,
}

/// A path of a stream, until it is dropped, however its task ends.
pub(crate) struct Attached {
    shared: Shared,
    key: PathKey,
}

impl Attached {
    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    pub(crate) fn key(&self) -> PathKey {
        self.key
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        self.shared.detach(self.key);
    }
}

struct State {
    scheme: Scheme,
    /// The engine and the terms, once both ends have agreed on them.
    engine: Option<(Box<dyn Engine>, Terms)>,
    paths: [Option<PathTasks>; MAX_PATHS],
    /// Number of paths so far.
    attached: u64,
    interfaces: Vec<PathCounts>,
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

/// State of a path for its tasks, and their wakers.
struct PathTasks {
    serial: u64,
    interface: u8,
    /// Handle to the statistics of the path's connection; `None` where nothing asks.
    control: Option<ControlHandle>,
    /// The task that sends segments, while it waits for one.
    sender: Option<Waker>,
    /// True if that task would take one now: it is not held up by its connection.
    takes: bool,
    acker: Option<Waker>,
    /// Up to where the last acknowledgement told, and since when there is more.
    told: u64,
    /// Bytes of segments that came on it.
    received: u64,
    since: Option<Time>,
    end_told: bool,
}

impl Shared {
    pub(crate) fn new(runtime: RuntimeHandle, scheme: Scheme) -> Self {
        let state = State {
            scheme,
            engine: None,
            paths: [const { None }; MAX_PATHS],
            attached: 0,
            interfaces: Vec::new(),
            writer: None,
            reader: None,
            watchers: Vec::new(),
            finished: false,
            progress: 0,
            failure: None,
        };
        Self { runtime, state: Arc::new(Mutex::new(state)) }
    }

    /// The state. If a task panicked in the middle of it, the stream fails, and others go on.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| {
            self.state.clear_poison();
            let mut state = poisoned.into_inner();
            state.engine = None;
            state.failure = Some(MultipathError::Panicked);
            state.wake_all();
            state
        })
    }

    #[cfg(test)]
    pub(crate) fn with_state_locked(&self, f: impl FnOnce()) {
        let _state = self.lock();
        f();
    }

    /// A path has come, on which both ends agreed on the same as on every other path of the stream.
    /// It takes the place of an older one of the same interface.
    pub(crate) fn attach(
        &self,
        new: NewPath,
        terms: Terms,
        control: Option<&ControlHandle>,
    ) -> Result<Attached, MultipathError> {
        let now = self.runtime.now();
        let mut state = self.lock();
        if let Some(e) = &state.failure {
            return Err(e.clone());
        }
        let finished = state.finished;
        let State { engine, scheme, .. } = &mut *state;
        let (engine, agreed) = engine.get_or_insert_with(|| {
            let mut engine = engine::new(scheme, &terms);
            if finished {
                engine.finish();
            }
            (engine, terms)
        });
        if *agreed != terms {
            return Err(MultipathError::Protocol("a path on other terms than the stream's"));
        }
        let NewPath { interface, preference, expected } = new;
        let place =
            engine.open(now, preference).ok_or(MultipathError::Protocol("too many paths"))?;
        if let Some(expected) = expected {
            engine.expect(expected, now + EXPECTED_PATH_TIMEOUT);
        }
        let serial = state.attached;
        state.attached += 1;
        let older = state.keys().find(|(_, of)| *of == interface);
        if let Some((older, _)) = older {
            state.detach(older);
        }
        state.paths[place] = Some(PathTasks {
            serial,
            interface,
            control: control.cloned(),
            sender: None,
            takes: false,
            acker: None,
            told: 0,
            received: 0,
            since: None,
            end_told: false,
        });
        state.interface(interface).is_open = true;
        state.wake_all();
        Ok(Attached { shared: self.clone(), key: PathKey { place, serial } })
    }

    /// Sets whether the other end is known not to be heard on the path.
    pub(crate) fn set_unresponsive(&self, path: PathKey, is_unresponsive: bool) {
        let mut state = self.lock();
        if at(&mut state.paths, path).is_some()
            && let Some((engine, _)) = &mut state.engine
        {
            engine.set_unresponsive(path.place, is_unresponsive);
            state.wake_senders();
        }
    }

    /// A path has gone: others send what was on its way.
    fn detach(&self, path: PathKey) {
        self.lock().detach(path);
    }

    /// The application wants no more of it.
    pub(crate) fn give_up(&self) {
        let is_over = self.lock().is_over();
        if !is_over {
            self.fail(MultipathError::GivenUp);
        }
    }

    /// Ends the stream for all of its tasks.
    pub(crate) fn fail(&self, error: MultipathError) {
        let mut state = self.lock();
        state.failure.get_or_insert(error);
        state.wake_all();
    }

    pub(crate) fn waited(&self) -> Histogram {
        let state = self.lock();
        state.engine.as_ref().map(|(engine, _)| engine.waited().clone()).unwrap_or_default()
    }

    pub(crate) fn counts(&self) -> StreamCounts {
        let state = self.lock();
        let engine = state.engine.as_ref().map(|(engine, _)| engine);
        StreamCounts {
            paths: state.interfaces.clone(),
            sent: engine.map(|h| h.sent()).unwrap_or_default(),
            held_bytes: engine.map_or(0, |h| h.held_bytes()),
            head: engine.and_then(|h| Some(state.paths[h.head()?].as_ref()?.interface)),
            met: engine.and_then(|h| h.met()),
        }
    }
}

impl State {
    /// The paths with their interfaces.
    fn keys(&self) -> impl Iterator<Item = (PathKey, u8)> + '_ {
        let places = self.paths.iter().enumerate();
        places.filter_map(|(place, path)| {
            let path = path.as_ref()?;
            Some((PathKey { place, serial: path.serial }, path.interface))
        })
    }

    fn detach(&mut self, path: PathKey) {
        if at(&mut self.paths, path).is_none() {
            return;
        }
        if let Some((engine, _)) = &mut self.engine {
            engine.close(path.place);
        }
        if let Some(mut gone) = self.paths[path.place].take() {
            let is_open = self.keys().any(|(_, interface)| interface == gone.interface);
            self.interface(gone.interface).is_open = is_open;
            wake(&mut gone.sender);
            wake(&mut gone.acker);
        }
        self.wake_all();
    }

    fn interface(&mut self, interface: u8) -> &mut PathCounts {
        counts_of(&mut self.interfaces, interface)
    }

    /// True if nothing is left to do in either direction.
    fn is_over(&self) -> bool {
        self.engine.as_ref().is_some_and(|(engine, _)| engine.is_sent() && engine.is_read())
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

/// The tasks of a path that is still there.
fn at(paths: &mut [Option<PathTasks>; MAX_PATHS], path: PathKey) -> Option<&mut PathTasks> {
    paths[path.place].as_mut().filter(|tasks| tasks.serial == path.serial)
}

fn counts_of(interfaces: &mut Vec<PathCounts>, interface: u8) -> &mut PathCounts {
    let place = match interfaces.binary_search_by_key(&interface, |counts| counts.interface) {
        Ok(place) => place,
        Err(place) => {
            interfaces.insert(place, PathCounts { interface, ..PathCounts::default() });
            place
        }
    };
    &mut interfaces[place]
}

fn wake(task: &mut Option<Waker>) {
    if let Some(task) = task.take() {
        task.wake();
    }
}
