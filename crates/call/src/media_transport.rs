//! The seam to a transport that carries video beside the QUIC connection of a participant.
//!
//! Without one each frame is a stream of the connection. With one the frames of video, with their headers, are its
//! messages, and its estimate is what bitrates follow; audio and messages stay on the connection.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::task::{Context, Poll};

use airlane_base::Rate;
use airlane_quic::ControlHandle;
use airlane_runtime::{BoxFuture, RuntimeHandle};
use bytes::Bytes;
use tokio::sync::mpsc;

use crate::error::CallError;
use crate::rate::estimate;
use crate::sender::{FrameSender, OutgoingMessage};
use crate::wire::HEADER_BYTES;

/// Transport of the video between a participant and the server, as one of the two has it.
///
/// A message that it loses is lost with its frame; messages may overtake each other. What it holds of messages that
/// are not whole it bounds itself.
pub trait MediaTransport: Send + Sync {
    /// Run of the transport, at most once, until it fails: it sends the messages of `outgoing`, and hands those that
    /// come to `arrived`.
    fn run(&self, outgoing: OutgoingVideo, arrived: ArrivedMessages) -> BoxFuture<CallError>;
    /// Rate of IP packets that the outgoing direction carries, as its controller estimates; `None` before there is an
    /// estimate.
    fn estimate(&self) -> Option<Rate>;
    /// Counts since the start.
    fn counts(&self) -> MediaCounts;
    /// Limit of the rate for which the outgoing direction is probed; `None`: as much as there is use for.
    fn set_max_rate(&self, max_rate: Option<Rate>);
}

/// Bytes of IP packets of a media transport, both directions of video and what controls them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MediaCounts {
    /// Bytes that came to this end.
    pub received_bytes: u64,
    /// Bytes of this end that came to the other one, as the other one said.
    pub delivered_bytes: u64,
}

/// Media transport of a participant, shared.
#[derive(Clone)]
pub struct Media(pub Arc<dyn MediaTransport>);

impl fmt::Debug for Media {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Media")
    }
}

impl Deref for Media {
    type Target = dyn MediaTransport;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

/// Function from a name to an end of a media transport.
pub type EndOf = dyn Fn(&str) -> Option<Media> + Send + Sync;

/// Function from a participant's name to the server's end of its media transport; `None` for who has none, and is not
/// let in.
#[derive(Clone)]
pub struct MediaOf(pub Arc<EndOf>);

impl fmt::Debug for MediaOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MediaOf")
    }
}

/// Video that waits to be sent as messages.
#[derive(Clone)]
pub struct OutgoingVideo {
    sender: Arc<FrameSender>,
    clock: RuntimeHandle,
}

impl OutgoingVideo {
    /// True if a message waits.
    pub fn is_waiting(&self) -> bool {
        self.sender.has_video()
    }

    /// The next message; `None` if there is none, or all that waited were too old.
    pub fn take(&self) -> Option<OutgoingMessage> {
        self.sender.take_message(self.clock.now())
    }

    /// Ready if a message waits; else the task is woken once one does. One task waits at a time.
    pub fn poll_waiting(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.sender.poll_video(cx)
    }
}

impl fmt::Debug for OutgoingVideo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OutgoingVideo")
    }
}

/// Receiver of the messages that a media transport hands on.
pub type ArrivedMessages = Box<dyn FnMut(Bytes) + Send>;

/// Rate that the outgoing media of a participant's end may take in IP bytes: the estimate of its media transport, or
/// of its connection where there is none.
pub(crate) fn outgoing_estimate(media: Option<&Media>, connection: &ControlHandle) -> Option<Rate> {
    match media {
        Some(media) => media.estimate(),
        None => estimate(&connection.stats()),
    }
}

/// Exchange of video over a media transport until it fails, or a message is refused by `arrived`; without a
/// transport it never ends.
pub(crate) async fn exchange(
    media: Option<&Media>,
    sender: &Arc<FrameSender>,
    clock: &RuntimeHandle,
    arrived: impl Fn([u8; HEADER_BYTES], Bytes) -> Result<(), CallError> + Send + 'static,
) -> CallError {
    let Some(media) = media else { return std::future::pending().await };
    let outgoing = OutgoingVideo { sender: sender.clone(), clock: clock.clone() };
    let (failed, mut failure) = mpsc::channel(1);
    let arrived = move |mut message: Bytes| {
        let Some(header) = message.first_chunk::<HEADER_BYTES>().copied() else {
            return Err(CallError::Protocol("a message without a whole header"));
        };
        arrived(header, message.split_off(HEADER_BYTES))
    };
    let arrived = Box::new(move |message| {
        if let Err(error) = arrived(message) {
            // The first failure ends the call; there is no room for others, nor use.
            drop(failed.try_send(error));
        }
    });
    tokio::select! {
        biased;
        Some(error) = failure.recv() => error,
        error = media.run(outgoing, arrived) => error,
    }
}
