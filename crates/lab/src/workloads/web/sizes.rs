//! The sizes of transfers: a bounded Pareto distribution.

use airlane_base::Rng;
use rand::RngExt;

use super::Entry;

impl Entry {
    /// The mean size of a transfer in bytes: that of the Pareto distribution between its bounds.
    pub fn mean_bytes(&self) -> f64 {
        let (a, l, h) = (self.shape, self.min_bytes as f64, self.max_bytes as f64);
        let cut = 1.0 - (l / h).powf(a);
        if (a - 1.0).abs() < 1e-9 {
            return l * (h / l).ln() / cut;
        }
        a * l.powf(a) * (l.powf(1.0 - a) - h.powf(1.0 - a)) / ((a - 1.0) * cut)
    }

    /// The size of a transfer, by inversion of the distribution function.
    pub(super) fn draw_bytes(&self, rng: &mut Rng) -> u64 {
        let (l, h) = (self.min_bytes as f64, self.max_bytes as f64);
        let cut = 1.0 - (l / h).powf(self.shape);
        let u: f64 = rng.random();
        (l * (1.0 - u * cut).powf(-1.0 / self.shape)).round().clamp(l, h) as u64
    }
}
