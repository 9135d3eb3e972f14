//! Model predictive control (Yin, Jindal, Sekar, Sinopoli, SIGCOMM 2015), plain and robust.
//!
//! At each request the algorithm looks [`Mpc::horizon`] chunks ahead, assumes that the throughput
//! stays at its prediction, and takes the first rung of the plan with the largest sum of equation 1
//! of Minerva. The answer is that of full enumeration, found by branch and bound:
//!
//! - Request to request, with `d` the download time of a chunk of length `D`, `o` the idle
//!   overhead and `cap` the buffer cap: stall `R = max(d - b, 0)`, next buffer
//!   `b' = min(max(b - d, 0) + D - o, cap)`.
//! - Hence over `n` more chunks `sum R >= sum d - B` with `B = b + (n-1)(D - o)`, and for every
//!   price `lambda` in `[0, beta]` per second a plan is worth at most
//!   `sum (P - change - lambda d) + lambda B`. Without the buffer in it that is a shortest path
//!   over rungs, tabled once per decision for a few prices; the least of them bounds a node.
//! - Children are visited in falling order of their bound.
//!
//! Plans within [`TIE`] of the best count as equal, and the lowest first rung wins.

use crate::algorithm::Abr;
use crate::state::PlayerState;
use crate::title_model::{MAX_RUNGS, TitleModel};

/// Plans whose values differ by less than this, in points of QoE over the whole horizon, are equal.
pub const TIE: f64 = 1e-6;

/// Longest horizon.
pub const MAX_HORIZON: usize = 8;

/// Prices of a second of download time at which plans are bounded, as shares of beta. Zero and
/// one are the ends; what is between fits the slopes of quality ladders.
const PRICES: [f64; LANES] = [0.0, 0.04, 0.1, 1.0];
const LANES: usize = 4;
type Lanes = [f64; LANES];

/// MPC with its horizon; robust if it discounts its prediction by its past errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mpc {
    /// Divide the predicted throughput by 1 + the largest error of the past five predictions
    /// (RobustMPC).
    pub robust: bool,
    /// Chunks to look ahead, 1 to [`MAX_HORIZON`]; more counts as that.
    pub horizon: usize,
}

impl Mpc {
    /// RobustMPC with a horizon of 5.
    pub const fn robust() -> Self {
        Self { robust: true, horizon: 5 }
    }

    /// MPC with a horizon of 5.
    pub const fn plain() -> Self {
        Self { robust: false, horizon: 5 }
    }

    /// The throughput that this algorithm counts on, bits per second; `None` before any sample.
    pub fn prediction_bps(&self, state: &PlayerState) -> Option<f64> {
        let mean = state.history.harmonic_mean_bps()?;
        Some(if self.robust { mean / (1.0 + state.history.max_error()) } else { mean })
    }
}

impl Abr for Mpc {
    fn choose(&self, setting: &TitleModel, state: &PlayerState) -> usize {
        let Some(rate_bps) = self.prediction_bps(state) else { return 0 };
        best_plan(setting, state, rate_bps, self.horizon).rung
    }
}

/// The outcome of a decision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// First rung of the best plan.
    pub rung: usize,
    /// Sum of equation 1 over the best plan that starts with it.
    pub value: f64,
    /// Nodes that the search opened.
    pub nodes: u32,
}

/// The best plan of `horizon` chunks from `state` at a constant `rate_bps`.
///
/// The horizon ends with the video.
pub fn best_plan(setting: &TitleModel, state: &PlayerState, rate_bps: f64, horizon: usize) -> Plan {
    let depth = horizon.clamp(1, MAX_HORIZON).min(setting.chunks() - state.next_chunk);
    Search::new(setting, state, rate_bps, depth).run(state.buffer_s)
}

struct Search<'a> {
    setting: &'a TitleModel,
    first_chunk: usize,
    depth: usize,
    rungs: usize,
    /// Seconds per bit.
    per_bit: f64,
    /// Seconds of buffer that a chunk adds, its overhead taken off.
    gain: f64,
    cap: f64,
    beta: f64,
    prices: Lanes,
    start: Option<f64>,
    /// By stage and rung of the chunk before it: the most that this and later stages are worth.
    ahead: [[Lanes; MAX_RUNGS]; MAX_HORIZON],
    /// By first rung: the best complete plan so far.
    best_by_first: [f64; MAX_RUNGS],
    best: f64,
    first: usize,
    nodes: u32,
}

impl<'a> Search<'a> {
    fn new(setting: &'a TitleModel, state: &PlayerState, rate_bps: f64, depth: usize) -> Self {
        let beta = setting.qoe_params().beta;
        let player = setting.player();
        let mut search = Self {
            setting,
            first_chunk: state.next_chunk,
            depth,
            rungs: setting.rungs(),
            per_bit: 1.0 / rate_bps,
            gain: setting.chunk_s() - player.chunk_overhead.as_secs_f64(),
            cap: player.buffer_cap.as_secs_f64(),
            beta,
            prices: PRICES.map(|p| p * beta),
            start: state
                .last_rung
                .filter(|_| state.next_chunk > 0)
                .map(|r| setting.position(state.next_chunk - 1)[r]),
            ahead: [[[0.0; LANES]; MAX_RUNGS]; MAX_HORIZON],
            best_by_first: [f64::NEG_INFINITY; MAX_RUNGS],
            best: f64::NEG_INFINITY,
            first: 0,
            nodes: 0,
        };
        search.table();
        search
    }

    /// Fills `ahead` from the last stage to the second.
    fn table(&mut self) {
        for stage in (1..self.depth).rev() {
            let chunk = self.first_chunk + stage;
            let (bits, quality) = (self.setting.bits(chunk), self.setting.quality(chunk));
            let position = self.setting.position(chunk);
            let before = self.setting.position(chunk - 1);
            let mut worth = [[0.0; LANES]; MAX_RUNGS];
            for (e, worth) in worth[..self.rungs].iter_mut().enumerate() {
                let seconds = bits[e] * self.per_bit;
                let later =
                    if stage + 1 < self.depth { self.ahead[stage + 1][e] } else { [0.0; LANES] };
                for ((w, price), later) in worth.iter_mut().zip(self.prices).zip(later) {
                    *w = quality[e] - price * seconds + later;
                }
            }
            let ahead = &mut self.ahead[stage];
            if let Some(gaps) = self.setting.gaps() {
                along_the_ladder(&worth, gaps, ahead);
            } else {
                for (from, cell) in before.iter().zip(ahead) {
                    *cell = [f64::NEG_INFINITY; LANES];
                    for (to, w) in position.iter().zip(&worth) {
                        raise(cell, w, (to - from).abs());
                    }
                }
            }
        }
    }

    fn run(mut self, buffer_s: f64) -> Plan {
        self.open(0, buffer_s, self.start, 0.0);
        let rung =
            (0..self.rungs).find(|&r| self.best_by_first[r] > self.best - TIE).unwrap_or_default();
        Plan { rung, value: self.best_by_first[rung], nodes: self.nodes }
    }

    /// Value that a plan through the node of the first rung must exceed to matter: the best
    /// with the same first rung, and whatever could still tie with the best of all.
    fn bar(&self) -> f64 {
        self.best_by_first[self.first].max(self.best - TIE)
    }

    fn open(&mut self, stage: usize, buffer: f64, from: Option<f64>, value: f64) {
        self.nodes += 1;
        let chunk = self.first_chunk + stage;
        let n = self.rungs;
        let (bits, quality) = (self.setting.bits(chunk), self.setting.quality(chunk));
        let position = self.setting.position(chunk);
        let remaining = self.depth - stage - 1;
        let mut children = [Child::NONE; MAX_RUNGS];
        for e in 0..n {
            let seconds = bits[e] * self.per_bit;
            let stall = (seconds - buffer).max(0.0);
            let change = from.map_or(0.0, |f| (position[e] - f).abs());
            let value = value + (quality[e] - self.beta * stall - change);
            if remaining == 0 {
                if stage == 0 {
                    self.first = e;
                }
                self.complete(value);
                continue;
            }
            let next = ((buffer - seconds).max(0.0) + self.gain).min(self.cap);
            let budget = next + (remaining - 1) as f64 * self.gain;
            let most = (self.ahead[stage + 1][e].iter().zip(self.prices))
                .fold(f64::INFINITY, |most, (ahead, price)| most.min(ahead + price * budget));
            children[e] = Child { bound: value + most, value, buffer: next };
        }
        if remaining == 0 {
            return;
        }
        for _ in 0..n {
            let mut e = 0;
            for i in 1..n {
                if children[i].bound > children[e].bound {
                    e = i;
                }
            }
            let child = std::mem::replace(&mut children[e], Child::NONE);
            if stage == 0 {
                self.first = e;
            }
            if child.bound <= self.bar() {
                return;
            }
            self.open(stage + 1, child.buffer, Some(position[e]), child.value);
        }
    }

    fn complete(&mut self, value: f64) {
        let first = &mut self.best_by_first[self.first];
        *first = first.max(value);
        self.best = self.best.max(value);
    }
}

/// Raises `most` to what `other` is worth less `penalty`.
fn raise(most: &mut Lanes, other: &Lanes, penalty: f64) {
    for (m, o) in most.iter_mut().zip(other) {
        *m = m.max(o - penalty);
    }
}

/// For each rung the most that any rung is worth, less the penalty for going there: one pass up
/// the ladder and one down suffice, since penalties add up along it.
fn along_the_ladder(worth: &[Lanes; MAX_RUNGS], gaps: &[f64], most: &mut [Lanes; MAX_RUNGS]) {
    let mut best = worth[0];
    most[0] = best;
    for (i, gap) in gaps.iter().enumerate() {
        let mut here = worth[i + 1];
        raise(&mut here, &best, *gap);
        best = here;
        most[i + 1] = best;
    }
    for (i, gap) in gaps.iter().enumerate().rev() {
        let mut here = most[i];
        raise(&mut here, &best, *gap);
        best = here;
        most[i] = best;
    }
}

#[derive(Clone, Copy)]
struct Child {
    bound: f64,
    value: f64,
    buffer: f64,
}

impl Child {
    const NONE: Self = Self { bound: f64::NEG_INFINITY, value: 0.0, buffer: 0.0 };
}
