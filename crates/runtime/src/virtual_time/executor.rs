//! A single-threaded executor: tasks are polled in the order in which they were woken.

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Wake, Waker};

use parking_lot::Mutex;

use crate::api::BoxFuture;

/// Queues to which wakers and spawners write, and which the run loop reads.
#[derive(Default)]
pub(super) struct Inbox {
    ready: Mutex<VecDeque<usize>>,
    /// True if `ready` has any: asked at every step, and mostly it has none. Set and taken back
    /// under its lock.
    has_ready: AtomicBool,
    spawned: Mutex<Vec<(&'static str, BoxFuture<()>)>>,
    /// True if `spawned` has any: asked at every step.
    has_spawned: AtomicBool,
}

impl Inbox {
    pub(super) fn spawn(&self, name: &'static str, task: BoxFuture<()>) {
        self.spawned.lock().push((name, task));
        self.has_spawned.store(true, Ordering::Relaxed);
    }

    fn wake(&self, id: usize) {
        let mut ready = self.ready.lock();
        ready.push_back(id);
        self.has_ready.store(true, Ordering::Relaxed);
    }

    /// Exchanges `done`, which is empty, for what is ready.
    fn take_ready(&self, done: &mut VecDeque<usize>) {
        if self.has_ready.load(Ordering::Relaxed) {
            let mut ready = self.ready.lock();
            mem::swap(done, &mut ready);
            self.has_ready.store(false, Ordering::Relaxed);
        }
    }
}

struct TaskWaker {
    id: usize,
    queued: AtomicBool,
    inbox: Arc<Inbox>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.queued.swap(true, Ordering::Relaxed) {
            self.inbox.wake(self.id);
        }
    }
}

struct Task {
    name: &'static str,
    future: BoxFuture<()>,
    state: Arc<TaskWaker>,
    waker: Waker,
}

/// The tasks of a world.
pub(super) struct Executor {
    inbox: Arc<Inbox>,
    /// A finished task's place is not used again: a stale waker must not wake a stranger.
    tasks: Vec<Option<Task>>,
    /// Tasks that were ready when the inbox was last read. All of it was woken before anything
    /// that is in the inbox now.
    ready: VecDeque<usize>,
}

/// Result of one step.
pub(super) enum Step {
    /// No task is ready.
    Idle,
    /// A task was polled.
    Polled,
    /// The task of this name panicked with this message.
    Panicked(&'static str, String),
}

impl Executor {
    pub(super) fn new(inbox: Arc<Inbox>) -> Self {
        Self { inbox, tasks: Vec::new(), ready: VecDeque::new() }
    }

    /// Polls the next ready task.
    pub(super) fn step(&mut self) -> Step {
        self.adopt();
        if self.ready.is_empty() {
            self.inbox.take_ready(&mut self.ready);
        }
        let Some(id) = self.ready.pop_front() else { return Step::Idle };
        let Some(task) = &mut self.tasks[id] else { return Step::Polled };
        task.state.queued.store(false, Ordering::Relaxed);
        let mut cx = std::task::Context::from_waker(&task.waker);
        let polled = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            task.future.as_mut().poll(&mut cx)
        }));
        match polled {
            Ok(std::task::Poll::Pending) => Step::Polled,
            Ok(std::task::Poll::Ready(())) => {
                self.tasks[id] = None;
                Step::Polled
            }
            Err(panic) => {
                let name = task.name;
                self.tasks[id] = None;
                Step::Panicked(name, message(&*panic))
            }
        }
    }

    /// Drops all tasks, those included that are spawned while others are dropped.
    pub(super) fn clear(&mut self) {
        loop {
            self.tasks.clear();
            let spawned = mem::take(&mut *self.inbox.spawned.lock());
            if spawned.is_empty() {
                break;
            }
        }
        self.inbox.ready.lock().clear();
        self.ready.clear();
    }

    /// Names of the tasks that have not ended, with how many of each there are.
    pub(super) fn pending(&self) -> Vec<(&'static str, usize)> {
        let mut names = std::collections::BTreeMap::new();
        for task in self.tasks.iter().flatten() {
            *names.entry(task.name).or_insert(0) += 1;
        }
        names.into_iter().collect()
    }

    /// Gives newly spawned tasks a place and makes them ready, in the order of spawning.
    fn adopt(&mut self) {
        if !self.inbox.has_spawned.load(Ordering::Relaxed) {
            return;
        }
        self.inbox.has_spawned.store(false, Ordering::Relaxed);
        let spawned = mem::take(&mut *self.inbox.spawned.lock());
        for (name, future) in spawned {
            let state = Arc::new(TaskWaker {
                id: self.tasks.len(),
                queued: AtomicBool::new(false),
                inbox: self.inbox.clone(),
            });
            let waker = Waker::from(state.clone());
            state.wake_by_ref();
            self.tasks.push(Some(Task { name, future, state, waker }));
        }
    }
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|s| (*s).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned())
}
