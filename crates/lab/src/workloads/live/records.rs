//! What became of every frame, and what a viewer saw.

use std::collections::BTreeMap;

use airlane_base::Time;
use airlane_live::{LayerSet, ReceivedLayer, SentFrame, Structure};
use airlane_media::layers::LayeredVideo;

use super::Video;

/// A frame that was captured.
#[derive(Clone, Debug)]
pub(super) struct FrameRecord {
    /// Its number.
    pub(super) number: u32,
    /// Time at which it was handed over to be sent, which is when it was captured.
    pub(super) handed: Time,
    /// Rate that the sender estimated for the path, bits/s; `None` before its first estimate.
    pub(super) estimate_bps: Option<f64>,
    /// Its layers, the lowest first.
    pub(super) layers: Vec<LayerRecord>,
    /// Record of its decoding; `None` if it was never decoded.
    pub(super) shown: Option<ShownFrame>,
}

/// A layer that was handed over.
#[derive(Clone, Copy, Debug)]
pub(super) struct LayerRecord {
    pub(super) bytes: u32,
    pub(super) fate: LayerOutcome,
}

/// Outcome of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LayerOutcome {
    /// It came.
    Came(Time),
    /// The sender's own buffer dropped it.
    DroppedHere(Time),
    /// It left, at least in part, and did not come: since then later ones came, if any did.
    DroppedThere(Option<Time>),
}

/// Record of a frame that was decoded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ShownFrame {
    /// Time at which the frame could be decoded.
    pub(super) first: Time,
    /// Time at which the last of the layers that were decoded of it had arrived.
    pub(super) last: Time,
    /// Its layers that were decoded.
    pub(super) layers: LayerSet,
    /// Its SSIM in dB.
    pub(super) ssim_db: f64,
}

/// Notes of both ends, as one record per frame.
pub(super) fn of_layers(
    sent: &[SentFrame],
    dropped_here: &BTreeMap<u32, Time>,
    received: &[ReceivedLayer],
    video: Video,
    clip: &LayeredVideo,
) -> Vec<FrameRecord> {
    let mut came: BTreeMap<(u32, u8), Time> = BTreeMap::new();
    let mut shown: BTreeMap<u32, (Time, Time, LayerSet)> = BTreeMap::new();
    for layer in received {
        came.insert((layer.header.frame, layer.header.layer), layer.at);
        for decoded in &layer.decoded {
            let entry = shown.entry(decoded.frame).or_insert((layer.at, layer.at, decoded.layers));
            (entry.1, entry.2) = (layer.at, decoded.layers);
        }
    }
    // The first time at which something later than a layer had come: seen from the end.
    let mut overtaken: BTreeMap<(u32, u8), Time> = BTreeMap::new();
    let mut earliest: Option<Time> = None;
    for frame in sent.iter().rev() {
        for layer in (0..frame.encoded.layers.len() as u8).rev() {
            let key = (frame.frame, layer);
            if let Some(at) = earliest {
                overtaken.insert(key, at);
            }
            if let Some(&at) = came.get(&key) {
                earliest = Some(earliest.map_or(at, |e| e.min(at)));
            }
        }
    }
    let records = sent.iter().map(|frame| {
        let layers = frame.encoded.layers.iter().enumerate().map(|(layer, encoded)| {
            let key = (frame.frame, layer as u8);
            let message = frame.message.wrapping_add(layer as u32);
            let fate = match (came.get(&key), dropped_here.get(&message)) {
                (Some(at), _) => LayerOutcome::Came(*at),
                (None, Some(at)) => LayerOutcome::DroppedHere(*at),
                (None, None) => LayerOutcome::DroppedThere(overtaken.get(&key).copied()),
            };
            LayerRecord { bytes: encoded.bytes, fate }
        });
        FrameRecord {
            number: frame.frame,
            handed: frame.at,
            estimate_bps: frame.estimate.bandwidth.map(|rate| rate.as_f64()),
            layers: layers.collect(),
            shown: shown.get(&frame.frame).map(|&(first, last, layers)| ShownFrame {
                first,
                last,
                layers,
                ssim_db: ssim_db(video, clip, frame.encoded.encoding, frame.frame, layers),
            }),
        }
    });
    records.collect()
}

/// SSIM in dB of a frame of the clip with these layers.
fn ssim_db(video: Video, clip: &LayeredVideo, encoding: u8, frame: u32, layers: LayerSet) -> f64 {
    match video {
        Video::Quality => clip.quality.as_ref().map_or(0.0, |table| {
            // They are the lowest ones.
            let highest = usize::from(layers.count()).saturating_sub(1);
            table.frame(usize::from(encoding), frame)[highest].ssim_db
        }),
        Video::Volumetric => match (&clip.clouds, video.structure(clip)) {
            (Some(table), Some(Structure::Clouds(cells))) => table.ssim_db(&cells.counts(layers)),
            _ => 0.0,
        },
        Video::FrameRate => clip.temporal.as_ref().map_or(0.0, |table| table.frame(frame).ssim_db),
    }
}
