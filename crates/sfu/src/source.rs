//! A published track: its descriptors are read and its layers measured once for all receivers.

use std::sync::Arc;

use airlane_base::Time;

use crate::dependency::{DecodeTargetIndication, DependencyDescriptor};
use crate::error::DescriptorError;
use crate::info::{DescribedFrame, DescribedStructure, Descriptor, PacketInfo};
use crate::layer::{Codec, LayerIndex, MAX_SPATIAL_LAYERS};
use crate::layer_table::LayerTable;
use crate::meter::{LayerMeter, MeteredPacket, RTP_HEADER_BYTES};
use crate::packet::RtpPacket;
use crate::vp8::Vp8Descriptor;
use crate::vp9::Vp9Descriptor;

/// A published track as it was negotiated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SourceConfig {
    /// Codec of the track.
    pub codec: Codec,
    /// Number of simulcast encodings (rids): 1 without simulcast, at most [`MAX_SPATIAL_LAYERS`].
    pub encodings: u8,
}

impl SourceConfig {
    pub(crate) fn is_simulcast(self) -> bool {
        self.encodings > 1
    }
}

/// A published track.
#[derive(Debug)]
pub struct Source {
    config: SourceConfig,
    meter: LayerMeter,
    sequences: [CodedSequence; MAX_SPATIAL_LAYERS],
}

/// Template structures of an encoding.
#[derive(Default, Debug)]
struct CodedSequence {
    current: Option<SequenceStructure>,
    /// The one before, for packets that come late.
    previous: Option<SequenceStructure>,
    /// Highest sequence number of a packet that could not be read for want of a structure.
    unread: Option<u64>,
}

#[derive(Clone, Debug)]
struct SequenceStructure {
    structure: Arc<DescribedStructure>,
    /// Sequence number of the packet that brought it.
    from: u64,
    active: u32,
    /// Sequence number of the packet that brought `active`.
    active_from: u64,
}

impl Source {
    /// A track of which nothing has come.
    pub fn new(config: SourceConfig) -> Self {
        Self { config, meter: LayerMeter::default(), sequences: Default::default() }
    }

    /// Settings of the track.
    pub fn config(&self) -> SourceConfig {
        self.config
    }

    /// Reads a packet's descriptor and counts its bytes.
    ///
    /// # Errors
    ///
    /// A malformed descriptor, or one that needs a template structure that did not come
    /// ([`Source::wants_key_frame`]). The packet cannot be forwarded.
    pub fn observe(&mut self, packet: &RtpPacket<'_>) -> Result<PacketInfo, DescriptorError> {
        if packet.encoding >= self.config.encodings.min(MAX_SPATIAL_LAYERS as u8) {
            return Err(DescriptorError::UnknownEncoding(packet.encoding));
        }
        let mut info = match self.config.codec {
            Codec::Opus => whole(),
            // With dependency descriptors Chromium leaves the layer out of the payload descriptor.
            Codec::Vp8 if packet.dependency_descriptor.is_none() => vp8(packet)?,
            Codec::Vp9 => self.vp9(packet)?,
            Codec::Vp8 | Codec::Av1 => self.described(packet)?,
        };
        if self.config.is_simulcast() {
            info.layer.spatial = packet.encoding;
        }
        let receivers = self.receivers(&info);
        let descriptor_bytes = packet.dependency_descriptor.map_or(0, <[u8]>::len);
        let bytes = packet.payload.len() + descriptor_bytes + RTP_HEADER_BYTES;
        self.meter.add(MeteredPacket { layer: info.layer, receivers, bytes }, packet.arrived);
        info.spatial_layers = self.meter.spatial_layers(packet.arrived);
        Ok(info)
    }

    /// Layers that the track has at the moment, with their bitrates over the last second.
    pub fn layers(&mut self, now: Time) -> LayerTable {
        self.meter.table(now)
    }

    /// Index of an encoding of which packets came that only a key frame makes readable.
    pub fn wants_key_frame(&self) -> Option<u8> {
        let place = self.sequences.iter().position(|sequence| sequence.unread.is_some());
        place.map(|place| place as u8)
    }

    /// Bytes that the source holds.
    pub fn state_bytes(&self) -> usize {
        let kept = |sequence: &CodedSequence| {
            let structures = [&sequence.current, &sequence.previous].into_iter().flatten();
            structures.map(|kept| kept.structure.heap_bytes()).sum::<usize>()
        };
        size_of::<Self>() + self.sequences.iter().map(kept).sum::<usize>()
    }

    /// Layers whose receivers get a packet, by their places.
    fn receivers(&self, info: &PacketInfo) -> u16 {
        let is_part = |layer: &LayerIndex| match self.config.is_simulcast() {
            true => info.layer.spatial == layer.spatial && info.layer.temporal <= layer.temporal,
            false => info.is_part_of(*layer),
        };
        LayerIndex::all().filter(is_part).fold(0, |mask, layer| mask | 1 << layer.place())
    }

    fn vp9(&mut self, packet: &RtpPacket<'_>) -> Result<PacketInfo, DescriptorError> {
        let descriptor = Vp9Descriptor::parse(packet.payload)?;
        let layer = LayerIndex::new(descriptor.spatial, descriptor.temporal);
        if let Some(structure) = &descriptor.structure
            && !self.config.is_simulcast()
        {
            for spatial in 0..structure.spatial_layers {
                self.meter.announce(spatial, packet.arrived);
            }
        }
        Ok(PacketInfo {
            layer,
            is_key_frame: !descriptor.is_inter_predicted,
            begins_frame: descriptor.begins_frame,
            ends_frame: descriptor.ends_frame,
            is_discardable: layer.temporal > 0 && layer.temporal >= self.meter.max_temporal(),
            spatial_layers: 0,
            descriptor: Descriptor::Vp9(descriptor),
        })
    }

    fn described(&mut self, packet: &RtpPacket<'_>) -> Result<PacketInfo, DescriptorError> {
        let bytes = packet.dependency_descriptor.ok_or(DescriptorError::Missing)?;
        let sequence = &mut self.sequences[usize::from(packet.encoding)];
        let frame = sequence.frame(bytes, packet.sequence)?;
        if frame.descriptor.structure.is_some() && !self.config.is_simulcast() {
            let targets = frame.structure.targets.iter().enumerate();
            for (_, target) in targets.filter(|(place, _)| frame.active >> place & 1 == 1) {
                self.meter.announce(target.spatial, packet.arrived);
            }
        }
        let used = (0..frame.structure.targets.len()).map(|target| frame.indication(target));
        let mut used = used.filter(|indication| *indication != DecodeTargetIndication::NotPresent);
        Ok(PacketInfo {
            layer: LayerIndex::new(frame.spatial, frame.temporal),
            is_key_frame: frame.frame_distances().is_empty(),
            begins_frame: frame.descriptor.begins_frame,
            ends_frame: frame.descriptor.ends_frame,
            is_discardable: used.all(|i| i == DecodeTargetIndication::Discardable),
            spatial_layers: 0,
            descriptor: Descriptor::Dependency(frame),
        })
    }
}

/// Facts about a packet that is a frame of its own.
fn whole() -> PacketInfo {
    PacketInfo {
        layer: LayerIndex::LOWEST,
        is_key_frame: true,
        begins_frame: true,
        ends_frame: true,
        is_discardable: true,
        spatial_layers: 0,
        descriptor: Descriptor::Whole,
    }
}

fn vp8(packet: &RtpPacket<'_>) -> Result<PacketInfo, DescriptorError> {
    let descriptor = Vp8Descriptor::parse(packet.payload)?;
    Ok(PacketInfo {
        layer: LayerIndex::new(0, descriptor.temporal),
        is_key_frame: descriptor.is_key_frame,
        begins_frame: descriptor.begins_frame,
        ends_frame: packet.marker,
        is_discardable: descriptor.is_discardable,
        spatial_layers: 0,
        descriptor: Descriptor::Vp8(descriptor),
    })
}

impl CodedSequence {
    /// The frame of a packet, read by the structure that held when it was sent.
    fn frame(&mut self, bytes: &[u8], sequence: u64) -> Result<DescribedFrame, DescriptorError> {
        let frame = self.try_frame(bytes, sequence);
        let is_unread = matches!(
            frame,
            Err(DescriptorError::NoStructure | DescriptorError::UnknownTemplate(_))
        );
        if is_unread {
            self.unread = self.unread.max(Some(sequence));
        }
        frame
    }

    fn try_frame(
        &mut self,
        bytes: &[u8],
        sequence: u64,
    ) -> Result<DescribedFrame, DescriptorError> {
        let is_old = self.current.as_ref().is_some_and(|current| sequence < current.from);
        let known = if is_old { &mut self.previous } else { &mut self.current };
        let known_structure = known.as_ref().map(|known| &*known.structure.structure);
        let descriptor = DependencyDescriptor::decode(bytes, known_structure)?;
        let own = descriptor.structure.as_ref().map(|structure| {
            let targets = structure.targets();
            Arc::new(DescribedStructure { structure: structure.clone(), targets })
        });
        let structure = own.clone().or_else(|| known.as_ref().map(|k| k.structure.clone()));
        let structure = structure.ok_or(DescriptorError::NoStructure)?;
        let template = descriptor.template(&structure.structure)?;
        let (spatial, temporal) = (template.spatial, template.temporal);
        let mut active = descriptor.active_decode_targets;
        match own {
            Some(structure) => {
                let all = structure.structure.all_targets();
                let active = *active.get_or_insert(all);
                let new =
                    SequenceStructure { structure, from: sequence, active, active_from: sequence };
                self.replace(new, is_old);
            }
            None => {
                if let Some(known) = known {
                    if let Some(active) = active
                        && sequence >= known.active_from
                    {
                        (known.active, known.active_from) = (active, sequence);
                    }
                    active.get_or_insert(known.active);
                }
            }
        }
        let active = active.unwrap_or(u32::MAX) & structure.structure.all_targets();
        Ok(DescribedFrame { descriptor, structure, spatial, temporal, active })
    }

    fn replace(&mut self, new: SequenceStructure, is_old: bool) {
        if self.unread.is_some_and(|unread| unread < new.from) {
            self.unread = None;
        }
        if is_old {
            self.previous = Some(new);
            return;
        }
        // A retransmission of the packet that brought the structure in use changes nothing.
        if self.current.as_ref().is_none_or(|current| current.from != new.from) {
            self.previous = self.current.replace(new);
        }
    }
}
