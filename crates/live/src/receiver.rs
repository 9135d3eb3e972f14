//! The end that receives.

use airlane_base::Time;
use airlane_messages::Event;
use airlane_runtime::RuntimeExt;
use bytes::Bytes;

use super::wire::{Answer, Coding, LayerHeader, STREAM};
use super::{Decoded, Decoder, LiveError};
use crate::media_path::MediaPath;

/// A layer that has come whole.
#[derive(Clone, Debug)]
pub struct ReceivedLayer {
    /// Header in front of it.
    pub header: LayerHeader,
    /// Its bytes, those in front included.
    pub bytes: u32,
    /// Its bytes behind the header, if they are not a pattern.
    pub body: Bytes,
    /// Time at which its last packet came.
    pub at: Time,
    /// Frames that could be decoded with it, in order.
    pub decoded: Vec<Decoded>,
}

/// Receives what the sender answered that it sends, until `until`. `note` hears of each layer.
///
/// # Errors
/// If a layer has other bytes than were sent, or the path ends before.
pub async fn receive(
    path: &MediaPath,
    answer: Answer,
    until: Time,
    mut note: impl FnMut(ReceivedLayer),
) -> Result<(), LiveError> {
    let mut decoder = Decoder::new(answer.structure);
    let mut end = path.runtime().sleep_until(until);
    loop {
        let event = tokio::select! {
            biased;
            () = &mut end => return Ok(()),
            event = path.next_event() => event,
        };
        match event {
            None => return Err(LiveError::Ended),
            Some(Event::Message(message)) if message.stream == STREAM => {
                let (header, body) = match answer.coding {
                    Coding::Pattern => (LayerHeader::read(&message.data)?, Bytes::new()),
                    Coding::Vp9 => {
                        let (header, body) = LayerHeader::split(&message.data)?;
                        (header, message.data.slice_ref(body))
                    }
                };
                let mut decoded = Vec::new();
                decoder.add(header.frame, header.layer, |d| decoded.push(d));
                let bytes = u32::try_from(message.data.len()).unwrap_or(u32::MAX);
                note(ReceivedLayer { header, bytes, body, at: message.at, decoded });
            }
            Some(_) => {}
        }
    }
}
