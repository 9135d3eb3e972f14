//! Where the bytes of layers come from.

use std::sync::Arc;

use airlane_base::Time;
use airlane_media::layers::Packed;
use bytes::Bytes;

use super::wire::{Coding, HEADER_BYTES, LayerHeader};
use super::{Encoded, LiveError};

/// Source of the bytes of layers.
#[derive(Clone, Debug)]
pub enum Source {
    /// From a pattern, as many as the table says.
    Pattern,
    /// From a packed layered video.
    Packed(Arc<Packed>),
}

impl Source {
    /// Coding of the bytes.
    pub fn coding(&self) -> Coding {
        match self {
            Self::Pattern => Coding::Pattern,
            Self::Packed(_) => Coding::Vp9,
        }
    }

    /// The bytes of a message with a layer of so many bytes. In the pattern the table's sizes are those
    /// of messages, so that a stream is as large as its table says.
    pub fn message_bytes(&self, layer: usize) -> usize {
        match self {
            Self::Pattern => layer.max(HEADER_BYTES),
            Self::Packed(_) => layer + HEADER_BYTES,
        }
    }

    /// The messages of frame `frame`, which was handed over at `handed`, as it was encoded.
    ///
    /// # Errors
    /// If the file of a packed video cannot be read.
    pub(super) fn messages(
        &self,
        frame: u32,
        encoded: &Encoded,
        handed: Time,
    ) -> Result<Vec<Bytes>, LiveError> {
        let header = |layer: usize| LayerHeader {
            frame,
            layer: layer as u8,
            encoding: encoded.encoding,
            handed,
        };
        Ok(match self {
            Self::Pattern => {
                let layers = encoded.layers.iter().enumerate();
                layers.map(|(layer, out)| header(layer).message(out.bytes as usize)).collect()
            }
            // Some tens of kilobytes that the system holds in memory: no wait that tasks would notice.
            Self::Packed(video) => {
                let layers = video.frame(usize::from(encoded.encoding), frame)?;
                let layers = layers.iter().enumerate();
                layers.map(|(layer, bytes)| header(layer).message_of(bytes)).collect()
            }
        })
    }
}
