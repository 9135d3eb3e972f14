//! An exchange: what a contender does while it has the air.

use std::time::Duration;

use airlane_base::{DropReason, Time};
use airlane_wifi::{Access, PlannedExchange as Cost, Response, Vector, mac};

use super::account::{AirAttempt, AttemptOutcome};
use super::aggregate::Psdu;
use super::config::Protection;
use super::ids::{ContenderId, LinkId, RadioId};
use super::medium::{Event, Medium};
use super::minstrel::Choice;
use super::reception::{Purpose, Transmission, chance};
use super::scheduler::{Candidate, Pick};
use crate::node::Dropped;

/// Purpose of a frame: the link whose packets it carries, or a frame without packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Carries {
    /// Packets of a link.
    Packets(LinkId),
    /// Nothing: it says that its station sleeps from now on, or is awake.
    Null {
        /// It sleeps.
        sleeps: bool,
    },
    /// A beacon.
    Beacon,
}

/// Frame exchange of a contender while it has the air.
#[derive(Debug)]
pub(super) struct Exchange {
    /// The radio that it is for.
    pub(super) to: RadioId,
    pub(super) carries: Carries,
    /// Attempts before, of a frame without packets.
    pub(super) tries: u8,
    pub(super) psdu: Psdu,
    pub(super) vector: Vector,
    /// Choice of rate control that gave this vector.
    pub(super) choice: Choice,
    /// Its cost, which says what is sent.
    pub(super) cost: Cost,
    pub(super) started: Time,
    /// The first number of the sender's window.
    pub(super) window_start: u64,
    /// Purpose of the PPDU that was sent last.
    pub(super) purpose: Purpose,
    /// Reception of its frames, in their order: true of those that came.
    pub(super) came: Vec<bool>,
    /// True if another radio sent meanwhile.
    pub(super) has_collided: bool,
}

impl Exchange {
    /// The link whose packets it carries, if it does.
    pub(super) fn link(&self) -> Option<LinkId> {
        match self.carries {
            Carries::Packets(link) => Some(link),
            Carries::Null { .. } | Carries::Beacon => None,
        }
    }
}

impl Medium {
    /// A contender has won the air.
    pub(super) fn begin(&mut self, contender: ContenderId, drops: &mut Vec<Dropped>) {
        let radio = self.contenders[contender].radio;
        let ap = self.aps[self.radios[radio].ap].radio;
        self.scene.refresh(radio, self.now, &mut self.powers);
        self.scene.refresh(ap, self.now, &mut self.powers);
        if let Some(control) = self.contenders[contender].control.pop_front() {
            self.begin_control(contender, control);
            return;
        }
        let link = match self.pick(contender) {
            None => {
                self.contenders[contender].wants_since = None;
                return;
            }
            Some(Pick::Wait(until)) => {
                self.contenders[contender].wants_since = Some(until);
                return;
            }
            Some(Pick::Link(link)) => link,
        };
        let choice = self.choose(link);
        let vector = choice.vector;
        let now = self.now;
        let (port, slow) = (self.links[link].port, self.ap_of(contender).config.slow_below);
        if let Some(slow) = slow.filter(|_| port.is_down() && !choice.is_sample) {
            self.links[link].set_slow(vector.rate() < slow);
        }
        let before = self.links[link].backlog();
        let ap = &self.aps[self.stations[port.station].ap].config;
        let mut psdu = Psdu::default();
        let dropped = drops.len();
        psdu.fill(&mut self.links[link], now, (ap, &choice), drops);
        let response = psdu.response(ap.window);
        let is_protected = match ap.protection {
            Protection::Never => false,
            Protection::From(bytes) => psdu.bytes >= bytes,
        };
        self.after_queue(now, link, (before.packets, before.bytes), &drops[dropped..]);
        if psdu.numbers.is_empty() {
            self.contenders[contender].wants_since = self.has_traffic(contender).then_some(now);
            return;
        }
        for number in &psdu.numbers {
            let link = &mut self.links[link];
            let Some(mpdu) = link.window.get_mut(*number).filter(|mpdu| mpdu.tries == 0) else {
                continue;
            };
            for packet in &mpdu.packets {
                self.ways[link.port].meter.served(now - packet.enqueued);
            }
        }
        let cost = Cost { vector, bytes: psdu.bytes, is_protected, response };
        let exchange = Exchange {
            to: self.links[link].to,
            carries: Carries::Packets(link),
            tries: 0,
            vector,
            choice,
            cost,
            started: now,
            window_start: self.links[link].window.start(),
            purpose: if is_protected { Purpose::Rts } else { Purpose::Data },
            came: Vec::new(),
            has_collided: false,
            psdu,
        };
        self.contenders[contender].exchange = Some(exchange);
        if is_protected {
            let radio = self.contenders[contender].radio;
            let to = self.links[link].to;
            let control = (vector.response(), mac::RTS);
            let mut rts = Transmission::new((Purpose::Rts, contender), (radio, to), control, now);
            rts.nav = now + cost.without_contention(&self.timing);
            self.start(rts);
            self.radios[radio].is_engaged = true;
        } else {
            self.send_data(contender);
        }
    }

    /// Chooses the link that a contender serves next. `None`: nothing waits.
    fn pick(&mut self, contender: ContenderId) -> Option<Pick> {
        let radio = self.contenders[contender].radio;
        let waiting: Vec<LinkId> = self.contenders[contender]
            .links
            .iter()
            .copied()
            .filter(|link| self.may_serve(*link))
            .collect();
        let ap = self.radios[radio].ap;
        if self.aps[ap].radio != radio {
            return waiting.first().map(|link| Pick::Link(*link));
        }
        let access = self.contenders[contender].access;
        let candidate = |link: &LinkId| {
            let vector = self.vector(*link);
            let config = &self.aps[ap].config;
            let outstanding = self.links[*link].window.outstanding();
            Candidate {
                link: *link,
                backlog: self.links[*link].backlog(),
                outstanding: outstanding.map(|(_, mpdu)| u64::from(mpdu.bytes)).sum(),
                rate: vector.rate(),
                around: self.around(vector, &access),
                full: u64::from(vector.max_bytes(config.max_air)),
                packets: config.window * (config.max_amsdu / mac::in_amsdu(1_500)).max(1) as usize,
            }
        };
        let candidates: Vec<Candidate> = waiting.iter().map(candidate).collect();
        if candidates.is_empty() {
            return None;
        }
        Some(self.aps[ap].scheduler.pick(self.now, &candidates))
    }

    /// Airtime that an aggregate is charged with beside its data.
    fn around(&self, vector: Vector, access: &Access) -> Duration {
        let response = Response::BlockAck64;
        let empty = Cost { vector, bytes: 0, is_protected: false, response };
        empty.with_contention(&self.timing, access)
    }

    pub(super) fn has_traffic(&self, contender: ContenderId) -> bool {
        let contender = &self.contenders[contender];
        !contender.control.is_empty() || contender.links.iter().any(|link| self.may_serve(*link))
    }

    /// True if a link has something for a receiver that is awake.
    pub(super) fn may_serve(&self, link: LinkId) -> bool {
        let link = &self.links[link];
        let is_held = link.port.is_down() && self.radios[link.to].is_asleep;
        !is_held && link.has_traffic()
    }

    /// A contender sends its frames.
    pub(super) fn send_data(&mut self, contender: ContenderId) {
        let radio = self.contenders[contender].radio;
        let Some(exchange) = &mut self.contenders[contender].exchange else { return };
        exchange.purpose = Purpose::Data;
        let cost = exchange.cost;
        let to = exchange.to;
        let sent = (cost.vector, cost.bytes);
        let mut data = Transmission::new((Purpose::Data, contender), (radio, to), sent, self.now);
        data.nav = data.end + answer(&cost, self.timing.sifs);
        self.start(data);
        self.radios[radio].is_engaged = true;
    }

    /// The receiver answers what came.
    pub(super) fn respond(&mut self, contender: ContenderId) {
        let radio = self.contenders[contender].radio;
        let Some(exchange) = &self.contenders[contender].exchange else { return };
        let cost = exchange.cost;
        let to = exchange.to;
        if self.radios[to].is_gone {
            let answer_timeout = self.timing.slot + self.timing.detection;
            self.at(self.now + answer_timeout, Event::Unanswered(contender));
            return;
        }
        let (purpose, bytes) = match exchange.purpose {
            Purpose::Rts => (Purpose::Cts, mac::CTS),
            _ => (Purpose::Response, cost.response.bytes()),
        };
        let control = (cost.vector.response(), bytes);
        let mut sent = Transmission::new((purpose, contender), (to, radio), control, self.now);
        if purpose == Purpose::Cts {
            let data = cost.vector.duration(cost.bytes);
            let sifs = self.timing.sifs;
            sent.nav = sent.end + sifs + data + answer(&cost, sifs);
        }
        self.start(sent);
    }

    /// A PPDU has ended; `has_come` says whether the radio that it is for was receiving it.
    pub(super) fn arrived(
        &mut self,
        sent: &Transmission,
        has_come: bool,
        drops: &mut Vec<Dropped>,
    ) {
        let contender = sent.contender;
        if let Some(exchange) = &mut self.contenders[contender].exchange {
            exchange.has_collided |= !sent.overlaps.is_empty();
        }
        if sent.purpose == Purpose::Beacon {
            self.beacon_sent(contender, sent);
            return;
        }
        let now = self.now;
        let sifs = self.timing.sifs;
        let comes = match sent.purpose {
            Purpose::Data => has_come && self.header_comes(sent) && self.receive(sent, drops),
            Purpose::Rts => {
                // Who has been told that the air is taken does not answer.
                let is_free = self.radios[sent.to].counts_from() <= now;
                has_come && is_free && self.control_comes(sent)
            }
            _ => has_come && self.control_comes(sent),
        };
        match (sent.purpose, comes) {
            (Purpose::Data | Purpose::Rts, true) => self.at(now + sifs, Event::Respond(contender)),
            (Purpose::Data | Purpose::Rts, false) => {
                let answer_timeout = sifs + self.timing.slot + self.timing.detection;
                self.at(now + answer_timeout, Event::Unanswered(contender));
            }
            (Purpose::Cts, true) => self.at(now + sifs, Event::Continue(contender)),
            (Purpose::Response, true) => self.complete(contender, drops),
            (_, false) => self.fail(contender, drops),
            (Purpose::Beacon, true) => {}
        }
    }

    /// The receiver takes the frames that come; whether there are any.
    fn receive(&mut self, sent: &Transmission, drops: &mut Vec<Dropped>) -> bool {
        let Some(mut exchange) = self.contenders[sent.contender].exchange.take() else {
            return false;
        };
        let Some(id) = exchange.link() else {
            self.contenders[sent.contender].exchange = Some(exchange);
            let p = self.part_success(sent, 0, sent.bytes);
            return chance(p, &mut self.rng);
        };
        let now = self.now;
        let port = self.links[id].port;
        let before = drops.len();
        let mut out = std::mem::take(&mut self.scratch);
        self.links[id].reorder.advance(now, exchange.window_start, &mut out);
        let mut at = 0;
        // Frames of one length are as likely as each other where nothing disturbs: most are.
        let mut known: Option<(u32, f64)> = None;
        for frame in &exchange.psdu.numbers {
            let bytes = self.links[id].window.get_mut(*frame).map_or(0, |mpdu| mpdu.bytes);
            let p = match known {
                Some((length, p)) if length == bytes && sent.is_undisturbed() => p,
                _ => self.part_success(sent, at, bytes),
            };
            known = Some((bytes, p));
            let comes = chance(p, &mut self.rng);
            at += mac::in_aggregate(bytes);
            exchange.came.push(comes);
            let link = &mut self.links[id];
            if let Some(mpdu) = link.window.get_mut(*frame).filter(|_| comes)
                && !mpdu.packets.is_empty()
            {
                let packets = std::mem::take(&mut mpdu.packets);
                let late = link.reorder.receive(now, *frame, packets, &mut out);
                let late =
                    late.into_iter().map(|packet| Dropped { packet, reason: DropReason::Loss });
                drops.extend(late);
            }
        }
        self.ways[port].counters.count_drops(&drops[before..]);
        self.deliver(port, &mut out);
        self.scratch = out;
        self.watch_gap(id);
        let any = exchange.came.contains(&true);
        self.contenders[sent.contender].exchange = Some(exchange);
        any
    }

    /// Sees to it that a gap is given up in time.
    fn watch_gap(&mut self, link: LinkId) {
        let Some(deadline) = self.links[link].reorder.deadline() else { return };
        if self.links[link].gap_watched_until.is_none() {
            self.links[link].gap_watched_until = Some(deadline);
            self.at(deadline, Event::GiveUp(link));
        }
    }

    /// It is time to look whether a gap is given up.
    pub(super) fn give_up_gap(&mut self, link: LinkId) {
        self.links[link].gap_watched_until = None;
        if self.links[link].reorder.deadline().is_some_and(|at| at <= self.now) {
            let mut out = std::mem::take(&mut self.scratch);
            self.links[link].reorder.give_up(self.now, &mut out);
            self.deliver(self.links[link].port, &mut out);
            self.scratch = out;
        }
        self.watch_gap(link);
    }

    /// An exchange was answered.
    fn complete(&mut self, contender: ContenderId, drops: &mut Vec<Dropped>) {
        let Some(exchange) = self.contenders[contender].exchange.take() else { return };
        self.settle(contender, &exchange, true, drops);
        self.contenders[contender].succeed(&mut self.rng);
        if self.radios[self.contenders[contender].radio].is_gone {
            self.abandon(contender, drops);
        }
    }

    /// An exchange was not answered, or the answer did not come.
    pub(super) fn fail(&mut self, contender: ContenderId, drops: &mut Vec<Dropped>) {
        let Some(exchange) = self.contenders[contender].exchange.take() else { return };
        self.settle(contender, &exchange, false, drops);
        let retries = self.ap_of(contender).config.retries;
        self.contenders[contender].fail(retries, &mut self.rng);
        if self.radios[self.contenders[contender].radio].is_gone {
            self.abandon(contender, drops);
        }
    }

    /// The account of an exchange that is over.
    fn settle(
        &mut self,
        contender: ContenderId,
        exchange: &Exchange,
        is_answered: bool,
        drops: &mut Vec<Dropped>,
    ) {
        let Some(id) = exchange.link() else {
            self.settle_null(contender, exchange, is_answered);
            return;
        };
        let now = self.now;
        let radio = self.contenders[contender].radio;
        let access = self.contenders[contender].access;
        let retries = self.ap_of(contender).config.retries;
        let link = &mut self.links[id];
        let port = link.port;
        let way = &mut self.ways[port];
        let before = drops.len();
        let mut freed = 0;
        for (i, number) in exchange.psdu.numbers.iter().enumerate() {
            if is_answered && exchange.came[i] {
                freed += link.window.take(*number).map_or(0, |mpdu| mpdu.count);
                continue;
            }
            let Some(mpdu) = link.window.get_mut(*number) else { continue };
            mpdu.tries += 1;
            if mpdu.tries > retries {
                way.airtime.given_up += 1;
                freed += mpdu.count;
                let given_up = link.window.take(*number).into_iter().flat_map(|m| m.packets);
                drops.extend(given_up.map(|packet| Dropped { packet, reason: DropReason::Loss }));
            }
        }
        way.counters.count_drops(&drops[before..]);
        let sent = exchange.purpose == Purpose::Data;
        let cost = match sent {
            true => exchange.cost,
            false => Cost {
                vector: exchange.vector.response(),
                bytes: mac::RTS,
                is_protected: false,
                response: Response::Ack,
            },
        };
        let charge = cost.with_contention(&self.timing, &access);
        let airtime = &mut way.airtime;
        airtime.attempt(charge, cost.without_contention(&self.timing), is_answered);
        let frames = exchange.psdu.numbers.len() as u32;
        // That nobody answers RTS says nothing about rates of data.
        if let Some(minstrel) = link.minstrel.as_mut().filter(|_| sent) {
            let came = exchange.came.iter().filter(|came| **came && is_answered).count() as u32;
            minstrel.report(&exchange.choice, frames, came);
        }
        if sent {
            airtime.frames += u64::from(frames);
            airtime.repeated += u64::from(exchange.psdu.repeated);
        }
        if let Some(uses) = &mut self.uses {
            let came = exchange.came.iter().filter(|came| **came).count() as u32;
            let outcome = match (came, exchange.has_collided) {
                (0, true) => AttemptOutcome::Collided,
                (0, false) => AttemptOutcome::Lost,
                (came, _) => AttemptOutcome::Delivered(came),
            };
            let (from, repeated) = (exchange.started, exchange.psdu.repeated);
            uses.push(AirAttempt {
                port: port.into(),
                from,
                until: now,
                charged: charge,
                outcome,
                frames,
                repeated,
            });
        }
        let back = self.links_of(port.opposite()).next();
        let ap = &mut self.aps[self.stations[port.station].ap];
        if port.is_down() {
            ap.scheduler.served(id, charge, u64::from(exchange.psdu.bytes));
        } else if let Some(back) = back {
            ap.scheduler.heard(back, charge);
        }
        self.radios[radio].is_engaged = false;
        self.rest(radio);
        self.free(id, freed, drops);
        if is_answered {
            // Whoever sends is awake.
            self.wake(port.station);
            self.note_activity(port.station);
        }
        self.contenders[contender].wants_since = self.has_traffic(contender).then_some(now);
    }
}

/// The time from the end of the data to the end of what answers it.
fn answer(cost: &Cost, sifs: Duration) -> Duration {
    match cost.response {
        Response::None => Duration::ZERO,
        response => sifs + cost.vector.response().duration(response.bytes()),
    }
}
