//! Tables of shapes.

use std::time::Duration;

use airlane_base::Rate;
use airlane_net::Shape;

pub fn header() {
    let columns = [
        "trace",
        "s",
        "Mbit/s",
        "CV of means",
        "CV 0.1 s",
        "CV 1 s",
        "r 0.1 s",
        "0.5 s",
        "1 s",
        "5 s",
        "20 s",
        "outage %",
        "per h",
        "median s",
        "90 % s",
        "mean s",
        "5 %",
        "50 %",
        "95 %",
    ];
    println!("| {} |\n|---{}|", columns.join(" | "), "|---:".repeat(columns.len() - 1));
}

pub fn row(name: &str, s: &Shape) {
    let r = s.autocorrelation;
    let [low, middle, high] = s.percentiles;
    let cells = [
        format!("{:.0}", s.length.as_secs_f64()),
        format!("{:.2}", s.mean.mbps()),
        if s.traces > 1 { format!("{:.2}", s.means_cv) } else { "-".to_owned() },
        format!("{:.3}", s.cv_100ms),
        format!("{:.3}", s.cv_1s),
        r.map(|r| format!("{r:.2}")).join(" | "),
        format!("{:.1}", s.outage_share * 100.0),
        format!("{:.0}", per_hour(s)),
        format!("{:.1}", s.outage_median.as_secs_f64()),
        format!("{:.1}", s.outage_p90.as_secs_f64()),
        format!("{:.2}", s.outage_mean.as_secs_f64()),
        format!("{low:.2}"),
        format!("{middle:.2}"),
        format!("{high:.2}"),
    ];
    println!("| {name} | {} |", cells.join(" | "));
}

fn per_hour(s: &Shape) -> f64 {
    s.outages as f64 * 3_600.0 / s.length.as_secs_f64()
}

/// The shape whose every figure is that percentile of `all`'s.
pub fn percentile(all: &[Shape], p: f64) -> Shape {
    let of = |figure: &dyn Fn(&Shape) -> f64| {
        let mut values: Vec<f64> = all.iter().map(figure).collect();
        values.sort_unstable_by(f64::total_cmp);
        values[(p * (values.len() - 1) as f64).round() as usize]
    };
    let time = |figure: &dyn Fn(&Shape) -> Duration| {
        Duration::from_secs_f64(of(&|s| figure(s).as_secs_f64()))
    };
    let one = &all[0];
    Shape {
        traces: one.traces,
        length: time(&|s| s.length),
        mean: Rate::from_bps_f64(of(&|s| s.mean.as_f64())),
        means_cv: of(&|s| s.means_cv),
        cv_100ms: of(&|s| s.cv_100ms),
        cv_1s: of(&|s| s.cv_1s),
        autocorrelation: std::array::from_fn(|i| of(&|s| s.autocorrelation[i])),
        outage_share: of(&|s| s.outage_share),
        outages: of(&|s| s.outages as f64) as usize,
        outage_median: time(&|s| s.outage_median),
        outage_p90: time(&|s| s.outage_p90),
        outage_mean: time(&|s| s.outage_mean),
        percentiles: std::array::from_fn(|i| of(&|s| s.percentiles[i])),
    }
}

/// Generated against recorded, with what was asked for.
pub fn verdicts(real: &Shape, ours: &Shape) {
    println!("| figure | recorded | generated | asked for | met |\n|---|---:|---:|---|---|");
    let line = |name: &str, real: f64, ours: f64, asked: &str, met: bool| {
        let met = if met { "yes" } else { "no" };
        println!("| {name} | {real:.3} | {ours:.3} | {asked} | {met} |");
    };
    let share = |name: &str, real: f64, ours: f64| {
        line(name, real, ours, "within 15 %", (ours / real - 1.0).abs() <= 0.15);
    };
    share("CV of 100 ms means", real.cv_100ms, ours.cv_100ms);
    share("CV of 1 s means", real.cv_1s, ours.cv_1s);
    for (i, lag) in ["0.1", "0.5", "1", "5", "20"].iter().enumerate() {
        let (real, ours) = (real.autocorrelation[i], ours.autocorrelation[i]);
        let name = format!("autocorrelation at {lag} s");
        line(&name, real, ours, "within 0.1", (ours - real).abs() <= 0.1);
    }
    let factor = |name: &str, real: f64, ours: f64| {
        let met = ours == real || (1.0 / 1.5..=1.5).contains(&(ours / real));
        line(name, real, ours, "within a factor of 1.5", met);
    };
    factor("share of time in an outage", real.outage_share, ours.outage_share);
    let seconds = |d: Duration| d.as_secs_f64();
    factor("median outage, s", seconds(real.outage_median), seconds(ours.outage_median));
    factor("mean outage, s (not asked for)", seconds(real.outage_mean), seconds(ours.outage_mean));
    factor("outages per hour (not asked for)", per_hour(real), per_hour(ours));
}
