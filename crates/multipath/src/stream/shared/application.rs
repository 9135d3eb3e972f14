//! What the application at an end does, and whoever waits for a stream to begin or to end.

use std::future::poll_fn;
use std::task::{Context, Poll};

use airlane_runtime::RuntimeExt;
use bytes::Bytes;

use super::{NO_PATH_TIMEOUT, Shared};
use crate::error::MultipathError;

impl Shared {
    /// Takes what there is room for off `data`; ready when all of it is taken.
    pub(crate) fn poll_write(
        &self,
        cx: &mut Context<'_>,
        data: &mut Bytes,
    ) -> Poll<Result<(), MultipathError>> {
        let mut state = self.lock();
        if let Some(e) = &state.failure {
            return Poll::Ready(Err(e.clone()));
        }
        if let Some((engine, _)) = &mut state.engine {
            let before = data.len();
            engine.push(data);
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

    /// Ready when at most `most` bytes that were written have not arrived.
    pub(crate) fn poll_within(
        &self,
        cx: &mut Context<'_>,
        most: u64,
    ) -> Poll<Result<(), MultipathError>> {
        let mut state = self.lock();
        if let Some(e) = &state.failure {
            return Poll::Ready(Err(e.clone()));
        }
        if state.engine.as_ref().is_some_and(|(engine, _)| engine.unarrived() <= most) {
            return Poll::Ready(Ok(()));
        }
        state.writer = Some(cx.waker().clone());
        Poll::Pending
    }

    /// True if so little is under way that it goes over the low-latency channel.
    pub(crate) fn is_light(&self) -> bool {
        let state = self.lock();
        let max_bytes = state.scheme.max_low_latency_bytes();
        state.engine.as_ref().is_none_or(|(engine, _)| engine.unarrived() <= max_bytes)
    }

    /// Nothing comes after what was written.
    pub(crate) fn finish(&self) {
        let mut state = self.lock();
        state.finished = true;
        if let Some((engine, _)) = &mut state.engine {
            engine.finish();
        }
        state.wake_all();
    }

    /// Bytes that are there in order, `max_bytes` of them and the rest of a piece at most; none
    /// after the end.
    pub(crate) fn poll_read(
        &self,
        cx: &mut Context<'_>,
        max_bytes: usize,
    ) -> Poll<Result<Vec<Bytes>, MultipathError>> {
        let now = self.runtime.now();
        let mut state = self.lock();
        let mut pieces = Vec::new();
        let mut is_done = false;
        if let Some((engine, _)) = &mut state.engine {
            let mut bytes = 0;
            while bytes < max_bytes
                && let Some(piece) = engine.read(now)
            {
                bytes += piece.len();
                pieces.push(piece);
            }
            is_done = engine.is_read();
        }
        if !pieces.is_empty() || is_done {
            let read: usize = pieces.iter().map(Bytes::len).sum();
            state.progress += read as u64;
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
    pub(crate) fn poll_over(&self, cx: &mut Context<'_>) -> Poll<Result<(), MultipathError>> {
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

    /// Ready when the stream has failed.
    pub(crate) fn poll_failed(&self, cx: &mut Context<'_>) -> Poll<MultipathError> {
        let mut state = self.lock();
        if let Some(e) = &state.failure {
            return Poll::Ready(e.clone());
        }
        state.watch(cx);
        Poll::Pending
    }

    /// Frames that tell the other end, on a path on which nothing came, where the stream ends
    /// and that everything has come; `None` if the stream is not over.
    pub(crate) fn end_frames(&self) -> Option<Bytes> {
        let state = self.lock();
        let (engine, _) = state.engine.as_ref().filter(|_| state.is_over())?;
        Some([engine.end()?, engine.ack(0)].concat().into())
    }

    /// Ready when a path is there, if `wanted`, or none.
    pub(crate) fn poll_has_path(&self, cx: &mut Context<'_>, wanted: bool) -> Poll<()> {
        let mut state = self.lock();
        if state.paths.iter().any(Option::is_some) == wanted {
            return Poll::Ready(());
        }
        state.watch(cx);
        Poll::Pending
    }

    /// Waits until the stream is over. Fails it when it has had no path for [`NO_PATH_TIMEOUT`].
    pub(crate) async fn supervise(&self) -> Result<(), MultipathError> {
        let watch = async {
            loop {
                poll_fn(|cx| self.poll_has_path(cx, false)).await;
                let timeout = self.runtime.sleep(NO_PATH_TIMEOUT);
                tokio::select! {
                    biased;
                    () = poll_fn(|cx| self.poll_has_path(cx, true)) => {}
                    () = timeout => return self.fail(MultipathError::NoPath(NO_PATH_TIMEOUT.as_secs())),
                }
            }
        };
        tokio::select! {
            biased;
            _ = poll_fn(|cx| self.poll_over(cx)) => {}
            () = watch => {}
        }
        poll_fn(|cx| self.poll_over(cx)).await
    }
}
