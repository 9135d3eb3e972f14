//! The medium: who is on the channel, what is in the air, and what happens next.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::fmt;
use std::time::Duration;

use airlane_base::{DropReason, Dscp, Packet, Rate, Rng, Seed, Time};
use airlane_wifi::{Access, Address, ErrorModel, Timing, Vector};

use super::account::{Airtime, Use};
use super::channel::Powers;
use super::config::{ApConfig, ChannelConfig, RateControl, StationConfig};
use super::contender::Contender;
use super::ears::Ears;
use super::link::Link;
use super::reception::{Radio, Transmission};
use super::scheduler::Scheduler;
use crate::access::Direction;
use crate::meter::{LinkStats, Meter};
use crate::node::{Counters, Dropped, Port};
use crate::queue::QueueSpec;

/// An access point of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ApId(pub(super) usize);

/// A station of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StationId(pub(super) usize);

/// What happens at a time that is known beforehand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// A transmission ends.
    End(usize),
    /// A contender that has the air sends the next PPDU of its exchange.
    Continue(usize),
    /// Somebody answers what a contender has sent.
    Respond(usize),
    /// No answer has come.
    Unanswered(usize),
    /// A receiver gives up a gap.
    GiveUp(usize),
}

/// An access point.
pub(super) struct Ap {
    pub(super) radio: usize,
    pub(super) config: ApConfig,
    pub(super) scheduler: Box<dyn Scheduler>,
    /// Packets and IP bytes in its queues, for the pool.
    pub(super) pooled: (usize, u64),
}

/// A station.
pub(super) struct Station {
    pub(super) radio: usize,
    pub(super) ap: usize,
    config: StationConfig,
}

/// What is kept of the packets of a port.
#[derive(Default)]
pub(super) struct Way {
    pub(super) counters: Counters,
    pub(super) meter: Meter,
    /// Packets and IP bytes that have no number yet.
    pub(super) waiting: (usize, u64),
    pub(super) airtime: Airtime,
    /// Its links, by category.
    links: [Option<usize>; 4],
}

pub(super) struct Medium {
    pub(super) config: ChannelConfig,
    pub(super) timing: Timing,
    pub(super) errors: ErrorModel,
    pub(super) powers: Powers,
    pub(super) radios: Vec<Radio>,
    pub(super) aps: Vec<Ap>,
    pub(super) stations: Vec<Station>,
    pub(super) contenders: Vec<Contender>,
    pub(super) links: Vec<Link>,
    pub(super) ways: Vec<Way>,
    pub(super) air: Vec<Option<Transmission>>,
    events: BinaryHeap<Reverse<(Time, u64, Event)>>,
    sequence: u64,
    pub(super) now: Time,
    pub(super) rng: Rng,
    /// What monitors hear is drawn apart, so that listening changes nothing.
    pub(super) ears_rng: Rng,
    seed: Seed,
    /// Packets that have crossed the air.
    ready: VecDeque<(usize, Box<Packet>)>,
    /// When the next contender may send; to be asked anew after every change.
    next_access: Option<Time>,
    pub(super) uses: Option<Vec<Use>>,
    pub(super) scratch: Vec<Box<Packet>>,
}

/// The port of a station's packets in one direction.
pub(super) fn port(station: StationId, direction: Direction) -> Port {
    Port(2 * station.0 as u16 + u16::from(direction == Direction::Up))
}

impl Medium {
    pub(super) fn new(config: ChannelConfig, seed: Seed) -> Self {
        Self {
            config,
            timing: Timing::of(config.band),
            errors: ErrorModel::new(),
            powers: Powers::new(config.noise_figure_db),
            radios: Vec::new(),
            aps: Vec::new(),
            stations: Vec::new(),
            contenders: Vec::new(),
            links: Vec::new(),
            ways: Vec::new(),
            air: Vec::new(),
            events: BinaryHeap::new(),
            sequence: 0,
            now: Time::ZERO,
            rng: seed.split("air").rng(),
            ears_rng: seed.split("ears").rng(),
            seed,
            ready: VecDeque::new(),
            next_access: None,
            uses: None,
            scratch: Vec::new(),
        }
    }

    fn add_radio(&mut self, kind: u8) -> usize {
        let number = self.radios.len();
        let [high, low] = (number as u16).to_be_bytes();
        // Locally administered.
        self.radios.push(Radio::new(Address([2, 0, 0, kind, high, low])));
        self.powers.add();
        number
    }

    pub(super) fn add_ap(&mut self, config: ApConfig) -> ApId {
        let radio = self.add_radio(1);
        let scheduler = config.scheduler.build();
        self.aps.push(Ap { radio, config, scheduler, pooled: (0, 0) });
        ApId(self.aps.len() - 1)
    }

    pub(super) fn add_station(&mut self, ap: ApId, config: StationConfig) -> StationId {
        let radio = self.add_radio(2);
        let width = self.aps[ap.0].config.width;
        self.powers.set_snr(self.aps[ap.0].radio, radio, (config.snr_db, config.up_db), width);
        for other in &self.stations {
            let snr = config.others_db.min(other.config.others_db);
            self.powers.set_snr(other.radio, radio, (snr, 0.0), width);
        }
        self.stations.push(Station { radio, ap: ap.0, config });
        self.ways.extend([Way::default(), Way::default()]);
        StationId(self.stations.len() - 1)
    }

    pub(super) fn rate_of(&self, ap: ApId, station: &StationConfig) -> Rate {
        let ap = &self.aps[ap.0].config;
        let vector = match station.rate_control.unwrap_or(ap.rate_control) {
            RateControl::Fixed { mcs, streams } => ap.vector(mcs, streams),
            RateControl::Ideal => self.best(ap, station.snr_db),
        };
        vector.rate()
    }

    pub(super) fn listen(&mut self, station: StationId) -> Ears {
        let radio = &mut self.radios[self.stations[station.0].radio];
        radio.ears.get_or_insert_default().clone()
    }

    pub(super) fn addresses(&self, station: StationId) -> (Address, Address) {
        let station = &self.stations[station.0];
        let address = |radio: usize| self.radios[radio].address;
        (address(station.radio), address(self.aps[station.ap].radio))
    }

    pub(super) fn airtime(&self) -> Vec<Airtime> {
        self.ways.iter().map(|way| way.airtime).collect()
    }

    pub(super) fn keep_uses(&mut self) {
        self.uses.get_or_insert_default();
    }

    pub(super) fn take_uses(&mut self) -> Vec<Use> {
        self.uses.as_mut().map(std::mem::take).unwrap_or_default()
    }

    pub(super) fn ports(&self) -> u16 {
        self.ways.len() as u16
    }

    pub(super) fn counters(&self, port: Port) -> Counters {
        let counters = self.ways[usize::from(port.0)].counters;
        let (packets, bytes) = counters.dropped_total();
        let held = (
            counters.pushed.0 - counters.polled.0 - packets,
            counters.pushed.1 - counters.polled.1 - bytes,
        );
        Counters { held, ..counters }
    }

    pub(super) fn link_stats(&self, port: Port, now: Time) -> LinkStats {
        let way = &self.ways[usize::from(port.0)];
        let (packets, bytes) = way.waiting;
        way.meter.snapshot(now, packets, bytes, 0.0)
    }

    /// Takes a packet into the queue of its port.
    pub(super) fn push(
        &mut self,
        now: Time,
        port: Port,
        mut packet: Box<Packet>,
        drops: &mut Vec<Dropped>,
    ) {
        self.run(now, drops);
        packet.enqueued = now;
        let port = usize::from(port.0);
        self.ways[port].counters.count_push(&packet);
        let number = self.link_of(port, packet.dscp);
        let before = drops.len();
        let link = &mut self.links[number];
        let (old_packets, old_bytes) = (link.backlog().packets, link.backlog().bytes);
        let pool = (port.is_multiple_of(2)).then(|| self.stations[port / 2].ap);
        let is_full = pool.is_some_and(|ap| {
            let (packets, bytes) = self.aps[ap].pooled;
            let bytes = bytes + u64::from(packet.ip_bytes());
            self.aps[ap].config.pool.exceeded_by(packets + 1, bytes)
        });
        let from = self.contenders[link.contender].radio;
        if self.radios[from].is_gone {
            drops.push(Dropped { packet, reason: DropReason::Unreachable });
        } else if is_full {
            drops.push(Dropped { packet, reason: DropReason::Overflow });
        } else {
            link.enqueue(now, packet, drops);
        }
        self.after_queue(now, number, (old_packets, old_bytes), &drops[before..]);
        let contender = self.links[number].contender;
        if self.links[number].has_traffic() {
            let radio = self.contenders[contender].radio;
            let aifs = self.timing.aifs(&self.contenders[contender].access);
            let is_free =
                self.radios[radio].is_idle() && self.radios[radio].counts_from() + aifs <= now;
            self.contenders[contender].want(now, is_free, &mut self.rng);
            if let Some(ap) = pool {
                self.aps[ap].scheduler.arrived(now, number);
            }
        }
        self.find_access();
    }

    /// Gives up a packet that has crossed the air.
    pub(super) fn poll(&mut self, now: Time, drops: &mut Vec<Dropped>) -> Option<Box<Packet>> {
        if self.ready.is_empty() {
            self.run(now, drops);
        }
        let (port, packet) = self.ready.pop_front()?;
        let way = &mut self.ways[port];
        way.counters.count_poll(&packet);
        way.meter.carried(packet.ip_bytes());
        Some(packet)
    }

    pub(super) fn next_event(&self) -> Option<Time> {
        if !self.ready.is_empty() {
            return Some(self.now);
        }
        let event = self.events.peek().map(|Reverse((at, _, _))| *at);
        [event, self.next_access].into_iter().flatten().min()
    }

    /// All that happens until `now`; stops where packets have crossed the air, so that they go on at
    /// their time.
    fn run(&mut self, now: Time, drops: &mut Vec<Dropped>) {
        while let Some(at) = self.next_event().filter(|at| *at <= now) {
            if !self.ready.is_empty() {
                return;
            }
            self.now = at;
            match self.events.peek() {
                Some(Reverse((time, _, event))) if *time == at => {
                    let event = *event;
                    self.events.pop();
                    self.happen(event, drops);
                }
                _ => self.grant(drops),
            }
            self.find_access();
        }
        self.now = self.now.max(now);
    }

    fn happen(&mut self, event: Event, drops: &mut Vec<Dropped>) {
        match event {
            Event::End(transmission) => self.end(transmission, drops),
            Event::Continue(contender) => {
                let radio = self.contenders[contender].radio;
                match self.radios[radio].is_gone {
                    true => self.fail(contender, drops),
                    false => self.send_data(contender),
                }
            }
            Event::Respond(contender) => self.respond(contender),
            Event::Unanswered(contender) => self.fail(contender, drops),
            Event::GiveUp(link) => self.give_up_gap(link),
        }
    }

    pub(super) fn at(&mut self, at: Time, event: Event) {
        self.sequence += 1;
        self.events.push(Reverse((at, self.sequence, event)));
    }

    /// When a contender may send, if the channel stays as it is.
    fn access_of(&self, contender: &Contender) -> Option<Time> {
        contender.wants_since?;
        let radio = &self.radios[contender.radio];
        if !radio.is_idle() {
            return None;
        }
        let from = radio.counts_from() + self.timing.aifs(&contender.access) + self.eifs(radio);
        contender.may_send_at(from, self.timing.slot)
    }

    pub(super) fn find_access(&mut self) {
        self.next_access = self.contenders.iter().filter_map(|c| self.access_of(c)).min();
    }

    /// Everybody who may send now does: who sends at the same time does not hear the others.
    fn grant(&mut self, drops: &mut Vec<Dropped>) {
        let now = self.now;
        let due = |c: &Contender| self.access_of(c).is_some_and(|at| at <= now);
        let mut granted: Vec<usize> =
            (0..self.contenders.len()).filter(|i| due(&self.contenders[*i])).collect();
        // Within a radio the category that contends least patiently goes first; for the others that is
        // a collision.
        granted.sort_by_key(|i| {
            let c = &self.contenders[*i];
            (c.radio, c.access.aifsn, c.access.cw_min)
        });
        let mut last = None;
        for contender in granted {
            let radio = self.contenders[contender].radio;
            if last.replace(radio) == Some(radio) {
                let retries = self.ap_of(contender).config.retries;
                self.contenders[contender].fail(retries, &mut self.rng);
            } else {
                self.begin(contender, drops);
            }
        }
    }

    /// The access point in whose network a contender is.
    pub(super) fn ap_of(&self, contender: usize) -> &Ap {
        let radio = self.contenders[contender].radio;
        &self.aps[self.radios[radio].ap]
    }

    /// The link for packets of a port with this DSCP; it is made when the first comes.
    fn link_of(&mut self, port: usize, dscp: Dscp) -> usize {
        let station = &self.stations[port / 2];
        let ap = &self.aps[station.ap];
        let category = match ap.config.has_categories {
            true => category(dscp),
            false => BEST_EFFORT,
        };
        if let Some(link) = self.ways[port].links[category] {
            return link;
        }
        let is_up = port % 2 == 1;
        let (from, to) = if is_up { (station.radio, ap.radio) } else { (ap.radio, station.radio) };
        let rate_control = station.config.rate_control.unwrap_or(ap.config.rate_control);
        let spec = if is_up { station.config.queue } else { ap.config.queue };
        let queue = self.queue(&spec, port, category);
        let window = self.aps[self.stations[port / 2].ap].config.window;
        let contender = self.contender(from, category);
        self.radios[from].ap = self.stations[port / 2].ap;
        self.radios[to].ap = self.stations[port / 2].ap;
        let link = Link::new(contender, (to, port), rate_control, queue, window);
        self.links.push(link);
        let number = self.links.len() - 1;
        self.contenders[contender].links.push(number);
        self.ways[port].links[category] = Some(number);
        number
    }

    fn queue(&self, spec: &QueueSpec, port: usize, category: usize) -> Box<dyn crate::node::Queue> {
        // A limit in BDP means nothing where no rate is known: of 100 Mbit/s and 20 ms.
        let seed = self.seed.split("queue").index(port as u64).index(category as u64);
        spec.build(Rate::from_bps(100_000_000), Duration::from_millis(20), seed)
    }

    fn contender(&mut self, radio: usize, category: usize) -> usize {
        let access = CATEGORIES[category];
        let found = self.contenders.iter().position(|c| c.radio == radio && c.access == access);
        found.unwrap_or_else(|| {
            self.contenders.push(Contender::new(radio, access));
            self.radios[radio].contenders.push(self.contenders.len() - 1);
            self.contenders.len() - 1
        })
    }

    /// Packets that have crossed the air wait to be taken.
    pub(super) fn deliver(&mut self, port: usize, packets: &mut Vec<Box<Packet>>) {
        self.ready.extend(packets.drain(..).map(|packet| (port, packet)));
    }

    /// Keeps the account of a queue that had so much before and gave up these.
    pub(super) fn after_queue(
        &mut self,
        now: Time,
        link: usize,
        (packets, bytes): (usize, u64),
        dropped: &[Dropped],
    ) {
        let link = &self.links[link];
        let backlog = link.backlog();
        let way = &mut self.ways[link.port];
        way.meter.advance(now, way.waiting.0, way.waiting.1);
        way.waiting.0 = way.waiting.0 + backlog.packets - packets;
        way.waiting.1 = way.waiting.1 + backlog.bytes - bytes;
        way.counters.count_drops(dropped);
        if link.port.is_multiple_of(2) {
            let pooled = &mut self.aps[self.stations[link.port / 2].ap].pooled;
            pooled.0 = pooled.0 + backlog.packets - packets;
            pooled.1 = pooled.1 + backlog.bytes - bytes;
        }
    }

    /// How to send for the most goodput.
    fn best(&self, ap: &ApConfig, snr_db: f64) -> Vector {
        let most = ap.vector(ap.format.most_mcs(), ap.streams);
        self.errors.best(&most, snr_db, 1_500)
    }

    /// How a link sends now.
    pub(super) fn vector(&self, link: usize) -> Vector {
        let link = &self.links[link];
        let ap = &self.aps[self.stations[link.port / 2].ap].config;
        match link.rate_control {
            RateControl::Fixed { mcs, streams } => ap.vector(mcs, streams),
            RateControl::Ideal => {
                let from = self.contenders[link.contender].radio;
                let snr = self.powers.sinr_db(from, link.to, ap.width, 0.0);
                self.best(ap, snr)
            }
        }
    }
}

const BEST_EFFORT: usize = 1;
/// Background, best effort, video, voice.
const CATEGORIES: [Access; 4] =
    [Access::BACKGROUND, Access::BEST_EFFORT, Access::VIDEO, Access::VOICE];

/// The category of a DSCP, by its three highest bits as access points do.
fn category(dscp: Dscp) -> usize {
    match dscp.number() >> 3 {
        1 | 2 => 0,
        4 | 5 => 2,
        6 | 7 => 3,
        _ => BEST_EFFORT,
    }
}

impl fmt::Debug for Medium {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Medium")
            .field("now", &self.now)
            .field("radios", &self.radios.len())
            .field("stations", &self.stations.len())
            .finish_non_exhaustive()
    }
}
