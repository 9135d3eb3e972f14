//! V of a whole video, computed beforehand (section 6.2).
//!
//! The paper's grid (100 kbit/s up to 8 Mbit/s, previous rung, chunk) with steps of 0.5 s of
//! buffer instead of 0.05 s (section 7), from the least that V is ever asked for, one chunk, to
//! the player's cap. Two bytes each. Values under -3.27 times the video's highest quality read as
//! that: with past and current chunk at their best, the utility is below nothing there, and `f`
//! reads its minimum.

use airlane_abr::{Abr, TitleModel};

use super::grid::{Grid, Lines};
use super::on_demand::play;
use super::{Ahead, ValueFunction, is_ahead};
use crate::curve::sustaining_rate_bps;

/// Between two rates.
const RATE_STEP_BPS: f64 = 1e5;
/// Between two buffers, and between the last of them and the cap at most.
const BUFFER_STEP_S: f64 = 0.5;
/// The highest rate, whatever the ladder (section 6.2).
const MAX_RATES: f64 = 80.0;
/// A step of the stored values, over the video's highest quality: 0.01 points for VMAF.
const RESOLUTION: f64 = 1e-4;

/// V over a grid.
#[derive(Clone, Debug)]
pub struct ValueTable {
    chunks: usize,
    rungs: usize,
    grid: Grid,
    step: f64,
    /// In steps, by chunk from the second, rung before, buffer, rate.
    values: Vec<i16>,
}

impl ValueTable {
    /// Simulates `abr` over `horizon` chunks from every point of the grid: for 60 chunks, 8 rungs
    /// and 75 rates 2.6 million simulations.
    pub fn build(setting: &TitleModel, abr: &(impl Abr + ?Sized), horizon: usize) -> Self {
        let top = sustaining_rate_bps(setting, setting.rungs() - 1);
        let rates = (top / RATE_STEP_BPS).ceil().clamp(1.0, MAX_RATES) as u32;
        let (chunk, player) = (setting.chunk_s(), setting.player());
        let cap = player.buffer_cap.as_secs_f64();
        let buffers = ((cap - chunk) / BUFFER_STEP_S).ceil().max(0.0) as u32;
        let mut grid = Grid {
            rates_bps: (1..=rates).map(|i| f64::from(i) * RATE_STEP_BPS).collect(),
            buffers_s: (0..=buffers)
                .map(|i| (chunk + f64::from(i) * BUFFER_STEP_S).min(cap))
                .collect(),
            lines: Lines::Buffer,
        };
        let rungs = setting.rungs();
        let cases = setting.chunks().saturating_sub(1) * rungs;
        let value = |case: usize, buffer_s: f64, rate_bps: f64| {
            let at = Ahead { next_chunk: 1 + case / rungs, last_rung: case % rungs, buffer_s };
            play(setting, abr, at, rate_bps, horizon).unwrap_or_default()
        };
        let step = RESOLUTION * highest_quality(setting);
        let stored = |v: f64| (v / step).round().clamp(i16::MIN.into(), i16::MAX.into()) as i16;
        let mut values = Vec::with_capacity(cases * grid.len());
        for case in 0..cases {
            values.extend(grid.points().map(|(b, r)| stored(value(case, b, r))));
        }
        if cases > 0 && horizon > 0 {
            let points = grid.len();
            grid.choose_lines(ahead_s(setting, horizon), cases, value, |case, i| {
                f64::from(values[case * points + i]) * step
            });
        }
        let chunks = if horizon == 0 { 0 } else { setting.chunks() };
        Self { chunks, rungs, grid, step, values }
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        let axes = self.grid.rates_bps.len() + self.grid.buffers_s.len();
        size_of::<Self>() + axes * size_of::<f64>() + self.values.len() * size_of::<i16>()
    }

    /// The rates of the grid, bits per second.
    pub fn rates_bps(&self) -> &[f64] {
        &self.grid.rates_bps
    }

    /// The buffers of the grid, seconds.
    pub fn buffers_s(&self) -> &[f64] {
        &self.grid.buffers_s
    }

    /// The stored values' unit: a value is exact to half of it, unless it is [`Self::least`].
    pub fn step(&self) -> f64 {
        self.step
    }

    /// Value that all values below it read as.
    pub fn least(&self) -> f64 {
        f64::from(i16::MIN) * self.step
    }

    /// True if values between rates are read along lines of equal bits instead of equal buffers,
    /// whichever was closer on 256 points between the grid's.
    pub fn along_equal_bits(&self) -> bool {
        self.grid.lines != Lines::Buffer
    }

    /// The same values read along lines of equal buffers, whatever is closer.
    #[must_use]
    pub fn read_along_equal_buffers(mut self) -> Self {
        self.grid.lines = Lines::Buffer;
        self
    }

    pub(super) fn chunks(&self) -> usize {
        self.chunks
    }

    pub(super) fn rungs(&self) -> usize {
        self.rungs
    }

    /// V over the rates of the grid, for the `n`-th line: by chunk from the second, rung, buffer.
    pub(super) fn line(&self, n: usize) -> impl Iterator<Item = f64> + '_ {
        let rates = self.grid.rates_bps.len();
        self.values[n * rates..][..rates].iter().map(|v| f64::from(*v) * self.step)
    }
}

impl ValueFunction for ValueTable {
    /// Rates and buffers outside the grid read its edge.
    fn value(&self, at: Ahead, rate_bps: f64) -> Option<f64> {
        is_ahead(self.chunks, self.rungs, at, rate_bps).then_some(())?;
        let case = (at.next_chunk - 1) * self.rungs + at.last_rung;
        let cells = &self.values[case * self.grid.len()..][..self.grid.len()];
        let value = self.grid.read(at.buffer_s, rate_bps, |i| f64::from(cells[i]));
        Some(value * self.step)
    }
}

/// The highest quality of any chunk, above zero.
pub(super) fn highest_quality(setting: &TitleModel) -> f64 {
    let all = (0..setting.chunks()).flat_map(|c| setting.quality(c));
    let highest = all.fold(0.0_f64, |most, q| most.max(*q));
    if highest > 0.0 { highest } else { 1.0 }
}

/// Seconds that the chunks until the horizon add to the buffer, their pauses taken off.
pub(super) fn ahead_s(setting: &TitleModel, horizon: usize) -> f64 {
    let gain = setting.chunk_s() - setting.player().chunk_overhead.as_secs_f64();
    gain.max(0.0) * horizon.saturating_sub(1) as f64
}
