//! One encoding: what its encoder makes, and how good that is.

use std::io::{self, Seek, SeekFrom, Write};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use airlane_base::Rate;
use airlane_media::layers::{self, GOP, LAYERS, Layer};
use airlane_media::vp9;
use airlane_vpx::{Decoder, Encoder, Library, Settings};
use serde_json::{Value, json};
use tempfile::NamedTempFile;

use super::EncodingReport;
use super::ssim::{Ssim, decibels};
use crate::codec::Speed;
use crate::error::PackError;
use crate::probe::Source;

/// An encoding that is being made.
pub(super) struct Encoding {
    /// The rate that the encoder is told.
    pub(super) target: Rate,
    /// Layers that it has made, by frame and layer.
    pub(super) frames: Vec<[Layer; LAYERS]>,
    encoder: Encoder,
    decoder: Decoder,
    width: usize,
    /// The bytes of all layers.
    file: NamedTempFile,
}

impl Encoding {
    pub(super) fn begin(
        library: &Arc<Library>,
        source: &Source,
        target: Rate,
        speed: Speed,
        file: NamedTempFile,
    ) -> Result<Self, PackError> {
        let layer_kbps = layers::layer_kbps((target.as_f64() / 1e3).round() as u32);
        let settings = Settings {
            width: source.width,
            height: source.height,
            frames: source.fps.frames,
            seconds: source.fps.seconds,
            gop: GOP,
            layer_kbps: layer_kbps.to_vec(),
            speed: match speed {
                Speed::Fast => 8,
                Speed::Normal => 7,
                Speed::Slow => 5,
            },
            // The source is decoded to these: the filters convert range and shape.
            is_full_range: false,
            shown_size: None,
        };
        let (encoder, decoder) = (Encoder::new(library, settings)?, Decoder::new(library)?);
        let width = source.width as usize;
        Ok(Self { target, frames: Vec::new(), encoder, decoder, width, file })
    }

    /// Encodes a picture, and decodes it layer by layer.
    fn add(&mut self, picture: &[u8], ssim: &mut Ssim) -> Result<(), PackError> {
        let number = self.frames.len();
        let superframe = self.encoder.encode(picture)?;
        let unexpected = |found: &str| PackError::Unexpected {
            what: format!("frame {number} at {:.0} kbit/s", self.target.as_f64() / 1e3),
            found: found.to_owned(),
            expected: format!("expected {LAYERS} layers that can be shown one by one"),
        };
        let layers = vp9::frames_of(&superframe).filter(|layers| layers.len() == LAYERS);
        let layers = layers.ok_or_else(|| unexpected("it has other layers"))?;
        let luma = &picture[..picture.len() / 3 * 2];
        let mut made = [Layer { bytes: 0, ssim_db: 0.0 }; LAYERS];
        for (layer, made) in layers.iter().zip(&mut made) {
            let shown = self.decoder.decode(layer)?;
            let value = shown.and_then(|shown| ssim.of(luma, self.width, &shown));
            let value = value.ok_or_else(|| unexpected("a layer shows no picture of its size"))?;
            vp9::hide(layer, self.width as u32)
                .map_err(|e| unexpected(&format!("a layer is {e}")))?;
            made.bytes = u32::try_from(layer.len()).unwrap_or(u32::MAX);
            // Two more digits than the tables have that come with Airlane, and few bytes.
            made.ssim_db = (decibels(value) * 1e4).round() / 1e4;
        }
        for layer in layers {
            self.file.write_all(layer).map_err(PackError::io("write", self.file.path()))?;
        }
        self.frames.push(made);
        Ok(())
    }

    /// Bytes of all layers.
    pub(super) fn bytes(&self) -> u64 {
        self.frames.iter().flatten().map(|layer| u64::from(layer.bytes)).sum()
    }

    pub(super) fn report(&self, fps: f64) -> EncodingReport {
        let count = self.frames.len().max(1) as f64;
        let mut below = 0.0;
        let rates = std::array::from_fn(|layer| {
            below += self.frames.iter().map(|f| f64::from(f[layer].bytes)).sum::<f64>();
            Rate::from_bps_f64(below * 8.0 * fps / count)
        });
        let ssim_db = std::array::from_fn(|layer| {
            self.frames.iter().map(|frame| frame[layer].ssim_db).sum::<f64>() / count
        });
        EncodingReport { target: self.target, rates, ssim_db }
    }

    /// Entry of the encoding in the table of layers.
    pub(super) fn table(&self, fps: f64) -> Value {
        let bytes: Vec<_> = self.frames.iter().map(|f| f.map(|layer| layer.bytes)).collect();
        let ssim_db: Vec<_> = self.frames.iter().map(|f| f.map(|layer| layer.ssim_db)).collect();
        json!({
            "target_bps": self.target.bps(),
            "layer_bps": self.report(fps).rates.map(|rate| rate.bps()),
            "bytes": bytes,
            "ssim_db": ssim_db,
        })
    }

    /// Copies the bytes of all layers.
    pub(super) fn copy_to(&mut self, to: &mut impl Write) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(0))?;
        io::copy(&mut self.file, to).map(|_| ())
    }
}

/// Encodes all pictures that come.
pub(super) fn encode(
    mut encoding: Encoding,
    pictures: &Receiver<Arc<Vec<u8>>>,
) -> Result<Encoding, PackError> {
    let mut ssim = Ssim::default();
    for picture in pictures {
        encoding.add(&picture, &mut ssim)?;
    }
    Ok(encoding)
}
