//! Upper bounds of the utility for linear QoE, by duality.
//!
//! For weights z with `sum z = 0` and `|z| <= 1` the deviation of q is at least `z q / sqrt n`, so the
//! utility is at most `rho + sum w_i d_i` with `w_i = (1 - rho) / n - 2 rho z_i / sqrt n`. The maximum of
//! that over all feasible rates is a linear program; every feasible dual solution bounds it. All rates
//! here are over M.

use super::config::ContentBound;
use super::problem::Problem;
use super::search;

/// Constraints over M, with the clients by falling capacity.
pub(super) struct Bounds {
    order: Vec<usize>,
    capacities: Vec<f64>,
    max_uplink: f64,
    content: ContentBound,
    relaxed_total: f64,
    server: Option<f64>,
    weights: Vec<f64>,
}

impl Bounds {
    pub(super) fn new(problem: &Problem) -> Self {
        let m = problem.max_rate();
        let mut order: Vec<usize> = (0..problem.participants()).collect();
        order.sort_by(|&a, &b| problem.capacities()[b].total_cmp(&problem.capacities()[a]));
        Self {
            capacities: order.iter().map(|&i| problem.capacities()[i] / m).collect(),
            weights: vec![0.0; order.len()],
            order,
            max_uplink: problem.max_uplink() / m,
            content: problem.content(),
            relaxed_total: problem.relaxed_total() / m,
            server: problem.server().map(|s| s / m),
        }
    }

    /// Upper bound of `sum w_i d_i`, `weights` by participant. A price of the server's rate is searched
    /// unless the bound without one is `enough`.
    pub(super) fn linear(&mut self, weights: &[f64], enough: f64) -> f64 {
        let free = self.with_price(weights, 0.0);
        if self.server.is_none() || free <= enough {
            return free;
        }
        let end = weights.iter().copied().fold(0.0, f64::max);
        -search::maximum((0.0, end), 1e-12, |price| -self.with_price(weights, price)).1
    }

    /// The bound with a price for each kbit/s of the server.
    fn with_price(&mut self, weights: &[f64], price: f64) -> f64 {
        for (weight, &i) in self.weights.iter_mut().zip(&self.order) {
            *weight = (weights[i] - price).max(0.0);
        }
        let of_server = self.server.map_or(0.0, |server| price * server);
        let rest = match self.content {
            ContentBound::Relaxed => self.relaxed(),
            ContentBound::Written => {
                let end = self.weights.iter().sum();
                -search::maximum((0.0, end), 1e-15, |total| -self.written(total)).1
            }
        };
        of_server + rest
    }

    /// Maximum with the sum of all downlinks bounded: the clients of the largest weights come first.
    fn relaxed(&self) -> f64 {
        let mut by_weight: Vec<usize> = (0..self.weights.len()).collect();
        by_weight.sort_by(|&a, &b| self.weights[b].total_cmp(&self.weights[a]));
        let mut left = self.relaxed_total;
        let mut sum = 0.0;
        for i in by_weight {
            let rate = self.capacities[i].min(1.0).min(left);
            left -= rate;
            sum += self.weights[i] * rate;
        }
        sum
    }

    /// Dual value where the prices `lambda_i` of `d_i + u_i <= sum u` sum to `total`.
    ///
    /// Client i then contributes the maximum of `(w_i - lambda_i) d + (total - lambda_i) u` over
    /// `d + u <= B_i`, `d <= 1`, `u <= M/V`: a convex function of `lambda_i` that falls by
    /// `min(B_i, 1 + M/V)` up to `w_i` and by `min(B_i, M/V)` up to `total`. Prices go where
    /// it falls the most.
    fn written(&self, total: f64) -> f64 {
        let c = self.max_uplink;
        let mut value = 0.0;
        for (&weight, &b) in self.weights.iter().zip(&self.capacities) {
            let up_first = (total * b.min(c), weight * (b - b.min(c)).min(1.0));
            let down_first = (weight * b.min(1.0), total * (b - b.min(1.0)).min(c));
            let (first, second) = if weight < total { up_first } else { down_first };
            value += first + second;
        }
        let steep = |i: usize| {
            let falls = self.capacities.get(i).map(|b| b.min(1.0 + c))?;
            Some((falls, self.weights[i].min(total)))
        };
        let flat = |i: usize| {
            let falls = self.capacities.get(i).map(|b| b.min(c))?;
            Some((falls, total - self.weights[i].min(total)))
        };
        let (mut left, mut i, mut j) = (total, 0, 0);
        while left > 0.0 {
            let (falls, length) = match (steep(i), flat(j)) {
                (Some(s), Some(f)) if s.0 >= f.0 => {
                    i += 1;
                    s
                }
                (_, Some(f)) => {
                    j += 1;
                    f
                }
                (Some(s), None) => {
                    i += 1;
                    s
                }
                (None, None) => break,
            };
            let taken = length.min(left);
            value -= falls * taken;
            left -= taken;
        }
        value
    }
}
