//! MuSher: the share of the segments that each of two paths gets follows the share of its rate
//! (Saha et al., MuSher: An agile Multipath-TCP scheduler for dual-band 802.11ad/ac wireless LANs,
//! MobiCom 2019; Aggarwal et al., IEEE/ACM Transactions on Networking 2022). The constants are
//! those of the authors' module.

use std::time::Duration;

use airlane_base::Time;

use super::{Meta, View, lowest_rtt};

/// Segments of a round.
const ROUND: u32 = 100;
const MIN_SHARE: u32 = 5;
const MAX_SHARE: u32 = 95;
const STEP: u32 = 5;
/// A sample while a share holds.
const SAMPLE: Duration = Duration::from_millis(100);
/// A sample while one is searched for.
const SEARCH_SAMPLE: Duration = Duration::from_millis(200);
/// Samples whose mean is what the first step of a search is compared with.
const REFERENCE_SAMPLES: u32 = 5;
/// Least gain of a step, bits per second.
const MIN_GAIN_BPS: f64 = 5e6;
/// A search begins after so many samples in a row that differ.
const DIFFERENT_SAMPLES: u32 = 5;
/// A sample differs if the rate has changed by more than this since the last search.
const RATE_CHANGE_BPS: f64 = 200e6;
/// Or if the receiver's free memory fell by more than this since the sample before, bytes.
const BUFFER_CHANGE: i64 = -75_000;
/// From one search to the next at least.
const PAUSE: Duration = Duration::from_secs(3);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// The share holds. The rate at its first sample, if there was one, and how many samples in a
    /// row differed.
    Holding { base_bps: Option<f64>, different: u32 },
    /// The rate of the share is measured: the sum of so many samples.
    Measuring { sum_bps: f64, samples: u32 },
    /// A step was made to `up` or down; before it the rate was `reference_bps`. `is_first` until a
    /// step has gained.
    Stepping { up: bool, is_first: bool, reference_bps: f64 },
}

#[derive(Clone, Debug)]
pub(crate) struct Musher {
    /// Of a round, segments of the first path.
    share: u32,
    /// Of this round, segments that each path took.
    taken: [u32; 2],
    /// The numbers of the two paths, as they were seen last.
    pair: Option<[usize; 2]>,
    phase: Phase,
    search_ended: Time,
    /// Start of the sample, with what was acknowledged and what memory was free then.
    since: Option<(Time, u64, u64)>,
    was_idle: bool,
}

impl Default for Musher {
    /// Halves, and a search at once.
    fn default() -> Self {
        Self {
            share: ROUND / 2,
            taken: [0; 2],
            pair: None,
            phase: Phase::Measuring { sum_bps: 0.0, samples: 0 },
            search_ended: Time::ZERO,
            since: None,
            was_idle: true,
        }
    }
}

impl Musher {
    pub(crate) fn pick(&mut self, paths: &[View]) -> Option<usize> {
        let mut usable = paths.iter().filter(|p| p.is_usable).map(|p| p.path);
        self.pair = match (usable.next(), usable.next(), usable.next()) {
            (Some(first), Some(second), None) => Some([first, second]),
            _ => None,
        };
        let Some(pair) = self.pair else {
            return lowest_rtt(paths, |p| p.has_room).map(|p| p.path);
        };
        // A path that has had its part waits for the other.
        let has_part = |path: usize| {
            let i = usize::from(path == pair[1]);
            self.taken[i] < [self.share, ROUND - self.share][i]
        };
        lowest_rtt(paths, |p| p.has_room && has_part(p.path)).map(|p| p.path)
    }

    pub(crate) fn on_taken(&mut self, path: usize) {
        let Some(pair) = self.pair else { return };
        self.taken[usize::from(path == pair[1])] += 1;
        if self.taken.iter().sum::<u32>() >= ROUND {
            self.taken = [0; 2];
        }
    }

    /// Looks at the stream; a sample may be complete.
    pub(crate) fn observe(&mut self, meta: &Meta) {
        // What the application did not write says nothing about the paths.
        self.was_idle |= meta.waiting == 0;
        let (since, acknowledged, free) =
            *self.since.get_or_insert((meta.now, meta.acknowledged, meta.window));
        let is_holding = matches!(self.phase, Phase::Holding { .. });
        let passed = meta.now - since;
        if passed < (if is_holding { SAMPLE } else { SEARCH_SAMPLE }) {
            return;
        }
        self.since = Some((meta.now, meta.acknowledged, meta.window));
        if std::mem::take(&mut self.was_idle) || self.pair.is_none() {
            return;
        }
        let rate_bps = (meta.acknowledged - acknowledged) as f64 * 8.0 / passed.as_secs_f64();
        let freed = meta.window as i64 - free as i64;
        self.on_sample(meta.now, rate_bps, freed);
    }

    fn on_sample(&mut self, now: Time, rate_bps: f64, freed: i64) {
        self.phase = match self.phase {
            Phase::Holding { base_bps, different } => {
                let base = base_bps.unwrap_or(rate_bps);
                let differs = (rate_bps - base).abs() > RATE_CHANGE_BPS || freed < BUFFER_CHANGE;
                let different = if differs { different + 1 } else { 0 };
                if different >= DIFFERENT_SAMPLES && now - self.search_ended >= PAUSE {
                    Phase::Measuring { sum_bps: 0.0, samples: 0 }
                } else {
                    Phase::Holding { base_bps: Some(base), different }
                }
            }
            Phase::Measuring { sum_bps, samples } => {
                let (sum_bps, samples) = (sum_bps + rate_bps, samples + 1);
                if samples < REFERENCE_SAMPLES {
                    Phase::Measuring { sum_bps, samples }
                } else {
                    self.step(now, true, true, sum_bps / f64::from(samples))
                }
            }
            Phase::Stepping { up, is_first, reference_bps } => {
                if rate_bps > reference_bps + MIN_GAIN_BPS {
                    self.step(now, up, false, rate_bps)
                } else {
                    self.share = if up { self.share - STEP } else { self.share + STEP };
                    if up && is_first {
                        self.step(now, false, true, reference_bps)
                    } else {
                        self.end(now)
                    }
                }
            }
        };
    }

    /// Makes a step, the other way if the first one cannot be made, or ends the search.
    fn step(&mut self, now: Time, up: bool, is_first: bool, reference_bps: f64) -> Phase {
        let up = up && (self.share < MAX_SHARE || !is_first);
        let share = if up { self.share + STEP } else { self.share - STEP };
        if !(MIN_SHARE..=MAX_SHARE).contains(&share) {
            return self.end(now);
        }
        self.share = share;
        self.taken = [0; 2];
        Phase::Stepping { up, is_first, reference_bps }
    }

    fn end(&mut self, now: Time) -> Phase {
        self.search_ended = now;
        self.taken = [0; 2];
        Phase::Holding { base_bps: None, different: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goes on for so many samples at the rate that a share has; the share at the end.
    fn run(musher: &mut Musher, now: &mut Time, samples: u32, rate: impl Fn(u32) -> f64) -> u32 {
        for _ in 0..samples {
            *now += SEARCH_SAMPLE;
            let rate_bps = rate(musher.share);
            musher.on_sample(*now, rate_bps, 0);
        }
        musher.share
    }

    /// Rate of two paths together if the share alone decides, Mbit/s.
    fn total(first: f64, second: f64) -> impl Fn(u32) -> f64 {
        move |share| {
            let share = f64::from(share) / 100.0;
            1e6 * (first / share).min(second / (1.0 - share))
        }
    }

    #[test]
    fn a_search_goes_right_first_and_ends_where_a_step_gains_no_more() {
        let (mut musher, mut now) = (Musher::default(), Time::ZERO);
        assert_eq!(run(&mut musher, &mut now, 5, total(1800.0, 630.0)), 55, "after the reference");
        // 55 to 75 in four steps, the fifth to 80 loses and is taken back.
        assert_eq!(run(&mut musher, &mut now, 4, total(1800.0, 630.0)), 75);
        assert_eq!(run(&mut musher, &mut now, 1, total(1800.0, 630.0)), 80);
        assert_eq!(run(&mut musher, &mut now, 1, total(1800.0, 630.0)), 75);
        assert!(matches!(musher.phase, Phase::Holding { .. }));
        // The paths change places: five samples that differ, then the left.
        assert_eq!(run(&mut musher, &mut now, 20, |_| 2.4e9), 75, "nothing differs");
        assert_eq!(run(&mut musher, &mut now, 40, total(630.0, 1800.0)), 25);
    }

    #[test]
    fn searches_are_three_seconds_apart_and_need_five_samples_in_a_row() {
        let mut musher = Musher {
            phase: Phase::Holding { base_bps: Some(1e9), different: 0 },
            ..<_>::default()
        };
        let differs = |musher: &mut Musher, millis| {
            musher.on_sample(Time::from_millis(millis), 1e9, -75_001);
        };
        (0..20).for_each(|i| differs(&mut musher, 100 * i));
        assert!(matches!(musher.phase, Phase::Holding { different: 20, .. }));
        musher.on_sample(Time::from_millis(2900), 1.2e9, -75_000);
        (0..4).for_each(|i| differs(&mut musher, 3000 + 100 * i));
        assert!(matches!(musher.phase, Phase::Holding { different: 4, .. }));
        differs(&mut musher, 3400);
        assert!(matches!(musher.phase, Phase::Measuring { samples: 0, .. }));
    }

    #[test]
    fn shares_stay_within_their_bounds() {
        let (mut musher, mut now) = (Musher::default(), Time::ZERO);
        let rising = |share: u32| 1e9 + 1e8 * f64::from(share);
        assert_eq!(run(&mut musher, &mut now, 40, rising), 95);
        musher.phase = Phase::Measuring { sum_bps: 0.0, samples: 0 };
        assert_eq!(run(&mut musher, &mut now, 60, |share| 2e10 - rising(share)), 5);
    }
}
