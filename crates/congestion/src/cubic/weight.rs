//! How a flow of weight w shares in losses as w plain flows would.
//!
//! The losses themselves say how synchronised they are. If the losses of an event fall on the w
//! virtual flows as Poisson with mean x, an event that lost something lost x / (1 - exp(-x))
//! of them on average (packets lost side by side count once), and one given virtual flow is hit in a share
//! m = (1 - exp(-x/w)) / (1 - exp(-x)) of the events: 1/w when events lose one packet each, 1
//! when every event hits all.

use super::config::WeightRule;
use super::curve::{BETA, C};

/// Share of the newest event in the mean loss per event.
const GAIN: f64 = 1.0 / 16.0;

/// Mean loss per event before any was seen.
const INITIAL_MEAN: f64 = 1.3;

/// An event counts at most this many losses per plain flow: an outage says nothing about how
/// the queue shares its drops.
const MAX_LOSSES_PER_FLOW: f64 = 20.0;

/// Estimates how synchronised losses are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Synchrony {
    /// Mean losses per event.
    mean_lost: f64,
}

impl Synchrony {
    pub fn new() -> Self {
        Self { mean_lost: INITIAL_MEAN }
    }

    /// An event of a flow of weight `weight` lost `lost` packets.
    pub fn on_event(&mut self, lost: u32, weight: f64) {
        let lost = f64::from(lost).min(MAX_LOSSES_PER_FLOW * weight.max(1.0));
        self.mean_lost += GAIN * (lost - self.mean_lost);
    }

    /// The share m of events that hit one given virtual flow.
    pub fn hit_share(&self, rule: WeightRule, weight: f64) -> f64 {
        if weight == 1.0 {
            return 1.0; // Exactly: a plain flow is RFC 9438 to the last bit.
        }
        if rule == WeightRule::Textbook {
            return 1.0 / weight;
        }
        match poisson_mean(self.mean_lost) {
            Some(x) => (1.0 - (-x / weight).exp()) / (1.0 - (-x).exp()),
            None => 1.0 / weight,
        }
    }
}

/// The x with x / (1 - exp(-x)) = `mean`; `None` where the mean is one or less.
fn poisson_mean(mean: f64) -> Option<f64> {
    if mean <= 1.0 + 1e-9 {
        return None;
    }
    // Newton on f(x) = x - mean (1 - exp(-x)), which is convex with its positive root below mean:
    // from the mean it falls onto the root without overshooting.
    let mut x = mean;
    for _ in 0..50 {
        let e = (-x).exp();
        let step = (x - mean * (1.0 - e)) / (1.0 - mean * e);
        x -= step;
        if step.abs() <= 1e-12 * x {
            break;
        }
    }
    Some(x)
}

/// Share of the window kept at an event: of AIMD flows, the one whose (1-b)/(1+b) is m times the
/// plain flow's. m = 1/w is the textbook's, m = 1 the plain flow's.
pub(super) fn kept(m: f64) -> f64 {
    let (sum, cut) = (1.0 + BETA, m * (1.0 - BETA));
    (sum - cut) / (sum + cut)
}

/// The constant of the cubic curve for weight w when a share m of events hits: m = 1/w gives w^4
/// times and m = 1 gives w times the plain flow's.
pub(super) fn curve_constant(weight: f64, m: f64, kept: f64) -> f64 {
    weight * C * m.powi(-3) * (3.0 + BETA) * (1.0 - kept) / ((3.0 + kept) * (1.0 - BETA))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_poisson_mean_is_the_root() {
        for x in [1e-4f64, 0.1, 0.56, 1.0, 3.0, 20.0] {
            let mean = x / (1.0 - (-x).exp());
            let found = poisson_mean(mean).expect("above one");
            assert!((found - x).abs() < 1e-5 * x.max(1.0), "{x}: {found}");
        }
        assert_eq!(poisson_mean(1.0), None);
        assert_eq!(poisson_mean(0.2), None);
    }

    #[test]
    fn one_loss_per_event_gives_the_textbook_and_many_give_a_plain_flow() {
        let (w, beta) = (3.0, BETA);
        let mut s = Synchrony::new();
        (0..400).for_each(|_| s.on_event(1, w));
        let m = s.hit_share(WeightRule::Synchronised, w);
        assert!((m - 1.0 / w).abs() < 1e-6);
        let textbook = (beta * (w + 1.0) + w - 1.0) / (beta * (w - 1.0) + w + 1.0);
        assert!((kept(1.0 / w) - textbook).abs() < 1e-12);
        assert_eq!(s.hit_share(WeightRule::Textbook, w), 1.0 / w);

        (0..400).for_each(|_| s.on_event(1_000, w));
        let m = s.hit_share(WeightRule::Synchronised, w);
        assert!(m > 0.999 && m <= 1.0, "{m}");
        assert!((kept(1.0) - BETA).abs() < 1e-12);
        assert!((curve_constant(w, 1.0, kept(1.0)) - w * C).abs() < 1e-12);
    }

    #[test]
    fn below_one_a_flow_is_hit_more_often_than_it_sees() {
        let s = Synchrony::new();
        let m = s.hit_share(WeightRule::Synchronised, 0.5);
        assert!(m > 1.0 && m < 2.0, "{m}");
        assert!(kept(m) < BETA);
    }
}
