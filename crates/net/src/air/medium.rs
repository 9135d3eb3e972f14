//! The medium: who is on the channel, what is in the air, and what happens next.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::fmt;
use std::time::Duration;

use airlane_base::{DropReason, Packet, Rng, Seed, Time};
use airlane_wifi::{Address, ErrorModel, Timing, Width};

use super::account::{AirAttempt, Airtime};
use super::channel::Powers;
use super::config::{ApConfig, ChannelConfig, Descriptors, StationConfig};
use super::contender::Contender;
use super::descriptors::Front;
use super::ids::{
    ApId, ContenderId, InterfererId, LinkId, RadioId, StationId, StationPort, Table, TransmissionId,
};
use super::interferer::Interferer;
use super::link::Link;
use super::reception::{Radio, Transmission};
use super::reception_log::{Monitor, ReceptionLog};
use super::scene::Scene;
use super::scheduler::Scheduler;
use crate::direction::Direction;
use crate::meter::{LinkStats, Meter};
use crate::node::{Counters, Dropped, Port};

/// Event of the air at a time that is known beforehand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// A transmission ends.
    End(TransmissionId),
    /// A contender that has the air sends the next PPDU of its exchange.
    Continue(ContenderId),
    /// Somebody answers what a contender has sent.
    Respond(ContenderId),
    /// No answer has come.
    Unanswered(ContenderId),
    /// A receiver gives up a gap.
    GiveUp(LinkId),
    /// An interferer begins or ends to send.
    Burst(InterfererId),
    /// A beacon of an access point is due.
    Beacon(ApId),
    /// A station may have been silent for long enough to sleep.
    Doze(StationId),
}

/// An access point.
pub(super) struct Ap {
    pub(super) radio: RadioId,
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
    pub(super) radio: RadioId,
    pub(super) ap: ApId,
    pub(super) config: StationConfig,
    /// Time at which it last sent or received, or was about to.
    pub(super) active_at: Time,
    /// It is looked at when it may have been silent for long enough.
    pub(super) is_watched: bool,
}

/// State of the packets of a port: counts, airtime and links.
#[derive(Default)]
pub(super) struct Way {
    pub(super) counters: Counters,
    pub(super) meter: Meter,
    /// Packets and IP bytes that have no number yet.
    pub(super) waiting: (usize, u64),
    pub(super) airtime: Airtime,
    /// Its links, by category.
    pub(super) links: [Option<LinkId>; 4],
}

pub(super) struct Medium {
    pub(super) config: ChannelConfig,
    pub(super) timing: Timing,
    pub(super) errors: ErrorModel,
    pub(super) powers: Powers,
    pub(super) scene: Scene,
    pub(super) interferers: Table<InterfererId, Interferer>,
    pub(super) radios: Table<RadioId, Radio>,
    pub(super) aps: Table<ApId, Ap>,
    pub(super) stations: Table<StationId, Station>,
    pub(super) contenders: Table<ContenderId, Contender>,
    pub(super) links: Table<LinkId, Link>,
    pub(super) ways: Table<StationPort, Way>,
    pub(super) air: Table<TransmissionId, Option<Transmission>>,
    events: BinaryHeap<Reverse<(Time, u64, Event)>>,
    sequence: u64,
    pub(super) now: Time,
    pub(super) rng: Rng,
    /// Random numbers for what monitors hear: drawn apart, so that listening changes nothing.
    pub(super) hearing_rng: Rng,
    pub(super) seed: Seed,
    pub(super) monitor: Option<Monitor>,
    /// Packets that have crossed the air.
    ready: VecDeque<(StationPort, Box<Packet>)>,
    /// Time at which the next contender may send; to be computed anew after every change.
    next_access: Option<Time>,
    pub(super) uses: Option<Vec<AirAttempt>>,
    pub(super) scratch: Vec<Box<Packet>>,
}

impl Medium {
    pub(super) fn new(config: ChannelConfig, seed: Seed) -> Self {
        Self {
            config,
            timing: Timing::of(config.band),
            errors: ErrorModel::new(),
            powers: Powers::new(config.noise_figure_db),
            scene: Scene::new(config, seed.split("scene")),
            interferers: Table::default(),
            radios: Table::default(),
            aps: Table::default(),
            stations: Table::default(),
            contenders: Table::default(),
            links: Table::default(),
            ways: Table::default(),
            air: Table::default(),
            events: BinaryHeap::new(),
            sequence: 0,
            now: Time::ZERO,
            rng: seed.split("air").rng(),
            hearing_rng: seed.split("ears").rng(),
            seed,
            monitor: None,
            ready: VecDeque::new(),
            next_access: None,
            uses: None,
            scratch: Vec::new(),
        }
    }

    /// Adds a radio of a network: of its access point (`kind` 1) or of a station (2).
    fn add_radio(&mut self, kind: u8, ap: ApId, width: Width) -> RadioId {
        let [high, low] = (self.radios.len() as u16).to_be_bytes();
        self.powers.add();
        let sensitivity_dbm =
            self.config.sensitivity_dbm.unwrap_or_else(|| airlane_wifi::sensitivity_dbm(width));
        // Locally administered.
        self.radios.push(Radio::new(Address([2, 0, 0, kind, high, low]), ap, sensitivity_dbm))
    }

    pub(super) fn add_ap(&mut self, config: ApConfig) -> ApId {
        let radio = self.add_radio(1, self.aps.next_id(), config.width);
        let place = (config.position, config.power_dbm);
        self.scene.add_ap(place, config.snr_to_others_db, config.width, &mut self.powers);
        let scheduler = config.scheduler.build();
        let front = match config.descriptors {
            Descriptors::Shared(_) => Some(Front::new(self.front_queue(&config.queue, radio))),
            _ => None,
        };
        let ap = self.aps.push(Ap {
            radio,
            front,
            config,
            scheduler,
            pooled: (0, 0),
            beacons: (0, Duration::ZERO),
            beacon_offset: Duration::ZERO,
            is_beacon_due: false,
        });
        self.start_beacons(ap);
        ap
    }

    pub(super) fn add_station(&mut self, ap: ApId, config: StationConfig) -> StationId {
        let radio = self.add_radio(2, ap, self.aps[ap].config.width);
        let levels = (config.up_db, config.snr_to_others_db);
        self.scene.add_station(self.aps[ap].radio, &config.signal, levels, &mut self.powers);
        let (active_at, is_watched) = (self.now, false);
        let station = self.stations.push(Station { radio, ap, config, active_at, is_watched });
        // One for each direction, as `StationPort` counts.
        self.ways.push(Way::default());
        self.ways.push(Way::default());
        self.note_activity(station);
        station
    }

    pub(super) fn listen(&mut self, station: StationId) -> ReceptionLog {
        let radio = self.stations[station].radio;
        let log = ReceptionLog::default();
        self.radios[radio].logs.push(log.clone());
        log
    }

    pub(super) fn addresses(&self, station: StationId) -> (Address, Address) {
        let station = &self.stations[station];
        let address = |radio: RadioId| self.radios[radio].address;
        (address(station.radio), address(self.aps[station.ap].radio))
    }

    pub(super) fn airtime(&self) -> Vec<Airtime> {
        self.ways.iter().map(|way| way.airtime).collect()
    }

    pub(super) fn airtime_of(&self, port: Port) -> Airtime {
        self.ways.get(port.into()).map_or_else(Airtime::default, |way| way.airtime)
    }

    pub(super) fn keep_attempts(&mut self) {
        self.uses.get_or_insert_default();
    }

    pub(super) fn take_attempts(&mut self) -> Vec<AirAttempt> {
        self.uses.as_mut().map(std::mem::take).unwrap_or_default()
    }

    pub(super) fn ports(&self) -> u16 {
        self.ways.len() as u16
    }

    pub(super) fn counters(&self, port: Port) -> Counters {
        let counters = self.ways[port.into()].counters;
        let (packets, bytes) = counters.dropped_total();
        let held = (
            counters.pushed.0 - counters.polled.0 - packets,
            counters.pushed.1 - counters.polled.1 - bytes,
        );
        Counters { held, ..counters }
    }

    pub(super) fn link_stats(&self, port: Port, now: Time) -> LinkStats {
        let way = &self.ways[port.into()];
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
        let port = StationPort::from(port);
        self.ways[port].counters.count_push(&packet);
        let ap = self.stations[port.station].ap;
        if port.is_down() && self.aps[ap].front.is_some() {
            self.push_shared((ap, port), packet, drops);
            self.find_access();
            return;
        }
        let id = self.link_of(port, packet.dscp);
        let before = drops.len();
        let link = &mut self.links[id];
        let (old_packets, old_bytes) = (link.backlog().packets, link.backlog().bytes);
        let pool = port.is_down().then_some(ap);
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
            if let Some(ap) = pool
                && let Descriptors::PerStation(most) = self.aps[ap].config.descriptors
            {
                link.hand_over(now, most, drops);
            }
        }
        self.after_queue(now, id, (old_packets, old_bytes), &drops[before..]);
        let contender = self.links[id].contender;
        match port.direction {
            Direction::Down => self.held_for(port.station),
            Direction::Up => self.note_activity(port.station),
        }
        if self.may_serve(id) {
            self.want(contender);
            // What the queue did not take is not there to be served.
            let has_come = self.links[id].backlog().packets > old_packets;
            if let Some(ap) = pool.filter(|_| has_come) {
                self.aps[ap].scheduler.arrived(now, id);
            }
        }
        self.find_access();
    }

    /// A contender has something to send.
    pub(super) fn want(&mut self, contender: ContenderId) {
        let radio = self.contenders[contender].radio;
        let aifs = self.timing.aifs(&self.contenders[contender].access);
        let is_free =
            self.radios[radio].is_idle() && self.radios[radio].counts_from() + aifs <= self.now;
        self.contenders[contender].want(self.now, is_free, &mut self.rng);
    }

    pub(super) fn beacons(&self, ap: ApId) -> (u64, Duration) {
        self.aps[ap].beacons
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

    /// Time at which a contender may send, if the channel stays as it is.
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
        let mut granted: Vec<ContenderId> =
            self.contenders.ids().filter(|id| due(&self.contenders[*id])).collect();
        // Within a radio the category that contends least patiently goes first; for the others that is
        // a collision.
        granted.sort_by_key(|id| {
            let c = &self.contenders[*id];
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
    pub(super) fn ap_of(&self, contender: ContenderId) -> &Ap {
        let radio = self.contenders[contender].radio;
        &self.aps[self.radios[radio].ap]
    }

    /// Packets that have crossed the air wait to be taken.
    pub(super) fn deliver(&mut self, port: StationPort, packets: &mut Vec<Box<Packet>>) {
        self.ready.extend(packets.drain(..).map(|packet| (port, packet)));
    }

    /// Keeps the account of a queue that had so much before and gave up these.
    pub(super) fn after_queue(
        &mut self,
        now: Time,
        link: LinkId,
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
        if link.port.is_down() {
            let pooled = &mut self.aps[self.stations[link.port.station].ap].pooled;
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
