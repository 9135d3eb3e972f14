//! V as a player sends it with its request (section 7): the server needs no table, and no word of
//! the player's algorithm.
//!
//! The request names chunk and rung, so the curve is V of the chunk after it over the two things
//! that the server has yet to learn: the rate, and the buffer that is left when the chunk has
//! arrived. That is at least one chunk's length and at most what the player holds plus that.

use airlane_abr::{Fixed, TitleModel};

use super::grid::{Grid, Lines};
use super::on_demand::play;
use super::table::{ahead_s, highest_quality};
use super::wire::{Frame, WireError};
use super::{Ahead, ValueFunction, text};
use crate::curve::sustaining_rate_bps;

/// Rates, at equal ratios: decisions change at multiples of the rungs' rates.
const RATES: u32 = 72;
/// From here on, unless the whole ladder is lower.
const MIN_KBPS: u32 = 100;
/// And the paper's highest.
const MAX_KBPS: f64 = 8e3;
/// Buffers, at equal distances.
const BUFFERS: u32 = 24;
/// But not closer than this.
const BUFFER_STEP_MS: u32 = 500;
/// A step of the values, over the video's highest quality: a quarter point for VMAF.
const RESOLUTION: f64 = 1.0 / 400.0;
/// Margin by which a curve may be below a plain player's V, over the video's highest quality.
/// RobustMPC is below that in 2 % of cases, by little: it plans beyond the chunks that V
/// counts.
const SLACK: f64 = 0.1;
/// Chunks that MPC, and the default V, look ahead.
const HORIZON: usize = 5;

/// V for what follows one request, over rate and buffer.
#[derive(Clone, Debug, PartialEq)]
pub struct SentCurve {
    frame: Frame,
    grid: Grid,
}

impl SentCurve {
    /// Samples `value` for a player that asks for `chunk` at `rung` while it holds `buffer_s`
    /// seconds. `None` for a video's last chunk, and for one that is not there.
    pub fn sample(
        setting: &TitleModel,
        value: &(impl ValueFunction + ?Sized),
        chunk: usize,
        rung: usize,
        buffer_s: f64,
    ) -> Option<Self> {
        let at = |buffer_s| Ahead { next_chunk: chunk + 1, last_rung: rung, buffer_s };
        let top = sustaining_rate_bps(setting, setting.rungs() - 1) / 1e3;
        let top = top.ceil().clamp(2.0, MAX_KBPS) as u32;
        let ms = |s: f64| (s * 1e3).round().clamp(0.0, 3.6e6) as u32;
        let cap = ms(setting.player().buffer_cap.as_secs_f64());
        let least = ms(setting.chunk_s()).min(cap);
        let most = least.saturating_add(ms(buffer_s)).min(cap);
        let buffers = ((most - least).div_ceil(BUFFER_STEP_MS) + 1).min(BUFFERS);
        let mut frame = Frame {
            next_chunk: u32::try_from(chunk + 1).ok()?,
            rung: u32::try_from(rung).ok()?,
            rates: RATES,
            rates_kbps: (MIN_KBPS.min(top / 2), top),
            buffers,
            buffers_ms: (least, most),
            ahead_ms: 0,
            step_millionths: (highest_quality(setting) * RESOLUTION * 1e6).ceil() as u32,
            values: Vec::new(),
        };
        let mut grid = axes(&frame);
        let step = step(&frame);
        for (b, r) in grid.points() {
            let steps = (value.value(at(b), r)? / step).round();
            frame.values.push(steps.clamp(i16::MIN.into(), i16::MAX.into()) as i16);
        }
        let ahead_ms = ms(ahead_s(setting, HORIZON));
        let truth = |_, b, r| value.value(at(b), r).unwrap_or_default();
        let cell = |_, i: usize| f64::from(frame.values[i]) * step;
        grid.choose_lines(f64::from(ahead_ms) / 1e3, 1, truth, cell);
        if grid.lines != Lines::Buffer {
            frame.ahead_ms = ahead_ms;
        }
        Some(Self { grid: axes(&frame), frame })
    }

    /// The chunk whose future it is about: the one after the request's.
    pub fn next_chunk(&self) -> usize {
        self.frame.next_chunk as usize
    }

    /// The rung of the request.
    pub fn rung(&self) -> usize {
        self.frame.rung as usize
    }

    /// The curve as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.frame.encode()
    }

    /// The curve as text for a header or a query, base64url.
    pub fn to_text(&self) -> String {
        text::encode(&self.to_bytes())
    }

    /// The curve that `bytes` are.
    ///
    /// # Errors
    /// If they are anything but what [`SentCurve::to_bytes`] writes. No bytes make it panic, and
    /// what it reads is bounded before it is stored.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, WireError> {
        let frame = Frame::decode(bytes)?;
        Ok(Self { grid: axes(&frame), frame })
    }

    /// The curve that `text` is.
    ///
    /// # Errors
    /// As [`SentCurve::from_bytes`], and if it is not base64url.
    pub fn from_text(text: &str) -> Result<Self, WireError> {
        let most = super::MAX_BYTES.div_ceil(3) * 4;
        if text.len() > most {
            return Err(WireError::Length(text.len() / 4 * 3));
        }
        Self::from_bytes(&text::decode(text).ok_or(WireError::Text)?)
    }
}

impl ValueFunction for SentCurve {
    /// `None` for any other chunk or rung than its own; rates and buffers outside read the edge.
    fn value(&self, at: Ahead, rate_bps: f64) -> Option<f64> {
        let asked = at.next_chunk == self.next_chunk() && at.last_rung == self.rung();
        let valid = at.buffer_s.is_finite() && rate_bps.is_finite() && rate_bps > 0.0;
        (asked && valid).then(|| {
            let cell = |i: usize| f64::from(self.frame.values[i]);
            self.grid.read(at.buffer_s, rate_bps, cell) * step(&self.frame)
        })
    }
}

/// Curve of a client as a server reads it. A player gains weight by telling less than its due, so it is not
/// read lower than a tenth of the video's best quality under what the player would get by staying
/// at the rung that it asked for, or at the lowest.
#[derive(Debug)]
pub(crate) struct BoundedCurve<'a> {
    curve: &'a SentCurve,
    setting: &'a TitleModel,
    horizon: usize,
    slack: f64,
}

impl SentCurve {
    pub(crate) fn bounded<'a>(
        &'a self,
        setting: &'a TitleModel,
        horizon: usize,
    ) -> BoundedCurve<'a> {
        BoundedCurve { curve: self, setting, horizon, slack: SLACK * highest_quality(setting) }
    }
}

impl ValueFunction for BoundedCurve<'_> {
    fn value(&self, at: Ahead, rate_bps: f64) -> Option<f64> {
        let told = self.curve.value(at, rate_bps)?;
        let staying = |rung| play(self.setting, &Fixed(rung), at, rate_bps, self.horizon);
        Some(told.max(staying(0)?.max(staying(at.last_rung)?) - self.slack))
    }
}

fn step(frame: &Frame) -> f64 {
    f64::from(frame.step_millionths) * 1e-6
}

/// The grid that a frame describes, the same at both ends.
fn axes(frame: &Frame) -> Grid {
    let place = |i: u32, n: u32| f64::from(i) / f64::from((n - 1).max(1));
    let (low, high) = frame.rates_kbps;
    let (low, high) = (f64::from(low) * 1e3, f64::from(high) * 1e3);
    let (least, most) = frame.buffers_ms;
    let (least, most) = (f64::from(least) / 1e3, f64::from(most) / 1e3);
    let rates = 0..frame.rates;
    let buffers = 0..frame.buffers;
    Grid {
        rates_bps: rates.map(|i| low * (high / low).powf(place(i, frame.rates))).collect(),
        buffers_s: buffers.map(|i| least + (most - least) * place(i, frame.buffers)).collect(),
        lines: match frame.ahead_ms {
            0 => Lines::Buffer,
            ms => Lines::Bits { ahead_s: f64::from(ms) / 1e3 },
        },
    }
}
