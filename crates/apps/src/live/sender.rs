//! The end that sends.

use std::time::Duration;

use airlane_base::Time;
use airlane_messages::Event;
use airlane_runtime::RuntimeExt;

use super::encoder::{Encoded, Encoder};
use super::wire::STREAM;
use super::{LiveError, Source};
use crate::media_path::{Estimate, MediaPath};

/// A frame that was handed over.
#[derive(Clone, Debug)]
pub struct SentFrame {
    /// Its number, from 0.
    pub frame: u32,
    /// When.
    pub at: Time,
    /// What it was sent as.
    pub encoded: Encoded,
    /// The number of its first layer's message; those of the others follow.
    pub message: u32,
    /// What was known of the path.
    pub estimate: Estimate,
}

/// What a sender notes.
#[derive(Clone, Debug)]
pub enum Noted {
    /// A frame was handed over.
    Sent(SentFrame),
    /// A message was dropped before it left, or before all of it had.
    Dropped {
        /// Its number.
        message: u32,
        /// When.
        at: Time,
    },
}

/// Sends a frame every `frame_time` until `until`: of what the encoder says, with the bytes of the
/// source. `note` hears of each, and of what the sender's own buffer drops. `clock` is what the sender's
/// clock shows when the runtime's shows 0: by it the receiver is told when a frame was handed over.
///
/// # Errors
/// If a frame cannot be sent, which is the encoder's fault, the source cannot be read, or the path ends.
pub async fn send(
    path: &MediaPath,
    source: &Source,
    mut encoder: impl Encoder,
    frame_time: Duration,
    clock: Duration,
    until: Time,
    mut note: impl FnMut(Noted),
) -> Result<(), LiveError> {
    let runtime = path.runtime().clone();
    let begin = runtime.now();
    for frame in 0.. {
        let at = begin + frame_time * frame;
        if at >= until {
            break;
        }
        let mut sleep = runtime.sleep_until(at);
        loop {
            let event = tokio::select! {
                biased;
                event = path.next_event() => event,
                () = &mut sleep => break,
            };
            match event {
                None => return Err(LiveError::Ended),
                Some(Event::Dropped { message, .. }) => {
                    note(Noted::Dropped { message, at: runtime.now() });
                }
                Some(Event::Message(_)) => {}
            }
        }
        let (handed, estimate) = (runtime.now(), path.estimate());
        let encoded = encoder.frame(frame, &estimate);
        let mut message = 0;
        let messages = source.messages(frame, &encoded, handed + clock)?;
        for (layer, (out, bytes)) in encoded.layers.iter().zip(messages).enumerate() {
            let number = path.send(STREAM, out.marking, bytes)?;
            if layer == 0 {
                message = number;
            }
        }
        note(Noted::Sent(SentFrame { frame, at: handed, encoded, message, estimate }));
    }
    Ok(())
}
