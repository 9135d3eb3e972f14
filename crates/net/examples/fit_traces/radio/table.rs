//! Tables of seconds.

use super::seconds::{CALM_LAGS, LAGS, PERCENT, Seconds};

pub fn header() {
    let lags = LAGS.map(|l| format!("r {l} s")).join(" | ");
    let percent = PERCENT.map(|p| format!("{p} %")).join(" | ");
    let calm = CALM_LAGS.map(|l| format!("calm r {l} s")).join(" | ");
    println!("| | Mbit/s | CV 1 s | {lags} | {calm} | outage % | mean s | {percent} |");
    println!("|---{}|", "|---:".repeat(4 + LAGS.len() + CALM_LAGS.len() + PERCENT.len()));
}

pub fn row(name: &str, s: &Seconds) {
    let r = s.autocorrelation.map(|r| format!("{r:.2}")).join(" | ");
    let calm = s.calm.map(|r| format!("{r:.2}")).join(" | ");
    let quantiles = s.quantiles.map(|q| format!("{q:.3}")).join(" | ");
    let (mean, cv) = (s.mean / 1e6, s.cv);
    let outage = format!("{:.2} | {:.1}", s.outage_share * 100.0, s.outage_mean_s);
    println!("| {name} | {mean:.1} | {cv:.4} | {r} | {calm} | {outage} | {quantiles} |");
}

/// The statistics whose every figure is that percentile of `all`'s.
pub fn percentile(all: &[Seconds], p: f64) -> Seconds {
    let of = |figure: &dyn Fn(&Seconds) -> f64| {
        let mut values: Vec<f64> = all.iter().map(figure).collect();
        values.sort_unstable_by(f64::total_cmp);
        values[(p * (values.len() - 1) as f64).round() as usize]
    };
    Seconds {
        traces: all[0].traces,
        mean: of(&|s| s.mean),
        cv: of(&|s| s.cv),
        autocorrelation: std::array::from_fn(|i| of(&|s| s.autocorrelation[i])),
        calm: std::array::from_fn(|i| of(&|s| s.calm[i])),
        outage_share: of(&|s| s.outage_share),
        outage_mean_s: of(&|s| s.outage_mean_s),
        quantiles: std::array::from_fn(|i| of(&|s| s.quantiles[i])),
    }
}

/// Generated against recorded, with what was asked for.
pub fn verdicts(real: &Seconds, ours: &Seconds) {
    println!("| figure | recorded | generated | asked for | met |\n|---|---:|---:|---|---|");
    let line = |name: &str, real: f64, ours: f64, asked: &str, met: bool| {
        let met = if met { "yes" } else { "no" };
        println!("| {name} | {real:.3} | {ours:.3} | {asked} | {met} |");
    };
    let share = |name: &str, real: f64, ours: f64, least: f64| {
        let met = (ours / real - 1.0).abs() <= least;
        line(name, real, ours, &format!("within {:.0} %", least * 100.0), met);
    };
    share("mean, Mbit/s", real.mean / 1e6, ours.mean / 1e6, 0.05);
    share("CV of 1 s means", real.cv, ours.cv, 0.15);
    for (i, lag) in LAGS.iter().enumerate() {
        let (real, ours) = (real.autocorrelation[i], ours.autocorrelation[i]);
        let met = (ours - real).abs() <= 0.1;
        line(&format!("autocorrelation at {lag} s"), real, ours, "within 0.1", met);
    }
    let factor = |name: &str, real: f64, ours: f64| {
        let met = real == ours || (1.0 / 1.5..=1.5).contains(&(ours / real));
        line(name, real, ours, "within a factor of 1.5", met);
    };
    factor("share of time in an outage", real.outage_share, ours.outage_share);
    factor("mean outage, s", real.outage_mean_s, ours.outage_mean_s);
    let off = real.quantiles.iter().zip(ours.quantiles).map(|(a, b)| (a - b).abs());
    let off = off.fold(0.0, f64::max);
    println!("\nlargest difference of a percentile: {off:.3} of the mean");
}
