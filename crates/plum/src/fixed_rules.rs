//! Division of channels by fixed rules, as the authors' public code has it in its trace-driven runs in the place
//! of the optimiser.

/// Bounds of one video, kbit/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VideoBounds {
    /// Least bitrate.
    pub min: f64,
    /// Highest bitrate.
    pub max: f64,
}

impl VideoBounds {
    /// Bounds of the authors' code: 1 to 10 Mbit/s.
    pub const AUTHORS: Self = Self { min: 1_000.0, max: 10_000.0 };
}

/// Uplink and downlink of each client, kbit/s, for channels of these capacities.
///
/// A channel that cannot carry the least bitrate of all others is halved. Otherwise, where some channel carries
/// `n` videos of the highest bitrate, every uplink gets up to 1.2 times the highest bitrate, as long as the others'
/// least bitrates are left. Where none does, an uplink gets what each of `n` videos would get of its channel, and
/// the least bitrate at least.
pub fn fixed_rules(capacities: &[f64], bounds: VideoBounds) -> Vec<(f64, f64)> {
    let n = capacities.len() as f64;
    let floor = (n - 1.0).max(0.0) * bounds.min;
    let is_ample = capacities.iter().any(|total| *total >= n * bounds.max);
    let divide = |total: &f64| {
        let total = total.max(0.0);
        let up = if total < floor {
            total / 2.0
        } else if is_ample {
            (1.2 * bounds.max).min(total - floor)
        } else {
            (total / n).max(bounds.min).min(total)
        };
        (up, total - up)
    };
    capacities.iter().map(divide).collect()
}
