//! A receiver of a published track: which of its packets go out, and with which numbers.

mod dependency;
mod frame_numbers;
mod limit;
mod stream;
mod temporal;
mod timestamps;
mod vp9;

use airlane_base::Rate;

use frame_numbers::FrameNumbers;
use limit::Limit;
use stream::Stream;
use timestamps::Timestamps;

use crate::info::{Descriptor, PacketInfo};
use crate::layer::{Codec, LayerIndex, MAX_SPATIAL_LAYERS};
use crate::layer_table::LayerTable;
use crate::number_map::NumberMap;
use crate::packet::{Forwarded, RtpPacket};
use crate::picture::PictureRewriter;

/// Greatest step between sequence numbers that is taken for loss: behind a greater one a receiver could not tell how
/// often numbers wrapped, so the stream begins anew.
pub const MAX_SEQUENCE_GAP: u64 = 1 << 12;

/// A receiver of a track as it was negotiated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ForwarderConfig {
    /// Codec of the track.
    pub codec: Codec,
    /// Number of simulcast encodings (rids): 1 without simulcast, at most [`MAX_SPATIAL_LAYERS`].
    pub encodings: u8,
    /// Sequence number of the first packet that goes out. RFC 3550 wants it random; below 2^16 is best, as no wrap
    /// has been counted then.
    pub first_sequence: u64,
}

/// A receiver of a track.
///
/// It begins at a key frame, and from then on gets the best layer up to its target that the source sends. Its state
/// is bounded.
#[derive(Debug)]
pub struct Forwarder {
    config: ForwarderConfig,
    target: Option<LayerIndex>,
    stream: Option<Stream>,
    sequences: NumberMap,
    next_sequence: u64,
    timestamps: Timestamps,
    pictures: PictureRewriter,
    frames: FrameNumbers,
    /// Spatial layers, or encodings, that the source sends, the lowest bit the first.
    spatial_layers: u8,
    /// Highest sequence number of each encoding.
    newest: [Option<u64>; MAX_SPATIAL_LAYERS],
}

impl Forwarder {
    /// A receiver that has got nothing; its target is the highest layer.
    pub fn new(config: ForwarderConfig) -> Self {
        Self {
            config,
            target: Some(LayerIndex::HIGHEST),
            stream: None,
            sequences: NumberMap::new(),
            next_sequence: config.first_sequence,
            timestamps: Timestamps::new(config.codec.clock_rate()),
            pictures: PictureRewriter::new(),
            frames: FrameNumbers::default(),
            spatial_layers: 0,
            newest: [None; MAX_SPATIAL_LAYERS],
        }
    }

    /// Sets the layer that the receiver is to get; none pauses it, and it begins again at a key frame.
    pub fn set_target(&mut self, target: Option<LayerIndex>) {
        self.target = target;
        if target.is_none() {
            self.stream = None;
        }
    }

    /// Sets the target to the best layer that a bitrate has room for ([`LayerTable::choose`]); a bitrate of zero
    /// pauses the receiver. The target that follows.
    pub fn set_bitrate(&mut self, rate: Rate, layers: &LayerTable) -> Option<LayerIndex> {
        let target = (rate > Rate::ZERO).then(|| layers.choose(rate, self.target));
        self.set_target(target);
        target
    }

    /// Layer that the receiver is to get.
    pub fn target(&self) -> Option<LayerIndex> {
        self.target
    }

    /// Highest layer that the receiver gets, if the source sends it, once it has begun; with simulcast the spatial
    /// layer is the encoding.
    pub fn layer(&self) -> Option<LayerIndex> {
        let stream = self.stream.as_ref()?;
        let layer = stream.layer();
        let spatial = if self.is_simulcast() { stream.encoding } else { layer.spatial };
        Some(LayerIndex::new(spatial, layer.temporal))
    }

    /// Index of the encoding whose key frame the receiver waits for, to begin or to reach its target.
    pub fn wants_key_frame(&self) -> Option<u8> {
        let wanted = best_of(self.spatial_layers, self.target?.spatial);
        let encoding = if self.is_simulcast() { wanted } else { 0 };
        let has_it = self
            .stream
            .as_ref()
            .is_some_and(|stream| stream.encoding == encoding && !stream.awaits_key_frame());
        (!has_it).then_some(encoding)
    }

    /// The packet as the receiver is to get it, if it is.
    ///
    /// `info` is what the track's source observed of the same packet. All packets of the track must come here, those
    /// of other encodings too, in the order of their arrival. A retransmission gets the number that the original
    /// has, or would have had.
    pub fn forward<'a>(
        &mut self,
        packet: &RtpPacket<'a>,
        info: &PacketInfo,
    ) -> Option<Forwarded<'a>> {
        let newest = self.newest.get_mut(usize::from(packet.encoding))?;
        let is_newest = newest.is_none_or(|newest| packet.sequence > newest);
        if is_newest {
            *newest = Some(packet.sequence);
        }
        let target = self.target?;
        self.spatial_layers = info.spatial_layers;
        let wanted = best_of(self.spatial_layers, target.spatial);
        if self.has_jumped(packet) {
            self.stream = None;
        }
        // A receiver that began behind the first of what has come would lack the rest of the key frame.
        if is_newest && info.begins_sequence() && self.is_to_begin(packet, wanted) {
            self.begin(packet, info);
        }
        let want = self.wanted_within(wanted, target);
        let stream = self.stream.as_mut().filter(|stream| stream.encoding == packet.encoding)?;
        let is_new = self.sequences.is_new(packet.sequence);
        let limit = match is_new {
            true => stream.advance(packet, info, want),
            false => stream.limit_at(packet.sequence)?,
        };
        if !limit.admits(info) {
            if is_new {
                stream.leave_out(info);
                self.leave_out(packet, info);
            }
            return None;
        }
        stream.note_forwarded(info);
        if is_new && info.begins_sequence() {
            self.pictures.begin_key_frame(info.picture_numbers());
        }
        self.rewritten(packet, info, limit)
    }

    /// Bytes that the forwarder holds, those of template structures not counted, which it shares with the source.
    pub fn state_bytes(&self) -> usize {
        let stream = self.stream.as_ref().map_or(0, Stream::heap_bytes);
        size_of::<Self>() + stream + self.sequences.heap_bytes() + self.pictures.heap_bytes()
    }

    /// The track has several encodings.
    pub fn is_simulcast(&self) -> bool {
        self.config.encodings > 1
    }

    /// The packet is too far ahead of the last of its encoding.
    fn has_jumped(&self, packet: &RtpPacket<'_>) -> bool {
        let is_same = self.stream.as_ref().is_some_and(|s| s.encoding == packet.encoding);
        is_same && packet.sequence.saturating_sub(self.sequences.highest()) > MAX_SEQUENCE_GAP
    }

    /// The receiver is to begin, or to go on, with this first packet of a key frame.
    fn is_to_begin(&self, packet: &RtpPacket<'_>, wanted: u8) -> bool {
        match &self.stream {
            // Any encoding that is not too high is better than none.
            None => !self.is_simulcast() || packet.encoding <= wanted,
            Some(stream) => stream.encoding != packet.encoding && packet.encoding == wanted,
        }
    }

    fn begin(&mut self, packet: &RtpPacket<'_>, info: &PacketInfo) {
        self.sequences.restart(packet.sequence, self.next_sequence);
        self.timestamps.begin(packet);
        self.pictures.restart();
        self.frames.restart();
        self.stream = Some(Stream::new(info, packet.encoding));
    }

    /// Layer that is wanted within the encoding.
    fn wanted_within(&self, wanted: u8, target: LayerIndex) -> LayerIndex {
        if !self.is_simulcast() {
            return LayerIndex::new(wanted, target.temporal);
        }
        // Until a key frame of the lower encoding comes, fewer frames are what can be saved.
        let is_too_high = self.stream.as_ref().is_some_and(|stream| stream.encoding > wanted);
        LayerIndex::new(LayerIndex::HIGHEST.spatial, if is_too_high { 0 } else { target.temporal })
    }

    /// Takes a packet that comes in order out of the numbers.
    fn leave_out(&mut self, packet: &RtpPacket<'_>, info: &PacketInfo) {
        self.sequences.skip(packet.sequence);
        // Picture ids of VP9 are what references are counted in: they keep their gaps.
        if self.config.codec == Codec::Vp8 {
            self.pictures.skip(info.picture_numbers());
        }
    }

    fn rewritten<'a>(
        &mut self,
        packet: &RtpPacket<'a>,
        info: &PacketInfo,
        limit: Limit,
    ) -> Option<Forwarded<'a>> {
        let sequence = self.sequences.keep(packet.sequence)?;
        let (mut payload, mut dependency_descriptor) = (packet.payload.into(), None);
        match &info.descriptor {
            Descriptor::Whole => {}
            Descriptor::Vp8(_) | Descriptor::Vp9(_) => {
                payload = self.pictures.rewrite(packet.payload, info.picture_numbers())?;
            }
            Descriptor::Dependency(frame) => {
                let active = match limit {
                    Limit::Target { active, .. } => active,
                    _ => None,
                };
                let bytes = packet.dependency_descriptor?;
                dependency_descriptor = Some(self.frames.rewrite(bytes, frame, active));
            }
        }
        self.next_sequence = self.next_sequence.max(sequence.saturating_add(1));
        Some(Forwarded {
            sequence,
            timestamp: self.timestamps.map(packet),
            marker: packet.marker || limit.ends_picture(info),
            payload,
            dependency_descriptor,
        })
    }
}

/// The highest of some layers that is no higher than `max`, or else the lowest; 0 as long as none is known.
fn best_of(layers: u8, max: u8) -> u8 {
    let fitting = layers & (u8::MAX >> (7 - max.min(7)));
    match fitting {
        0 if layers == 0 => 0,
        0 => layers.trailing_zeros() as u8,
        fitting => fitting.ilog2() as u8,
    }
}
