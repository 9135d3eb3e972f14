//! What happens below 100 ms.

use std::time::Duration;

use airlane_net::{Supply, Trace};

const WIDTHS_MS: [u64; 4] = [5, 10, 20, 50];
/// In steps of 20 ms.
const LAGS: [usize; 4] = [1, 2, 5, 10];

/// Prints the variation of short means and their memory, recorded beside generated.
pub fn compare(recorded: &[Trace], generated: &[Trace]) {
    let widths = WIDTHS_MS.map(|ms| format!("CV {ms} ms")).join(" | ");
    let lags = LAGS.map(|l| format!("r {} ms", l * 20)).join(" | ");
    println!("| means over 5 to 50 ms; r of 20 ms means | {widths} | {lags} |");
    println!("|---{}|", "|---:".repeat(WIDTHS_MS.len() + LAGS.len()));
    for (name, traces) in [("recorded, pool", recorded), ("generated, pool", generated)] {
        let cv = WIDTHS_MS.map(|ms| format!("{:.2}", covariance(traces, ms, 0).sqrt()));
        let variance = covariance(traces, 20, 0);
        let r = LAGS.map(|lag| format!("{:.2}", covariance(traces, 20, lag) / variance));
        println!("| {name} | {} | {} |", cv.join(" | "), r.join(" | "));
    }
    println!();
}

/// Of means over each trace's mean, pooled.
fn covariance(traces: &[Trace], width_ms: u64, lag: usize) -> f64 {
    let (mut sum, mut pairs) = (0.0, 0);
    for trace in traces {
        let mean = trace.stats().mean.as_f64();
        let means = trace.means(Duration::from_millis(width_ms));
        let off: Vec<f64> = means.iter().map(|m| m / mean - 1.0).collect();
        sum += off.iter().zip(off.iter().skip(lag)).map(|(a, b)| a * b).sum::<f64>();
        pairs += off.len().saturating_sub(lag);
    }
    sum / pairs as f64
}

/// Prints how much of the recordings' time rows hold for longer than 0.3 s: in the files of WiFi,
/// whose step is 0.2 s, samples are missing there.
pub fn long_rows(recorded: &[Trace]) {
    let (mut long, mut all) = (Duration::ZERO, Duration::ZERO);
    for trace in recorded {
        let Supply::Profile(p) = trace.supply() else { continue };
        let starts: Vec<Duration> = p.steps().map(|(start, _)| start).chain(p.period()).collect();
        for row in starts.windows(2).map(|w| w[1] - w[0]) {
            all += row;
            long += if row > Duration::from_millis(300) { row } else { Duration::ZERO };
        }
    }
    if !all.is_zero() {
        let percent = 100.0 * long.div_duration_f64(all);
        println!("rows of more than 0.3 s hold {percent:.1} % of the recorded time");
    }
}
