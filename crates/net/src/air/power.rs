//! Beacons, and stations that sleep between them.
//!
//! Dynamic power save: a station that has neither sent nor received a frame for some time says so with a null
//! frame and sleeps. Its access point holds what comes for it until the next beacon, which says for whom there
//! is something; whoever it is for says that it is awake with another null frame. A station that has something
//! to send just sends it, and is awake. Beacons that are not sent as frames are known to all and take no air.

use std::time::Duration;

use airlane_base::Time;
use airlane_wifi::{PlannedExchange as Cost, Response, Vector, mac};
use rand::RngExt;

use super::account::{AirAttempt, AttemptOutcome};
use super::aggregate::Psdu;
use super::contender::Contender;
use super::exchange::{Carries, Exchange};
use super::ids::{ApId, ContenderId, Id, RadioId, StationId, StationPort};
use super::links::VOICE;
use super::medium::{Event, Medium};
use super::minstrel::Choice;
use super::reception::{Purpose, Transmission, chance};

/// Between two beacons: 100 time units of 1024 us.
pub(super) const INTERVAL: Duration = Duration::from_micros(102_400);
/// A beacon of a usual access point: its name, rates, capabilities, the map of who has frames waiting.
const BEACON: u32 = 300;

/// A frame that carries no packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Control {
    pub(super) carries: Carries,
    tries: u8,
}

impl Medium {
    /// Begins the beacons of an access point that sends them.
    pub(super) fn start_beacons(&mut self, ap: ApId) {
        // Each at times of its own.
        let nanos = INTERVAL.as_nanos() as u64;
        let seed = self.seed.split("beacons").index(ap.place() as u64);
        self.aps[ap].beacon_offset = Duration::from_nanos(seed.rng().random_range(0..nanos));
        if self.aps[ap].config.has_beacons {
            self.await_beacon(ap);
        }
    }

    /// Sees to it that something happens when the next beacon is due.
    fn await_beacon(&mut self, ap: ApId) {
        if std::mem::replace(&mut self.aps[ap].is_beacon_due, true) {
            return;
        }
        let offset = self.aps[ap].beacon_offset.as_nanos() as u64;
        let interval = INTERVAL.as_nanos() as u64;
        let now = self.now.as_nanos();
        let passed = now.saturating_sub(offset) / interval;
        let mut at = offset + passed * interval;
        if at <= now {
            at += interval;
        }
        self.at(Time::from_nanos(at), Event::Beacon(ap));
    }

    /// A beacon is due.
    pub(super) fn beacon(&mut self, ap: ApId) {
        self.aps[ap].is_beacon_due = false;
        if self.aps[ap].config.has_beacons {
            self.request(self.aps[ap].radio, Carries::Beacon);
            self.await_beacon(ap);
            return;
        }
        for station in self.stations.ids() {
            if self.stations[station].ap == ap && self.is_waited_for(station) {
                self.request(self.stations[station].radio, Carries::Null { sleeps: false });
                // Where that is lost, the next beacon says it again.
                self.await_beacon(ap);
            }
        }
    }

    /// A beacon has been sent.
    pub(super) fn beacon_sent(&mut self, contender: ContenderId, sent: &Transmission) {
        let Some(exchange) = self.contenders[contender].exchange.take() else { return };
        let radio = self.contenders[contender].radio;
        let ap = self.radios[radio].ap;
        let beacons = &mut self.aps[ap].beacons;
        beacons.0 += 1;
        beacons.1 +=
            exchange.cost.with_contention(&self.timing, &self.contenders[contender].access);
        for station in self.stations.ids() {
            let to = self.stations[station].radio;
            if self.stations[station].ap != ap || !self.is_waited_for(station) {
                continue;
            }
            let sinr = self.sinr_of(to, sent);
            let p = match self.errors.detects(sinr) {
                true => self.errors.success(&sent.vector, sinr, sent.bytes),
                false => 0.0,
            };
            if chance(p, &mut self.rng) {
                self.request(to, Carries::Null { sleeps: false });
            }
        }
        self.radios[radio].is_engaged = false;
        self.rest(radio);
        self.contenders[contender].succeed(&mut self.rng);
        self.contenders[contender].wants_since = self.has_traffic(contender).then_some(self.now);
    }

    /// True if a station sleeps and its access point has something for it.
    fn is_waited_for(&self, station: StationId) -> bool {
        let radio = &self.radios[self.stations[station].radio];
        radio.is_asleep && !radio.is_gone && self.has_backlog(StationPort::down(station))
    }

    /// Something waits at an access point for a station that may be asleep.
    pub(super) fn held_for(&mut self, station: StationId) {
        if self.radios[self.stations[station].radio].is_asleep {
            self.await_beacon(self.stations[station].ap);
        }
    }

    /// A station has sent or received something, or is about to.
    pub(super) fn note_activity(&mut self, station: StationId) {
        let Some(sleep_timeout) = self.stations[station].config.power_save else { return };
        let now = self.now;
        let station_of = &mut self.stations[station];
        station_of.active_at = now;
        if !std::mem::replace(&mut station_of.is_watched, true) {
            self.at(now + sleep_timeout, Event::Doze(station));
        }
    }

    /// A station may have been silent for long enough.
    pub(super) fn doze(&mut self, station: StationId) {
        self.stations[station].is_watched = false;
        let Some(sleep_timeout) = self.stations[station].config.power_save else { return };
        let (radio, active_at) = (self.stations[station].radio, self.stations[station].active_at);
        let up = StationPort::up(station);
        if self.radios[radio].is_asleep || self.radios[radio].is_gone {
            return;
        }
        if active_at + sleep_timeout > self.now || self.has_backlog(up) {
            let at = (active_at + sleep_timeout).max(self.now + Duration::from_micros(1));
            let at = if self.has_backlog(up) { at.max(self.now + sleep_timeout) } else { at };
            self.stations[station].is_watched = true;
            self.at(at, Event::Doze(station));
            return;
        }
        self.request(radio, Carries::Null { sleeps: true });
    }

    /// The access point knows that a station is awake.
    pub(super) fn wake(&mut self, station: StationId) {
        let radio = self.stations[station].radio;
        if !std::mem::replace(&mut self.radios[radio].is_asleep, false) {
            return;
        }
        let down = StationPort::down(station);
        let ap = self.stations[station].ap;
        for link in self.links_of(down) {
            for _ in 0..self.links[link].backlog().packets {
                self.aps[ap].scheduler.arrived(self.now, link);
            }
            if self.links[link].has_traffic() {
                self.want(self.links[link].contender);
            }
        }
    }

    /// A radio has a frame without packets to send.
    fn request(&mut self, radio: RadioId, carries: Carries) {
        let contender = self.contender(radio, VOICE);
        let waiting = &mut self.contenders[contender].control;
        if waiting.iter().all(|control| control.carries != carries) {
            waiting.push_back(Control { carries, tries: 0 });
        }
        self.want(contender);
    }

    /// A contender that has the air sends a frame without packets.
    pub(super) fn begin_control(&mut self, contender: ContenderId, control: Control) {
        let radio = self.contenders[contender].radio;
        let vector = Vector::ofdm(0);
        let (to, bytes, response, purpose) = match control.carries {
            // To nobody: all that hear it look at it.
            Carries::Beacon => (radio, BEACON, Response::None, Purpose::Beacon),
            _ => {
                let ap = self.aps[self.radios[radio].ap].radio;
                (ap, mac::DATA_WITHOUT_QOS, Response::Ack, Purpose::Data)
            }
        };
        let cost = Cost { vector, bytes, is_protected: false, response };
        self.contenders[contender].exchange = Some(Exchange {
            to,
            carries: control.carries,
            tries: control.tries,
            psdu: Psdu { bytes, ..Psdu::default() },
            vector,
            choice: Choice { vector, is_sample: false },
            cost,
            started: self.now,
            window_start: 0,
            purpose,
            came: Vec::new(),
            has_collided: false,
        });
        match purpose {
            Purpose::Beacon => {
                let sent = (vector, bytes);
                let beacon = Transmission::new((purpose, contender), (radio, to), sent, self.now);
                self.start(beacon);
                self.radios[radio].is_engaged = true;
            }
            _ => self.send_data(contender),
        }
    }

    /// The account of a null frame, and what follows from it.
    pub(super) fn settle_null(
        &mut self,
        contender: ContenderId,
        exchange: &Exchange,
        is_answered: bool,
    ) {
        let Contender { radio, access, .. } = self.contenders[contender];
        let retries = self.ap_of(contender).config.retries;
        let Some(station) = self.stations.find(|s| s.radio == radio) else { return };
        let port = StationPort::up(station);
        let charge = exchange.cost.with_contention(&self.timing, &access);
        let bare = exchange.cost.without_contention(&self.timing);
        self.ways[port].airtime.attempt(charge, bare, is_answered);
        if let Some(uses) = &mut self.uses {
            let outcome = match (is_answered, exchange.has_collided) {
                (true, _) => AttemptOutcome::Delivered(0),
                (false, true) => AttemptOutcome::Collided,
                (false, false) => AttemptOutcome::Lost,
            };
            let (from, until) = (exchange.started, self.now);
            uses.push(AirAttempt {
                port: port.into(),
                from,
                until,
                charged: charge,
                outcome,
                frames: 0,
                repeated: 0,
            });
        }
        self.radios[radio].is_engaged = false;
        self.rest(radio);
        let sleeps = exchange.carries == Carries::Null { sleeps: true };
        match is_answered {
            true if sleeps => {
                // What came while it said so wakes it again.
                self.radios[radio].is_asleep = true;
                self.held_for(station);
                if self.has_backlog(port) {
                    self.wake(station);
                    self.note_activity(station);
                }
            }
            true => {
                self.wake(station);
                self.note_activity(station);
            }
            false if exchange.tries < retries => {
                let control = Control { carries: exchange.carries, tries: exchange.tries + 1 };
                self.contenders[contender].control.push_front(control);
            }
            false if sleeps => self.note_activity(station),
            false => self.held_for(station),
        }
        self.contenders[contender].wants_since = self.has_traffic(contender).then_some(self.now);
    }
}
