//! A grid over rates and buffers, and how to read V between its points.
//!
//! Over rate, V is interpolated in `1/r`: a download takes that long. Over both, in one of two
//! ways. Players that plan ahead can fetch `r (b + a)` bits before the buffer is gone, `a` being
//! what the chunks until the horizon add to it: V changes least along lines on which that is
//! constant, so that a point is read off the two neighbouring rates at the buffers that carry the
//! same bits. On RobustMPC this halves the error. Players that look at the buffer alone change
//! their minds along lines of equal buffer. Which way is better is measured on the player at hand.

/// Points that the choice between the two ways is made on.
const PROBES: u32 = 256;

/// Along which lines V is read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Lines {
    /// Equal buffers.
    Buffer,
    /// Equal bits `r (b + ahead_s)`.
    Bits {
        /// Seconds that the chunks ahead add to the buffer.
        ahead_s: f64,
    },
}

/// The axes, each rising and not empty; a point beyond an end reads the end.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Grid {
    pub(super) rates_bps: Vec<f64>,
    pub(super) buffers_s: Vec<f64>,
    pub(super) lines: Lines,
}

impl Grid {
    /// Number of points; rates run fastest.
    pub(super) fn len(&self) -> usize {
        self.rates_bps.len() * self.buffers_s.len()
    }

    /// Every point as buffer and rate, in order.
    pub(super) fn points(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.buffers_s.iter().flat_map(|b| self.rates_bps.iter().map(move |r| (*b, *r)))
    }

    /// The value at a buffer and a rate, from `cell` of a point's number.
    pub(super) fn read(&self, buffer_s: f64, rate_bps: f64, cell: impl Fn(usize) -> f64) -> f64 {
        let rates = &self.rates_bps;
        let rate = rate_bps.clamp(rates[0], rates[rates.len() - 1]);
        let (i, t) = place(rates, rate, |r| -1.0 / r);
        let at = |i: usize| {
            let buffer = match self.lines {
                Lines::Buffer => buffer_s,
                Lines::Bits { ahead_s } => rate * (buffer_s + ahead_s) / rates[i] - ahead_s,
            };
            let (j, u) = place(&self.buffers_s, buffer, |b| b);
            let low = cell(j * rates.len() + i);
            if u == 0.0 { low } else { low + (cell((j + 1) * rates.len() + i) - low) * u }
        };
        // A line whose share is nothing is not read: its buffer may lie far away.
        if t == 0.0 { at(i) } else { at(i) * (1.0 - t) + at(i + 1) * t }
    }

    /// Sets the lines along which the error is smaller: `truth` of a case, a buffer and a rate is
    /// compared with what `cell` of the same case and a point's number gives.
    pub(super) fn choose_lines(
        &mut self,
        ahead_s: f64,
        cases: usize,
        truth: impl Fn(usize, f64, f64) -> f64,
        cell: impl Fn(usize, usize) -> f64,
    ) {
        let ends = |axis: &[f64]| (axis[0], axis[axis.len() - 1]);
        let (b, r) = (ends(&self.buffers_s), ends(&self.rates_bps));
        let mut errors = [0.0; 2];
        for n in 0..PROBES {
            let case = (spread(n, 0) * cases as f64) as usize;
            let buffer = b.0 + (b.1 - b.0) * spread(n, 1);
            let rate = r.0 + (r.1 - r.0) * spread(n, 2);
            let truth = truth(case, buffer, rate);
            for (error, lines) in errors.iter_mut().zip([Lines::Buffer, Lines::Bits { ahead_s }]) {
                self.lines = lines;
                *error += (self.read(buffer, rate, |i| cell(case, i)) - truth).abs();
            }
        }
        self.lines = if errors[1] < errors[0] { Lines::Bits { ahead_s } } else { Lines::Buffer };
    }
}

/// The segment of a rising `axis` that holds `x`, by its lower end, and how far along it, taken
/// on the scale `f`; at an end nothing remains of the way.
fn place(axis: &[f64], x: f64, f: impl Fn(f64) -> f64) -> (usize, f64) {
    let last = axis.len() - 1;
    match axis.partition_point(|&a| a <= x) {
        0 => (0, 0.0),
        i if i > last => (last, 0.0),
        i => (i - 1, (f(x) - f(axis[i - 1])) / (f(axis[i]) - f(axis[i - 1]))),
    }
}

/// The `n`-th point of a sequence that fills the unit cube evenly, in one of its three dimensions
/// (multiples of the powers of the root of x^4 = x + 1, modulo 1).
fn spread(n: u32, dimension: i32) -> f64 {
    const ROOT: f64 = 1.220_744_084_605_759_5;
    (0.5 + f64::from(n) * ROOT.powi(-1 - dimension)).fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(lines: Lines) -> Grid {
        Grid { rates_bps: vec![1.0, 2.0, 4.0], buffers_s: vec![4.0, 6.0], lines }
    }

    #[test]
    fn points_read_themselves_and_ends_go_on() {
        for lines in [Lines::Buffer, Lines::Bits { ahead_s: 8.0 }] {
            let g = grid(lines);
            for (i, (b, r)) in g.points().enumerate() {
                assert!((g.read(b, r, |k| k as f64) - i as f64).abs() < 1e-12);
            }
            assert_eq!(g.read(9.0, 9.0, |k| k as f64), 5.0);
            assert_eq!(g.read(0.0, 0.1, |k| k as f64), 0.0);
        }
    }

    #[test]
    fn what_goes_with_the_lines_is_read_exactly() {
        let g = grid(Lines::Buffer);
        let cells: Vec<f64> = g.points().map(|(b, r)| b - 12.0 / r).collect();
        assert!((g.read(5.0, 3.0, |i| cells[i]) - 1.0).abs() < 1e-12);
        let g = Grid {
            buffers_s: (0..40).map(f64::from).collect(),
            ..grid(Lines::Bits { ahead_s: 8.0 })
        };
        let cells: Vec<f64> = g.points().map(|(b, r)| r * (b + 8.0)).collect();
        assert!((g.read(10.0, 3.0, |i| cells[i]) - 54.0).abs() < 1e-9);
    }
}
