//! The encoding that is forwarded, with its filter.

use super::dependency::DependencyFilter;
use super::limit::{Limit, LimitHistory};
use super::temporal::TemporalFilter;
use super::vp9::Vp9Filter;
use crate::info::{Descriptor, PacketInfo};
use crate::layer::LayerIndex;
use crate::packet::RtpPacket;

/// A choice of layers, by the rules of what describes them.
#[derive(Debug)]
enum Filter {
    Whole,
    Temporal(TemporalFilter),
    Vp9(Vp9Filter),
    Dependency(Box<DependencyFilter>),
}

/// An encoding that is forwarded.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) encoding: u8,
    filter: Filter,
    limit: Limit,
    limits: LimitHistory,
}

impl Stream {
    /// A stream that begins with this packet of an encoding.
    pub(super) fn new(info: &PacketInfo, encoding: u8) -> Self {
        let filter = match &info.descriptor {
            Descriptor::Whole => Filter::Whole,
            Descriptor::Vp8(_) => Filter::Temporal(TemporalFilter::default()),
            Descriptor::Vp9(_) => Filter::Vp9(Vp9Filter::default()),
            Descriptor::Dependency(_) => Filter::Dependency(Box::default()),
        };
        Self { encoding, filter, limit: Limit::Whole, limits: LimitHistory::default() }
    }

    /// Limit for a packet that comes in order, which may change it.
    pub(super) fn advance(
        &mut self,
        packet: &RtpPacket<'_>,
        info: &PacketInfo,
        want: LayerIndex,
    ) -> Limit {
        self.limit = match (&mut self.filter, &info.descriptor) {
            (Filter::Temporal(filter), Descriptor::Vp8(vp8)) => {
                filter.update(packet.timestamp, vp8, want.temporal);
                Limit::Temporal(filter.temporal)
            }
            (Filter::Vp9(filter), Descriptor::Vp9(vp9)) => {
                filter.update(packet.timestamp, vp9, want);
                Limit::Layers { layer: filter.layer, top: filter.top }
            }
            (Filter::Dependency(filter), Descriptor::Dependency(frame)) => {
                filter.update(packet.timestamp, frame, want);
                Limit::Target { target: filter.target, active: filter.active }
            }
            _ => Limit::Whole,
        };
        self.limits.push(packet.sequence, self.limit);
        self.limit
    }

    /// Limit that held when a packet was due that comes late.
    pub(super) fn limit_at(&self, sequence: u64) -> Option<Limit> {
        self.limits.at(sequence)
    }

    /// Notes a packet that comes in order and is not forwarded.
    pub(super) fn leave_out(&mut self, info: &PacketInfo) {
        if let (Filter::Vp9(filter), Descriptor::Vp9(vp9)) = (&mut self.filter, &info.descriptor) {
            filter.leave_out(vp9);
        }
    }

    /// Notes a packet that is forwarded.
    pub(super) fn note_forwarded(&mut self, info: &PacketInfo) {
        if let (Filter::Dependency(filter), Descriptor::Dependency(frame)) =
            (&mut self.filter, &info.descriptor)
        {
            filter.note_forwarded(frame);
        }
    }

    /// The wanted layer can be reached by a key frame of this encoding alone.
    pub(super) fn awaits_key_frame(&self) -> bool {
        match &self.filter {
            Filter::Whole | Filter::Temporal(_) => false,
            Filter::Vp9(filter) => filter.awaits_key_frame,
            Filter::Dependency(filter) => filter.awaits_key_frame,
        }
    }

    /// Layer that is forwarded, within the encoding.
    pub(super) fn layer(&self) -> LayerIndex {
        match &self.filter {
            Filter::Whole => LayerIndex::LOWEST,
            Filter::Temporal(filter) => LayerIndex::new(0, filter.temporal),
            Filter::Vp9(filter) => filter.layer,
            Filter::Dependency(filter) => filter.layer(),
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let filter = match &self.filter {
            Filter::Dependency(_) => size_of::<DependencyFilter>(),
            _ => 0,
        };
        filter + self.limits.heap_bytes()
    }
}
