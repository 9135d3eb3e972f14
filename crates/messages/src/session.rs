//! One end of a media path.

use std::collections::VecDeque;
use std::time::Duration;

use airlane_base::{IP_UDP_HEADER_BYTES, Rate, Time};
use airlane_congestion::{Controller, Rtt};
use airlane_octopus::{Header, Marking, Reason};
use bytes::Bytes;

use crate::keys::{Opener, Protection, Sealer};
use crate::reassembly::{Delivered, Reassembly, ReceiveLimits};
use crate::received::ReceivedPackets;
use crate::sender::{DroppedHere, Fragment, SendError, SendOptions, Sender};
use crate::wire::{CLEAR_BYTES, CONTROL_STREAM, Clear, Frame, OVERHEAD_BYTES, expand};

/// Packets after which a key changes: what RFC 9001, section 6.6, allows with AES-128-GCM.
const KEY_PACKETS: u64 = 1 << 23;
/// Packets that fail to open after which no more are tried, by the same section.
const MOST_FORGERIES: u64 = 1 << 52;
/// Events that wait for the application at most; more are not kept.
const MOST_EVENTS: usize = 4096;

/// The numbers by which both ends know the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ids {
    /// Ours: what comes has it.
    pub local: u32,
    /// The peer's: what is sent has it.
    pub remote: u32,
}

/// What a session is.
#[derive(Debug)]
pub struct Config {
    /// UDP payload of a full packet, bytes.
    pub payload_bytes: u16,
    /// How many packets may leave, and when.
    pub controller: Box<dyn Controller>,
    /// How it sends.
    pub send: SendOptions,
    /// What it holds of what comes.
    pub receive: ReceiveLimits,
    /// How packets are protected.
    pub protection: Protection,
    /// Its numbers.
    pub ids: Ids,
    /// Packets after which the key changes; `None`: as many as are safe.
    pub key_packets: Option<u64>,
}

/// What happened.
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
        /// Why.
        reason: Reason,
    },
}

/// Why a datagram was refused.
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
/// Give it every datagram of its id ([`handle`](Self::handle)), ask it for what to send
/// ([`poll_transmit`](Self::poll_transmit), until there is nothing) after every other call and at
/// [`deadline`](Self::deadline), and take its events.
#[derive(Debug)]
pub struct Session {
    sender: Sender,
    sealer: Sealer,
    opener: Opener,
    received: ReceivedPackets,
    reassembly: Reassembly,
    ids: Ids,
    payload_bytes: usize,
    control_packets: u32,
    forgeries: u64,
    events: VecDeque<Event>,
    counts: Counts,
}

impl Session {
    /// A session from `now` on.
    pub fn new(now: Time, config: Config) -> Self {
        let payload_bytes = usize::from(config.payload_bytes).max(OVERHEAD_BYTES + 1);
        let key_packets = config.key_packets.unwrap_or(KEY_PACKETS);
        Self {
            sender: Sender::new(now, config.controller, payload_bytes as u64, config.send),
            sealer: Sealer::new(&config.protection, key_packets),
            opener: Opener::new(&config.protection),
            received: ReceivedPackets::default(),
            reassembly: Reassembly::new(config.receive),
            ids: config.ids,
            payload_bytes,
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

    /// A datagram came: it is opened in place.
    ///
    /// # Errors
    /// Why it was refused; nothing else has changed then.
    pub fn handle(&mut self, now: Time, datagram: &mut [u8]) -> Result<(), Refused> {
        let handled = self.try_handle(now, datagram);
        self.counts.refused += u64::from(handled.is_err());
        handled
    }

    fn try_handle(&mut self, now: Time, datagram: &mut [u8]) -> Result<(), Refused> {
        let clear = Clear::decode(datagram).ok_or(Refused::Foreign)?;
        if clear.session != self.ids.local {
            return Err(Refused::Foreign);
        }
        let pn = expand(clear.low, self.received.expected());
        if self.received.has(pn) {
            return Err(Refused::Repeated);
        }
        if self.forgeries >= MOST_FORGERIES {
            return Err(Refused::Forged);
        }
        let (in_clear, sealed) = datagram.split_at_mut(CLEAR_BYTES);
        let Some(length) = self.opener.open(pn, clear.phase, in_clear, sealed) else {
            self.forgeries += 1;
            return Err(Refused::Forged);
        };
        let frame = Frame::decode(&sealed[..length]).ok_or(Refused::Malformed)?;
        self.received.add(now, pn, !matches!(frame, Frame::Ack(_)));
        match frame {
            Frame::Ack(ack) => self.sender.acknowledged(now, &ack),
            Frame::Ping => {}
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

    /// Writes the next datagram into `out`, which is emptied; false if nothing may leave now.
    pub fn poll_transmit(&mut self, now: Time, out: &mut Vec<u8>) -> bool {
        out.clear();
        if let Some(ack) = self.received.take_ack(now) {
            let (pn, header) = (self.sender.take_pn(), self.control_header());
            return self.write(pn, header, &Frame::Ack(ack), out);
        }
        if self.sender.take_ping() {
            let (pn, header) = (self.sender.take_pn(), self.control_header());
            let written = self.write(pn, header, &Frame::Ping, out);
            self.sender.sent(now, &header, pn, out.len());
            return written;
        }
        let (events, counts) = (&mut self.events, &mut self.counts);
        self.sender.begin();
        let next = self.sender.next(now, |gone| note(events, counts, gone));
        let Some((Fragment { header, number, data }, pn)) = next else { return false };
        let written = self.write(pn, header, &Frame::Data { fragment: number, bytes: &data }, out);
        if written {
            self.sender.sent(now, &header, pn, out.len());
        }
        written
    }

    /// The header of a packet that carries no message: no queue drops it on purpose.
    fn control_header(&mut self) -> Header {
        let message = self.control_packets;
        self.control_packets = message.wrapping_add(1);
        let marking = Marking::default();
        Header { stream: CONTROL_STREAM, message, marking, first: true, last: true }
    }

    fn write(&mut self, pn: u64, header: Header, frame: &Frame<'_>, out: &mut Vec<u8>) -> bool {
        let phase = self.sealer.phase(pn, self.sender.newest_acked());
        let clear = Clear { header, session: self.ids.remote, phase, low: pn as u32 };
        if clear.encode(out).is_none() {
            return false;
        }
        frame.encode(out);
        self.sealer.seal(pn, out, CLEAR_BYTES);
        true
    }

    /// When [`time_out`](Self::time_out) and [`poll_transmit`](Self::poll_transmit) are to be called,
    /// if nothing else happens before.
    pub fn deadline(&self) -> Option<Time> {
        [self.sender.deadline(), self.received.due()].into_iter().flatten().min()
    }

    /// Does what is due at `now`.
    pub fn time_out(&mut self, now: Time) {
        self.sender.time_out(now);
    }

    /// Whether there are events.
    pub fn has_event(&self) -> bool {
        !self.events.is_empty()
    }

    /// What happened next.
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
        let fragments = message_bytes.div_ceil(self.payload_bytes - OVERHEAD_BYTES);
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
        self.sender.send_state().rtt(airlane_congestion::PathId(0))
    }

    /// The controller.
    pub fn controller(&self) -> Option<&dyn Controller> {
        self.sender.controller()
    }

    /// What was sent up to `now`, as the sending side counts it: what queues dropped counts as lost.
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
    if events.len() < MOST_EVENTS {
        events.push_back(event);
    }
}
