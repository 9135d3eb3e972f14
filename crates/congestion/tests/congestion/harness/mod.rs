//! A packet simulator for controllers: window senders and the laboratory's link and queues, no
//! QUIC.
//!
//! Pure and seeded. It exists to check equilibria in seconds; the laboratory repeats them with
//! real connections.

mod air;
mod queue;
mod sender;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use airlane_base::{Ecn, Rng, Seed, Time};
use airlane_congestion::pacer::BURST_PACKETS;
use airlane_congestion::{Controller, Signal};
use airlane_net::LinkReport;
use rand::RngExt;

pub use air::Air;
pub use queue::Discipline;
pub use sender::{AckPolicy, OnOff, PACKET_BYTES};

use queue::{Bottleneck, Departure, Fate};
use sender::{Media, Sender};

/// One flow of a scene.
pub struct Flow {
    /// Its controller.
    pub controller: Box<dyn Controller>,
    /// Round-trip time without queues.
    pub rtt: Duration,
    /// Its receiver.
    pub acks: AckPolicy,
    /// Packets that its pacer lets go at once after a pause.
    pub burst: f64,
    /// When it starts.
    pub start: Time,
    /// Pauses, if it makes any.
    pub on_off: Option<OnOff>,
    /// Time between frames of a medium at the rate that the controller gives; `None`: always data.
    pub frames: Option<Duration>,
    /// Weights to set, by time.
    pub weights: Vec<(Time, f64)>,
    /// What its receiver reports, if it does.
    pub reports: Option<Reports>,
}

/// What a receiver tells its sender: asked each `every` with the bytes that each flow has received so far,
/// it answers with a signal, which arrives half a round trip later.
pub struct Reports {
    /// Time between reports.
    pub every: Duration,
    /// Makes one; none if it is lost.
    pub tell: Tell,
}

/// Makes a signal of what each flow has received.
pub type Tell = Box<dyn FnMut(Time, &[u64]) -> Option<Signal>>;

impl Flow {
    /// A flow that always has data, with every second packet acknowledged.
    pub fn new(controller: Box<dyn Controller>, rtt: Duration) -> Self {
        let (acks, weights) = (AckPolicy::EVERY_SECOND, Vec::new());
        Self {
            controller,
            rtt,
            acks,
            burst: BURST_PACKETS,
            start: Time::ZERO,
            on_off: None,
            frames: None,
            weights,
            reports: None,
        }
    }
}

/// A scene.
pub struct Scene {
    /// The queue.
    pub discipline: Discipline,
    /// Time the bottleneck takes for a packet; zero for none.
    pub service: Duration,
    /// Send jitter in service times: uniform up to this, without reordering a flow.
    pub jitter: f64,
    /// How long it runs.
    pub duration: Duration,
    /// Measures from here on.
    pub warmup: Duration,
    /// Seed.
    pub seed: Seed,
}

/// What a flow got.
#[derive(Clone, Debug, Default)]
pub struct FlowResult {
    /// Packets received after the warm-up.
    pub packets: u64,
    /// Time-weighted mean window in packets.
    pub window: f64,
    /// Packets received in each 100 ms since the start.
    pub bins: Vec<u32>,
    /// Packets lost after the warm-up.
    pub lost: u64,
    /// Time that each packet after the warm-up took through queue and link.
    pub waits: Vec<Duration>,
}

impl FlowResult {
    /// Quantile of the time through queue and link, ms.
    pub fn wait_ms(&self, quantile: f64) -> f64 {
        let mut waits = self.waits.clone();
        waits.sort_unstable();
        let last = waits.len().saturating_sub(1) as f64;
        waits.get((last * quantile).round() as usize).map_or(0.0, |wait| wait.as_secs_f64() * 1e3)
    }
}

/// What came out.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// By flow.
    pub flows: Vec<FlowResult>,
    /// What the link did after the warm-up.
    pub link: LinkReport,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Wake,
    Arrive(u64),
    Leave,
    Receive(u64),
    AckTimer(u64),
    Acked { first: u64, largest: u64, at: Time },
    Weight(usize),
    Report,
    Signal,
    Warm,
}

/// The receiver of one flow and what the world keeps about it.
struct Peer {
    rtt: Duration,
    acks: AckPolicy,
    last_departure: Time,
    wake: Time,
    unacked_from: u64,
    unacked: u32,
    expected: u64,
    timer: u64,
    weights: Vec<(Time, f64)>,
    reports: Option<Reports>,
    signals: VecDeque<Signal>,
    received: u64,
    result: FlowResult,
}

struct World {
    now: Time,
    events: BinaryHeap<Reverse<(Time, u64, usize, What)>>,
    sequence: u64,
    senders: Vec<Sender>,
    peers: Vec<Peer>,
    bottleneck: Bottleneck,
    rng: Rng,
    jitter_ns: f64,
    warm: bool,
}

/// Runs `flows` through `scene`.
pub fn run(scene: &Scene, flows: Vec<Flow>) -> Outcome {
    let mut world = World {
        now: Time::ZERO,
        events: BinaryHeap::new(),
        sequence: 0,
        senders: Vec::new(),
        peers: Vec::new(),
        bottleneck: Bottleneck::new(scene.discipline, scene.service, scene.seed.split("queue")),
        rng: scene.seed.split("jitter").rng(),
        jitter_ns: scene.jitter * scene.service.as_nanos() as f64,
        warm: false,
    };
    for (id, flow) in flows.into_iter().enumerate() {
        world.push(flow.start, id, What::Wake);
        for (i, &(at, _)) in flow.weights.iter().enumerate() {
            world.push(at, id, What::Weight(i));
        }
        if let Some(reports) = &flow.reports {
            world.push(flow.start + reports.every, id, What::Report);
        }
        let media = flow.frames.map(|interval| Media::new(interval, flow.start));
        let mut sender = Sender::new(flow.controller, flow.on_off, flow.burst, flow.start);
        sender.media = media;
        world.senders.push(sender);
        world.peers.push(Peer {
            rtt: flow.rtt,
            acks: flow.acks,
            last_departure: Time::ZERO,
            wake: flow.start,
            unacked_from: 0,
            unacked: 0,
            expected: 0,
            timer: 0,
            weights: flow.weights,
            reports: flow.reports,
            signals: VecDeque::new(),
            received: 0,
            result: FlowResult::default(),
        });
    }
    world.push(Time::ZERO + scene.warmup, 0, What::Warm);
    world.go(Time::ZERO + scene.duration);
    let link = world.bottleneck.measured(Time::ZERO + scene.duration);
    let span = (scene.duration - scene.warmup).as_secs_f64();
    let flows = world.senders.iter_mut().zip(world.peers).map(|(sender, peer)| {
        sender.look(Time::ZERO + scene.duration);
        let window = sender.window_area / span / PACKET_BYTES as f64;
        FlowResult { window, lost: sender.lost, ..peer.result }
    });
    Outcome { flows: flows.collect(), link }
}

impl World {
    fn push(&mut self, at: Time, flow: usize, what: What) {
        self.sequence += 1;
        self.events.push(Reverse((at, self.sequence, flow, what)));
    }

    fn go(&mut self, end: Time) {
        while let Some(Reverse((at, _, id, what))) = self.events.pop() {
            if at > end {
                break;
            }
            self.now = at;
            match what {
                What::Wake => {
                    if self.peers[id].wake == at {
                        self.peers[id].wake = Time::FAR_FUTURE;
                        self.drive(id);
                    }
                }
                What::Arrive(pn) => self.arrive(id, pn),
                What::Leave => self.leave(),
                What::Receive(pn) => self.receive(id, pn),
                What::AckTimer(timer) => {
                    if self.peers[id].timer == timer && self.peers[id].unacked > 0 {
                        self.acknowledge(id);
                    }
                }
                What::Acked { first, largest, at } => {
                    self.senders[id].on_ack(self.now, first, largest, at);
                    self.drive(id);
                }
                What::Weight(i) => {
                    let weight = self.peers[id].weights[i].1;
                    self.senders[id].look(at);
                    self.senders[id].controller.set_weight(at, weight);
                    self.drive(id);
                }
                What::Report => self.report(id),
                What::Signal => {
                    if let Some(signal) = self.peers[id].signals.pop_front() {
                        self.senders[id].look(at);
                        self.senders[id].controller.on_signal(at, signal);
                        self.drive(id);
                    }
                }
                What::Warm => {
                    self.warm = true;
                    self.bottleneck.reset(at);
                    for sender in &mut self.senders {
                        sender.look(at);
                        (sender.window_area, sender.lost) = (0.0, 0);
                    }
                }
            }
        }
    }

    fn report(&mut self, id: usize) {
        let received: Vec<u64> = self.peers.iter().map(|peer| peer.received).collect();
        let now = self.now;
        let peer = &mut self.peers[id];
        let Some(reports) = &mut peer.reports else { return };
        let (next, back) = (now + reports.every, now + peer.rtt / 2);
        if let Some(signal) = (reports.tell)(now, &received) {
            peer.signals.push_back(signal);
            self.push(back, id, What::Signal);
        }
        self.push(next, id, What::Report);
    }

    fn drive(&mut self, id: usize) {
        let drive = self.senders[id].drive(self.now);
        for pn in drive.send {
            let jitter = Duration::from_nanos((self.rng.random::<f64>() * self.jitter_ns) as u64);
            let at = (self.now + jitter).max(self.peers[id].last_departure);
            self.peers[id].last_departure = at;
            self.push(at, id, What::Arrive(pn));
        }
        if drive.wake < self.peers[id].wake {
            self.peers[id].wake = drive.wake;
            self.push(drive.wake, id, What::Wake);
        }
    }

    fn arrive(&mut self, id: usize, pn: u64) {
        let idle = self.bottleneck.next().is_none();
        let is_scalable = self.senders[id].controller.is_scalable();
        let ecn = if is_scalable { Ecn::Ect1 } else { Ecn::Ect0 };
        match self.bottleneck.arrive(self.now, id, pn, ecn) {
            Fate::Leaves => self.go_on(id, pn),
            Fate::Waits if idle => self.await_next(),
            Fate::Waits | Fate::Dropped => {}
        }
    }

    fn leave(&mut self) {
        if let Some(Departure { flow, pn, marked, waited }) = self.bottleneck.leave(self.now) {
            if let Some(packet) = self.senders[flow].packet(pn) {
                packet.marked = marked;
            }
            if self.warm {
                self.peers[flow].result.waits.push(waited);
            }
            self.go_on(flow, pn);
            self.await_next();
        }
    }

    fn await_next(&mut self) {
        if let Some(at) = self.bottleneck.next() {
            self.push(at, 0, What::Leave);
        }
    }

    fn go_on(&mut self, id: usize, pn: u64) {
        let delay = self.peers[id].rtt / 2;
        self.push(self.now + delay, id, What::Receive(pn));
    }

    fn receive(&mut self, id: usize, pn: u64) {
        let now = self.now;
        if let Some(packet) = self.senders[id].packet(pn) {
            packet.received_at = Some(now);
        }
        let peer = &mut self.peers[id];
        let bin = (now.as_nanos() / 100_000_000) as usize;
        if peer.result.bins.len() <= bin {
            peer.result.bins.resize(bin + 1, 0);
        }
        peer.result.bins[bin] += 1;
        peer.result.packets += u64::from(self.warm);
        peer.received += PACKET_BYTES;
        peer.unacked += 1;
        let gap = pn != peer.expected;
        peer.expected = pn + 1;
        if peer.unacked >= peer.acks.every || gap {
            self.acknowledge(id);
        } else if peer.unacked == 1 {
            peer.timer += 1;
            let (at, timer) = (now + peer.acks.delay, peer.timer);
            self.push(at, id, What::AckTimer(timer));
        }
    }

    fn acknowledge(&mut self, id: usize) {
        let peer = &mut self.peers[id];
        let (first, largest) = (peer.unacked_from, peer.expected - 1);
        peer.unacked_from = peer.expected;
        peer.unacked = 0;
        peer.timer += 1;
        let back = self.now + peer.rtt / 2;
        self.push(back, id, What::Acked { first, largest, at: self.now });
    }
}
