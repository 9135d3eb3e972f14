//! Track that a client publishes: its line, and the streams of its encodings.

use airlane_base::Time;
use airlane_sfu::{
    Codec, DescriptorError, KeyFrameThrottle, LayerTable, MAX_SPATIAL_LAYERS, PacketInfo, Source,
    SourceConfig,
};
use str0m::Rtc;
use str0m::format::{Codec as Negotiated, PayloadParams};
use str0m::media::{KeyframeRequestKind, MediaKind, Mid, Rid, Rids};
use str0m::rtp::{RtpPacket, Ssrc};

use super::demand::Demand;
use super::extension::DescriptorBytes;
use super::session::Session;

/// Encodings of a track at most.
const MAX_ENCODINGS: usize = MAX_SPATIAL_LAYERS;

/// Track that a client publishes.
#[derive(Debug)]
pub(crate) struct Track {
    pub(crate) kind: MediaKind,
    pub(crate) mid: Mid,
    /// Restrictions of its simulcast encodings in the offer's order; empty: it has one encoding.
    rids: Vec<Rid>,
    /// Streams, by encoding.
    streams: [Option<Ssrc>; MAX_ENCODINGS],
    /// Codec of the last packet.
    params: Option<PayloadParams>,
    /// Reader of the layers; `None` before the first packet, and of a codec without layers.
    source: Option<Source>,
    throttle: KeyFrameThrottle,
    /// Demand for its encodings.
    pub(crate) demand: Demand,
}

/// Packet of a track.
pub(crate) struct TrackPacket<'a> {
    pub(crate) packet: &'a RtpPacket,
    pub(crate) kind: MediaKind,
    /// Time at which it arrived.
    pub(crate) arrived: Time,
    /// Codec, as the publisher has it.
    pub(crate) params: PayloadParams,
    /// Layers of the track, and what they say of the packet; `None` where all of it is forwarded.
    pub(crate) layered: Option<(SourceConfig, PacketInfo)>,
    encoding: u8,
    /// True if the stream has another codec, or another SSRC, than the packet before.
    pub(crate) is_new_stream: bool,
}

impl TrackPacket<'_> {
    /// The packet as `sfu` takes it.
    pub(crate) fn rtp(&self) -> airlane_sfu::RtpPacket<'_> {
        rtp(self.packet, self.encoding, self.arrived)
    }
}

fn rtp(packet: &RtpPacket, encoding: u8, arrived: Time) -> airlane_sfu::RtpPacket<'_> {
    let descriptor = packet.header.ext_vals.user_values.get::<DescriptorBytes>();
    airlane_sfu::RtpPacket {
        encoding,
        sequence: *packet.seq_no,
        timestamp: packet.header.timestamp,
        marker: packet.header.marker,
        payload: &packet.payload,
        dependency_descriptor: descriptor.map(|bytes| bytes.0.as_slice()),
        arrived,
        captured: None,
        // str0m puts what was sent again in the place of what was lost.
        is_repeated: false,
    }
}

/// Number of encodings of a track with these restrictions.
fn encodings(rids: &[Rid]) -> u8 {
    rids.len().max(1) as u8
}

impl Track {
    /// The track of a line, if the client sends on it.
    pub(crate) fn of(now: Time, rtc: &Rtc, mid: Mid, kind: MediaKind) -> Option<Self> {
        let media = rtc.media(mid).filter(|media| media.direction().is_receiving())?;
        let rids: Vec<Rid> = match media.rids_rx() {
            Rids::Specific(rids) => rids.iter().copied().take(MAX_ENCODINGS).collect(),
            _ => Vec::new(),
        };
        let streams = [None; MAX_ENCODINGS];
        let throttle = KeyFrameThrottle::default();
        let demand = Demand::new(now, encodings(&rids));
        Some(Self { kind, mid, rids, streams, params: None, source: None, throttle, demand })
    }

    /// Takes note of a packet of this track. `None` if its encoding, codec or layer is unknown.
    pub(crate) fn packet<'a>(
        &mut self,
        now: Time,
        session: &mut Session,
        packet: &'a RtpPacket,
    ) -> Option<TrackPacket<'a>> {
        let ssrc = packet.header.ssrc;
        let known = self.streams.iter().position(|stream| *stream == Some(ssrc));
        let encoding = match known {
            Some(encoding) => encoding,
            None => self.encoding_of(session, ssrc)?,
        };
        let is_new_ssrc = self.streams[encoding].is_some() && known.is_none();
        self.streams[encoding] = Some(ssrc);
        let pt = packet.header.payload_type;
        let params = match self.params.filter(|params| params.pt() == pt) {
            Some(params) => params,
            None => session.call(|rtc| rtc.codec_config().find(|p| p.pt() == pt).copied())??,
        };
        let is_new_codec = self.params.is_none_or(|before| before.spec() != params.spec());
        self.params = Some(params);
        if is_new_ssrc || is_new_codec {
            self.source = self.source_config(params).map(Source::new);
        }
        let encoding = encoding as u8;
        let layered = match &mut self.source {
            None => None,
            Some(source) => {
                let config = source.config();
                match source.observe(&rtp(packet, encoding, now)) {
                    Ok(info) => Some((config, info)),
                    // AV1 of a sender that describes no layers: it is forwarded whole.
                    Err(DescriptorError::Missing) => {
                        self.source = None;
                        None
                    }
                    Err(e) => {
                        tracing::debug!("a packet was not forwarded: {e}");
                        return None;
                    }
                }
            }
        };
        let is_new_stream = is_new_ssrc || is_new_codec;
        let kind = self.kind;
        Some(TrackPacket { packet, kind, arrived: now, params, layered, encoding, is_new_stream })
    }

    /// Layers of a codec; `None`: it has none, or none that are read.
    fn source_config(&self, params: PayloadParams) -> Option<SourceConfig> {
        let codec = match params.spec().codec {
            Negotiated::Vp8 => Codec::Vp8,
            Negotiated::Vp9 => Codec::Vp9,
            Negotiated::Av1 => Codec::Av1,
            _ => return None,
        };
        Some(SourceConfig { codec, encodings: encodings(&self.rids) })
    }

    /// Index of the encoding of a stream that was not seen before.
    fn encoding_of(&self, session: &mut Session, ssrc: Ssrc) -> Option<usize> {
        let rid = session.call(|rtc| {
            let mut api = rtc.direct_api();
            api.stream_rx(&ssrc).map(|stream| stream.rid())
        })??;
        match rid {
            Some(rid) => self.rids.iter().position(|known| *known == rid),
            None => Some(0),
        }
    }

    /// True if a stream is of this track.
    pub(crate) fn has_stream(&self, ssrc: Ssrc) -> bool {
        self.streams.contains(&Some(ssrc))
    }

    /// Layers that the track has, or would have for whoever has room for them; `None` where all of it is forwarded.
    pub(crate) fn layers(&mut self, now: Time) -> Option<LayerTable> {
        let sent = self.source.as_mut()?.layers(now);
        Some(self.demand.layers(now, sent))
    }

    /// Encoding of which only a key frame makes packets readable.
    pub(crate) fn wants_key_frame(&self) -> Option<u8> {
        self.source.as_ref().and_then(Source::wants_key_frame)
    }

    /// Asks the client for a key frame of an encoding (PLI, RFC 4585, section 6.3.1), unless it was asked just now.
    pub(crate) fn request_key_frame(&mut self, now: Time, session: &mut Session, encoding: u8) {
        if !self.throttle.is_allowed(encoding, now) {
            return;
        }
        let rid = self.rids.get(usize::from(encoding)).copied();
        let mid = self.mid;
        session.call(|rtc| {
            if let Some(stream) = rtc.direct_api().stream_rx_by_mid(mid, rid) {
                stream.request_keyframe(KeyframeRequestKind::Pli);
            }
        });
    }

    /// Tells the client the bitrate that it may send at most (REMB).
    pub(crate) fn request_remb(&self, session: &mut Session, bps: u64) {
        let rid = self.rids.first().copied();
        let mid = self.mid;
        session.call(|rtc| {
            if let Some(stream) = rtc.direct_api().stream_rx_by_mid(mid, rid) {
                stream.request_remb(str0m::bwe::Bitrate::bps(bps));
            }
        });
    }
}
