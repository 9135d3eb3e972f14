//! Answers to offers: a session of str0m for each, with its credentials and codecs.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ring::rand::{SecureRandom, SystemRandom};
use str0m::bwe::Bitrate;
use str0m::config::{CryptoProvider, DtlsCert};
use str0m::ice::IceCreds;
use str0m::net::TcpType;
use str0m::{Candidate, IceConnectionState, Rtc, RtcConfig};

use super::extension;
use super::offer::{MediaLine, Offer};
use crate::error::{CallError, Refusal};

/// Bandwidth that a new downlink is taken to have.
const INITIAL_RATE: Bitrate = Bitrate::kbps(600);
/// Interval of a session's statistics.
const STATS_INTERVAL: Duration = Duration::from_millis(500);
/// Bytes of a message on a data channel, and of those that wait to be sent.
const MAX_MESSAGE_BYTES: u32 = 16 << 10;
const MAX_UNSENT_BYTES: usize = 256 << 10;
/// Packets of a stream of video that are kept to be sent again.
pub(crate) const RTX_PACKETS: usize = 1000;

/// Session with a client, and the answer to its offer.
pub(crate) struct AnsweredSession {
    pub(crate) rtc: Rtc,
    /// Answer in SDP.
    pub(crate) sdp: String,
    /// Name of the session in STUN requests to it.
    pub(crate) fragment: String,
    /// Lines of audio and video, in the offer's order.
    pub(crate) lines: Vec<MediaLine>,
}

/// Maker of answers. All sessions have one certificate.
pub(crate) struct Answerer {
    provider: Arc<CryptoProvider>,
    certificate: DtlsCert,
    random: SystemRandom,
    /// Addresses of the socket as clients reach it.
    announced: Vec<SocketAddr>,
    /// Identifier of the header extension that marks PDU Sets; `None`: nothing is marked.
    pdu_set_id: Option<u8>,
}

impl Answerer {
    pub(crate) fn new(
        announced: Vec<SocketAddr>,
        pdu_set_id: Option<u8>,
    ) -> Result<Self, CallError> {
        let provider = Arc::new(str0m::crypto::from_feature_flags());
        let certificate = provider.dtls_provider.generate_certificate();
        let certificate = certificate.ok_or_else(|| failed("no certificate for DTLS was made"))?;
        Ok(Self { provider, certificate, random: SystemRandom::new(), announced, pdu_set_id })
    }

    /// Text of so many random bytes, in hexadecimal.
    pub(crate) fn secret<const BYTES: usize>(&self) -> Result<String, CallError> {
        let mut bytes = [0; BYTES];
        self.random.fill(&mut bytes).map_err(|_| failed("the system gives no random numbers"))?;
        Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    fn credentials(&self) -> Result<IceCreds, CallError> {
        Ok(IceCreds { ufrag: self.secret::<8>()?, pass: self.secret::<16>()? })
    }

    /// Settings of a session.
    pub(crate) fn config(&self, credentials: IceCreds) -> RtcConfig {
        let config = RtcConfig::new()
            .set_crypto_provider(self.provider.clone())
            .set_dtls_cert(self.certificate.clone())
            .set_local_ice_credentials(credentials)
            .set_rtp_mode(true)
            .enable_bwe(Some(INITIAL_RATE))
            .set_stats_interval(Some(STATS_INTERVAL))
            .set_send_buffer_video(RTX_PACKETS)
            .set_sctp_max_message_size(MAX_MESSAGE_BYTES)
            .set_sctp_max_buffered_amount(MAX_UNSENT_BYTES)
            .clear_codecs()
            .enable_opus(true, false)
            .enable_av1(true)
            .enable_vp9(true)
            .enable_vp8(true)
            .enable_h264(true)
            .set_extension(extension::DESCRIPTOR_ID, extension::dependency_descriptor());
        match self.pdu_set_id {
            // The offer's identifier takes the place of this one.
            Some(_) => config.set_extension(airlane_pdu_set::DEFAULT_ID, extension::pdu_set_mark()),
            None => config,
        }
    }

    /// Answers an offer.
    ///
    /// # Errors
    /// If the offer cannot be read or taken.
    pub(crate) fn answer(&self, offer: &str, now: Instant) -> Result<AnsweredSession, Refusal> {
        let Offer { sdp, lines, adds_marks } = Offer::read(offer, self.pdu_set_id)?;
        let credentials = self.credentials().map_err(|e| Refusal::Offer(e.to_string()))?;
        let fragment = credentials.ufrag.clone();
        let mut rtc = self.config(credentials).set_ice_lite(true).build(now);
        let udp = self.announced.iter().map(|at| Candidate::builder().udp().host(*at).build());
        // For who cannot send UDP: their priority is lower (RFC 6544, section 4.2).
        let tcp = self
            .announced
            .iter()
            .map(|at| Candidate::builder().tcp().host(*at).tcptype(TcpType::Passive).build());
        for candidate in udp.chain(tcp) {
            let candidate = candidate.map_err(|e| Refusal::Offer(e.to_string()))?;
            rtc.add_local_candidate(candidate);
        }
        let answer = rtc.sdp_api().accept_offer(sdp).map_err(|e| Refusal::Offer(e.to_string()))?;
        let lines = lines.into_iter().filter(|line| rtc.media(line.mid).is_some()).collect();
        let mut sdp = answer.to_sdp_string();
        if adds_marks {
            // What was not offered must not be answered.
            sdp = sdp
                .lines()
                .filter(|line| !line.ends_with(airlane_pdu_set::URN))
                .fold(String::with_capacity(sdp.len()), |kept, line| kept + line + "\r\n");
        }
        Ok(AnsweredSession { rtc, sdp, fragment, lines })
    }
}

/// True if packets can come and go.
pub(crate) fn is_up(state: IceConnectionState) -> bool {
    matches!(state, IceConnectionState::Connected | IceConnectionState::Completed)
}

fn failed(what: &str) -> CallError {
    airlane_base::InputError::new(what, "").into()
}

#[cfg(test)]
mod tests {
    use airlane_base::Time;
    use airlane_pdu_set::URN;

    use super::*;
    use crate::client::{ClientConfig, ClientOffer, SendQueue};
    use crate::clock::Clock;

    fn offer() -> String {
        let config = ClientConfig {
            name: "p".to_owned(),
            video: Vec::new(),
            audio: None,
            max_people: 1,
            queue: SendQueue::Pacer,
            offset: 0.0,
        };
        ClientOffer::new(config, Time::ZERO).unwrap().sdp().to_owned()
    }

    #[test]
    fn marks_are_answered_to_who_offers_them_and_sent_to_all() {
        let address = "192.0.2.1:4460".parse().unwrap();
        let now = Clock::new(Time::ZERO).instant(Time::ZERO);
        let offering = offer();
        assert!(offering.contains(URN));
        let kept = offering.lines().filter(|line| !line.contains(URN));
        let silent: String = kept.map(|line| line.to_owned() + "\r\n").collect();
        for (pdu_set_id, offer, is_answered) in [
            (None, &offering, false),
            (None, &silent, false),
            (Some(6), &offering, true),
            (Some(6), &silent, false),
        ] {
            let answerer = Answerer::new(vec![address], pdu_set_id).unwrap();
            let answered = answerer.answer(offer, now).unwrap();
            assert_eq!(answered.sdp.contains(URN), is_answered);
            let video =
                answered.lines.iter().find(|line| line.kind == str0m::media::MediaKind::Video);
            let extensions = answered.rtc.media(video.unwrap().mid).unwrap().remote_extmap();
            let id = extensions.id_of(extension::pdu_set_mark());
            assert_eq!(id, pdu_set_id);
        }
    }
}
