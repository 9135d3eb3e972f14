//! Which rate a link sends at.

use airlane_base::Rate;
use airlane_wifi::Vector;

use super::config::{ApConfig, RateControl, StationConfig};
use super::ids::{ApId, LinkId};
use super::medium::Medium;
use super::minstrel::Choice;

impl Medium {
    pub(super) fn rate_of(&self, ap: ApId, station: &StationConfig) -> Rate {
        let ap = &self.aps[ap].config;
        let snr = self.scene.snr_at_first(ap, &station.signal);
        let vector = match station.rate_control.unwrap_or(ap.rate_control) {
            RateControl::Fixed { mcs, streams } => ap.vector(mcs, streams),
            RateControl::Ideal | RateControl::Minstrel => self.best(ap, snr),
        };
        vector.rate()
    }

    /// Vector with the highest goodput at an SNR.
    fn best(&self, ap: &ApConfig, snr_db: f64) -> Vector {
        self.errors.best(&most(ap), snr_db, 1_500)
    }

    /// Chooses the rate of a link's next attempt.
    pub(super) fn choose(&mut self, link: LinkId) -> Choice {
        match &mut self.links[link].minstrel {
            Some(minstrel) => minstrel.choose(self.now),
            None => Choice { vector: self.vector(link), is_sample: false },
        }
    }

    /// Vector with which a link would send now: that which it finds best.
    pub(super) fn vector(&self, link: LinkId) -> Vector {
        let link = &self.links[link];
        let ap = &self.aps[self.stations[link.port.station].ap].config;
        match link.rate_control {
            RateControl::Fixed { mcs, streams } => ap.vector(mcs, streams),
            RateControl::Ideal => {
                let from = self.contenders[link.contender].radio;
                let snr = self.powers.sinr_db(from, link.to, ap.width, 0.0);
                match link.ideal.get() {
                    Some((known, vector)) if known == snr => vector,
                    _ => {
                        let vector = self.best(ap, snr);
                        link.ideal.set(Some((snr, vector)));
                        vector
                    }
                }
            }
            RateControl::Minstrel => match &link.minstrel {
                Some(minstrel) => minstrel.best(),
                None => ap.vector(0, 1),
            },
        }
    }
}

/// The fastest rate of an access point.
pub(super) fn most(ap: &ApConfig) -> Vector {
    ap.vector(ap.format.max_mcs(), ap.streams)
}
