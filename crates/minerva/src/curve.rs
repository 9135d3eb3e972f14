//! `Q_i(r)`: the mean QoE of a session at a constant body rate, as a strictly increasing curve.

use std::time::Duration;

use airlane_abr::fixed_rate::fixed_rate;
use airlane_abr::{Abr, TitleModel};
use airlane_quality::PiecewiseLinear;

/// Ratio between neighbouring rates of the grid.
const STEP: f64 = 1.02;

/// The rate at which a rung can be held for good: its mean rate, scaled by the part of a chunk's
/// time that its pause of `chunk_overhead` leaves for the download. Bits per second.
pub fn sustaining_rate_bps(setting: &TitleModel, rung: usize) -> f64 {
    let chunk = setting.chunk_s();
    // A pause as long as a chunk leaves no rate that suffices; such a player is held to a tenth.
    let busy = (chunk - setting.player().chunk_overhead.as_secs_f64()).max(0.1 * chunk);
    setting.mean_rate_bps()[rung] * chunk / busy
}

/// QoE at a constant rate, by simulating the whole session at a grid of rates.
#[derive(Clone, Debug)]
pub struct RateCurve {
    name: String,
    qoe: PiecewiseLinear,
    /// Bits that the player takes per second of the session, over the body rate.
    delivered: PiecewiseLinear,
}

impl RateCurve {
    /// The curve of `setting` with `abr`, over the chunks that began to play in the first
    /// `within`.
    ///
    /// Points from the lowest rung's mean rate to [`sustaining_rate_bps`] of the highest; the
    /// running maximum makes them monotone, and beyond both ends the curve goes on in proportion.
    pub fn simulate(setting: &TitleModel, abr: &(impl Abr + ?Sized), within: Duration) -> Self {
        let lo = setting.mean_rate_bps()[0];
        let hi = sustaining_rate_bps(setting, setting.rungs() - 1).max(lo * STEP);
        let steps = ((hi / lo).ln() / STEP.ln()).ceil() as usize;
        let (mut qoe, mut delivered) = (Vec::new(), Vec::new());
        for i in 0..=steps {
            let rate = lo * (hi / lo).powf(i as f64 / steps as f64);
            let session = fixed_rate(setting, abr, rate, within);
            qoe.push((rate, session.qoe));
            delivered.push((rate, session.delivered_bps));
        }
        let curve = |points: &[(f64, f64)]| {
            PiecewiseLinear::from_points(points).expect("finite values over a rising grid")
        };
        Self { name: setting.video().name.clone(), qoe: curve(&qoe), delivered: curve(&delivered) }
    }

    /// The video's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Mean QoE over body rate in bits per second.
    pub fn qoe(&self) -> &PiecewiseLinear {
        &self.qoe
    }

    /// The rate that the player takes with its pauses, over the body rate, both in bits per
    /// second. Beyond the top rung's rate it stays.
    pub fn delivered_bps(&self, rate_bps: f64) -> f64 {
        self.delivered.eval(rate_bps.min(self.delivered.last().0))
    }

    /// The QoE at the end of the ladder: more rate brings no more.
    pub fn top_qoe(&self) -> f64 {
        self.qoe.last().1
    }
}
