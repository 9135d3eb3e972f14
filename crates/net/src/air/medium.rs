//! The medium: who is on the channel, what is in the air, and what happens next.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::fmt;
use std::time::Duration;

use airlane_base::{DropReason, Packet, Rng, Seed, Time};
use airlane_wifi::{Address, ErrorModel, Timing};

use super::account::{Airtime, Use};
use super::channel::Powers;
use super::config::{ApConfig, ChannelConfig, Descriptors, StationConfig};
use super::contender::Contender;
use super::descriptors::Front;
use super::ears::{Ears, Monitor};
use super::interferer::Interferer;
use super::link::Link;
use super::reception::{Radio, Transmission};
use super::scene::Scene;
use super::scheduler::Scheduler;
use crate::access::Direction;
use crate::meter::{LinkStats, Meter};
use crate::node::{Counters, Dropped, Port};

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
    /// An interferer begins or ends to send.
    Burst(usize),
    /// A beacon of an access point is due.
    Beacon(usize),
    /// A station may have been silent for long enough to sleep.
    Doze(usize),
}

/// An access point.
pub(super) struct Ap {
    pub(super) radio: usize,
    pub(super) config: ApConfig,
    pub(super) scheduler: Box<dyn Scheduler>,
    /// Packets and IP bytes in its queues, for the pool.
    pub(super) pooled: (usize, u64),
    /// The queue in front of shared descriptors.
    pub(super) front: Option<Front>,
    /// Beacons sent, and what they are charged with.
    pub(super) beacons: (u64, Duration),
    pub(super) beacon_offset: Duration,
    /// The next is on the list of events.
    pub(super) is_beacon_due: bool,
}

/// A station.
pub(super) struct Station {
    pub(super) radio: usize,
    pub(super) ap: usize,
    pub(super) config: StationConfig,
    /// When it last sent or received, or was about to.
    pub(super) active_at: Time,
    /// It is looked at when it may have been silent for long enough.
    pub(super) is_watched: bool,
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
    pub(super) links: [Option<usize>; 4],
}

pub(super) struct Medium {
    pub(super) config: ChannelConfig,
    pub(super) timing: Timing,
    pub(super) errors: ErrorModel,
    pub(super) powers: Powers,
    pub(super) scene: Scene,
    pub(super) interferers: Vec<Interferer>,
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
    pub(super) seed: Seed,
    pub(super) monitor: Option<Monitor>,
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
            scene: Scene::new(config, seed.split("scene")),
            interferers: Vec::new(),
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
            monitor: None,
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
        self.radios[radio].ap = self.aps.len();
        let place = (config.position, config.power_dbm);
        self.scene.add_ap(place, config.others_db, config.width, &mut self.powers);
        let scheduler = config.scheduler.build();
        let front = match config.descriptors {
            Descriptors::Shared(_) => {
                Some(Front::new(self.queue(&config.queue, usize::MAX, radio)))
            }
            _ => None,
        };
        self.aps.push(Ap {
            radio,
            front,
            config,
            scheduler,
            pooled: (0, 0),
            beacons: (0, Duration::ZERO),
            beacon_offset: Duration::ZERO,
            is_beacon_due: false,
        });
        let ap = self.aps.len() - 1;
        self.start_beacons(ap);
        ApId(ap)
    }

    pub(super) fn add_station(&mut self, ap: ApId, config: StationConfig) -> StationId {
        let radio = self.add_radio(2);
        self.radios[radio].ap = ap.0;
        let levels = (config.up_db, config.others_db);
        self.scene.add_station(self.aps[ap.0].radio, &config.signal, levels, &mut self.powers);
        let (active_at, is_watched) = (self.now, false);
        self.stations.push(Station { radio, ap: ap.0, config, active_at, is_watched });
        self.ways.extend([Way::default(), Way::default()]);
        let station = self.stations.len() - 1;
        self.note_activity(station);
        StationId(station)
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

    pub(super) fn airtime_of(&self, port: Port) -> Airtime {
        self.ways.get(usize::from(port.0)).map_or_else(Airtime::default, |way| way.airtime)
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
        let shared = self.stations[port / 2].ap;
        if port.is_multiple_of(2) && self.aps[shared].front.is_some() {
            self.push_shared((shared, port), packet, drops);
            self.find_access();
            return;
        }
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
            if let (Some(ap), true) = (pool, port.is_multiple_of(2))
                && let Descriptors::PerStation(most) = self.aps[ap].config.descriptors
            {
                link.hand_over(now, most, drops);
            }
        }
        self.after_queue(now, number, (old_packets, old_bytes), &drops[before..]);
        let contender = self.links[number].contender;
        match port % 2 {
            0 => self.held_for(port / 2),
            _ => self.note_activity(port / 2),
        }
        if self.may_serve(number) {
            self.want(contender);
            // What the queue did not take is not there to be served.
            let has_come = self.links[number].backlog().packets > old_packets;
            if let Some(ap) = pool.filter(|_| has_come) {
                self.aps[ap].scheduler.arrived(now, number);
            }
        }
        self.find_access();
    }

    /// A contender has something to send.
    pub(super) fn want(&mut self, contender: usize) {
        let radio = self.contenders[contender].radio;
        let aifs = self.timing.aifs(&self.contenders[contender].access);
        let is_free =
            self.radios[radio].is_idle() && self.radios[radio].counts_from() + aifs <= self.now;
        self.contenders[contender].want(self.now, is_free, &mut self.rng);
    }

    pub(super) fn beacons(&self, ap: ApId) -> (u64, Duration) {
        self.aps[ap.0].beacons
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
            Event::Burst(interferer) => self.burst(interferer),
            Event::Beacon(ap) => self.beacon(ap),
            Event::Doze(station) => self.doze(station),
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
