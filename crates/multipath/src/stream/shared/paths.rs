//! What the tasks of a path ask for and bring.

use std::task::{Context, Poll};

use airlane_runtime::Timer;
use bytes::{Bytes, BytesMut};

use super::{ACK_DELAY, ACK_EVERY_BYTES, PathKey, Shared, State, at, counts_of, wake};
use crate::engine::{ControlEvent, Outgoing, PathLoad, Turn};
use crate::error::MultipathError;

impl Shared {
    /// The segment that `path` sends next.
    pub(crate) fn poll_segment(
        &self,
        cx: &mut Context<'_>,
        path: PathKey,
        timer: &mut Box<dyn Timer>,
    ) -> Poll<Result<Outgoing, MultipathError>> {
        let now = self.runtime.now();
        let mut state = self.lock();
        let State { failure, engine, paths, interfaces, .. } = &mut *state;
        if let Some(e) = failure {
            return Poll::Ready(Err(e.clone()));
        }
        let Some((engine, _)) = engine else { return Poll::Ready(Err(MultipathError::Ended)) };
        let Some(tasks) = at(paths, path) else { return Poll::Ready(Err(MultipathError::Ended)) };
        tasks.takes = true;
        let interface = tasks.interface;
        let loads = |number: usize| {
            let path = paths[number].as_ref()?;
            let stats = path.control.as_ref()?.stats();
            Some(PathLoad { stats, has_room: path.takes })
        };
        let next = match engine.next(now, path.place, &loads) {
            Turn::Segment(segment) => {
                counts_of(interfaces, interface).taken_bytes += segment.payload_bytes;
                let (has_end, has_room) = (engine.end().is_some(), engine.has_room());
                if segment.ends_turn {
                    state.wake_senders();
                }
                if let Some(tasks) = at(&mut state.paths, path) {
                    tasks.takes = false;
                }
                if has_room {
                    wake(&mut state.writer);
                }
                if has_end {
                    state.wake_ackers();
                }
                return Poll::Ready(Ok(segment));
            }
            Turn::Wait { until, other } => {
                if let Some(tasks) = at(paths, path) {
                    tasks.sender = Some(cx.waker().clone());
                }
                if let Some(other) = other.filter(|other| *other != path.place)
                    && let Some(tasks) = &mut paths[other]
                {
                    wake(&mut tasks.sender);
                }
                until
            }
        };
        drop(state);
        // It may have come already: then at once again, in the task's next turn.
        if next.is_some_and(|at| timer.poll_at(at, cx).is_ready()) {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }

    /// Takes all frames off what came on the data stream of `path`.
    pub(crate) fn on_data(&self, path: PathKey, from: &mut BytesMut) -> Result<(), MultipathError> {
        let now = self.runtime.now();
        let mut state = self.lock();
        let State { engine, paths, interfaces, progress, .. } = &mut *state;
        let (Some((engine, _)), Some(tasks)) = (engine, at(paths, path)) else {
            return Err(MultipathError::Ended);
        };
        let counts = counts_of(interfaces, tasks.interface);
        let mut is_new = false;
        while let Some(came) = engine.on_data(now, from)? {
            tasks.received += came.bytes;
            if came.is_new {
                counts.first_bytes += came.bytes;
                *progress += came.bytes;
                is_new = true;
            } else {
                counts.duplicate_bytes += came.bytes;
            }
        }
        if is_new {
            wake(&mut state.reader);
            state.on_progress(now);
        }
        Ok(())
    }

    /// Takes all frames off what came on the control stream of `path`.
    pub(crate) fn on_control(
        &self,
        path: PathKey,
        from: &mut BytesMut,
    ) -> Result<(), MultipathError> {
        let now = self.runtime.now();
        let mut state = self.lock();
        let State { engine, paths, .. } = &mut *state;
        let (Some((engine, _)), Some(_)) = (engine, at(paths, path)) else {
            return Err(MultipathError::Ended);
        };
        let (mut is_ack, mut is_end) = (false, false);
        while let Some(told) = engine.on_control(now, path.place, from)? {
            match told {
                ControlEvent::Ack => is_ack = true,
                ControlEvent::End => is_end = true,
            }
        }
        if is_ack {
            state.wake_senders();
            wake(&mut state.writer);
        }
        if is_end {
            wake(&mut state.reader);
        }
        if state.is_over() {
            state.wake_all();
        }
        Ok(())
    }

    /// Frame that `path` is to send to the other end: an acknowledgement, or the end of the stream.
    pub(crate) fn poll_control(
        &self,
        cx: &mut Context<'_>,
        path: PathKey,
        timer: &mut Box<dyn Timer>,
    ) -> Poll<Result<Bytes, MultipathError>> {
        let now = self.runtime.now();
        let mut state = self.lock();
        let State { failure, engine, paths, progress, .. } = &mut *state;
        if let Some(e) = failure {
            return Poll::Ready(Err(e.clone()));
        }
        let (Some((engine, _)), Some(tasks)) = (engine, at(paths, path)) else {
            return Poll::Ready(Err(MultipathError::Ended));
        };
        if let Some(end) = engine.end().filter(|_| !tasks.end_told) {
            tasks.end_told = true;
            return Poll::Ready(Ok(end));
        }
        let is_new = *progress > tasks.told;
        let due = tasks.since.map(|since| since + ACK_DELAY).filter(|_| is_new);
        let is_much = *progress >= tasks.told + ACK_EVERY_BYTES;
        if is_much || due.is_some_and(|due| now >= due) || (is_new && engine.is_read()) {
            (tasks.told, tasks.since) = (*progress, None);
            return Poll::Ready(Ok(engine.ack(tasks.received)));
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
}
