//! The sending half: from messages to fragments that may leave.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use airlane_base::{Ecn, IP_UDP_HEADER_BYTES, Rate, Seed, Time};
use airlane_congestion::{
    Acked, Controller, ControllerConfig, EcnCounts, EcnFeedback, PathId, Rtt, SendReadiness,
    SendState,
};
use airlane_octopus::{Header, Marking, Queue};
use bytes::Bytes;

use crate::drops::{DroppedHere, Drops};
use crate::flight::{Fate, Flight, SentPacket};
use crate::fragment::Fragment;
use crate::packet_numbers::{PacketNumbers, UnsentAcknowledged};
use crate::path_mtu::PathMtu;
use crate::random::UnpredictableNumbers;
use crate::route::Moved;
use crate::rtt::RttEstimate;
use crate::send_options::{SendError, SendOptions};
use crate::wire::{Ack, CONTROL_STREAM, MAX_FRAGMENTS, OVERHEAD_BYTES};

/// Probes are at most so far apart.
const MAX_PROBE_TIMEOUT: Duration = Duration::from_secs(1);
/// Time over which the buffer measures the rate at which it is served. An encoder chooses bitrates for a
/// group of pictures by the target at its beginning: if a dip of some percent dropped the top layer of one
/// frame, that of all others of the group would be of no use.
const RECENT: Duration = Duration::from_millis(500);
/// For this long after a packet was dropped on purpose the target is the estimate itself.
const CALM: Duration = Duration::from_secs(1);
/// Otherwise the target is up to this multiple of the estimate: the gain with which BBR probes.
const PROBE_GAIN: f64 = 1.25;
/// Timeouts in a row after which a sender without data asks no more.
const MAX_PINGS: u32 = 10;
/// Probe timeouts that losses without an acknowledgement between them span to count as persistent
/// congestion (RFC 9002, section 7.6.1).
const PERSISTENT_TIMEOUTS: u32 = 3;

/// The sending half of a session.
#[derive(Debug)]
pub(crate) struct Sender {
    send: SendState,
    /// The path that packets take now: another number after each move of the peer.
    path: PathId,
    controllers: Controllers,
    buffer: Queue<Fragment>,
    /// The next message of each stream that has sent.
    next_message: BTreeMap<u16, u32>,
    flight: Flight,
    rtt: RttEstimate,
    numbers: PacketNumbers,
    mtu: PathMtu,
    /// Probe timeouts since the last acknowledgement.
    timeouts: u32,
    /// A packet may leave though the window is closed.
    probes: bool,
    /// A packet without a fragment asks what has arrived.
    ping: bool,
    /// Time at which the pacer lets the next packet leave.
    paced: Option<Time>,
    dropped_packets: u64,
    /// Rates of the last [`RECENT`], falling: the first is the highest.
    recent: VecDeque<(Time, Rate)>,
    drops: Drops,
    /// Reports of marks, of a controller that asks for each.
    ecn: EcnFeedback,
}

/// Makes the controller of each path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Controllers {
    pub(crate) config: ControllerConfig,
    pub(crate) seed: Seed,
}

impl Controllers {
    fn make(&self, now: Time, path: PathId, payload_bytes: u64) -> Box<dyn Controller> {
        let seed = match path.0 {
            0 => self.seed,
            path => self.seed.index(path.into()),
        };
        self.config.build(now, payload_bytes, seed)
    }
}

impl Sender {
    pub(crate) fn new(
        now: Time,
        controllers: Controllers,
        mtu: PathMtu,
        options: SendOptions,
        random: &mut UnpredictableNumbers,
    ) -> Self {
        let (mut send, path) = (SendState::new(now), PathId(0));
        let payload_bytes = mtu.current().into();
        send.open(now, path, controllers.make(now, path, payload_bytes), payload_bytes);
        Self {
            send,
            path,
            controllers,
            buffer: Queue::new(options.buffer, options.dropping),
            next_message: BTreeMap::new(),
            flight: Flight::default(),
            rtt: RttEstimate::default(),
            numbers: PacketNumbers::new(random),
            mtu,
            timeouts: 0,
            probes: false,
            ping: false,
            paced: None,
            dropped_packets: 0,
            recent: VecDeque::new(),
            drops: Drops::default(),
            ecn: EcnFeedback::default(),
        }
    }

    /// Code point of packets: ECT(1) while the controller asks for each mark and the peer tells of them.
    pub(crate) fn ecn(&self) -> Ecn {
        let is_scalable = self.controller().is_some_and(Controller::is_scalable);
        if is_scalable && !self.ecn.has_failed() { Ecn::Ect1 } else { Ecn::NotEct }
    }

    pub(crate) fn send_state(&self) -> &SendState {
        &self.send
    }

    pub(crate) fn controller(&self) -> Option<&dyn Controller> {
        self.send.controller(self.path)
    }

    /// Round-trip times, once there is a sample.
    pub(crate) fn rtt(&self) -> Option<Rtt> {
        self.send.rtt(self.path)
    }

    /// UDP payload of a full packet, bytes.
    pub(crate) fn payload_bytes(&self) -> u64 {
        self.mtu.current().into()
    }

    /// The smoothed round-trip time.
    pub(crate) fn smoothed_rtt(&self) -> Duration {
        self.rtt.smoothed()
    }

    /// Packets that a queue dropped on purpose, as far as can be told.
    pub(crate) fn dropped_packets(&self) -> u64 {
        self.dropped_packets
    }

    /// IP bytes that wait.
    pub(crate) fn waiting_bytes(&self) -> u64 {
        self.buffer.ip_bytes()
    }

    fn fragment_bytes(&self) -> usize {
        usize::from(self.mtu.current()).saturating_sub(OVERHEAD_BYTES).max(1)
    }

    /// IP bytes for each byte of UDP payload in a full packet.
    fn ip_factor(&self) -> f64 {
        let payload_bytes = self.payload_bytes();
        (payload_bytes + u64::from(IP_UDP_HEADER_BYTES)) as f64 / payload_bytes as f64
    }

    /// The rate that the controller estimates for the path, in IP bytes; `None` before it does.
    pub(crate) fn bandwidth(&self) -> Option<Rate> {
        let controller = self.controller()?;
        let rate = controller.bandwidth().or_else(|| {
            // What a window gives in a round trip.
            let rtt = self.send.rtt(self.path)?;
            Some(Rate::of(controller.window(), rtt.smoothed))
        })?;
        Some(rate.scale(self.ip_factor()))
    }

    /// The rate that an encoder may ask for, IP bytes. An estimate grows only if more than it is asked for,
    /// unless it is the rate of media: where all of late has arrived, that is what the controller lets leave
    /// while it probes.
    pub(crate) fn target(&self, now: Time) -> Option<Rate> {
        let bandwidth = self.bandwidth()?;
        let is_media_rate = self.controller().is_some_and(Controller::sets_media_rate);
        if is_media_rate || self.drops.last.is_some_and(|at| now.since(at) < CALM) {
            return Some(bandwidth);
        }
        let paced = self.pacing_rate().unwrap_or(bandwidth);
        Some(paced.min(bandwidth.scale(PROBE_GAIN)).max(bandwidth))
    }

    /// The rate by which the buffer drops messages: the highest estimate or pacing rate of the last
    /// [`RECENT`]; `None` while the path has carried all that was asked of it.
    fn capacity(&mut self, now: Time) -> Option<Rate> {
        let estimate = self.bandwidth().max(self.pacing_rate())?;
        let recent = &mut self.recent;
        while recent.back().is_some_and(|(_, rate)| *rate <= estimate) {
            recent.pop_back();
        }
        recent.push_back((now, estimate));
        while recent.front().is_some_and(|(at, _)| now.since(*at) > RECENT) {
            recent.pop_front();
        }
        let filled = self.controller().is_some_and(Controller::has_filled_path);
        self.recent.front().filter(|_| filled).map(|(_, rate)| *rate)
    }

    /// The rate at which the controller lets packets leave, in IP bytes.
    pub(crate) fn pacing_rate(&self) -> Option<Rate> {
        Some(self.controller()?.pacing_rate()?.scale(self.ip_factor()))
    }

    /// Takes a message. Its number, and what the buffer dropped for it.
    pub(crate) fn push(
        &mut self,
        now: Time,
        stream: u16,
        marking: Marking,
        data: Bytes,
        mut dropped: impl FnMut(DroppedHere),
    ) -> Result<u32, SendError> {
        if stream == CONTROL_STREAM {
            return Err(SendError::Stream);
        }
        marking.check()?;
        let size = self.fragment_bytes();
        let most = size * MAX_FRAGMENTS;
        if data.is_empty() || data.len() > most {
            return Err(SendError::Size { found: data.len(), most });
        }
        let next = self.next_message.entry(stream).or_insert(0);
        let message = *next;
        *next = next.wrapping_add(1);
        let count = data.len().div_ceil(size);
        for number in 0..count {
            let data = data.slice(number * size..data.len().min((number + 1) * size));
            let (first, last) = (number == 0, number + 1 == count);
            let header = Header { stream, message, marking, first, last };
            let ip_bytes = data.len() + OVERHEAD_BYTES + usize::from(IP_UDP_HEADER_BYTES);
            let ip_bytes = u32::try_from(ip_bytes).unwrap_or(u32::MAX);
            let number = number as u16;
            let fragment = Fragment { header, number, data };
            let drops = &mut self.drops;
            self.buffer.enqueue(now, 0, Some(&header), ip_bytes, fragment, |gone| {
                drops.here(now, gone, &mut dropped);
            });
        }
        self.send.data_waits(self.path, now);
        Ok(message)
    }

    /// Before a run of [`next`](Self::next).
    pub(crate) fn begin(&mut self) {
        self.send.begin(self.path);
    }

    /// The next fragment, if it may leave now, and its packet number.
    pub(crate) fn next(
        &mut self,
        now: Time,
        random: &mut UnpredictableNumbers,
        mut dropped: impl FnMut(DroppedHere),
    ) -> Option<(Fragment, u64)> {
        self.paced = None;
        if self.buffer.is_empty() {
            self.send.next(now, self.path, None);
            return None;
        }
        // It may have to wait, and is decided on only when it leaves: which one it is, and how large,
        // is not known before.
        match self.send.next(now, self.path, Some(self.payload_bytes())) {
            SendReadiness::Open => {}
            SendReadiness::Window if self.probes => {}
            SendReadiness::Paced(at) => {
                self.paced = Some(at);
                return None;
            }
            SendReadiness::Window | SendReadiness::NothingToSend => return None,
        }
        let capacity = self.capacity(now);
        self.buffer.set_bandwidth(capacity);
        let drops = &mut self.drops;
        let next = self.buffer.dequeue(now, |gone| drops.here(now, gone, &mut dropped));
        let Some(next) = next else {
            self.send.next(now, self.path, None);
            return None;
        };
        self.probes = false;
        Some((next, self.take_pn(random)))
    }

    /// True if a probe is to be a packet without a fragment: where nothing waits, and once a probe was not
    /// answered, as a queue that drops the rest of a message drops each fragment of it that asks.
    fn is_ping_wanted(&self) -> bool {
        self.buffer.is_empty() || self.timeouts > 1
    }

    /// True if a packet without a fragment is to leave, which is then sent with [`Self::sent`].
    pub(crate) fn take_ping(&mut self) -> bool {
        let ping = std::mem::take(&mut self.ping) && self.is_ping_wanted();
        self.probes &= !ping;
        ping
    }

    /// A number for a packet without a fragment.
    pub(crate) fn take_pn(&mut self, random: &mut UnpredictableNumbers) -> u64 {
        self.numbers.take(random)
    }

    /// The size of a probe of the path's MTU, if one is to leave now: while packets arrive.
    pub(crate) fn next_mtu_probe(&mut self, now: Time) -> Option<u16> {
        let arrive = self.timeouts == 0
            && self.flight.newest_acked().is_some()
            && self.flight.last_sent().is_some();
        if arrive { self.mtu.next_probe(now) } else { None }
    }

    /// A probe of the path's MTU has left. It is no data: neither window nor controller knows of it.
    pub(crate) fn mtu_probe_sent(&mut self, now: Time, pn: u64, bytes: u16) {
        self.mtu.probe_sent(now, pn, bytes);
    }

    /// The socket does not take packets of this size.
    pub(crate) fn refused(&mut self, now: Time, bytes: u16) {
        let is_changed = self.mtu.refused(now, bytes);
        self.on_mtu(now, is_changed);
    }

    fn on_mtu(&mut self, now: Time, is_changed: bool) {
        if is_changed {
            self.send.on_mtu(now, self.path, self.mtu.current().into());
        }
    }

    /// The peer has moved: what is in flight went to where it no longer is, and says nothing of the
    /// path. Only behind a NAT that gave it another port the path is the same (RFC 9000, section 9.4).
    pub(crate) fn moved(&mut self, now: Time, moved: Moved) {
        let (old, new) = (self.path, PathId(self.path.0 + 1));
        if moved.same_host {
            self.send.open_like(now, new, old);
            self.send.close(old);
        } else {
            self.mtu.restart();
            self.rtt = RttEstimate::default();
            self.recent.clear();
            self.send.close(old);
            let payload_bytes = self.payload_bytes();
            let controller = self.controllers.make(now, new, payload_bytes);
            self.send.open(now, new, controller, payload_bytes);
        }
        self.path = new;
        self.flight.abandon();
        (self.timeouts, self.probes, self.ping, self.paced) = (0, false, false, None);
        self.buffer.reconsider();
        if !self.buffer.is_empty() {
            self.send.data_waits(new, now);
        }
    }

    /// The peer is there, while nothing that was sent lately has been acknowledged: a packet that asks
    /// for an acknowledgement may leave at once.
    pub(crate) fn peer_is_back(&mut self) {
        if self.timeouts > 0 {
            self.buffer.reconsider();
            self.probes = true;
            self.ping = self.buffer.is_empty();
        }
    }

    /// The newest packet that was acknowledged.
    pub(crate) fn newest_acked(&self) -> Option<u64> {
        self.flight.newest_acked()
    }

    /// A fragment left in a packet of `bytes`.
    pub(crate) fn sent(&mut self, now: Time, header: &Header, pn: u64, bytes: usize) {
        let marking = header.marking;
        let droppable = marking.priority > 0 || marking.bitrate_kbps > 0;
        let message = (header.stream, header.message);
        let bytes = u16::try_from(bytes).unwrap_or(u16::MAX);
        let packet = SentPacket::new(pn, now, message, header.first, droppable);
        self.flight.sent(packet.of_bytes(bytes));
        // What waited has left; the next one waits from now on.
        self.send.no_data_waits(now, self.path);
        self.send.on_sent(now, self.path, pn, bytes);
        if !self.buffer.is_empty() {
            self.send.data_waits(self.path, now);
        }
    }

    /// An acknowledgement came.
    ///
    /// # Errors
    /// If it is of a packet that was never sent: then nothing has changed.
    pub(crate) fn acknowledged(&mut self, now: Time, ack: &Ack) -> Result<(), UnsentAcknowledged> {
        self.numbers.check(ack)?;
        let before = self.flight.newest_acked();
        let (mut numbers, mut is_changed) = (Vec::new(), false);
        let mtu = &mut self.mtu;
        let sample = self.flight.acknowledge(ack, |packet| {
            numbers.push(packet.pn);
            is_changed |= mtu.arrived(now, packet.bytes, packet.at);
        });
        let newest = ack.ranges.first().map_or(0, |&(_, newest)| newest);
        is_changed |= mtu.acknowledged(now, newest, self.rtt.loss_delay(), |pn| ack.covers(pn));
        self.on_mtu(now, is_changed);
        if let Some(sample) = sample {
            let delay = Duration::from_micros(sample.delay_us.into());
            self.rtt.add(now - sample.sent_at, delay);
        }
        let smoothed_rtt = self.rtt.smoothed();
        for &pn in &numbers {
            self.send.on_acked(now, self.path, &Acked { pn, smoothed_rtt });
        }
        self.detect_losses(now);
        if !numbers.is_empty() {
            self.send.on_ack_end(now, self.path);
            self.read_ecn_counts(now, numbers.len(), ack.ecn);
        }
        if self.flight.newest_acked() > before {
            if self.timeouts > 0 {
                // What a probe has begun is as old.
                self.buffer.reconsider();
            }
            self.timeouts = 0;
            self.probes = false;
        }
        Ok(())
    }

    /// The ECN counts of an acknowledgement that was the first to acknowledge so many packets.
    fn read_ecn_counts(&mut self, now: Time, newly_acked: usize, counts: Option<EcnCounts>) {
        if self.ecn() == Ecn::Ect1 {
            self.ecn.acked(newly_acked as u64);
            let packets = self.ecn.reported(counts);
            if packets > 0 {
                self.send.on_marked(now, self.path, packets);
            }
        }
    }

    fn detect_losses(&mut self, now: Time) {
        let (send, path, mtu) = (&mut self.send, self.path, &mut self.mtu);
        let (mut dropped, mut lost) = (0, None);
        self.flight.detect(now, &self.rtt, |packet, fate| {
            mtu.missing(packet.bytes, packet.at, fate == Fate::Dropped);
            if fate == Fate::Dropped {
                dropped += 1;
                send.on_dropped(now, path, packet.pn);
            } else {
                let (oldest, _) = lost.unwrap_or((packet.at, packet.at));
                lost = Some((oldest, packet.at));
                send.on_lost(now, path, packet.pn);
            }
        });
        self.dropped_packets += dropped;
        if dropped > 0 {
            self.drops.last = Some(now);
        }
        if let Some((oldest, newest)) = lost {
            let least = PERSISTENT_TIMEOUTS * self.rtt.probe_timeout();
            self.send.on_losses_end(now, self.path, newest.since(oldest) > least);
        }
    }

    /// Time at which a probe is due. While one may leave, or nobody has answered for long and nothing
    /// waits, no further one is.
    fn probe_at(&self) -> Option<Time> {
        if self.probes || self.timeouts >= MAX_PINGS && self.buffer.is_empty() {
            return None;
        }
        let last = self.flight.last_sent()?;
        let timeout = self.rtt.probe_timeout() * 2_u32.saturating_pow(self.timeouts.min(16));
        Some(last + timeout.min(MAX_PROBE_TIMEOUT.max(self.rtt.probe_timeout())))
    }

    /// Time at which [`time_out`](Self::time_out) is due.
    pub(crate) fn deadline(&self) -> Option<Time> {
        [self.flight.loss_at(), self.probe_at(), self.paced].into_iter().flatten().min()
    }

    /// Does what is due.
    pub(crate) fn time_out(&mut self, now: Time) {
        if self.flight.loss_at().is_some_and(|at| at <= now) {
            self.detect_losses(now);
        }
        if self.probe_at().is_some_and(|at| at <= now) {
            // Nothing has come back for so long that what has begun to leave may be decided anew.
            self.buffer.reconsider();
            self.timeouts = self.timeouts.saturating_add(1);
            let is_changed = self.mtu.timed_out(now, self.timeouts);
            self.on_mtu(now, is_changed);
            self.probes = true;
            self.ping = self.is_ping_wanted();
        }
    }
}
