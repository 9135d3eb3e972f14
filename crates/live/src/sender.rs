//! The end that sends.

use std::pin::pin;

use airlane_base::Time;
use airlane_messages::Event;

use super::LiveError;
use super::encoder::Encoded;
use super::frames::Frames;
use super::wire::STREAM;
use crate::media_path::{Estimate, MediaPath};

/// A frame that was handed over.
#[derive(Clone, Debug)]
pub struct SentFrame {
    /// Its number, from 0.
    pub frame: u32,
    /// Time at which it was handed over.
    pub at: Time,
    /// Layers that it was sent as.
    pub encoded: Encoded,
    /// The number of its first layer's message; those of the others follow.
    pub message: u32,
    /// Estimates on the path at that time.
    pub estimate: Estimate,
}

/// Event that a sender notes.
#[derive(Clone, Debug)]
pub enum SenderEvent {
    /// A frame was handed over.
    Sent(SentFrame),
    /// A message was dropped before it left, or before all of it had.
    Dropped {
        /// Its number.
        message: u32,
        /// Time of the drop.
        at: Time,
    },
}

/// Sends frames as they come, to the last one. `note` hears of each, and of what the sender's own buffer
/// drops.
///
/// # Errors
/// If a frame cannot be made or sent, or the path ends.
pub async fn send(
    path: &MediaPath,
    mut frames: impl Frames,
    mut note: impl FnMut(SenderEvent),
) -> Result<(), LiveError> {
    let runtime = path.runtime().clone();
    loop {
        let frame = {
            let mut next = pin!(frames.next(path));
            loop {
                let event = tokio::select! {
                    biased;
                    event = path.next_event() => event,
                    frame = &mut next => break frame?,
                };
                match event {
                    None => return Err(LiveError::Ended),
                    Some(Event::Dropped { message, .. }) => {
                        note(SenderEvent::Dropped { message, at: runtime.now() });
                    }
                    Some(Event::Message(_)) => {}
                }
            }
        };
        let Some(frame) = frame else { return Ok(()) };
        let (at, estimate) = (runtime.now(), path.estimate());
        let mut message = 0;
        for (layer, (out, bytes)) in frame.encoded.layers.iter().zip(frame.messages).enumerate() {
            let number = path.send(STREAM, out.marking, bytes)?;
            if layer == 0 {
                message = number;
            }
        }
        let (frame, encoded) = (frame.number, frame.encoded);
        note(SenderEvent::Sent(SentFrame { frame, at, encoded, message, estimate }));
    }
}
