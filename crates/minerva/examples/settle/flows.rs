//! Controllers on a link that gives rates in proportion to weights of some updates ago.

use std::sync::Arc;
use std::time::Duration;

use airlane_abr::{Abr, AbrKind, TitleModel};
use airlane_base::{Rng, Seed, Time};
use airlane_minerva::{Config, Minerva, Normalisation, Progress, Request};
use rand::RngExt;

/// The link, and what is measured of it.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    pub capacity_bps: f64,
    /// Updates until rates follow weights.
    pub delay: usize,
    /// Deviation of the logarithm of each measured rate.
    pub noise: f64,
}

const RTT: Duration = Duration::from_millis(20);

/// The weights of all flows after each of so many updates.
pub fn run(
    titles: &[Arc<TitleModel>],
    f: &Arc<Normalisation>,
    config: Config,
    link: Link,
    updates: usize,
    seed: Seed,
) -> Vec<Vec<f64>> {
    let abr: Arc<dyn Abr> = Arc::new(AbrKind::default());
    let mut rng = seed.rng();
    let mut flows: Vec<(Minerva, Progress)> = titles
        .iter()
        .map(|s| {
            let mut m = Minerva::new(s.clone(), abr.clone(), f.clone(), config);
            let progress = Progress { min_rtt: RTT, ..Progress::default() };
            for chunk in 0..2 {
                let buffer = Duration::from_secs(4);
                let request =
                    Request { chunk, rung: 0, buffer, stalled: Duration::ZERO, after_seek: false };
                m.on_request(Time::ZERO, request, progress);
            }
            (m, progress)
        })
        .collect();
    let mut weights: Vec<Vec<f64>> = vec![flows.iter().map(|f| f.0.weight()).collect()];
    for _ in 0..updates {
        let seen = &weights[weights.len().saturating_sub(1 + link.delay)];
        let sum: f64 = seen.iter().sum();
        let mut next = Vec::with_capacity(flows.len());
        for ((m, progress), w) in flows.iter_mut().zip(seen) {
            let rate = link.capacity_bps * w / sum * (link.noise * normal(&mut rng)).exp();
            // The half that settles, and the half that is measured.
            for _ in 0..2 {
                let Some(at) = m.next_event() else { continue };
                let length = RTT * 25 / 2;
                progress.busy += length;
                progress.acked_bytes += (rate * length.as_secs_f64() / 8.0).round() as u64;
                m.poll(at, *progress);
            }
            next.push(m.weight());
        }
        weights.push(next);
    }
    weights.remove(0);
    weights
}

/// A standard normal deviate (Box and Muller).
fn normal(rng: &mut Rng) -> f64 {
    let (a, b): (f64, f64) = (rng.random_range(f64::MIN_POSITIVE..1.0), rng.random_range(0.0..1.0));
    (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
}
