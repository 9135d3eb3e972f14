//! Appendix C: a table's lines over rate, replaced by fits that are concave and increasing.

use super::{Ahead, ValueFunction, ValueTable, is_ahead};
use crate::exponential::Exponential;

/// V by its fits, one for each chunk, previous rung and buffer of a table; between two buffers
/// their mean by distance, which is concave and increasing too.
#[derive(Clone, Debug)]
pub struct Fitted {
    chunks: usize,
    rungs: usize,
    buffers_s: Vec<f64>,
    origin_bps: f64,
    /// Limit, gap and decay, by chunk from the second, rung before, buffer.
    fits: Vec<[f32; 3]>,
}

impl Fitted {
    /// The fits of least squares over the rates of `table` from the one at or below `min_bps`.
    ///
    /// Rates that no rung can be held at drag V down by hundreds of points, and the fit with it,
    /// while the utility there is below nothing anyway: the lowest rung's rate is a good start.
    pub fn of_table(table: &ValueTable, min_bps: f64) -> Self {
        let rates = table.rates_bps();
        let from = rates.partition_point(|r| *r <= min_bps).saturating_sub(1);
        let buffers_s = table.buffers_s().to_vec();
        let lines = table.chunks().saturating_sub(1) * table.rungs() * buffers_s.len();
        let mut points = Vec::with_capacity(rates.len());
        let fits = (0..lines)
            .map(|n| {
                points.clear();
                points.extend(rates.iter().copied().zip(table.line(n)).skip(from));
                let fit = Exponential::fit(&points);
                fit.map_or([0.0; 3], |f| [f.limit as f32, f.gap as f32, f.decay as f32])
            })
            .collect();
        let (chunks, rungs) = (table.chunks(), table.rungs());
        Self { chunks, rungs, buffers_s, origin_bps: rates[from], fits }
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&self.buffers_s[..]) + size_of_val(&self.fits[..])
    }

    fn eval(&self, n: usize, rate_bps: f64) -> f64 {
        let [limit, gap, decay] = self.fits[n].map(f64::from);
        let origin_bps = self.origin_bps;
        let below = (origin_bps - rate_bps).max(0.0);
        let fit = Exponential { limit, gap, decay, origin_bps };
        fit.eval(rate_bps.max(origin_bps)) - gap * decay * below
    }
}

impl ValueFunction for Fitted {
    /// Buffers outside the table read its edge. Below the lowest rate that was fitted the tangent
    /// goes on.
    fn value(&self, at: Ahead, rate_bps: f64) -> Option<f64> {
        is_ahead(self.chunks, self.rungs, at, rate_bps).then_some(())?;
        let buffers = &self.buffers_s;
        let first = ((at.next_chunk - 1) * self.rungs + at.last_rung) * buffers.len();
        let above = buffers.partition_point(|b| *b <= at.buffer_s);
        if above == 0 || above == buffers.len() {
            return Some(self.eval(first + above.saturating_sub(1), rate_bps));
        }
        let (low, high) = (buffers[above - 1], buffers[above]);
        let t = (at.buffer_s - low) / (high - low);
        let n = first + above - 1;
        Some(self.eval(n, rate_bps) * (1.0 - t) + self.eval(n + 1, rate_bps) * t)
    }
}
