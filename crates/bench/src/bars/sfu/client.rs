//! Client of a conference server: one connection of WebRTC that sends a stream, receives some, or both. Each packet carries
//! the time at which it was sent, so that whoever receives it knows how long it took.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use airlane_base::Time;
use airlane_runtime::{Datagram, Received, RuntimeHandle, UdpSocket};
use parking_lot::Mutex;
use str0m::change::{SdpAnswer, SdpOffer, SdpPendingOffer};
use str0m::format::Codec;
use str0m::media::{Direction, MediaKind, Mid, Pt};
use str0m::net::{DatagramRecv, Protocol, Receive, Transmit};
use str0m::rtp::{RtpPacket, RtpWrite, SeqNo};
use str0m::{Candidate, Event, Input, Output, Rtc, RtcConfig, RtcError};

use crate::bar::Problem;
use crate::clock;

/// Frames per second of a stream, each a packet, and bytes of its payload: with all headers 111 kbit/s, so that nine take
/// 1 Mbit/s.
const FRAME_INTERVAL: Duration = Duration::from_millis(40);
pub(super) const PAYLOAD_BYTES: usize = 490;
/// Frames from one key frame to the next, unless one is asked for.
const KEY_FRAME_DISTANCE: u64 = 250;
/// Payload descriptor of VP8 with a picture number of 15 bits (RFC 7741, section 4.2), and a frame's first bytes, of which
/// the lowest bit says that it is no key frame (RFC 6386, section 9.1).
const DESCRIPTOR: [u8; 4] = [0x90, 0x80, 0x80, 0];
const FRAME: [u8; 10] = [0x10, 0, 0, 0x9d, 0x01, 0x2a, 0x40, 0x01, 0xf0, 0];
/// Bytes at the end of a payload: time in nanoseconds, and number of the sender.
const STAMP_BYTES: usize = 12;
/// Pause before a connection is looked at again that wants to be at once.
const MIN_PAUSE: Duration = Duration::from_millis(1);

/// Account of all clients.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Time whose packets count; `None`: none yet.
    pub(super) window: Option<(Time, Time)>,
    /// Packets that were sent, and those that came, of all receivers.
    pub(super) sent: u64,
    pub(super) received: u64,
    /// Time that each took, us.
    pub(super) delays_us: Vec<f64>,
    /// Receivers with the senders of whom something came.
    pub(super) pairs: BTreeSet<(u32, u32)>,
    /// Reason for which a client ended.
    pub(super) failure: Option<String>,
}

impl Tally {
    fn counts(&self, sent: Time) -> bool {
        self.window.is_some_and(|(from, until)| (from..until).contains(&sent))
    }
}

/// Stream that a client sends.
#[derive(Debug)]
struct Sending {
    mid: Mid,
    /// Time of its next frame; `None`: it is not connected.
    due: Option<Time>,
    frames: u64,
    wants_key_frame: bool,
    payload_type: Option<Pt>,
}

/// Client of a conference server.
pub(super) struct Client {
    rtc: Rtc,
    pending: Option<SdpPendingOffer>,
    socket: Box<dyn UdpSocket>,
    /// Instant of the runtime's beginning.
    origin: Instant,
    number: u32,
    sending: Option<Sending>,
    tally: Arc<Mutex<Tally>>,
}

fn broke(e: &dyn std::fmt::Display) -> Problem {
    Problem::Broke(format!("a client of a call: {e}"))
}

impl Client {
    /// A client at a free port of this address. Its number tells its stream from others.
    pub(super) fn new(
        runtime: &RuntimeHandle,
        ip: IpAddr,
        number: u32,
        tally: &Arc<Mutex<Tally>>,
    ) -> Result<Self, Problem> {
        let socket = runtime.bind_udp(SocketAddr::new(ip, 0)).map_err(|e| broke(&e))?;
        let instant = clock::instant();
        let origin = instant.checked_sub(runtime.now().since_start()).unwrap_or(instant);
        let config = RtcConfig::new().set_rtp_mode(true).clear_codecs().enable_vp8(true);
        let mut rtc = config.build(instant);
        let candidate = Candidate::host(socket.local_addr(), "udp").map_err(|e| broke(&e))?;
        rtc.add_local_candidate(candidate);
        let (pending, sending, tally) = (None, None, tally.clone());
        Ok(Self { rtc, pending, socket, origin, number, sending, tally })
    }

    /// Offer in SDP of a client that sends a stream, receives so many, and has a data channel if it receives any.
    pub(super) fn offer(&mut self, receives: usize) -> Result<String, Problem> {
        let mut api = self.rtc.sdp_api();
        let mid = api.add_media(MediaKind::Video, Direction::SendOnly, None, None, None);
        for _ in 0..receives {
            api.add_media(MediaKind::Video, Direction::RecvOnly, None, None, None);
        }
        if receives > 0 {
            api.add_channel("bench".to_owned());
        }
        let (offer, pending) = api.apply().ok_or_else(|| broke(&"an empty offer"))?;
        self.pending = Some(pending);
        let (due, frames, payload_type) = (None, 0, None);
        self.sending = Some(Sending { mid, due, frames, wants_key_frame: true, payload_type });
        Ok(offer.to_sdp_string())
    }

    /// Takes the answer to the offer.
    pub(super) fn accept(&mut self, answer: &str) -> Result<(), Problem> {
        let answer = SdpAnswer::from_sdp_string(answer).map_err(|e| broke(&e))?;
        let pending = self.pending.take().ok_or_else(|| broke(&"nothing was offered"))?;
        self.rtc.sdp_api().accept_answer(pending, answer).map_err(|e| broke(&e))
    }

    /// Answer to an offer, in SDP.
    pub(super) fn answer(&mut self, offer: &str) -> Result<String, Problem> {
        let offer = SdpOffer::from_sdp_string(offer).map_err(|e| broke(&e))?;
        let answer = self.rtc.sdp_api().accept_offer(offer).map_err(|e| broke(&e))?;
        Ok(answer.to_sdp_string())
    }

    /// Takes part until the runtime ends, or the connection does.
    pub(super) async fn run(mut self, runtime: RuntimeHandle) {
        let failure = self.take_part(&runtime).await;
        self.tally.lock().failure.get_or_insert(failure);
    }

    async fn take_part(&mut self, runtime: &RuntimeHandle) -> String {
        let mut timer = runtime.timer(runtime.now());
        // Time at which the last packet came.
        let mut arrived = runtime.now();
        loop {
            let now = runtime.now();
            if let Err(e) = self.send(now) {
                return e.to_string();
            }
            let next = match self.drain(now, arrived) {
                Ok(next) if self.rtc.is_alive() => next,
                Ok(_) => return "the server ended a connection".to_owned(),
                Err(e) => return e.to_string(),
            };
            let due = self.sending.as_ref().and_then(|sending| sending.due);
            timer.reset(due.map_or(next, |due| due.min(next)));
            let received = poll_fn(|cx| match self.socket.poll_recv(cx) {
                Poll::Ready(received) => Poll::Ready(received.ok()),
                Poll::Pending => timer.poll(cx).map(|()| None),
            });
            if let Some(received) = received.await {
                arrived = received.at;
                if let Err(e) = self.receive(&received) {
                    return e.to_string();
                }
            }
        }
    }

    fn receive(&mut self, received: &Received) -> Result<(), RtcError> {
        let Ok(contents) = DatagramRecv::try_from(&received.payload[..]) else { return Ok(()) };
        let (source, destination) = (received.src, self.socket.local_addr());
        let receive = Receive { proto: Protocol::Udp, source, destination, contents };
        self.rtc.handle_input(Input::Receive(self.instant(received.at), receive))
    }

    fn instant(&self, at: Time) -> Instant {
        self.origin + at.since_start()
    }

    /// Sends a frame if it is due.
    fn send(&mut self, now: Time) -> Result<(), RtcError> {
        let instant = self.instant(now);
        let Some(sending) = &mut self.sending else { return Ok(()) };
        let Some(due) = sending.due.filter(|due| *due <= now) else { return Ok(()) };
        // What stood still sends no burst.
        sending.due = Some((due + FRAME_INTERVAL).max(now));
        let Some(payload_type) = sending.payload_type else { return Ok(()) };
        let number = sending.frames;
        let is_key_frame =
            std::mem::take(&mut sending.wants_key_frame) || number % KEY_FRAME_DISTANCE == 0;
        let payload = payload(now, self.number, number, is_key_frame);
        let ticks = (now.since_start().as_micros() * 9 / 100) as u32;
        // Low sequence numbers would be taken for those of packets before the first.
        let sequence = SeqNo::from(number + 1000);
        let mid = sending.mid;
        sending.frames += 1;
        if let Some(stream) = self.rtc.direct_api().stream_tx_by_mid(mid, None) {
            let rtp = RtpWrite::new(payload_type, sequence, ticks, instant, payload);
            stream.write_rtp(rtp.marker(true).nackable(true));
        }
        let mut tally = self.tally.lock();
        tally.sent += u64::from(tally.counts(now));
        Ok(())
    }

    /// Takes what the connection has to say; the time at which it wants to be asked again.
    fn drain(&mut self, now: Time, arrived: Time) -> Result<Time, RtcError> {
        self.rtc.handle_input(Input::Timeout(self.instant(now)))?;
        loop {
            match self.rtc.poll_output()? {
                Output::Timeout(at) => {
                    let at = Time::ZERO + at.saturating_duration_since(self.origin);
                    return Ok(at.max(now + MIN_PAUSE));
                }
                Output::Transmit(transmit) => emit(&*self.socket, &transmit),
                Output::Event(Event::Connected) => self.begin(now),
                Output::Event(Event::KeyframeRequest(_)) => {
                    if let Some(sending) = &mut self.sending {
                        sending.wants_key_frame = true;
                    }
                }
                Output::Event(Event::RtpPacket(packet)) => self.count(arrived, &packet),
                Output::Event(_) => {}
            }
        }
    }

    fn begin(&mut self, now: Time) {
        let Some(sending) = &mut self.sending else { return };
        let agreed = self.rtc.media(sending.mid).map(|media| media.remote_pts().to_vec());
        let agreed = agreed.unwrap_or_default();
        let mut known = self.rtc.codec_config().iter();
        sending.payload_type = known
            .find(|of| of.spec().codec == Codec::Vp8 && agreed.contains(&of.pt()))
            .map(|of| of.pt());
        // Not all at one time, whenever they were connected.
        let phase = FRAME_INTERVAL * (self.number * 37 % 100) / 100;
        sending.due = Some(now + phase);
    }

    fn count(&self, arrived: Time, packet: &RtpPacket) {
        let Some((sent, sender)) = stamp(&packet.payload) else { return };
        let mut tally = self.tally.lock();
        tally.pairs.insert((self.number, sender));
        if tally.counts(sent) {
            tally.received += 1;
            tally.delays_us.push(arrived.since(sent).as_secs_f64() * 1e6);
        }
    }
}

/// Payload of a frame.
fn payload(now: Time, sender: u32, number: u64, is_key_frame: bool) -> Arc<[u8]> {
    let mut bytes = [&DESCRIPTOR[..], &FRAME].concat();
    bytes[2] |= (number >> 8) as u8 & 0x7f;
    bytes[3] = number as u8;
    bytes[DESCRIPTOR.len()] |= u8::from(!is_key_frame);
    bytes.resize(PAYLOAD_BYTES - STAMP_BYTES, 0x55);
    bytes.extend_from_slice(&(now.since_start().as_nanos() as u64).to_be_bytes());
    bytes.extend_from_slice(&sender.to_be_bytes());
    bytes.into()
}

/// Time at which a payload was sent, and number of its sender; `None`: it is no frame, but padding.
fn stamp(payload: &[u8]) -> Option<(Time, u32)> {
    let at = payload.len().checked_sub(STAMP_BYTES).filter(|_| payload.len() > 100)?;
    let (time, sender) = payload[at..].split_first_chunk::<8>()?;
    let sender = u32::from_be_bytes(*sender.first_chunk()?);
    Some((Time::from_nanos(u64::from_be_bytes(*time)), sender))
}

/// Sends a datagram; what the socket refuses is a lost one.
fn emit(socket: &dyn UdpSocket, transmit: &Transmit) {
    let (ecn, dscp) = Default::default();
    let (dst, payload) = (transmit.destination, &transmit.contents[..]);
    let _ = socket.try_send(&Datagram { dst, src: None, ecn, dscp, payload, segment: None });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_says_when_and_by_whom_it_was_sent() {
        let sent = Time::from_millis(12_345);
        let payload = payload(sent, 77, 300, true);
        assert_eq!((payload.len(), stamp(&payload)), (PAYLOAD_BYTES, Some((sent, 77))));
        assert_eq!((payload[2], payload[3], payload[4] & 1), (0x81, 44, 0));
        assert_eq!(stamp(&[0; 40]), None);
    }
}
