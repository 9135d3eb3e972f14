//! What can be chosen about a CUBIC flow.

use serde::Serialize;

/// Weights below and above these are clamped: a flow of no weight has no window.
pub const WEIGHT_RANGE: std::ops::RangeInclusive<f64> = 0.01..=1000.0;

/// Rule by which a flow of weight w emulates w plain flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum WeightRule {
    /// The losses of an event say how many of the virtual flows it hit; holds under droptail and
    /// under random loss.
    #[default]
    Synchronised,
    /// One virtual flow is hit by an event (MulTCP; Minerva, section 5.6); holds where losses are
    /// independent, that is not under droptail.
    Textbook,
}

/// Options of [`Cubic`](super::Cubic).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CubicConfig {
    /// Number of plain flows that the flow counts for at first; `set_weight` changes it.
    pub weight: f64,
    /// Rule by which the flow emulates that many plain flows.
    pub rule: WeightRule,
    /// HyStart++ in the first slow start. On: RFC 9438, section 4.10, asks for a slow start that
    /// ends before the queue overflows, and the peers (ns-3, Linux, Chromium) have one.
    pub hystart: bool,
    /// Fast convergence (RFC 9438, section 4.7).
    pub fast_convergence: bool,
    /// Packets are paced (RFC 9002, section 7.7). Off: acknowledgements alone clock them, as in kernels' TCP
    /// without `fq` and in ns-3's; the window is then never below two packets.
    pub is_paced: bool,
}

impl Default for CubicConfig {
    fn default() -> Self {
        Self {
            weight: 1.0,
            rule: WeightRule::default(),
            hystart: true,
            fast_convergence: true,
            is_paced: true,
        }
    }
}

/// A usable weight: finite and within [`WEIGHT_RANGE`]; NaN counts as one plain flow.
pub(crate) fn usable_weight(weight: f64) -> f64 {
    if weight.is_nan() {
        return 1.0;
    }
    weight.clamp(*WEIGHT_RANGE.start(), *WEIGHT_RANGE.end())
}
