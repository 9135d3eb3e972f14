//! From recordings to a model.

use std::fmt::Write;
use std::time::Duration;

use airlane_base::Rate;
use airlane_net::trace::{BIN, Component, LEVELS, OUTAGE_BELOW, Outages, STEP, level};
use airlane_net::{CapacityModel, Medium, Shape, Trace};

use crate::search::{search, simulate, three_digits};

/// Outages of LTE of at least this length are modelled apart; shorter ones the Gaussian part has.
const LONG: Duration = Duration::from_millis(500);
/// The longest outage that is generated.
const MAX_S: f64 = 30.0;

/// The model of `medium` for these recordings.
pub fn fit(medium: Medium, recorded: &[Trace]) -> CapacityModel {
    let real = Shape::of(recorded);
    let lengths: Vec<Duration> = recorded.iter().map(Trace::length).collect();
    let start = match medium {
        Medium::Lte => lte(recorded),
        Medium::FiveG => CapacityModel {
            place: 0.03,
            slow: Component { share: 0.3, time_s: 30.0 },
            fast: Component { share: 0.6, time_s: 2.5 },
            ..by_knot(recorded, &real, Duration::from_secs(1))
        },
        Medium::WifiGaming => CapacityModel {
            place: 0.6,
            slow: Component { share: 0.1, time_s: 30.0 },
            fast: Component { share: 0.1, time_s: 1.0 },
            ..by_knot(recorded, &real, STEP)
        },
        _ => by_knot(recorded, &real, Duration::from_millis(200)),
    };
    let mut model = search(start, &real, &lengths);
    scale(&mut model, recorded, &lengths);
    model
}

/// Capacity over the recording's own mean, from means over one step; long outages apart.
fn lte(recorded: &[Trace]) -> CapacityModel {
    let mut values = Vec::new();
    let mut lengths = Vec::new();
    let per_bin = (BIN.as_nanos() / STEP.as_nanos()) as usize;
    for trace in recorded {
        let mean = mean(&trace.means(BIN));
        let steps = trace.means(STEP);
        let bins = trace.means(BIN);
        let mut at = 0;
        for run in bins.chunk_by(|a, b| (*a < OUTAGE_BELOW * mean) == (*b < OUTAGE_BELOW * mean)) {
            let time = BIN * run.len() as u32;
            if run[0] < OUTAGE_BELOW * mean && time >= LONG {
                lengths.push(time.as_secs_f64());
            } else {
                let here = at * per_bin..(at + run.len()) * per_bin;
                values.extend(steps[here].iter().map(|v| v / mean));
            }
            at += run.len();
        }
    }
    let on_s = values.len() as f64 * STEP.as_secs_f64();
    // Lengths come in whole bins: the cut lies between two of them.
    let min_s = (LONG - BIN / 2).as_secs_f64();
    let (log_mean, log_sd) = log_normal(&lengths, min_s);
    let gap_s = three_digits(on_s / lengths.len() as f64);
    eprintln!("{} outages of {LONG:?} and more, mean {:.2} s", lengths.len(), mean(&lengths));
    CapacityModel {
        scale_bps: 1e6,
        scale_log_sd: 0.0,
        place: 0.0,
        slow: Component { share: 0.62, time_s: 45.0 },
        fast: Component { share: 0.13, time_s: 4.0 },
        knot: STEP,
        capacity: quantiles(values),
        outages: Some(Outages { gap_s, log_mean, log_sd, min_s, max_s: MAX_S }),
    }
}

/// Capacity over the mean of all, from means over the recordings' own step.
fn by_knot(recorded: &[Trace], real: &Shape, knot: Duration) -> CapacityModel {
    let all = recorded.iter().flat_map(|t| t.means(knot));
    CapacityModel {
        scale_bps: 1e6,
        scale_log_sd: 0.0,
        place: 0.54,
        slow: Component { share: 0.38, time_s: 27.0 },
        fast: Component { share: 0.045, time_s: 2.0 },
        knot,
        capacity: quantiles(all.map(|v| v / real.mean.as_f64()).collect()),
        outages: None,
    }
}

/// Scale and its spread, so that the logarithms of the means have the recordings' mean and, where
/// places do not differ (`place` is zero), their standard deviation. Else the mean itself.
fn scale(model: &mut CapacityModel, recorded: &[Trace], lengths: &[Duration]) {
    let sets = (20_000.0 / lengths.iter().map(Duration::as_secs_f64).sum::<f64>()).ceil() as u64;
    let seed = airlane_base::Seed(0).split("scale");
    let ours: Vec<f64> = (0..sets * lengths.len() as u64)
        .map(|i| {
            let length = lengths[i as usize % lengths.len()];
            (mean(&model.steps_bps(seed.index(i), length)) / model.scale_bps).ln()
        })
        .collect();
    let real: Vec<f64> = recorded.iter().map(|t| t.stats().mean.as_f64().ln()).collect();
    if model.place > 0.0 {
        let ours = simulate(model, lengths).mean.as_f64() / model.scale_bps;
        model.scale_bps = three_digits(Shape::of(recorded).mean.as_f64() / ours);
    } else {
        model.scale_bps = three_digits((mean(&real) - mean(&ours)).exp());
        model.scale_log_sd = three_digits((variance(&real) - variance(&ours)).max(0.0).sqrt());
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn variance(values: &[f64]) -> f64 {
    let middle = mean(values);
    values.iter().map(|v| (v - middle).powi(2)).sum::<f64>() / (values.len() - 1) as f64
}

/// The quantile at each level of a standard normal variable.
pub fn quantiles(mut values: Vec<f64>) -> [f64; LEVELS] {
    values.sort_unstable_by(f64::total_cmp);
    std::array::from_fn(|i| {
        let at = normal_cdf(level(i)) * values.len() as f64 - 0.5;
        let low = (at.max(0.0) as usize).min(values.len() - 2);
        let part = (at - low as f64).clamp(0.0, 1.0);
        three_digits(values[low] + part * (values[low + 1] - values[low]))
    })
}

/// The standard normal distribution function by its series; good to 1e-9 for |z| < 6.
fn normal_cdf(z: f64) -> f64 {
    let (mut term, mut sum, mut k) = (z, z, 1.0);
    while f64::abs(term) > 1e-16 * f64::abs(sum) {
        k += 2.0;
        term *= z * z / k;
        sum += term;
    }
    0.5 + sum * (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

/// Mean and standard deviation of the logarithm of a log-normal law cut below `least`, by
/// greatest likelihood on a grid.
fn log_normal(lengths: &[f64], least: f64) -> (f64, f64) {
    let mut best = (f64::NEG_INFINITY, 0.0, 1.0);
    for m in -100..=200 {
        for s in 20..=200 {
            let (m, s) = (f64::from(m) / 100.0, f64::from(s) / 100.0);
            let above = normal_cdf((m - least.ln()) / s);
            if !(1e-6..).contains(&above) {
                continue;
            }
            let of = |d: &f64| -((d.ln() - m) / s).powi(2) / 2.0 - s.ln() - above.ln();
            let found: f64 = lengths.iter().map(of).sum();
            if found > best.0 {
                best = (found, m, s);
            }
        }
    }
    (best.1, best.2)
}

/// The model as `crates/net/src/trace/synthetic/fitted.rs` has it.
pub fn source(model: &CapacityModel) -> String {
    let mut out = String::from("CapacityModel {\n");
    let CapacityModel { scale_bps, scale_log_sd, place, slow, fast, knot, capacity, outages } =
        model;
    let mut line = |text: String| writeln!(out, "    {text},").expect("a string takes all");
    line(format!("scale_bps: {scale_bps:?}"));
    line(format!("scale_log_sd: {scale_log_sd:?}"));
    line(format!("place: {place:?}"));
    line(format!("slow: {slow:?}"));
    line(format!("fast: {fast:?}"));
    line(format!("knot: Duration::from_millis({})", knot.as_millis()));
    line(format!("capacity: {capacity:?}"));
    line(format!("outages: {outages:?}"));
    let mean = Rate::from_bps_f64(*scale_bps);
    writeln!(out, "}} // scale {mean}").expect("a string takes all");
    out
}
