//! Line on which a client receives: one stream, whatever its source is at the moment.

use airlane_base::Time;
use str0m::format::PayloadParams;
use str0m::media::{MediaKind, Mid, Pt};
use str0m::rtp::{ExtensionValues, RtpWrite, SeqNo};
use str0m::Rtc;

use super::continuity::{Continuity, Numbers};
use super::extension::DescriptorBytes;
use super::session::Session;
use super::track::TrackPacket;
use crate::clock::Clock;

/// Line on which a client receives.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) mid: Mid,
    continuity: Continuity,
    /// Payload type at the client of a codec at the publisher.
    payload: Option<(PayloadParams, Option<Pt>)>,
    /// Payload bytes that were forwarded.
    pub(crate) forwarded_bytes: u64,
}

/// Packet with the numbers that it has on a line, before those of the line's earlier sources are taken into account.
pub(crate) struct Rewritten<'a> {
    pub(crate) numbers: Numbers,
    pub(crate) marker: bool,
    pub(crate) payload: std::sync::Arc<[u8]>,
    pub(crate) descriptor: Option<&'a [u8]>,
}

impl Line {
    /// The line of a media line, if the client receives on it.
    pub(crate) fn of(rtc: &Rtc, mid: Mid, kind: MediaKind) -> Option<Self> {
        rtc.media(mid).filter(|media| media.direction().is_sending())?;
        let clock_hz = if kind == MediaKind::Audio { 48_000 } else { 90_000 };
        let continuity = Continuity::new(clock_hz);
        Some(Self { mid, continuity, payload: None, forwarded_bytes: 0 })
    }

    /// Takes the next packet for the first one of another source.
    pub(crate) fn begin_source(&mut self) {
        self.continuity.begin_source();
    }

    /// Sends a packet to the client. False if the client does not know its codec.
    pub(crate) fn write(
        &mut self,
        session: &mut Session,
        (clock, now): (Clock, Time),
        from: &TrackPacket<'_>,
        rewritten: Rewritten<'_>,
    ) -> bool {
        let Some(pt) = self.payload_type(session, from.params) else { return false };
        let Some(numbers) = self.continuity.map(now, rewritten.numbers) else { return true };
        let values = &from.packet.header.ext_vals;
        let mut extensions = ExtensionValues {
            audio_level: values.audio_level,
            voice_activity: values.voice_activity,
            video_orientation: values.video_orientation,
            ..ExtensionValues::default()
        };
        if let Some(bytes) = rewritten.descriptor {
            extensions.user_values.set(DescriptorBytes(bytes.to_vec()));
        }
        self.forwarded_bytes += rewritten.payload.len() as u64;
        let wallclock = clock.instant(now);
        let sequence = SeqNo::from(numbers.sequence);
        let rtp = RtpWrite::new(pt, sequence, numbers.timestamp, wallclock, rewritten.payload)
            .marker(rewritten.marker)
            .nackable(from.kind == MediaKind::Video)
            .ext_vals(extensions);
        let mid = self.mid;
        session.call(|rtc| {
            if let Some(stream) = rtc.direct_api().stream_tx_by_mid(mid, None) {
                stream.write_rtp(rtp);
            }
        });
        true
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
