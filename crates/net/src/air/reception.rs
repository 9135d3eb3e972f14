//! Who hears what: carrier sense, which PPDU a radio receives, and what of it comes.

use airlane_base::Time;
use airlane_wifi::{Address, ErrorModel, Heard, Vector, What, Width, mac};
use rand::RngExt;

use super::ids::{ApId, ContenderId, RadioId, TransmissionId};
use super::medium::{Event, Medium};
use super::reception_log::ReceptionLog;

/// A radio: of an access point or of a station.
#[derive(Debug)]
pub(super) struct Radio {
    pub(super) address: Address,
    /// The access point in whose network it is.
    pub(super) ap: ApId,
    /// Power below which it hears nothing of a PPDU, dBm.
    sensitivity_dbm: f64,
    /// Its contenders.
    pub(super) contenders: Vec<ContenderId>,
    sending: bool,
    /// It has the air, and waits for an answer or for its turn to go on.
    pub(super) is_engaged: bool,
    /// Transmissions that it takes the channel for busy for.
    pub(super) sensed: u32,
    idle_since: Time,
    /// Until when others have said that they need the air.
    nav: Time,
    /// True if it could not make out what it heard last: it waits longer (EIFS).
    is_unsure: bool,
    /// The transmission that it receives.
    locked: Option<TransmissionId>,
    /// Those who listen to it.
    pub(super) logs: Vec<ReceptionLog>,
    /// Power that others than 802.11 send, at this radio, mW.
    pub(super) foreign: f64,
    /// It sleeps, as its access point knows.
    pub(super) is_asleep: bool,
    /// It has left.
    pub(super) is_gone: bool,
}

/// Purpose of a PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Rts,
    Cts,
    Data,
    Response,
    Beacon,
}

/// A PPDU in the air.
#[derive(Debug)]
pub(super) struct Transmission {
    pub(super) purpose: Purpose,
    /// The contender whose exchange it belongs to.
    pub(super) contender: ContenderId,
    pub(super) from: RadioId,
    pub(super) to: RadioId,
    pub(super) vector: Vector,
    /// Bytes of its PSDU.
    pub(super) bytes: u32,
    pub(super) start: Time,
    pub(super) end: Time,
    /// Until when the exchange goes on.
    pub(super) nav: Time,
    /// Radios that were sending at some time of it.
    pub(super) overlaps: Vec<RadioId>,
    /// Radios that took the channel for busy for it.
    sensed_by: Vec<RadioId>,
    /// Interference at the receiver from each time on, mW.
    interference: Vec<(Time, f64)>,
}

impl Radio {
    pub(super) fn new(address: Address, ap: ApId, sensitivity_dbm: f64) -> Self {
        Self {
            address,
            ap,
            sensitivity_dbm,
            contenders: Vec::new(),
            sending: false,
            is_engaged: false,
            sensed: 0,
            idle_since: Time::ZERO,
            nav: Time::ZERO,
            is_unsure: false,
            locked: None,
            logs: Vec::new(),
            foreign: 0.0,
            is_asleep: false,
            is_gone: false,
        }
    }

    /// Tells those who listen to it of a transmission that has ended.
    pub(super) fn hear(&self, sent: &Transmission, what: What) {
        let heard = Heard { at: sent.start, duration: sent.end - sent.start, what };
        // There is one in most cases, for whom nothing is copied.
        if let Some((last, others)) = self.logs.split_last() {
            others.iter().for_each(|log| log.hear(heard.clone()));
            last.hear(heard);
        }
    }

    /// True if it finds the channel idle, its NAV not counted.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        !self.sending && !self.is_engaged && self.sensed == 0
    }

    /// Since when, or from when on, the channel is free for it.
    #[inline]
    pub(super) fn counts_from(&self) -> Time {
        self.idle_since.max(self.nav)
    }
}

impl Transmission {
    /// A PPDU that is about to be sent.
    pub(super) fn new(
        (purpose, contender): (Purpose, ContenderId),
        (from, to): (RadioId, RadioId),
        (vector, bytes): (Vector, u32),
        start: Time,
    ) -> Self {
        let end = start + vector.duration(bytes);
        Self {
            purpose,
            contender,
            from,
            to,
            vector,
            bytes,
            start,
            end,
            nav: end,
            overlaps: Vec::new(),
            sensed_by: Vec::new(),
            interference: vec![(start, 0.0)],
        }
    }

    /// True if interference is the same all along.
    pub(super) fn is_undisturbed(&self) -> bool {
        self.interference.len() == 1
    }

    /// There is so much interference at the receiver from now on, mW.
    fn interfere(&mut self, now: Time, milliwatts: f64) {
        match self.interference.last_mut() {
            Some((at, level)) if *at == now => *level = milliwatts,
            Some((_, level)) if *level == milliwatts => {}
            _ => self.interference.push((now, milliwatts)),
        }
    }
}

impl Medium {
    /// Time that a radio waits beyond AIFS.
    pub(super) fn eifs(&self, radio: &Radio) -> std::time::Duration {
        match radio.is_unsure {
            true => self.timing.sifs + Vector::ofdm(0).duration(mac::ACK),
            false => std::time::Duration::ZERO,
        }
    }

    /// A radio finds the channel busy from now on: its backoffs stand still.
    pub(super) fn freeze(&mut self, radio: RadioId) {
        let eifs = self.eifs(&self.radios[radio]);
        let counts_from = self.radios[radio].counts_from();
        for i in 0..self.radios[radio].contenders.len() {
            let contender = &mut self.contenders[self.radios[radio].contenders[i]];
            let from = counts_from + self.timing.aifs(&contender.access) + eifs;
            contender.freeze(self.now, from, self.timing.slot);
        }
    }

    /// A PPDU is sent from now on.
    pub(super) fn start(&mut self, mut sent: Transmission) {
        let now = self.now;
        let from = sent.from;
        let id = self.air.find(Option::is_none).unwrap_or_else(|| self.air.push(None));
        if self.radios[from].is_idle() {
            self.freeze(from);
        }
        let radio = &mut self.radios[from];
        (radio.sending, radio.locked, radio.is_unsure) = (true, None, false);
        for other in self.air.iter_mut().flatten() {
            other.overlaps.push(from);
            sent.overlaps.push(other.from);
        }
        let width = self.width(&sent);
        for r in self.radios.ids() {
            let power = self.powers.dbm(from, r);
            if r == from || power < self.radios[r].sensitivity_dbm {
                continue;
            }
            if self.radios[r].is_idle() {
                self.freeze(r);
            }
            sent.sensed_by.push(r);
            self.radios[r].sensed += 1;
            let others = sent.overlaps.iter().filter(|other| **other != r);
            let interference: f64 = others.map(|o| self.powers.mw(*o, r)).sum();
            let interference = interference + self.radios[r].foreign;
            let sinr = self.powers.sinr_db(from, r, width, interference);
            if self.radios[r].sending || !self.errors.detects(sinr) {
                continue;
            }
            let is_locked = match self.radios[r].locked.and_then(|n| self.air[n].as_ref()) {
                None => true,
                Some(other) => {
                    let before = self.powers.dbm(other.from, r);
                    let is_together = other.start == now && power > before;
                    is_together || power >= before + self.config.capture_db
                }
            };
            if is_locked {
                self.radios[r].locked = Some(id);
            }
        }
        self.at(sent.end, Event::End(id));
        self.air[id] = Some(sent);
        self.weigh_interference();
    }

    /// Notes how much interference there is at the receiver of each PPDU in the air from now on. It is
    /// summed up anew: powers may have changed since another began.
    pub(super) fn weigh_interference(&mut self) {
        let now = self.now;
        for id in self.air.ids() {
            let Some(sent) = &self.air[id] else { continue };
            let others = self.air.ids().filter(|other| *other != id);
            let senders = others.filter_map(|other| Some(self.air[other].as_ref()?.from));
            let heard = senders.filter(|from| *from != sent.to);
            let level: f64 = heard.map(|from| self.powers.mw(from, sent.to)).sum();
            let level = level + self.radios[sent.to].foreign;
            if let Some(sent) = &mut self.air[id] {
                sent.interfere(now, level);
            }
        }
    }

    /// A PPDU has been sent.
    pub(super) fn end(&mut self, id: TransmissionId, drops: &mut Vec<crate::node::Dropped>) {
        let Some(sent) = self.air[id].take() else { return };
        self.weigh_interference();
        self.radios[sent.from].sending = false;
        let (mut has_come, is_data) = (false, sent.purpose == Purpose::Data);
        let mut meant = None;
        for i in 0..sent.sensed_by.len() {
            let r = sent.sensed_by[i];
            self.radios[r].sensed -= 1;
            let is_locked = self.radios[r].locked == Some(id);
            if is_locked {
                self.radios[r].locked = None;
                if r == sent.to {
                    has_come = true;
                    self.radios[r].is_unsure = false;
                } else {
                    self.overhear(r, &sent);
                }
            }
            match is_data && r == sent.to {
                true => meant = Some(is_locked),
                false => self.hear(r, &sent, is_locked),
            }
            self.rest(r);
        }
        self.hear_own(&sent);
        self.monitor(&sent);
        self.rest(sent.from);
        self.arrived(&sent, has_come, drops);
        // What it is sent itself a radio hears as it received it.
        if let Some(is_locked) = meant {
            self.hear(sent.to, &sent, is_locked);
        }
    }

    /// A radio may find the channel idle from now on.
    pub(super) fn rest(&mut self, radio: RadioId) {
        let now = self.now;
        let radio = &mut self.radios[radio];
        if radio.is_idle() {
            radio.idle_since = now;
        }
    }

    /// Updates a radio by a PPDU that is for another: its NAV, and whether EIFS follows.
    fn overhear(&mut self, radio: RadioId, sent: &Transmission) {
        let sinr = self.sinr_of(radio, sent);
        let is_clear = self.errors.success(&sent.vector, sinr, mac::DATA.min(sent.bytes)) >= 0.5;
        let radio = &mut self.radios[radio];
        radio.is_unsure = !is_clear;
        if is_clear {
            radio.nav = radio.nav.max(sent.nav);
        }
    }

    /// SINR of a PPDU at a radio, with all that was sent at some time of it.
    pub(super) fn sinr_of(&self, radio: RadioId, sent: &Transmission) -> f64 {
        let others = sent.overlaps.iter().filter(|other| **other != radio);
        let interference: f64 = others.map(|o| self.powers.mw(*o, radio)).sum();
        let interference = interference + self.radios[radio].foreign;
        self.powers.sinr_db(sent.from, radio, self.width(sent), interference)
    }

    /// The width over which a PPDU is received: a control frame is sent as duplicates over the whole
    /// channel, so its SNR is that of the channel.
    fn width(&self, sent: &Transmission) -> Width {
        self.aps[self.radios[sent.from].ap].config.width
    }

    /// Draws whether a control frame comes at the radio that it is for.
    pub(super) fn control_comes(&mut self, sent: &Transmission) -> bool {
        let p = self.success_between(sent, (sent.start, sent.end), |errors, sinr| {
            errors.success(&sent.vector, sinr, sent.bytes)
        });
        chance(p, &mut self.rng)
    }

    /// Draws whether the header of a PPDU comes at the radio that it is for.
    pub(super) fn header_comes(&mut self, sent: &Transmission) -> bool {
        let until = sent.start + sent.vector.preamble();
        let p = self.success_between(sent, (sent.start, until), |errors, sinr| {
            errors.header(&sent.vector, sinr)
        });
        chance(p, &mut self.rng)
    }

    /// Probability that a part of the PSDU comes, `at` bytes from its beginning.
    pub(super) fn part_success(&self, sent: &Transmission, at: u32, bytes: u32) -> f64 {
        let body = sent.end - sent.start - sent.vector.preamble();
        let time = |bytes: u32| {
            let share = f64::from(bytes) / f64::from(sent.bytes.max(1));
            sent.start + sent.vector.preamble() + body.mul_f64(share.min(1.0))
        };
        self.success_between(sent, (time(at), time(at + bytes)), |errors, sinr| {
            errors.success(&sent.vector, sinr, bytes)
        })
    }

    /// The probability that what is sent between two times comes at the radio that it is for; `success`
    /// says it of one SINR.
    fn success_between(
        &self,
        sent: &Transmission,
        (from, until): (Time, Time),
        success: impl Fn(&ErrorModel, f64) -> f64,
    ) -> f64 {
        let width = self.width(sent);
        let at =
            |level| success(&self.errors, self.powers.sinr_db(sent.from, sent.to, width, level));
        if let [(_, level)] = sent.interference.as_slice() {
            return at(*level);
        }
        let whole = (until - from).as_nanos().max(1) as f64;
        let mut p = 1.0;
        for (i, (begin, level)) in sent.interference.iter().enumerate() {
            let end = sent.interference.get(i + 1).map_or(until, |(at, _)| *at).min(until);
            let begin = (*begin).max(from);
            if end > begin {
                // Errors are a hazard of so much per bit.
                p *= at(*level).powf((end - begin).as_nanos() as f64 / whole);
            }
        }
        p
    }
}

/// Draws whether an event of probability `p` happens. What is certain draws nothing.
pub(super) fn chance(p: f64, rng: &mut airlane_base::Rng) -> bool {
    if p >= 1.0 - 1e-12 {
        return true;
    }
    p > 1e-12 && rng.random::<f64>() < p
}
