//! Shadowing: loss by what stands in the way.

use std::f64::consts::TAU;

use airlane_base::Seed;
use rand::RngExt;

use crate::position::Position;

/// Waves of the field.
const WAVES: usize = 64;

/// Log-normal shadowing as a field over places: two links that lie side by side are shadowed alike, and a
/// station that walks sees it change as it goes.
///
/// The field is a sum of plane waves whose lengths are drawn such that the correlation of two places is
/// exp(-distance / decorrelation) (Gudmundson 1991; the sum: Cai and Giannakis, "A two-dimensional channel
/// simulation model for shadowing processes", IEEE Trans. Veh. Tech. 52, 2003). A link has the
/// sum of its two ends', so that links of one access point have half of the variance in common.
#[derive(Clone, Debug)]
pub struct Shadowing {
    /// Brings the sum of waves of two places to the standard deviation, if they have nothing in common.
    scale_db: f64,
    decorrelation_m: f64,
    waves: Vec<Wave>,
}

#[derive(Clone, Copy, Debug)]
struct Wave {
    /// Radians to the metre.
    x: f64,
    y: f64,
    phase: f64,
}

impl Shadowing {
    /// A field of this standard deviation in dB (TGn: 3 to 6), which forgets over so many metres (indoors, a
    /// few).
    pub fn new(seed: Seed, sigma_db: f64, decorrelation_m: f64) -> Self {
        let decorrelation_m = decorrelation_m.max(1e-3);
        let mut rng = seed.split("shadowing").rng();
        let waves = (0..WAVES).map(|_| {
            // The spectrum of an exponential correlation in two dimensions, by its inverse.
            let above: f64 = 1.0 - rng.random::<f64>();
            let number = (1.0 / (above * above) - 1.0).sqrt() / decorrelation_m;
            let angle = TAU * rng.random::<f64>();
            let phase = TAU * rng.random::<f64>();
            Wave { x: number * angle.cos(), y: number * angle.sin(), phase }
        });
        let waves = waves.collect();
        Self { scale_db: sigma_db / (WAVES as f64).sqrt(), decorrelation_m, waves }
    }

    /// Loss between two places beyond that of their distance, dB.
    pub fn db(&self, from: Position, to: Position) -> f64 {
        // Ends that are close to each other are shadowed alike, which would count twice.
        let common = (-from.distance(to) / self.decorrelation_m).exp();
        self.scale_db * (self.at(from) + self.at(to)) / (1.0 + common).sqrt()
    }

    fn at(&self, place: Position) -> f64 {
        self.waves.iter().map(|w| (w.x * place.x + w.y * place.y + w.phase).cos()).sum()
    }
}
