//! Offer of a client, and what becomes of it with the answer.

use std::net::SocketAddr;

use airlane_base::{InputError, Time};
use airlane_call::{LayeredQueue, QueueConfig};
use str0m::bwe::Bitrate;
use str0m::change::{SdpAnswer, SdpPendingOffer};
use str0m::media::{Direction, MediaKind, Mid, Rid, Simulcast, SimulcastLayer};
use str0m::net::TcpType;
use str0m::{Candidate, RtcConfig};

use super::core::Core;
use super::driver::CallClient;
use super::feed::Feed;
use super::sending::SentVideo;
use super::{ClientConfig, SendQueue};
use crate::clock::Clock;
use crate::error::CallError;
use crate::media::extension;
use crate::media::remote::Transport;
use crate::media::session::Session;

/// Bandwidth that the uplink is taken to have at first.
const INITIAL_RATE: Bitrate = Bitrate::kbps(600);
/// Others that a client can receive at most.
const MAX_PEOPLE: usize = 60;
/// Label of the data channel.
const CHANNEL: &str = "airlane";

/// Offer of a client that waits for the answer.
pub struct ClientOffer {
    core: Core,
    pending: SdpPendingOffer,
    sdp: String,
}

impl std::fmt::Debug for ClientOffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientOffer").field("sdp", &self.sdp).finish_non_exhaustive()
    }
}

impl ClientOffer {
    /// Makes an offer.
    ///
    /// # Errors
    /// If the encodings are of several codecs, or there are too many people.
    pub fn new(config: ClientConfig, now: Time) -> Result<Self, CallError> {
        let codec = config.video.first().map(|clip| clip.codec());
        if config.video.iter().any(|clip| Some(clip.codec()) != codec) {
            let expected = "all encodings of one codec";
            return Err(InputError::new("video of several codecs", expected).into());
        }
        if config.max_people > MAX_PEOPLE {
            let problem = format!("{} people are too many to receive", config.max_people);
            return Err(InputError::new(problem, format!("at most {MAX_PEOPLE}")).into());
        }
        let clock = Clock::new(now);
        let mut rtc = RtcConfig::new()
            .set_rtp_mode(true)
            .enable_bwe(Some(INITIAL_RATE))
            .clear_codecs()
            .enable_opus(true, false)
            .enable_vp8(true)
            .enable_vp9(true)
            .enable_av1(true)
            .enable_h264(true)
            .set_extension(extension::DESCRIPTOR_ID, extension::dependency_descriptor())
            .set_extension(airlane_pdu_set::DEFAULT_ID, extension::pdu_set_mark())
            .build(clock.instant(now));
        let mut api = rtc.sdp_api();
        let audio = config.audio.clone().map(|sound| {
            (api.add_media(MediaKind::Audio, Direction::SendOnly, None, None, None), sound)
        });
        let rids: Vec<Rid> = match config.video.len() {
            0 | 1 => Vec::new(),
            several => (0..several).map(|n| Rid::from(format!("e{n}").as_str())).collect(),
        };
        let video = codec.map(|codec| {
            let send = rids.iter().map(|rid| SimulcastLayer::new(rid)).collect();
            let simulcast = (!rids.is_empty()).then_some(Simulcast { send, recv: Vec::new() });
            let mid = api.add_media(MediaKind::Video, Direction::SendOnly, None, None, simulcast);
            let feed = |clip: &std::sync::Arc<super::Clip>| Feed::new(clip.clone(), config.offset);
            SentVideo {
                mid,
                codec,
                rids,
                rates_bps: config.video.iter().map(|clip| clip.bitrate_bps()).collect(),
                frame_interval: config.video[0].frame_interval,
                feeds: config.video.iter().map(feed).collect(),
                queue: match config.queue {
                    SendQueue::Pacer => None,
                    SendQueue::Octopus => Some(LayeredQueue::new(QueueConfig::default())),
                },
            }
        });
        let mut receiving: Vec<(Mid, MediaKind)> = Vec::new();
        for _ in 0..config.max_people {
            for kind in [MediaKind::Audio, MediaKind::Video] {
                receiving.push((api.add_media(kind, Direction::RecvOnly, None, None, None), kind));
            }
        }
        api.add_channel(CHANNEL.to_owned());
        // There is always the channel.
        let (offer, pending) = api.apply().ok_or_else(|| {
            CallError::Peer("an offer with a data channel came out empty".to_owned())
        })?;
        let core = Core::new(now, clock, Session::new(rtc), config.name, video, audio, receiving);
        Ok(Self { core, pending, sdp: offer.to_sdp_string() })
    }

    /// The offer in SDP.
    pub fn sdp(&self) -> &str {
        &self.sdp
    }

    /// Addresses at which an answer says that the server is reached over a transport.
    pub fn candidates(answer: &str, transport: Transport) -> Vec<SocketAddr> {
        let of_line = |line: &str| {
            let mut fields = line.trim().strip_prefix("a=candidate:")?.split_whitespace();
            // Foundation, component, transport, priority, address, port (RFC 8839, section 5.1).
            let is_wanted = fields.nth(2)?.eq_ignore_ascii_case(transport.name());
            let ip = fields.nth(1)?.parse().ok()?;
            let port = fields.next()?.parse().ok()?;
            is_wanted.then_some(SocketAddr::new(ip, port))
        };
        answer.lines().filter_map(of_line).collect()
    }

    /// Takes the answer. `local` is the address of the socket or connection on which the call will be.
    ///
    /// # Errors
    /// If the answer cannot be taken.
    pub fn accept(
        mut self,
        answer: &str,
        local: SocketAddr,
        transport: Transport,
    ) -> Result<CallClient, CallError> {
        let wrong =
            |e: &dyn std::fmt::Display| CallError::Peer(format!("the server's answer: {e}"));
        let candidate = match transport {
            Transport::Udp => Candidate::builder().udp().host(local).build(),
            Transport::Tcp => {
                Candidate::builder().tcp().host(local).tcptype(TcpType::Active).build()
            }
        };
        let candidate = candidate.map_err(|e| wrong(&e))?;
        let answer = SdpAnswer::from_sdp_string(answer).map_err(|e| wrong(&e))?;
        let pending = self.pending;
        let accepted = self.core.session.call(|rtc| {
            rtc.add_local_candidate(candidate);
            rtc.sdp_api().accept_answer(pending, answer)
        });
        match accepted {
            Some(Ok(())) => Ok(CallClient::new(self.core, local, transport)),
            Some(Err(e)) => Err(wrong(&e)),
            None => Err(wrong(&"it cannot be understood")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_addresses_of_an_answer_are_found() {
        let answer = "v=0\r\na=candidate:1 1 udp 2130706431 192.0.2.7 4460 typ host\r\n\
                      a=candidate:2 1 tcp 1 192.0.2.7 4460 typ host tcptype passive\r\n\
                      a=candidate:3 1 UDP 1 2001:db8::1 4460 typ host\r\na=candidate:x\r\n";
        let expected: [SocketAddr; 2] =
            ["192.0.2.7:4460".parse().unwrap(), "[2001:db8::1]:4460".parse().unwrap()];
        assert_eq!(ClientOffer::candidates(answer, Transport::Udp), expected);
        assert_eq!(ClientOffer::candidates(answer, Transport::Tcp), expected[..1]);
    }
}
