//! Transmitters that are no 802.11: microwave ovens, cordless cameras, radars.

use std::time::Duration;

use airlane_base::{Rng, Time};
use airlane_wifi::Position;
use rand::RngExt;
use serde::Serialize;

use super::channel::milliwatts;
use super::ids::{InterfererId, RadioId};
use super::medium::{Event, Medium};

/// A transmitter that sends in bursts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct InterfererConfig {
    /// Power of the interferer.
    pub source: Source,
    /// Time for which it sends.
    pub on: Burst,
    /// Time for which it is silent after that.
    pub off: Burst,
    /// Time at which it first sends.
    pub start: Duration,
}

/// Power of an interferer at a radio.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub enum Source {
    /// With this power at every radio, dBm.
    Everywhere(f64),
    /// It stands somewhere and sends with this power, dBm; radios of which no place is known have it at
    /// the access point's.
    At(Position, f64),
}

/// Duration of a period of sending or of silence: never less than a microsecond.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub enum Burst {
    /// Always so long.
    Constant(Duration),
    /// Drawn from an exponential distribution with this mean.
    Exponential(Duration),
}

impl Burst {
    fn draw(self, rng: &mut Rng) -> Duration {
        let length = match self {
            Self::Constant(length) => length,
            Self::Exponential(mean) => mean.mul_f64(-(1.0 - rng.random::<f64>()).ln()),
        };
        length.max(Duration::from_micros(1))
    }
}

/// An interferer of a channel.
#[derive(Debug)]
pub(super) struct Interferer {
    config: InterfererConfig,
    is_on: bool,
    /// Radios that take the channel for busy for it.
    sensed_by: Vec<RadioId>,
    rng: Rng,
}

impl Medium {
    pub(super) fn add_interferer(&mut self, config: InterfererConfig) {
        let rng = self.seed.split("interferer").index(self.interferers.len() as u64).rng();
        let interferer = Interferer { config, is_on: false, sensed_by: Vec::new(), rng };
        let id = self.interferers.push(interferer);
        self.at(self.now + config.start, Event::Burst(id));
    }

    /// An interferer begins or ends to send.
    pub(super) fn burst(&mut self, id: InterfererId) {
        let interferer = &mut self.interferers[id];
        interferer.is_on = !interferer.is_on;
        let length = match interferer.is_on {
            true => interferer.config.on,
            false => interferer.config.off,
        };
        let next = self.now + length.draw(&mut interferer.rng);
        self.at(next, Event::Burst(id));
        self.weigh_foreign();
        match self.interferers[id].is_on {
            true => self.sense_burst(id),
            false => {
                let sensed_by = std::mem::take(&mut self.interferers[id].sensed_by);
                for radio in sensed_by {
                    self.radios[radio].sensed -= 1;
                    self.rest(radio);
                }
            }
        }
        self.weigh_interference();
    }

    /// Radios at which it is strong enough take the channel for busy. There is no preamble to make out, so
    /// energy counts.
    fn sense_burst(&mut self, id: InterfererId) {
        for radio in self.radios.ids() {
            if self.interference_at(id, radio) < self.config.energy_dbm {
                continue;
            }
            if self.radios[radio].is_idle() {
                self.freeze(radio);
            }
            self.radios[radio].sensed += 1;
            self.interferers[id].sensed_by.push(radio);
        }
    }

    /// Sums up what each radio has of those that send.
    fn weigh_foreign(&mut self) {
        for radio in self.radios.ids() {
            let on = self.interferers.ids().filter(|id| self.interferers[*id].is_on);
            let on: Vec<InterfererId> = on.collect();
            let sum = on.into_iter().map(|id| milliwatts(self.interference_at(id, radio))).sum();
            self.radios[radio].foreign = sum;
        }
    }

    /// The power of an interferer at a radio, dBm.
    fn interference_at(&mut self, id: InterfererId, radio: RadioId) -> f64 {
        match self.interferers[id].config.source {
            Source::Everywhere(dbm) => dbm,
            Source::At(place, dbm) => {
                let ap = self.aps[self.radios[radio].ap].config.position;
                let position =
                    self.scene.position(radio, self.now).unwrap_or(ap.unwrap_or_default());
                dbm - self.scene.loss_db(place, position, Time::ZERO)
            }
        }
    }
}
