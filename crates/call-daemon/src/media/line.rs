//! Line on which a client receives: one stream, whatever its source is at the moment.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::Time;
use airlane_pdu_set::{PduSetImportance, PduSetMark};
use airlane_sfu::pdu_set::{PduSetMarker, is_droppable};
use airlane_sfu::{Forwarder, ForwarderConfig, LayerIndex};
use str0m::Rtc;
use str0m::format::PayloadParams;
use str0m::media::{MediaKind, Mid, Pt};
use str0m::rtp::{ExtensionValues, RtpWrite, SeqNo};

use super::answerer::RTX_PACKETS;
use super::continuity::{Continuity, PacketNumbers};
use super::extension::{self, DescriptorBytes, Mark};
use super::session::Session;
use super::track::TrackPacket;
use crate::clock::Clock;

/// Bytes of a packet's RTP header with extensions, and of SRTP's tag.
const RTP_BYTES: u64 = 30;
/// Age of packets that are sent again, and share of the bytes that they may take.
const RTX_AGE: Duration = Duration::from_secs(3);
const RTX_SHARE: f32 = 0.15;

/// Line on which a client receives.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) mid: Mid,
    continuity: Continuity,
    /// Choice of the source's layers; `None` before its first packet, and where all of it is forwarded.
    forwarder: Option<Forwarder>,
    /// Layer that is to be forwarded; `None`: nothing.
    target: Option<LayerIndex>,
    /// Payload type at the client of a codec at the publisher.
    payload: Option<(PayloadParams, Option<Pt>)>,
    /// Bytes of RTP packets that were forwarded.
    pub(crate) forwarded_bytes: u64,
    /// Marker of PDU Sets; `None`: they are not marked.
    marker: Option<PduSetMarker>,
}

/// Packet as it leaves, but for the numbers of the line's earlier sources.
struct Outgoing<'a> {
    numbers: PacketNumbers,
    marker: bool,
    payload: Arc<[u8]>,
    descriptor: Option<Cow<'a, [u8]>>,
}

impl Line {
    /// The line of a media line, if the client receives on it.
    pub(crate) fn of(rtc: &Rtc, mid: Mid, kind: MediaKind) -> Option<Self> {
        let media = rtc.media(mid).filter(|media| media.direction().is_sending())?;
        let has_marks = media.remote_extmap().id_of(extension::pdu_set_mark()).is_some();
        let clock_hz = if kind == MediaKind::Audio { 48_000 } else { 90_000 };
        Some(Self {
            mid,
            continuity: Continuity::new(clock_hz),
            forwarder: None,
            target: Some(LayerIndex::HIGHEST),
            payload: None,
            forwarded_bytes: 0,
            marker: has_marks.then(PduSetMarker::default),
        })
    }

    /// Takes the next packet for the first one of another source.
    pub(crate) fn begin_source(&mut self) {
        self.continuity.begin_source();
        self.forwarder = None;
    }

    /// Sets the layer that is forwarded; `None`: nothing.
    pub(crate) fn set_target(&mut self, target: Option<LayerIndex>) {
        self.target = target;
        if let Some(forwarder) = &mut self.forwarder {
            forwarder.set_target(target);
        }
    }

    /// Layer that is to be forwarded.
    pub(crate) fn target(&self) -> Option<LayerIndex> {
        self.target
    }

    /// Encoding whose key frame the client waits for.
    pub(crate) fn wants_key_frame(&self) -> Option<u8> {
        self.forwarder.as_ref().and_then(Forwarder::wants_key_frame)
    }

    /// Encoding that the client gets, or waits for.
    pub(crate) fn encoding(&self) -> u8 {
        let forwarder = self.forwarder.as_ref();
        let current = forwarder.filter(|of| of.is_simulcast()).and_then(Forwarder::layer);
        self.wants_key_frame().or(current.map(|layer| layer.spatial)).unwrap_or(0)
    }

    /// Forwards a packet to the client, if it is to have it.
    pub(crate) fn forward(
        &mut self,
        session: &mut Session,
        (clock, now): (Clock, Time),
        from: &TrackPacket<'_>,
    ) {
        let Some(pt) = self.payload_type(session, from.params) else { return };
        if from.is_new_stream {
            self.begin_source();
        }
        let Some(outgoing) = self.outgoing(from) else { return };
        let Some(numbers) = self.continuity.map(now, outgoing.numbers) else { return };
        let values = &from.packet.header.ext_vals;
        let mut extensions = ExtensionValues {
            audio_level: values.audio_level,
            voice_activity: values.voice_activity,
            video_orientation: values.video_orientation,
            ..ExtensionValues::default()
        };
        if let Some(bytes) = outgoing.descriptor {
            extensions.user_values.set(DescriptorBytes(bytes.into_owned()));
        }
        self.forwarded_bytes += outgoing.payload.len() as u64 + RTP_BYTES;
        let mark = self.mark(numbers.timestamp, outgoing.marker, from);
        if let Some(mark) = mark {
            extensions.user_values.set(Mark(mark));
        }
        // What a cell drops is not sent again: it would take the room that dropping has made.
        let is_dropped = mark.is_some_and(|mark| is_droppable(mark.importance));
        let (sequence, wallclock) = (SeqNo::from(numbers.sequence), clock.instant(now));
        let rtp = RtpWrite::new(pt, sequence, numbers.timestamp, wallclock, outgoing.payload)
            .marker(outgoing.marker)
            .nackable(from.kind == MediaKind::Video && !is_dropped)
            .ext_vals(extensions);
        let mid = self.mid;
        session.call(|rtc| {
            if let Some(stream) = rtc.direct_api().stream_tx_by_mid(mid, None) {
                if mark.is_some_and(begins_key_picture) {
                    // Nor what it drops for a key frame.
                    stream.set_rtx_cache(RTX_PACKETS, RTX_AGE, Some(RTX_SHARE));
                }
                stream.write_rtp(rtp);
            }
        });
    }

    /// Mark of a packet as it goes out, where it is known what the packet is.
    fn mark(&mut self, timestamp: u32, marker: bool, from: &TrackPacket<'_>) -> Option<PduSetMark> {
        let (_, info) = from.layered.as_ref()?;
        self.marker.as_mut()?.mark(timestamp, marker, info)
    }

    fn outgoing<'a>(&mut self, from: &'a TrackPacket<'_>) -> Option<Outgoing<'a>> {
        let packet = from.packet;
        let Some((config, info)) = &from.layered else {
            let numbers =
                PacketNumbers { sequence: *packet.seq_no, timestamp: packet.header.timestamp };
            let descriptor = packet.header.ext_vals.user_values.get::<DescriptorBytes>();
            return Some(Outgoing {
                numbers,
                marker: packet.header.marker,
                payload: packet.payload.clone(),
                descriptor: descriptor.map(|bytes| Cow::Borrowed(bytes.0.as_slice())),
            });
        };
        let target = self.target;
        let forwarder = self.forwarder.get_or_insert_with(|| {
            let (codec, encodings) = (config.codec, config.encodings);
            // Behind it come the numbers of the line.
            let mut made = Forwarder::new(ForwarderConfig { codec, encodings, first_sequence: 1 });
            made.set_target(target);
            made
        });
        let rtp = from.rtp();
        let forwarded = forwarder.forward(&rtp, info)?;
        let payload = match forwarded.payload {
            Cow::Borrowed(bytes) if bytes.len() == packet.payload.len() => packet.payload.clone(),
            changed => Arc::from(&*changed),
        };
        let descriptor =
            forwarded.dependency_descriptor.map(|bytes| Cow::Owned(bytes.into_owned()));
        Some(Outgoing {
            numbers: PacketNumbers { sequence: forwarded.sequence, timestamp: forwarded.timestamp },
            marker: forwarded.marker,
            payload,
            descriptor,
        })
    }

    /// Payload type of the publisher's codec at this client.
    fn payload_type(&mut self, session: &mut Session, params: PayloadParams) -> Option<Pt> {
        if let Some((_, pt)) = self.payload.filter(|(known, _)| *known == params) {
            return pt;
        }
        let mid = self.mid;
        let pt = session.call(|rtc| {
            let pt = rtc.codec_config().match_params(params)?.pt();
            rtc.media(mid)?.remote_pts().contains(&pt).then_some(pt)
        })?;
        self.payload = Some((params, pt));
        pt
    }
}

/// True for the first packet of a key picture.
fn begins_key_picture(mark: PduSetMark) -> bool {
    mark.importance == PduSetImportance::HIGHEST && mark.pdu_sequence == 0
}
