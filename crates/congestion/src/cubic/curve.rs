//! The window of one epoch: the cubic curve and the Reno-friendly estimate (RFC 9438, section 4).

/// Multiplicative decrease factor (section 4.6).
pub const BETA: f64 = 0.7;

/// Constant of the curve in packets per second cubed (section 5.1).
pub const C: f64 = 0.4;

/// Growth of the Reno-friendly estimate in packets per round trip until it reaches the window
/// before the cut: what gives an AIMD flow that cuts to [`BETA`] Reno's mean window (section 4.3).
pub const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// One epoch: from a congestion event (or the end of slow start) to the next. Windows in packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Epoch {
    /// Seconds of the epoch in which the flow was allowed to grow and used its window.
    elapsed: f64,
    /// Seconds from the start of the epoch to the plateau (figure 2).
    k: f64,
    /// The plateau.
    w_max: f64,
    /// The constant of this epoch's curve, in packets per second cubed.
    c: f64,
    /// The Reno-friendly estimate.
    w_est: f64,
    /// The window before the last reduction (`cwnd_prior`).
    prior: f64,
}

impl Epoch {
    /// The epoch after a cut from `prior` to `cwnd` with the plateau at `w_max`.
    pub fn after_event(cwnd: f64, w_max: f64, prior: f64, c: f64) -> Self {
        let (w_max, k) =
            if cwnd < w_max { (w_max, ((w_max - cwnd) / c).cbrt()) } else { (cwnd, 0.0) };
        Self { elapsed: 0.0, k, w_max, c, w_est: cwnd, prior }
    }

    /// The epoch that follows slow start without a loss (sections 4.2, 4.8 and 4.10): the plateau
    /// is here.
    pub fn after_slow_start(cwnd: f64, c: f64) -> Self {
        Self::after_event(cwnd, cwnd, cwnd, c)
    }

    /// Lets `seconds` pass.
    pub fn advance(&mut self, seconds: f64) {
        self.elapsed += seconds;
    }

    /// The window after `acked` packets were acknowledged at a window of `cwnd`, for a flow that
    /// counts for `weight` plain flows and has a round trip of `rtt` seconds.
    pub fn grow(&mut self, cwnd: f64, acked: f64, rtt: f64, weight: f64) -> f64 {
        // Section 4.3: alpha is 1 once the estimate has come back to where it was cut.
        let alpha = if self.w_est >= self.prior { 1.0 } else { ALPHA };
        self.w_est += weight * alpha * acked / cwnd;
        if self.cubic(self.elapsed) < self.w_est {
            return cwnd.max(self.w_est);
        }
        // Sections 4.4 and 4.5; the target's clamp is section 4.2's.
        let target = self.cubic(self.elapsed + rtt).clamp(cwnd, 1.5 * cwnd);
        cwnd + (target - cwnd) / cwnd * acked
    }

    /// Equation 1.
    fn cubic(&self, t: f64) -> f64 {
        self.c * (t - self.k).powi(3) + self.w_max
    }

    /// The same curve for a flow `factor` times as heavy: every window scales, K stays.
    pub fn scale(&mut self, factor: f64) {
        self.w_max *= factor;
        self.c *= factor;
        self.w_est *= factor;
        self.prior *= factor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_starts_at_the_cut_window_and_meets_the_plateau_at_k() {
        let e = Epoch::after_event(70.0, 100.0, 100.0, C);
        assert!((e.cubic(0.0) - 70.0).abs() < 1e-9);
        assert!((e.k - (30.0f64 / 0.4).cbrt()).abs() < 1e-12);
        assert!((e.cubic(e.k) - 100.0).abs() < 1e-12);
        assert!((ALPHA - 0.529_411_764_7).abs() < 1e-9);
    }

    #[test]
    fn a_round_trip_of_acknowledgements_reaches_the_target() {
        // Large window, no Reno-friendliness in sight: after a round trip of acknowledgements the
        // window is where the curve is.
        let (mut e, mut cwnd, rtt) =
            (Epoch::after_event(7_000.0, 10_000.0, 10_000.0, C), 7_000.0, 0.1);
        for _ in 0..20 {
            let per_ack = 1_000;
            for _ in 0..per_ack {
                e.advance(rtt / f64::from(per_ack));
                cwnd = e.grow(cwnd, cwnd / f64::from(per_ack), rtt, 1.0);
            }
        }
        let curve = e.cubic(2.0 + rtt / 2.0);
        assert!((cwnd / curve - 1.0).abs() < 0.01, "{cwnd} against {curve}");
    }

    #[test]
    fn scaling_keeps_k_and_the_shape() {
        let mut e = Epoch::after_event(70.0, 100.0, 100.0, C);
        let k = e.k;
        e.scale(3.0);
        assert_eq!(e.k, k);
        assert!((e.cubic(0.0) - 210.0).abs() < 1e-9);
    }
}
