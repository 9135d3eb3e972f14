//! Sending of frames: a queue, and two tasks that put each frame on a stream of its own.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use airlane_base::{Rate, Time};
use airlane_quic::{Connection, QuicError};
use airlane_runtime::RuntimeHandle;
use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::queue::{Frame, FrameQueue};
use crate::queue_config::QueueConfig;
use crate::uplink_room::UplinkRoom;
use crate::wire::{MediaHeader, ParticipantId, Track};

/// Priorities of streams: audio leaves before all video, messages before both.
const AUDIO_PRIORITY: i32 = 1;
/// Priority of padding, which leaves last.
const PADDING_PRIORITY: i32 = -1;
/// Payload of a frame of padding in bytes.
const PADDING_FRAME_BYTES: u64 = 4096;
/// Bytes of padding that wait at most.
const MAX_PADDING_BYTES: u64 = 64 << 10;
/// Bytes that frames hand over to the connection beyond its window: what lies there leaves in its order and
/// cannot be dropped any more.
pub(crate) const UNSENT_BYTES: u64 = 8 << 10;

/// Makes the header of a frame when it leaves, so that what it says of the call is new.
pub(crate) type EncodeHeader = dyn Fn(&MediaHeader) -> Bytes + Send + Sync;

/// Message with a frame of video.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutgoingMessage {
    /// Header and payload of the frame.
    pub bytes: Bytes,
    /// True for a key frame.
    pub is_key: bool,
}

/// Frames of one connection on their way out.
pub(crate) struct FrameSender {
    queue: Mutex<FrameQueue>,
    audio: Notify,
    video: Notify,
    /// Bytes of padding that wait.
    padding: Mutex<u64>,
    pads: Notify,
    encode: Box<EncodeHeader>,
    /// Room for more packets, where the access tells; frames of video wait for it.
    room: Option<UplinkRoom>,
    /// Task of a media transport that waits for video.
    waiting: Mutex<Option<Waker>>,
}

impl FrameSender {
    pub(crate) fn new(
        config: QueueConfig,
        encode: Box<EncodeHeader>,
        room: Option<UplinkRoom>,
    ) -> Arc<Self> {
        let queue = Mutex::new(FrameQueue::new(config));
        Arc::new(Self {
            queue,
            audio: Notify::new(),
            video: Notify::new(),
            padding: Mutex::default(),
            pads: Notify::new(),
            encode,
            room,
            waiting: Mutex::default(),
        })
    }

    pub(crate) fn push(&self, now: Time, frame: Frame) {
        let notify = if frame.header.track == Track::Audio { &self.audio } else { &self.video };
        self.queue.lock().push(now, frame);
        notify.notify_one();
        self.wake();
    }

    fn wake(&self) {
        if let Some(waker) = self.waiting.lock().take() {
            waker.wake();
        }
    }

    /// Sends so many bytes that mean nothing, as far as there is room.
    pub(crate) fn pad(&self, bytes: u64) {
        if bytes > 0 {
            let mut padding = self.padding.lock();
            *padding = (*padding + bytes).min(MAX_PADDING_BYTES);
            drop(padding);
            self.pads.notify_one();
            self.wake();
        }
    }

    /// True if video or padding waits.
    pub(crate) fn has_video(&self) -> bool {
        self.queue.lock().has_video() || *self.padding.lock() > 0
    }

    /// Ready if video or padding waits; else the task is woken once it does.
    pub(crate) fn poll_video(&self, cx: &mut Context<'_>) -> Poll<()> {
        *self.waiting.lock() = Some(cx.waker().clone());
        if self.has_video() { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Takes the next frame of video, or padding where none waits, as a message.
    pub(crate) fn take_message(&self, now: Time) -> Option<OutgoingMessage> {
        let video = self.queue.lock().pop_video(now);
        let frame = video.or_else(|| self.take_padding())?;
        let header = (self.encode)(&frame.header);
        let bytes = [header, frame.payload].concat().into();
        Some(OutgoingMessage { bytes, is_key: frame.header.is_key })
    }

    /// Takes padding to send: none while media waits.
    fn take_padding(&self) -> Option<Frame> {
        let mut padding = self.padding.lock();
        if self.queue.lock().bytes() > 0 {
            *padding = 0;
        }
        let bytes = (*padding).min(PADDING_FRAME_BYTES);
        *padding -= bytes;
        (bytes > 0).then(|| Frame::padding(bytes as u32))
    }

    /// Bytes that wait here; those that wait in the connection are at most [`UNSENT_BYTES`].
    pub(crate) fn bytes(&self) -> u64 {
        self.queue.lock().bytes()
    }

    /// Rate at which video leaves by [`FrameQueue::service_rate`].
    pub(crate) fn service_rate(&self, now: Time) -> Option<Rate> {
        self.queue.lock().service_rate(now)
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.queue.lock().dropped()
    }

    pub(crate) fn take_wanted(&self) -> Vec<(ParticipantId, Track)> {
        self.queue.lock().take_wanted()
    }

    pub(crate) fn forget(&self, source: ParticipantId) {
        self.queue.lock().forget(source);
    }

    /// Sends frames until the connection is lost; those of video only if it `carries_video`.
    pub(crate) async fn run(
        &self,
        connection: &Connection,
        clock: &RuntimeHandle,
        carries_video: bool,
    ) -> QuicError {
        let audio = async {
            loop {
                let Some(frame) = self.queue.lock().pop_audio() else {
                    self.audio.notified().await;
                    continue;
                };
                if let Err(e) = self.send(connection, frame, AUDIO_PRIORITY).await {
                    return e;
                }
            }
        };
        let video = async {
            if !carries_video {
                return std::future::pending().await;
            }
            loop {
                if let Some(room) = &self.room {
                    room.wait(connection, clock).await;
                }
                let Some(frame) = self.queue.lock().pop_video(clock.now()) else {
                    self.video.notified().await;
                    continue;
                };
                if let Err(e) = self.send(connection, frame, 0).await {
                    return e;
                }
                if self.room.is_some() {
                    UplinkRoom::settle(clock).await;
                }
            }
        };
        let padding = async {
            if !carries_video {
                return std::future::pending().await;
            }
            loop {
                let Some(frame) = self.take_padding() else {
                    self.pads.notified().await;
                    continue;
                };
                if let Err(e) = self.send(connection, frame, PADDING_PRIORITY).await {
                    return e;
                }
            }
        };
        tokio::select! {
            biased;
            e = audio => e,
            e = video => e,
            e = padding => e,
        }
    }

    /// Writes a frame. Once it returns, all of it is with the connection.
    async fn send(
        &self,
        connection: &Connection,
        frame: Frame,
        priority: i32,
    ) -> Result<(), QuicError> {
        let mut stream = connection.open_uni().await?;
        stream.set_priority(priority)?;
        for piece in [(self.encode)(&frame.header), frame.payload] {
            match stream.write_all(piece).await {
                Ok(()) => {}
                // The peer wants no more of this frame; the connection lives on.
                Err(QuicError::StreamEnded { .. } | QuicError::StreamClosed) => return Ok(()),
                Err(e) => return Err(e),
            }
        }
        match stream.finish() {
            Ok(()) | Err(QuicError::StreamClosed) => Ok(()),
            Err(e) => Err(e),
        }
    }
}
