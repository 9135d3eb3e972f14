//! The end that receives.

use airlane_base::Time;
use airlane_messages::Event;
use airlane_runtime::RuntimeExt;

use super::wire::{LayerHeader, STREAM};
use super::{Decoded, Decoder, LiveError, Structure};
use crate::media_path::MediaPath;

/// A layer that has come whole.
#[derive(Clone, Debug)]
pub struct ReceivedLayer {
    /// What stood in front of it.
    pub header: LayerHeader,
    /// Its bytes, those in front included.
    pub bytes: u32,
    /// When its last packet came.
    pub at: Time,
    /// What could be decoded with it, frame by frame.
    pub decoded: Vec<Decoded>,
}

/// Receives until `until`. `note` hears of each layer.
///
/// # Errors
/// If a layer has other bytes than were sent, or the path ends before.
pub async fn receive(
    path: &MediaPath,
    structure: Structure,
    until: Time,
    mut note: impl FnMut(ReceivedLayer),
) -> Result<(), LiveError> {
    let mut decoder = Decoder::new(structure);
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
                let header = LayerHeader::read(&message.data)?;
                let mut decoded = Vec::new();
                decoder.add(header.frame, header.layer, |d| decoded.push(d));
                let bytes = u32::try_from(message.data.len()).unwrap_or(u32::MAX);
                note(ReceivedLayer { header, bytes, at: message.at, decoded });
            }
            Some(_) => {}
        }
    }
}
