//! One end of a media path.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use airlane_base::{Ecn, IP_UDP_HEADER_BYTES, Rate, Seed, Time};
use airlane_congestion::{Controller, ControllerConfig, Rtt};
use airlane_octopus::{Header, Marking, Reason};
use bytes::Bytes;

use crate::drops::DroppedHere;
use crate::fragment::Fragment;
use crate::ids::Ids;
use crate::keep_alive::KeepAlive;
use crate::keys::{Opener, Protection, Sealer};
use crate::path_mtu::PathMtu;
use crate::random::{RANDOM_SECRET_BYTES, UnpredictableNumbers};
use crate::reassembly::{Delivered, Reassembly, ReceiveLimits};
use crate::received::ReceivedPackets;
use crate::route::{Arrival, Route, RouteFrame};
use crate::send_options::{SendError, SendOptions};
use crate::sender::{Controllers, Sender};
use crate::wire::{
    CLEAR_BYTES, CONTROL_STREAM, Clear, Frame, OVERHEAD_BYTES, PROBE_OVERHEAD_BYTES,
    ROUTE_PACKET_BYTES, expand,
};

/// Packets after which a key changes: what RFC 9001, section 6.6, allows with AES-128-GCM.
const KEY_PACKETS: u64 = 1 << 23;
/// Packets that fail to open after which no more are tried, by the same section.
const MAX_FORGERIES: u64 = 1 << 52;
/// Events that wait for the application at most; more are not kept.
const MAX_EVENTS: usize = 4096;

/// Configuration of a session.
#[derive(Debug)]
pub struct Config {
    /// UDP payload of a full packet, bytes, which is taken to pass every path.
    pub payload_bytes: u16,
    /// Probes find out whether the path takes more, up to so many bytes (RFC 8899). `None`: full
    /// packets keep their size.
    pub max_payload_bytes: Option<u16>,
    /// Congestion controller: it decides how many packets may leave, and when. Each path of the
    /// session has a controller of its own.
    pub controller: ControllerConfig,
    /// For controllers that draw.
    pub seed: Seed,
    /// This end's own, which the peer must not know: data of challenges and the numbers of packets
    /// that are left out come from it.
    pub random_secret: [u8; RANDOM_SECRET_BYTES],
    /// Address of the peer, which is validated.
    pub remote: SocketAddr,
    /// The peer may move: its packets go to where it has answered a challenge.
    pub follows: bool,
    /// Silence of the peer after which a ping leaves, and from one such ping to the next; `None`: none
    /// does. A NAT or a relay in between, or the peer, so learns where this end is.
    pub keep_alive_interval: Option<Duration>,
    /// Options for sending.
    pub send: SendOptions,
    /// Limits of what the session holds of incoming messages.
    pub receive: ReceiveLimits,
    /// Protection of packets.
    pub protection: Protection,
    /// Its numbers.
    pub ids: Ids,
    /// Packets after which the key changes; `None`: as many as are safe.
    pub key_packets: Option<u64>,
}

/// Event of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A message has come.
    Message(Delivered),
    /// A message that was to be sent was dropped before it left, or before all of it had.
    Dropped {
        /// Its stream.
        stream: u16,
        /// Its number.
        message: u32,
        /// Reason of the drop.
        reason: Reason,
    },
}

/// Error of a datagram that was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It is none of this session's.
    Foreign,
    /// It came already, or is so old that it may have.
    Repeated,
    /// It does not open: somebody else sealed it, or changed it.
    Forged,
    /// The peer sealed what is no frame.
    Malformed,
    /// It acknowledges a packet that was never sent. The session has ended.
    UnsentAcknowledged,
    /// The session has ended.
    Ended,
}

/// Sums since the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets with a fragment that were sent.
    pub sent_packets: u64,
    /// Their bytes of UDP payload.
    pub sent_bytes: u64,
    /// Of these acknowledged,
    pub acked_packets: u64,
    /// and lost,
    pub lost_packets: u64,
    /// and dropped by a queue on purpose, as far as can be told.
    pub dropped_packets: u64,
    /// Messages dropped before they left.
    pub dropped_here: u64,
    /// Messages delivered.
    pub delivered: u64,
    /// Messages that were given up for want of room before they were whole.
    pub given_up: u64,
    /// Datagrams refused.
    pub refused: u64,
}

/// One end of a media path, without I/O.
///
/// Give it every datagram of its id ([`handle`](Self::handle)), ask it for what to send, and where
/// ([`poll_transmit`](Self::poll_transmit), until there is nothing), after every other call and at
/// [`deadline`](Self::deadline), and take its events.
///
/// It ends when the peer acknowledges a packet that was never sent ([`has_ended`](Self::has_ended)):
/// then nothing more is sent.
#[derive(Debug)]
pub struct Session {
    sender: Sender,
    sealer: Sealer,
    opener: Opener,
    received: ReceivedPackets,
    reassembly: Reassembly,
    route: Route,
    random: UnpredictableNumbers,
    ids: Ids,
    keep_alive: Option<KeepAlive>,
    /// Time at which the peer's latest datagram arrived; at first the beginning of the session.
    heard_at: Time,
    ended: bool,
    control_packets: u32,
    forgeries: u64,
    events: VecDeque<Event>,
    counts: Counts,
}

impl Session {
    /// A session from `now` on.
    pub fn new(now: Time, config: Config) -> Self {
        let payload_bytes = config.payload_bytes.max(OVERHEAD_BYTES as u16 + 1);
        let key_packets = config.key_packets.unwrap_or(KEY_PACKETS);
        let mut random = UnpredictableNumbers::new(&config.random_secret);
        let controllers = Controllers { config: config.controller, seed: config.seed };
        let mtu = PathMtu::new(payload_bytes, config.max_payload_bytes);
        Self {
            sender: Sender::new(now, controllers, mtu, config.send, &mut random),
            sealer: Sealer::new(&config.protection, key_packets),
            opener: Opener::new(&config.protection),
            received: ReceivedPackets::default(),
            reassembly: Reassembly::new(config.receive),
            route: Route::new(config.remote, config.follows),
            random,
            ids: config.ids,
            keep_alive: config.keep_alive_interval.map(|interval| KeepAlive::new(now, interval)),
            heard_at: now,
            ended: false,
            control_packets: 0,
            forgeries: 0,
            events: VecDeque::new(),
            counts: Counts::default(),
        }
    }

    /// Its numbers.
    pub fn ids(&self) -> Ids {
        self.ids
    }

    /// Sends a message: it waits in the buffer until window and pacer let it leave, or it is dropped.
    /// Its number in the stream.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn send(
        &mut self,
        now: Time,
        stream: u16,
        marking: Marking,
        data: Bytes,
    ) -> Result<u32, SendError> {
        let (events, counts) = (&mut self.events, &mut self.counts);
        self.sender.push(now, stream, marking, data, |gone| note(events, counts, gone))
    }

    /// Code point of all datagrams of this end.
    pub fn ecn(&self) -> Ecn {
        self.sender.ecn()
    }

    /// A datagram came from an address, with this code point: it is opened in place.
    ///
    /// # Errors
    /// Why it was refused; nothing else has changed then, unless the session has ended by it.
    pub fn handle(
        &mut self,
        now: Time,
        from: SocketAddr,
        ecn: Ecn,
        datagram: &mut [u8],
    ) -> Result<(), Refused> {
        let handled = self.try_handle(now, from, ecn, datagram);
        self.counts.refused += u64::from(handled.is_err());
        handled
    }

    fn try_handle(
        &mut self,
        now: Time,
        from: SocketAddr,
        ecn: Ecn,
        datagram: &mut [u8],
    ) -> Result<(), Refused> {
        if self.ended {
            return Err(Refused::Ended);
        }
        let bytes = datagram.len() as u64;
        let clear = Clear::decode(datagram).ok_or(Refused::Foreign)?;
        if clear.session != self.ids.local {
            return Err(Refused::Foreign);
        }
        let pn = expand(clear.low, self.received.expected());
        if self.received.has(pn) {
            return Err(Refused::Repeated);
        }
        if self.forgeries >= MAX_FORGERIES {
            return Err(Refused::Forged);
        }
        let (in_clear, sealed) = datagram.split_at_mut(CLEAR_BYTES);
        let Some(length) = self.opener.open(pn, clear.phase, in_clear, sealed) else {
            self.forgeries += 1;
            return Err(Refused::Forged);
        };
        let frame = Frame::decode(&sealed[..length]).ok_or(Refused::Malformed)?;
        let is_newest = pn >= self.received.expected();
        let is_control =
            matches!(frame, Frame::Ack(_) | Frame::PathChallenge(_) | Frame::PathResponse(_));
        self.received.add(now, pn, !is_control);
        self.received.count(ecn);
        self.heard_at = now;
        self.route.arrived(now, Arrival { from, bytes, is_newest }, &mut self.random);
        match frame {
            Frame::Ack(ack) => {
                if self.sender.acknowledged(now, &ack).is_err() {
                    self.ended = true;
                    return Err(Refused::UnsentAcknowledged);
                }
            }
            Frame::Ping => self.sender.peer_is_back(),
            Frame::MtuProbe { .. } => {}
            Frame::PathChallenge(data) => self.route.challenged(from, data),
            Frame::PathResponse(data) => {
                if let Some(moved) = self.route.answered(from, data) {
                    self.sender.moved(now, moved);
                }
            }
            Frame::Data { fragment, bytes } => {
                let whole = self.reassembly.add(now, &clear.header, fragment, bytes);
                self.counts.given_up = self.reassembly.given_up();
                if let Some(message) = whole {
                    self.counts.delivered += 1;
                    tell(&mut self.events, Event::Message(message));
                }
            }
        }
        Ok(())
    }

    /// Writes the next datagram into `out`, which is emptied: where it goes. `None` if nothing may
    /// leave now.
    pub fn poll_transmit(&mut self, now: Time, out: &mut Vec<u8>) -> Option<SocketAddr> {
        out.clear();
        if self.ended {
            return None;
        }
        if let Some((to, frame)) = self.route.poll(now, ROUTE_PACKET_BYTES as u64) {
            let frame = match frame {
                RouteFrame::Challenge(data) => Frame::PathChallenge(data),
                RouteFrame::Response(data) => Frame::PathResponse(data),
            };
            self.write_control(&frame, out)?;
            return Some(to);
        }
        let to = self.route.active();
        if let Some(ack) = self.received.take_ack(now) {
            self.write_control(&Frame::Ack(ack), out)?;
            return Some(to);
        }
        if self.sender.take_ping() {
            let (pn, header) = self.write_control(&Frame::Ping, out)?;
            self.sender.sent(now, &header, pn, out.len());
            return Some(to);
        }
        if let Some(keep_alive) = &mut self.keep_alive
            && keep_alive.due(self.heard_at) <= now
        {
            keep_alive.pinged(now);
            self.write_control(&Frame::Ping, out)?;
            return Some(to);
        }
        if let Some(bytes) = self.sender.next_mtu_probe(now) {
            let padding = usize::from(bytes) - PROBE_OVERHEAD_BYTES;
            let (pn, _) = self.write_control(&Frame::MtuProbe { padding }, out)?;
            self.sender.mtu_probe_sent(now, pn, bytes);
            return Some(to);
        }
        let (events, counts) = (&mut self.events, &mut self.counts);
        self.sender.begin();
        let next = self.sender.next(now, &mut self.random, |gone| note(events, counts, gone));
        let (Fragment { header, number, data }, pn) = next?;
        self.write(pn, header, &Frame::Data { fragment: number, bytes: &data }, out)?;
        self.sender.sent(now, &header, pn, out.len());
        Some(to)
    }

    /// The socket does not take a datagram of so many bytes: the way is narrower than it was.
    pub fn too_large(&mut self, now: Time, bytes: usize) {
        self.sender.refused(now, u16::try_from(bytes).unwrap_or(u16::MAX));
    }

    /// A packet that carries no message: its number and its header.
    fn write_control(&mut self, frame: &Frame<'_>, out: &mut Vec<u8>) -> Option<(u64, Header)> {
        let (pn, header) = (self.sender.take_pn(&mut self.random), self.control_header());
        self.write(pn, header, frame, out)?;
        Some((pn, header))
    }

    /// The header of a packet that carries no message: no queue drops it on purpose.
    fn control_header(&mut self) -> Header {
        let message = self.control_packets;
        self.control_packets = message.wrapping_add(1);
        let marking = Marking::default();
        Header { stream: CONTROL_STREAM, message, marking, first: true, last: true }
    }

    fn write(
        &mut self,
        pn: u64,
        header: Header,
        frame: &Frame<'_>,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        let phase = self.sealer.phase(pn, self.sender.newest_acked());
        let clear = Clear { header, session: self.ids.remote, phase, low: pn as u32 };
        clear.encode(out)?;
        frame.encode(out);
        self.sealer.seal(pn, out, CLEAR_BYTES);
        Some(())
    }

    /// Time at which [`time_out`](Self::time_out) and [`poll_transmit`](Self::poll_transmit) are to
    /// be called, if nothing else happens before.
    pub fn deadline(&self) -> Option<Time> {
        if self.ended {
            return None;
        }
        let keep_alive = self.keep_alive.map(|keep_alive| keep_alive.due(self.heard_at));
        let route = self.route.deadline(ROUTE_PACKET_BYTES as u64);
        let own = [self.sender.deadline(), self.received.due(), keep_alive, route];
        own.into_iter().flatten().min()
    }

    /// Does what is due at `now`.
    pub fn time_out(&mut self, now: Time) {
        if !self.ended {
            self.sender.time_out(now);
        }
    }

    /// True if the peer has acknowledged a packet that was never sent: nothing more comes or goes.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Address of the peer: the one that was validated last.
    pub fn remote(&self) -> SocketAddr {
        self.route.active()
    }

    /// Time at which the peer's latest datagram arrived; at first the beginning of the session.
    pub fn heard_at(&self) -> Time {
        self.heard_at
    }

    /// UDP payload of a full packet, bytes: what the path is known to carry.
    pub fn payload_bytes(&self) -> u64 {
        self.sender.payload_bytes()
    }

    /// True if there are events.
    pub fn has_event(&self) -> bool {
        !self.events.is_empty()
    }

    /// Next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// The rate that the controller estimates for the path, in IP bytes; `None` before it does.
    pub fn bandwidth(&self) -> Option<Rate> {
        self.sender.bandwidth()
    }

    /// The rate that an encoder may ask for, IP bytes.
    pub fn target(&self, now: Time) -> Option<Rate> {
        self.sender.target(now)
    }

    /// The rate at which the controller lets packets leave, in IP bytes.
    pub fn pacing_rate(&self) -> Option<Rate> {
        self.sender.pacing_rate()
    }

    /// IP bytes that a message of so many bytes takes.
    pub fn ip_bytes(&self, message_bytes: usize) -> u64 {
        let around = OVERHEAD_BYTES + usize::from(IP_UDP_HEADER_BYTES);
        let payload_bytes = self.sender.payload_bytes() as usize;
        let fragments = message_bytes.div_ceil(payload_bytes - OVERHEAD_BYTES);
        (message_bytes + fragments * around) as u64
    }

    /// IP bytes that wait to be sent.
    pub fn waiting_bytes(&self) -> u64 {
        self.sender.waiting_bytes()
    }

    /// The smoothed round-trip time.
    pub fn smoothed_rtt(&self) -> Duration {
        self.sender.smoothed_rtt()
    }

    /// Round-trip times, once there is a sample.
    pub fn rtt(&self) -> Option<Rtt> {
        self.sender.rtt()
    }

    /// The controller.
    pub fn controller(&self) -> Option<&dyn Controller> {
        self.sender.controller()
    }

    /// Counts of what was sent up to `now`, as the sending side counts it: what queues dropped
    /// counts as lost.
    pub fn sent(&self, now: Time) -> airlane_congestion::Counts {
        self.sender.send_state().total(now)
    }

    /// Sums up to `now`.
    pub fn counts(&self, now: Time) -> Counts {
        let sent = self.sender.send_state().total(now);
        let dropped = self.sender.dropped_packets();
        Counts {
            sent_packets: sent.sent_packets,
            sent_bytes: sent.sent_bytes,
            acked_packets: sent.acked_packets,
            lost_packets: sent.lost_packets - dropped,
            dropped_packets: dropped,
            ..self.counts
        }
    }
}

fn note(events: &mut VecDeque<Event>, counts: &mut Counts, (header, reason): DroppedHere) {
    counts.dropped_here += 1;
    let (stream, message) = (header.stream, header.message);
    tell(events, Event::Dropped { stream, message, reason });
}

fn tell(events: &mut VecDeque<Event>, event: Event) {
    if events.len() < MAX_EVENTS {
        events.push_back(event);
    }
}
