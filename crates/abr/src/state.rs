//! What an algorithm decides from.

/// Samples kept of past throughput, and of past errors of prediction.
pub const HISTORY: usize = 8;

/// Samples that the rate-based algorithm and MPC average over (Yin et al., SIGCOMM 2015,
/// section 7.1: harmonic mean of the past 5 chunks).
pub const WINDOW: usize = 5;

/// Throughput of the last chunks, newest last, and how wrong its prediction was for each.
///
/// A fixed ring: simulations copy it and never allocate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct History {
    throughput_bps: [f64; HISTORY],
    error: [f64; HISTORY],
    len: usize,
}

impl History {
    /// A history of nothing but `rate_bps`, never mispredicted: what the value function of
    /// Minerva simulates with.
    pub fn constant(rate_bps: f64) -> Self {
        Self { throughput_bps: [rate_bps; HISTORY], error: [0.0; HISTORY], len: HISTORY }
    }

    /// Adds the throughput of a chunk, bits per second over its download. Its error is that of
    /// the harmonic mean before it, relative to the sample: |predicted - actual| / actual.
    ///
    /// Samples that are no finite number above zero are left out.
    pub fn push(&mut self, throughput_bps: f64) {
        if !(throughput_bps.is_finite() && throughput_bps > 0.0) {
            return;
        }
        let error =
            self.harmonic_mean_bps().map_or(0.0, |p| (p - throughput_bps).abs() / throughput_bps);
        if self.len == HISTORY {
            self.throughput_bps.rotate_left(1);
            self.error.rotate_left(1);
            self.len -= 1;
        }
        self.throughput_bps[self.len] = throughput_bps;
        self.error[self.len] = error;
        self.len += 1;
    }

    /// Throughput of the last chunks, bits per second, newest last.
    pub fn throughput_bps(&self) -> &[f64] {
        &self.throughput_bps[..self.len]
    }

    /// Error of the prediction for each of these.
    pub fn errors(&self) -> &[f64] {
        &self.error[..self.len]
    }

    /// Harmonic mean of the last [`WINDOW`] samples, `None` before the first.
    pub fn harmonic_mean_bps(&self) -> Option<f64> {
        let last = &self.throughput_bps()[self.len.saturating_sub(WINDOW)..];
        (!last.is_empty()).then(|| last.len() as f64 / last.iter().map(|t| 1.0 / t).sum::<f64>())
    }

    /// Largest error of the last [`WINDOW`] predictions, 0 before the first.
    pub fn max_error(&self) -> f64 {
        let last = &self.errors()[self.len.saturating_sub(WINDOW)..];
        last.iter().copied().fold(0.0, f64::max)
    }
}

/// A player at the moment of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlayerState {
    /// The chunk to ask for.
    pub next_chunk: usize,
    /// Seconds of video that are held and not yet played.
    pub buffer_s: f64,
    /// Rung of the chunk before, `None` before the first.
    pub last_rung: Option<usize>,
    /// Throughput of the chunks before.
    pub history: History,
}

impl PlayerState {
    /// A player that has not asked for anything.
    pub fn start() -> Self {
        Self { next_chunk: 0, buffer_s: 0.0, last_rung: None, history: History::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prediction_is_the_harmonic_mean_of_the_last_five() {
        let mut h = History::default();
        assert_eq!(h.harmonic_mean_bps(), None);
        assert_eq!(h.max_error(), 0.0);
        for t in [9e6, 1e6, 2e6, 4e6, f64::NAN, 0.0, 4e6, 2e6] {
            h.push(t);
        }
        let expected = 5.0 / (1.0 + 0.5 + 0.25 + 0.25 + 0.5) * 1e6;
        assert!((h.harmonic_mean_bps().unwrap() - expected).abs() < 1e-6);
        assert_eq!(h.throughput_bps().len(), 6);
    }

    #[test]
    fn errors_are_relative_to_what_came_and_forgotten_after_five() {
        let mut h = History::default();
        h.push(4e6);
        h.push(1e6); // 4 predicted, 1 came
        assert!((h.max_error() - 3.0).abs() < 1e-12);
        for _ in 0..4 {
            h.push(1.6e6); // the harmonic mean of 4 and 1
        }
        assert!((h.max_error() - 3.0).abs() < 1e-12);
        h.push(1.6e6);
        assert!(h.max_error() < 0.4);
        let mut c = History::constant(2e6);
        c.push(2e6);
        assert_eq!(c.throughput_bps(), [2e6; HISTORY]);
        assert!(c.max_error() < 1e-12);
    }
}
