//! Capacities drawn from a seed, for tests and the bench.

use airlane_base::Seed;
use rand::RngExt;

/// Capacities (kbit/s) of a call with so many participants. Calls are of six kinds: like WiFi (1 to 60
/// Mbit/s), spread over decades, all equal, from a few values, like WiFi with some at 0, and like WiFi with one
/// ample client.
pub fn capacities(seed: Seed, participants: usize) -> Vec<f64> {
    let mut rng = seed.split("capacities").rng();
    let kind = rng.random_range(0..6);
    let common = rng.random_range(1000.0..60_000.0);
    let ample = rng.random_range(0..participants.max(1));
    let mut draw = |i: usize| match kind {
        1 => 10.0_f64.powf(rng.random_range(2.5..5.5)),
        2 => common,
        3 => common * f64::from(rng.random_range(1_u32..4)),
        4 if rng.random_range(0..4) == 0 => 0.0,
        5 if i == ample => 1e6,
        _ => rng.random_range(1000.0..60_000.0),
    };
    (0..participants).map(&mut draw).collect()
}
