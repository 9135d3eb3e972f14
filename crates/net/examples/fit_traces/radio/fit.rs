//! From seconds to a model of phases.

use std::borrow::Cow;
use std::fmt::Write;
use std::time::Duration;

use airlane_base::Seed;
use airlane_net::trace::{Component, Outages, Phase, RadioModel, STEP};
use airlane_net::{CapacityModel, Medium};

use super::seconds::{Seconds, by_second};
use super::table;
use crate::fit::quantiles;
use crate::search::three_digits;

/// Traces that a model is judged by, in seconds.
const JUDGED_S: usize = 120_000;
/// The shortest and the longest memory within phases, in seconds: seconds say nothing of a
/// shorter one, and of a longer one the recordings have too few.
const MEMORY_S: std::ops::RangeInclusive<f64> = 0.1..=60.0;
/// A round of phases longer than this, in seconds, was seen once.
const ROUND_S: f64 = 100.0;
/// How many phases the robot's way round is cut into.
const ROUND: usize = 15;

/// The model of `medium` for these recordings. Prints how near a process without phases comes.
pub fn fit(medium: Medium, recorded: &[Vec<f64>]) -> RadioModel {
    let real = Seconds::of(recorded);
    let lengths: Vec<usize> = recorded.iter().map(Vec::len).collect();
    let judge =
        |steps: &dyn Fn(Seed, Duration) -> Vec<f64>| distance(&simulate(&lengths, steps), &real);
    let plain = gaussian(recorded, &real);
    let (_, far) = search(of_gaussian(&plain), &|p| {
        with_gaussian(&plain, p)
            .map_or(f64::INFINITY, |m| judge(&|seed, length| m.steps_bps(seed, length)))
    });
    let start = start(medium, recorded);
    let (found, near) = search(of_radio(&start), &|p| {
        with_radio(&as_seen(&start), p)
            .map_or(f64::INFINITY, |m| judge(&|seed, length| m.steps_bps(seed, length, 0.0)))
    });
    println!("distance {near:.1}; of a Gaussian process without phases {far:.1}\n");
    let mut found = with_radio(&start, &found).expect("what was judged is a model");
    let seen = as_seen(&found);
    let ours = simulate(&lengths, &|seed, length| seen.steps_bps(seed, length, 0.0));
    found.peak_bps = three_digits(found.peak_bps * real.mean / ours.mean);
    let judged = as_seen(&found);
    table::header();
    table::row("recorded", &real);
    let ours = simulate(&lengths, &|seed, length| judged.steps_bps(seed, length, 0.0));
    table::row("as judged", &ours);
    println!();
    found
}

/// With phases that are as long as in the recording if a round of them was seen once: chance would
/// have some traces with none and others with several.
fn as_seen(model: &RadioModel) -> RadioModel {
    let erlang = if seen_once(model) { 1_000 } else { model.erlang };
    RadioModel { erlang, ..model.clone() }
}

fn seen_once(model: &RadioModel) -> bool {
    model.phases.iter().map(|p| p.dwell_s).sum::<f64>() > ROUND_S
}

/// Phases as they are seen in the recording: lengths counted there, levels to begin with.
fn start(medium: Medium, recorded: &[Vec<f64>]) -> RadioModel {
    let phase = |level, spread, dwell_s| Phase { level, spread, dwell_s };
    let (peak_bps, erlang, phases, outages) = match medium {
        // Five times the rate falls and rises again within seconds.
        Medium::WifiAc => (530e6, 1, vec![phase(0.949, 0.5, 71.0), phase(0.8, 0.5, 5.0)], None),
        // Once in 366 s: half for 18 s, nearly nothing for 26 s, then as before.
        Medium::WigigLos => {
            let phases =
                vec![phase(0.955, 0.6, 322.0), phase(0.46, 0.6, 18.0), phase(0.046, 0.5, 26.0)];
            (1680e6, 1, phases, None)
        }
        // Now and then a second or two are better; once next to nothing for 6 s, the first and
        // the last of them in part.
        Medium::WigigNlos => {
            let outages =
                Outages { gap_s: 353.0, log_mean: 1.61, log_sd: 0.3, min_s: 2.0, max_s: 20.0 };
            (1680e6, 1, vec![phase(0.44, 0.44, 15.0), phase(0.7, 0.44, 1.5)], Some(outages))
        }
        _ => (1680e6, 40, round(&recorded[0], 1680e6), None),
    };
    RadioModel {
        peak_bps,
        phases: Cow::Owned(phases),
        erlang,
        slow: Component { share: 0.1, time_s: 20.0 },
        fast_s: 0.5,
        outages,
    }
}

/// The robot's way round: from one deepest second to the next, each cut into phases of equal
/// length, of which the median and the spread are taken.
fn round(seconds: &[f64], peak: f64) -> Vec<Phase> {
    let near = |i: usize| &seconds[i.saturating_sub(5)..(i + 6).min(seconds.len())];
    let deepest = |i: usize| near(i).iter().all(|v| *v >= seconds[i]);
    let lows: Vec<usize> = (2..seconds.len() - 2).filter(|i| deepest(*i)).collect();
    let rounds = lows.len() - 1;
    let dwell_s = (lows[rounds] - lows[0]) as f64 / (rounds * ROUND) as f64;
    let phase = |k: usize| {
        let mut logits: Vec<f64> = lows
            .windows(2)
            .map(|w| {
                let at = (w[1] - w[0]) as f64 * k as f64 / ROUND as f64 + w[0] as f64;
                let share = (seconds[at.round() as usize] / peak).clamp(0.01, 0.99);
                (share / (1.0 - share)).ln()
            })
            .collect();
        logits.sort_unstable_by(f64::total_cmp);
        let middle = logits[logits.len() / 2];
        let quarter = logits.len() / 4;
        // The quartiles of a normal variable are 1.35 standard deviations apart.
        let spread = (logits[logits.len() - 1 - quarter] - logits[quarter]) / 1.35;
        let level = three_digits(1.0 / (1.0 + (-middle).exp()));
        Phase { level, spread: three_digits(spread.max(0.1)), dwell_s: three_digits(dwell_s) }
    };
    (0..ROUND).map(phase).collect()
}

/// Capacities as recorded by the second, with two memories.
fn gaussian(recorded: &[Vec<f64>], real: &Seconds) -> CapacityModel {
    let relative = recorded.concat().iter().map(|v| v / real.mean).collect();
    CapacityModel {
        scale_bps: real.mean,
        scale_log_sd: 0.0,
        place: 0.0,
        slow: Component { share: 0.4, time_s: 20.0 },
        fast: Component { share: 0.59, time_s: 1.0 },
        knot: Duration::from_millis(100),
        capacity: quantiles(relative),
        outages: None,
    }
}

fn of_gaussian(m: &CapacityModel) -> Vec<f64> {
    vec![m.slow.share / (1.0 - m.slow.share), m.slow.time_s, m.fast.time_s]
}

fn with_gaussian(model: &CapacityModel, p: &[f64]) -> Option<CapacityModel> {
    let &[odds, slow_s, fast_s] = p else { return None };
    let slow = Component { share: odds / (1.0 + odds), time_s: slow_s };
    let fast = Component { share: 1.0 - slow.share, time_s: fast_s };
    Some(CapacityModel { slow, fast, ..model.clone() })
}

/// What is searched for: levels and shares as odds, one factor on all spreads, and where phases
/// are few the spread of each, and their lengths where they were seen more than once.
fn of_radio(m: &RadioModel) -> Vec<f64> {
    let odds = |share: f64| share / (1.0 - share);
    let mut p = vec![odds(m.slow.share), m.slow.time_s, m.fast_s, 1.0];
    p.extend(m.phases.iter().map(|phase| odds(phase.level)));
    if m.phases.len() < ROUND {
        p.extend(m.phases.iter().map(|phase| phase.spread));
        if !seen_once(m) {
            p.extend(m.phases.iter().map(|phase| phase.dwell_s));
        }
    }
    p
}

fn with_radio(model: &RadioModel, p: &[f64]) -> Option<RadioModel> {
    let share = |odds: f64| three_digits(odds / (1.0 + odds));
    let (&[slow, time_s, fast_s, spreads], own) = p.split_first_chunk()?;
    if !MEMORY_S.contains(&time_s) || !MEMORY_S.contains(&fast_s) {
        return None;
    }
    let count = model.phases.len();
    let phase = |(i, phase): (usize, &Phase)| Phase {
        level: share(own[i]),
        spread: three_digits(own.get(count + i).copied().unwrap_or(phase.spread) * spreads),
        dwell_s: own.get(2 * count + i).copied().unwrap_or(phase.dwell_s),
    };
    Some(RadioModel {
        phases: Cow::Owned(model.phases.iter().enumerate().map(phase).collect()),
        slow: Component { share: share(slow), time_s },
        fast_s,
        ..model.clone()
    })
}

/// What steps give for traces of these lengths, over and over with other seeds.
fn simulate(lengths: &[usize], steps: &dyn Fn(Seed, Duration) -> Vec<f64>) -> Seconds {
    let sets = JUDGED_S.div_ceil(lengths.iter().sum());
    let seed = Seed(0).split("fit");
    let pool: Vec<Vec<f64>> = (0..sets * lengths.len())
        .map(|i| {
            let seconds = lengths[i % lengths.len()];
            let offset = i * 7 % 50;
            let length = Duration::from_secs(seconds as u64) + STEP * offset as u32;
            by_second(&steps(seed.index(i as u64), length), offset)
        })
        .collect();
    Seconds::of(&pool)
}

/// How far apart two are, but for the mean, which follows from the scale: squares of the differences, each over what is thought small.
fn distance(ours: &Seconds, real: &Seconds) -> f64 {
    let ratio = |a: f64, b: f64, small: f64| ((a / b).ln() / small).powi(2);
    let each = |a: &[f64], b: &[f64], small: f64| -> f64 {
        a.iter().zip(b).map(|(a, b)| ((a - b) / small).powi(2)).sum()
    };
    ratio(ours.cv, real.cv, 0.03)
        + each(&ours.autocorrelation, &real.autocorrelation, 0.03)
        + each(&ours.calm, &real.calm, 0.05)
        // Where little varies small differences count.
        + each(&ours.quantiles, &real.quantiles, 0.02_f64.min(real.cv / 8.0))
}

/// Moves one parameter at a time by a factor while that brings the distance down, then makes the
/// factor smaller. Rounded to three digits at each step.
fn search(start: Vec<f64>, judge: &dyn Fn(&[f64]) -> f64) -> (Vec<f64>, f64) {
    let mut best: Vec<f64> = start.into_iter().map(three_digits).collect();
    let mut least = judge(&best);
    eprintln!("start: {least:.2}");
    for factor in [1.3, 1.12, 1.05, 1.02, 1.01] {
        let mut moved = true;
        while moved {
            moved = false;
            for i in 0..best.len() {
                for factor in [factor, 1.0 / factor] {
                    let mut tried = best.clone();
                    tried[i] = three_digits(best[i] * factor);
                    let found = if tried == best { f64::INFINITY } else { judge(&tried) };
                    if found < least {
                        (best, least, moved) = (tried, found, true);
                        break;
                    }
                }
            }
        }
        eprintln!("factor {factor}: {least:.2} at {best:?}");
    }
    (best, least)
}

/// The model as `crates/net/src/trace/synthetic/fitted_radios.rs` has it.
pub fn source(model: &RadioModel) -> String {
    let mut out = String::from("RadioModel {\n");
    let RadioModel { peak_bps, phases, erlang, slow, fast_s, outages } = model;
    let mut line = |text: String| writeln!(out, "{text}").expect("a string takes all");
    line(format!("    peak_bps: {peak_bps:?},\n    phases: Cow::Borrowed(&["));
    for phase in phases.iter() {
        line(format!("        {phase:?},"));
    }
    line(format!("    ]),\n    erlang: {erlang},\n    slow: {slow:?},"));
    line(format!("    fast_s: {fast_s:?},\n    outages: {outages:?},\n}}"));
    out
}
