//! What the tasks of a path ask for and bring.

use std::task::{Context, Poll};

use airlane_runtime::Timer;
use bytes::{Bytes, BytesMut};

use super::{ACK_DELAY, ACK_EVERY_BYTES, PathKey, Shared, State, at, counts_of, wake};
use crate::multipath::error::MultipathError;
use crate::multipath::halves::{Outgoing, Told};

impl Shared {
    /// What `path` sends next.
    pub(in crate::multipath) fn poll_segment(
        &self,
        cx: &mut Context<'_>,
        path: PathKey,
        timer: &mut Box<dyn Timer>,
    ) -> Poll<Result<Outgoing, MultipathError>> {
        let now = self.runtime.now();
        let mut state = self.lock();
        let State { failure, halves, paths, radios, .. } = &mut *state;
        if let Some(e) = failure {
            return Poll::Ready(Err(e.clone()));
        }
        let Some((halves, _)) = halves else { return Poll::Ready(Err(MultipathError::Ended)) };
        let Some(tasks) = at(paths, path) else { return Poll::Ready(Err(MultipathError::Ended)) };
        tasks.takes = true;
        let radio = tasks.radio;
        if halves.looks_at_paths() {
            for (number, other) in paths.iter().enumerate() {
                if let Some(other) = other
                    && let Some(control) = &other.control
                {
                    halves.look(number, &control.stats(), other.takes);
                }
            }
        }
        if let Some(segment) = halves.next(now, path.place) {
            counts_of(radios, radio).taken_bytes += segment.payload_bytes;
            let (has_end, has_room) = (halves.end().is_some(), halves.has_room());
            if halves.looks_at_paths() {
                // It may be another's turn when this one is full.
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
        let (turn, next) = (halves.chosen(now), halves.next_event(now, path.place));
        if let Some(tasks) = at(paths, path) {
            tasks.sender = Some(cx.waker().clone());
        }
        if let Some(other) = turn.filter(|turn| *turn != path.place)
            && let Some(tasks) = &mut paths[other]
        {
            wake(&mut tasks.sender);
        }
        drop(state);
        // It may have come already: then at once again, in the task's next turn.
        if next.is_some_and(|at| timer.poll_at(at, cx).is_ready()) {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }

    /// Takes all frames off what came on the lane of `path`.
    pub(in crate::multipath) fn on_lane(
        &self,
        path: PathKey,
        from: &mut BytesMut,
    ) -> Result<(), MultipathError> {
        let now = self.runtime.now();
        let mut state = self.lock();
        let State { halves, paths, radios, progress, .. } = &mut *state;
        let (Some((halves, _)), Some(tasks)) = (halves, at(paths, path)) else {
            return Err(MultipathError::Ended);
        };
        let counts = counts_of(radios, tasks.radio);
        let mut is_new = false;
        while let Some(came) = halves.on_lane(now, from)? {
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
    pub(in crate::multipath) fn on_control(
        &self,
        path: PathKey,
        from: &mut BytesMut,
    ) -> Result<(), MultipathError> {
        let now = self.runtime.now();
        let mut state = self.lock();
        let State { halves, paths, .. } = &mut *state;
        let (Some((halves, _)), Some(_)) = (halves, at(paths, path)) else {
            return Err(MultipathError::Ended);
        };
        let (mut is_ack, mut is_end) = (false, false);
        while let Some(told) = halves.on_control(now, path.place, from)? {
            match told {
                Told::Ack => is_ack = true,
                Told::End => is_end = true,
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

    /// What `path` is to tell the other end: an acknowledgement, or the end of the stream.
    pub(in crate::multipath) fn poll_control(
        &self,
        cx: &mut Context<'_>,
        path: PathKey,
        timer: &mut Box<dyn Timer>,
    ) -> Poll<Result<Bytes, MultipathError>> {
        let now = self.runtime.now();
        let mut state = self.lock();
        let State { failure, halves, paths, progress, .. } = &mut *state;
        if let Some(e) = failure {
            return Poll::Ready(Err(e.clone()));
        }
        let (Some((halves, _)), Some(tasks)) = (halves, at(paths, path)) else {
            return Poll::Ready(Err(MultipathError::Ended));
        };
        if let Some(end) = halves.end().filter(|_| !tasks.end_told) {
            tasks.end_told = true;
            return Poll::Ready(Ok(end));
        }
        let is_new = *progress > tasks.told;
        let due = tasks.since.map(|since| since + ACK_DELAY).filter(|_| is_new);
        let is_much = *progress >= tasks.told + ACK_EVERY_BYTES;
        if is_much || due.is_some_and(|due| now >= due) || (is_new && halves.is_read()) {
            (tasks.told, tasks.since) = (*progress, None);
            return Poll::Ready(Ok(halves.ack(tasks.received)));
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
