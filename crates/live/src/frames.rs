//! What a sender sends: frames, one after the other.

use std::future::Future;
use std::time::Duration;

use airlane_base::Time;
use airlane_runtime::RuntimeExt;
use bytes::Bytes;

use super::encoder::{Encoded, Encoder};
use super::{LiveError, Source};
use crate::media_path::MediaPath;

/// A frame that is to be handed over.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Its number. Numbers begin at 0 and rise; those that are left out are at the end of a GoP.
    pub number: u32,
    /// Layers that it is sent as.
    pub encoded: Encoded,
    /// A message for each of its layers.
    pub messages: Vec<Bytes>,
}

/// Gives the frames of a stream.
pub trait Frames: Send {
    /// Waits for the next frame that goes along a path; `None` after the last.
    ///
    /// # Errors
    /// If it cannot be made.
    fn next(
        &mut self,
        path: &MediaPath,
    ) -> impl Future<Output = Result<Option<Frame>, LiveError>> + Send;
}

/// The frames of a clip, over and over, at even times.
#[derive(Debug)]
pub struct ClipFrames<E> {
    source: Source,
    encoder: E,
    frame_time: Duration,
    clock: Duration,
    begin: Option<Time>,
    until: Time,
    next: u32,
}

impl<E: Encoder> ClipFrames<E> {
    /// A frame every `frame_time` until `until`: of what the encoder says, with the bytes of the source.
    /// `clock` is what the sender's clock shows when the runtime's shows 0: by it the receiver is told
    /// when a frame was handed over.
    pub fn new(
        source: Source,
        encoder: E,
        frame_time: Duration,
        clock: Duration,
        until: Time,
    ) -> Self {
        Self { source, encoder, frame_time, clock, begin: None, until, next: 0 }
    }
}

impl<E: Encoder> Frames for ClipFrames<E> {
    async fn next(&mut self, path: &MediaPath) -> Result<Option<Frame>, LiveError> {
        let runtime = path.runtime();
        let begin = *self.begin.get_or_insert_with(|| runtime.now());
        let number = self.next;
        let at = begin + self.frame_time * number;
        if at >= self.until {
            return Ok(None);
        }
        runtime.sleep_until(at).await;
        let encoded = self.encoder.frame(number, &path.estimate());
        let handed = runtime.now() + self.clock;
        let messages = self.source.messages(number, &encoded, handed)?;
        self.next = number.saturating_add(1);
        Ok(Some(Frame { number, encoded, messages }))
    }
}
