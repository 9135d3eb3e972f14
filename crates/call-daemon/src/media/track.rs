//! Track that a client publishes: its line, and the streams of its encodings.

use str0m::format::PayloadParams;
use str0m::media::{KeyframeRequestKind, MediaKind, Mid, Rid};
use str0m::rtp::{RtpPacket, Ssrc};
use str0m::Rtc;

use super::session::Session;

/// Encodings of a track at most.
pub(crate) const MAX_ENCODINGS: usize = 4;

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
}

/// Packet of a track.
pub(crate) struct TrackPacket<'a> {
    pub(crate) packet: &'a RtpPacket,
    pub(crate) kind: MediaKind,
    /// Codec, as the publisher has it.
    pub(crate) params: PayloadParams,
    /// Index of the encoding.
    pub(crate) encoding: u8,
    /// True if the stream has another codec, or another SSRC, than the packet before.
    pub(crate) is_new_stream: bool,
}

impl Track {
    /// The track of a line, if the client sends on it.
    pub(crate) fn of(rtc: &Rtc, mid: Mid, kind: MediaKind) -> Option<Self> {
        let media = rtc.media(mid).filter(|media| media.direction().is_receiving())?;
        let rids = match media.rids_rx() {
            str0m::media::Rids::Specific(rids) => rids.iter().copied().take(MAX_ENCODINGS).collect(),
            _ => Vec::new(),
        };
        Some(Self { kind, mid, rids, streams: [None; MAX_ENCODINGS], params: None })
    }

    /// Takes note of a packet of this track. `None` if its encoding or codec is unknown.
    pub(crate) fn packet<'a>(
        &mut self,
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
        let is_new_codec = self.params.is_some_and(|before| before.spec() != params.spec());
        self.params = Some(params);
        let is_new_stream = is_new_ssrc || is_new_codec;
        let encoding = encoding as u8;
        Some(TrackPacket { packet, kind: self.kind, params, encoding, is_new_stream })
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

    /// Codec of the last packet.
    pub(crate) fn params(&self) -> Option<PayloadParams> {
        self.params
    }

    /// Number of encodings.
    pub(crate) fn encodings(&self) -> usize {
        self.rids.len().max(1)
    }

    /// Asks the client for a key frame of an encoding (PLI, RFC 4585, section 6.3.1).
    pub(crate) fn request_key_frame(&self, session: &mut Session, encoding: u8) {
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
