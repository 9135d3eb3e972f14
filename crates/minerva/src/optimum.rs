//! The best that constant rates can do for the worst-off viewer (section 8.2, "Fixed-Rate
//! Optimal").

use crate::curve::RateCurve;

/// Rates that give all viewers the same QoE.
#[derive(Clone, Debug, PartialEq)]
pub struct Optimum {
    /// The QoE of the worst-off viewer.
    pub worst_qoe: f64,
    /// Body rate of each viewer, bits per second, in the order of the curves.
    pub rates_bps: Vec<f64>,
}

/// The paper's optimum: body rates that sum to `capacity_bps`, the link's rate times the share of
/// bodies in its bytes.
///
/// No bound: players pause between chunks, and others take what is left idle.
pub fn fixed_rate_optimum(curves: &[&RateCurve], capacity_bps: f64) -> Optimum {
    bisect(curves, capacity_bps, |_, rate| rate)
}

/// The bound: rates delivered, pauses included, that sum to `capacity_bps`.
pub fn fixed_rate_bound(curves: &[&RateCurve], capacity_bps: f64) -> Optimum {
    bisect(curves, capacity_bps, RateCurve::delivered_bps)
}

fn bisect(
    curves: &[&RateCurve],
    capacity_bps: f64,
    cost: impl Fn(&RateCurve, f64) -> f64,
) -> Optimum {
    // Nobody gains from a rate beyond the ladder's end.
    let rates = |u: f64| -> Vec<f64> {
        curves.iter().map(|c| c.qoe().inverse(u.min(c.top_qoe())).max(0.0)).collect()
    };
    let total = |u: f64| -> f64 { curves.iter().zip(rates(u)).map(|(c, r)| cost(c, r)).sum() };
    let top = curves.iter().map(|c| c.top_qoe()).fold(f64::NEG_INFINITY, f64::max);
    let mut hi = top;
    let worst = |u: f64| curves.iter().map(|c| c.top_qoe()).fold(u, f64::min);
    if total(hi) <= capacity_bps {
        return Optimum { worst_qoe: worst(hi), rates_bps: rates(hi) };
    }
    // At a QoE low enough nobody needs any rate.
    let mut lo = top.abs().max(1.0);
    while total(-lo) > capacity_bps && lo < 1e9 {
        lo *= 2.0;
    }
    let mut lo = -lo;
    for _ in 0..100 {
        let mid = 0.5 * (lo + hi);
        if total(mid) <= capacity_bps { lo = mid } else { hi = mid }
    }
    Optimum { worst_qoe: worst(lo), rates_bps: rates(lo) }
}
