//! Rate control by what came of earlier frames: Minstrel, as its authors describe it for 802.11n and
//! later (Smithies and Fietkau, the page "minstrel" of the Linux wireless wiki; Xia, Hart and Fu,
//! "Evaluation of the Minstrel rate adaptation algorithm in IEEE 802.11g WLANs", ICC 2013).
//!
//! Of each rate (an MCS with its streams) it keeps how likely a frame comes. Every 50 ms, where frames
//! were sent at a rate meanwhile,
//!
//! ```text
//! p = 0.25 (frames that came / frames sent) + 0.75 p        (what was first seen counts as it is)
//! throughput = 0 where p < 0.1, min(p, 0.9) / (air of an aggregate / its frames) otherwise
//! ```
//!
//! with the air that an aggregate of the usual number of frames is charged with. Frames go at the rate of
//! the highest throughput; what nobody answers goes at it once more, twice at that of the second highest,
//! and then at that which comes most surely. One attempt of ten samples another rate with a frame
//! alone: the one that is next above the best, one that is drawn from all above, seldom one below.

use std::time::Duration;

use airlane_base::{Rng, Seed, Time};
use airlane_wifi::{Access, PlannedExchange, Response, Timing, Vector, mac};
use rand::RngExt;

/// Interval at which rates are ranked.
const INTERVAL: Duration = Duration::from_millis(50);
/// Weight of the last interval in the moving average.
const NEW: f64 = 0.25;
/// Rates that come more seldom bring nothing.
const MIN_PROBABILITY: f64 = 0.1;
/// Rates that come at least so often are alike in that: the faster is better.
const SURE: f64 = 0.9;
/// Of so many attempts one samples.
const SAMPLE_EVERY: u64 = 10;
/// Attempts at a rate that nobody answers before it is the next one's turn.
const TRIES: u8 = 2;
/// An IP packet as rates are compared with.
const IP_BYTES: u32 = 1_500;

/// Statistics of a rate.
#[derive(Clone, Copy, Debug)]
struct Known {
    vector: Vector,
    /// Probability that a frame comes; `None`: never tried.
    p: Option<f64>,
    /// Since the last ranking.
    sent: u32,
    came: u32,
    /// Air for a frame, seconds.
    each: f64,
}

/// The rates of a link.
#[derive(Debug)]
pub(super) struct Minstrel {
    timing: Timing,
    max_air: Duration,
    window: usize,
    /// In the order of their rates.
    rates: Vec<Known>,
    best: usize,
    second: usize,
    surest: usize,
    rank_at: Time,
    attempts: u64,
    samples: u64,
    /// Attempts in a row that nobody answered.
    failures: u8,
    /// Frames in an aggregate, on average.
    frames: f64,
    /// Aggregates and their frames since the last ranking.
    aggregates: (u32, u32),
    rng: Rng,
}

/// Choice of the rate for an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) vector: Vector,
    /// It is to find out about a rate: a frame alone.
    pub(super) is_sample: bool,
}

impl Minstrel {
    /// Of all rates up to `most`, of which nothing is known.
    pub(super) fn new(
        most: Vector,
        timing: Timing,
        (window, max_air): (usize, Duration),
        seed: Seed,
    ) -> Self {
        let streams = 1..=most.streams.max(1);
        let all = streams.flat_map(|streams| (0..=most.mcs).map(move |mcs| (streams, mcs)));
        let mut rates: Vec<Known> = all
            .map(|(streams, mcs)| Vector { mcs, streams, ..most })
            .filter(Vector::is_valid)
            .map(|vector| Known { vector, p: None, sent: 0, came: 0, each: 0.0 })
            .collect();
        // Of two that are as fast the one with fewer streams comes at a lower SNR.
        rates.sort_by_key(|rate| (rate.vector.rate(), std::cmp::Reverse(rate.vector.streams)));
        let mut minstrel = Self {
            timing,
            max_air,
            window,
            rates,
            best: 0,
            second: 0,
            surest: 0,
            rank_at: Time::ZERO + INTERVAL,
            attempts: 0,
            samples: 0,
            failures: 0,
            frames: 1.0,
            aggregates: (0, 0),
            rng: seed.rng(),
        };
        minstrel.weigh();
        minstrel
    }

    /// The rate that it takes for the best.
    pub(super) fn best(&self) -> Vector {
        self.rates[self.best].vector
    }

    /// Chooses the rate of the next attempt.
    pub(super) fn choose(&mut self, now: Time) -> Choice {
        if now >= self.rank_at {
            self.rank();
            self.rank_at = now + INTERVAL;
        }
        self.attempts += 1;
        if self.failures == 0 && self.samples * SAMPLE_EVERY < self.attempts {
            self.samples += 1;
            if let Some(rate) = self.sample() {
                return Choice { vector: self.rates[rate].vector, is_sample: true };
            }
        }
        let rate = match self.failures / TRIES {
            0 => self.best,
            1 => self.second,
            _ => self.surest,
        };
        Choice { vector: self.rates[rate].vector, is_sample: false }
    }

    /// Records the result of an attempt: so many frames sent and come.
    pub(super) fn report(&mut self, choice: &Choice, sent: u32, came: u32) {
        if let Some(rate) = self.rates.iter_mut().find(|rate| rate.vector == choice.vector) {
            rate.sent = rate.sent.saturating_add(sent);
            rate.came = rate.came.saturating_add(came);
        }
        if !choice.is_sample {
            self.failures = if came > 0 { 0 } else { self.failures.saturating_add(1) };
            self.aggregates.0 += 1;
            self.aggregates.1 += sent;
        }
    }

    /// Chooses a rate to sample.
    fn sample(&mut self) -> Option<usize> {
        let above = self.rates.len() - 1 - self.best;
        let rate = match self.samples % 6 {
            0 if self.best > 0 => self.rng.random_range(0..self.best),
            1 | 3 | 5 if above > 0 => self.best + 1,
            _ if above > 0 => self.best + self.rng.random_range(1..=above),
            _ => return None,
        };
        Some(rate)
    }

    /// Averages what was seen, and ranks.
    fn rank(&mut self) {
        for rate in &mut self.rates {
            if rate.sent == 0 {
                continue;
            }
            let now = f64::from(rate.came) / f64::from(rate.sent);
            rate.p = Some(rate.p.map_or(now, |p| p + NEW * (now - p)));
            (rate.sent, rate.came) = (0, 0);
        }
        let (aggregates, frames) = std::mem::take(&mut self.aggregates);
        if aggregates > 0 {
            let now = f64::from(frames) / f64::from(aggregates);
            self.frames += NEW * (now - self.frames);
        }
        self.weigh();
        let throughput = |rate: &Known| match rate.p {
            Some(p) if p >= MIN_PROBABILITY => p.min(SURE) / rate.each,
            _ => 0.0,
        };
        let highest = |except: Option<usize>| {
            let all = self.rates.iter().enumerate().filter(|(i, _)| Some(*i) != except);
            let all = all.map(|(i, rate)| (i, throughput(rate))).filter(|(_, t)| *t > 0.0);
            all.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(i, _)| i)
        };
        self.best = highest(None).unwrap_or(0);
        self.second = highest(Some(self.best)).unwrap_or(self.best);
        let sure = |i: &usize| {
            let rate = &self.rates[*i];
            // Those that are sure enough are alike: of them the fastest.
            let p = rate.p.unwrap_or(0.0);
            if p >= SURE { 1.0 + throughput(rate) } else { p }
        };
        let tried = (0..self.rates.len()).filter(|i| self.rates[*i].p.is_some_and(|p| p > 0.0));
        self.surest = tried.max_by(|a, b| sure(a).total_cmp(&sure(b))).unwrap_or(0);
    }

    /// Air for a frame at each rate, in aggregates as they are.
    fn weigh(&mut self) {
        let bytes = mac::in_aggregate(mac::mpdu(IP_BYTES, true));
        for rate in &mut self.rates {
            let most = (rate.vector.max_bytes(self.max_air) / bytes).max(1);
            let frames = (self.frames.round() as u32).clamp(1, most);
            let response = match (frames, self.window) {
                (1, _) => Response::Ack,
                (_, 0..=64) => Response::BlockAck64,
                _ => Response::BlockAck256,
            };
            let bytes = frames * bytes;
            let cost =
                PlannedExchange { vector: rate.vector, bytes, is_protected: false, response };
            let air = cost.with_contention(&self.timing, &Access::BEST_EFFORT);
            rate.each = air.as_secs_f64() / f64::from(frames);
        }
    }
}
