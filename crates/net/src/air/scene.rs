//! Where radios are and how strongly they hear each other, as time goes.

use std::time::Duration;

use airlane_base::{Seed, Time};
use airlane_wifi::{
    Fading, Mobility, PathLoss, Position, Propagation, Quality, Shadowing, Walk, Width, noise_dbm,
};

use super::channel::Powers;
use super::config::{ApConfig, ChannelConfig, Motion, Signal};
use super::ids::{RadioId, Table};

/// Greatest age of powers when an exchange begins.
const FRESH: Duration = Duration::from_millis(10);

/// A radio of the scene.
#[derive(Debug)]
struct Stand {
    /// Position and motion; `None`: only SNRs are known.
    mobility: Option<Mobility>,
    /// Transmit power, dBm.
    power_dbm: f64,
    /// The radio of its access point, and the SNR of what that sends here; `None` of access points.
    quality: Option<(RadioId, Quality)>,
    /// Transmit power beyond that of its access point, dB.
    up_db: f64,
    /// SNR between it and those of whom nothing else is known, dB.
    snr_to_others_db: f64,
    width: Width,
    /// True if nothing of it changes.
    is_steady: bool,
    is_gone: bool,
    refreshed: Time,
}

/// All radios of a channel.
#[derive(Debug)]
pub(super) struct Scene {
    config: ChannelConfig,
    /// Loss with distance and shadowing, between any two.
    common: Propagation,
    seed: Seed,
    stands: Table<RadioId, Stand>,
    is_steady: bool,
}

impl Scene {
    pub(super) fn new(config: ChannelConfig, seed: Seed) -> Self {
        let shadowing = config
            .shadowing
            .map(|(sigma_db, metres)| Shadowing::new(seed.split("shadowing"), sigma_db, metres));
        let common = Propagation { loss: config.loss, shadowing, fading: None };
        Self { config, common, seed, stands: Table::default(), is_steady: true }
    }

    /// An access point: where it is, what it sends with, how well radios of others' networks hear it.
    pub(super) fn add_ap(
        &mut self,
        (position, power_dbm): (Option<Position>, f64),
        snr_to_others_db: f64,
        width: Width,
        powers: &mut Powers,
    ) {
        let radio = self.stands.push(Stand {
            mobility: position.map(Mobility::Static),
            power_dbm,
            quality: None,
            up_db: 0.0,
            snr_to_others_db,
            width,
            is_steady: true,
            is_gone: false,
            refreshed: Time::ZERO,
        });
        self.evaluate(radio, Time::ZERO, powers);
    }

    /// A station of an access point.
    pub(super) fn add_station(
        &mut self,
        ap: RadioId,
        signal: &Signal,
        (up_db, snr_to_others_db): (f64, f64),
        powers: &mut Powers,
    ) {
        let number = self.stands.len();
        let (width, power_dbm) = (self.stands[ap].width, self.stands[ap].power_dbm);
        let fading = self.config.fading.map(|fading| {
            let seed = self.seed.split("fading").index(number as u64);
            // One branch for each coherence bandwidth in the channel.
            let coherence_mhz = 1e3 / (5.0 * fading.delay_spread_ns.max(1e-3));
            let branches = (f64::from(width.mhz()) / coherence_mhz).ceil() as u32;
            match fading.k_db {
                Some(k_db) => Fading::rician(seed, fading.doppler_hz, branches, k_db),
                None => Fading::rayleigh(seed, fading.doppler_hz, branches),
            }
        });
        let (mobility, quality) = match signal {
            Signal::Fixed(db) => (None, Quality::Fixed(*db)),
            Signal::Trace(trace) => (None, Quality::Trace(trace.clone())),
            Signal::Place(motion) => {
                let propagation = Propagation { fading, ..self.common.clone() };
                let noise_figure_db = self.config.noise_figure_db;
                let seed = self.seed.split("motion").index(number as u64);
                (
                    Some(mobility(motion, seed)),
                    Quality::Air { power_dbm, propagation, noise_figure_db },
                )
            }
        };
        let is_steady = match signal {
            Signal::Fixed(_) => true,
            Signal::Trace(_) => false,
            Signal::Place(motion) => {
                matches!(motion, Motion::Still(_)) && self.config.fading.is_none()
            }
        };
        self.is_steady &= is_steady;
        let radio = self.stands.push(Stand {
            mobility,
            power_dbm: power_dbm + up_db,
            quality: Some((ap, quality)),
            up_db,
            snr_to_others_db,
            width,
            is_steady,
            is_gone: false,
            refreshed: Time::ZERO,
        });
        self.evaluate(radio, Time::ZERO, powers);
    }

    /// SNR of what an access point sends to a station, at the beginning of time, dB; without fading.
    pub(super) fn snr_at_first(&self, ap: &ApConfig, signal: &Signal) -> f64 {
        let start = match signal {
            Signal::Fixed(db) => return *db,
            Signal::Trace(trace) => return trace.db(Time::ZERO),
            Signal::Place(Motion::Still(position)) => *position,
            Signal::Place(Motion::Walk { start, .. }) => *start,
            Signal::Place(Motion::Waypoints(points)) => points.position(Time::ZERO),
        };
        let loss = self.common.loss_db(ap.position.unwrap_or_default(), start, Time::ZERO);
        ap.power_dbm - loss - noise_dbm(ap.width, self.config.noise_figure_db)
    }

    /// A radio is heard no more.
    pub(super) fn silence(&mut self, radio: RadioId, powers: &mut Powers) {
        self.stands[radio].is_gone = true;
        powers.silence(radio);
    }

    /// Position of a radio; `None` if it is not known.
    pub(super) fn position(&mut self, radio: RadioId, now: Time) -> Option<Position> {
        self.stands[radio].mobility.as_mut().map(|mobility| mobility.position(now))
    }

    /// Path loss between two positions, dB.
    pub(super) fn loss_db(&self, from: Position, to: Position, now: Time) -> f64 {
        self.common.loss_db(from, to, now)
    }

    /// Sees to it that what a radio hears and how it is heard is not older than 10 ms.
    #[inline]
    pub(super) fn refresh(&mut self, radio: RadioId, now: Time, powers: &mut Powers) {
        if !self.is_steady && now >= self.stands[radio].refreshed + FRESH {
            self.stands[radio].refreshed = now;
            self.evaluate(radio, now, powers);
        }
    }

    /// Powers between a radio and all others, both ways.
    fn evaluate(&mut self, a: RadioId, now: Time, powers: &mut Powers) {
        if self.stands[a].is_gone {
            return;
        }
        for b in self.stands.ids() {
            let is_settled =
                self.stands[a].is_steady && self.stands[b].is_steady && now > Time::ZERO;
            if a == b || self.stands[b].is_gone || is_settled {
                continue;
            }
            let (there, back) = self.between(a, b, now);
            powers.set(a, b, there);
            powers.set(b, a, back);
        }
    }

    /// Power of `a` at `b`, and of `b` at `a`, dBm.
    fn between(&mut self, a: RadioId, b: RadioId, now: Time) -> (f64, f64) {
        let (here, there) = (self.position(a, now), self.position(b, now));
        let (x, y) = (&self.stands[a], &self.stands[b]);
        for (station, ap, is_turned) in [(y, a, false), (x, b, true)] {
            let Some((_, quality)) = station.quality.as_ref().filter(|(own, _)| *own == ap) else {
                continue;
            };
            let (from, to) = if is_turned { (there, here) } else { (here, there) };
            let (from, to) = (from.unwrap_or_default(), to.unwrap_or_default());
            let snr = quality.snr_db(from, to, now, station.width);
            let dbm = snr + noise_dbm(station.width, self.config.noise_figure_db);
            let up = dbm + station.up_db;
            return if is_turned { (up, dbm) } else { (dbm, up) };
        }
        // Where both stand somewhere: an access point has no place where only SNRs are known.
        if let (Some(here), Some(there)) = (here, there) {
            let loss = self.common.loss_db(here, there, now);
            return (x.power_dbm - loss, y.power_dbm - loss);
        }
        let dbm = x.snr_to_others_db.min(y.snr_to_others_db)
            + noise_dbm(x.width.max(y.width), self.config.noise_figure_db);
        (dbm, dbm)
    }
}

fn mobility(motion: &Motion, seed: Seed) -> Mobility {
    match motion {
        Motion::Still(position) => Mobility::Static(*position),
        Motion::Walk { area, start, speed, leg } => {
            Mobility::Walk(Walk::new(seed, *area, *start, *speed, *leg))
        }
        Motion::Waypoints(points) => Mobility::Waypoints(points.clone()),
    }
}

/// Loss with distance where nothing is said: TGn's model D at 5.2 GHz, a typical office.
pub(super) fn typical_loss() -> PathLoss {
    PathLoss::tgn('D', 5.2e9).unwrap_or(PathLoss::log_distance(5.2e9, 3.0))
}
