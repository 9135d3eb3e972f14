//! The one sentence on what viewers got, computed from the figures.

use airlane_judge::reporting::words::{count, list, plural, sentence};
use airlane_sim::Samples;
use airlane_sim::difference;

/// A difference that rounds to nothing in the digits shown.
const NOTHING: f64 = 0.05;

/// Facts on a scheme that the verdict needs. `worst` and `stalled` hold the same runs in every
/// scheme: those in which all sessions of all schemes have a QoE.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// Its name, for people.
    pub title: String,
    /// QoE of the worst viewer.
    pub worst: Samples,
    /// Time that all viewers together stalled, seconds.
    pub stalled: Samples,
}

/// The verdict on viewers: `unit` is that of QoE, the last of `sides` is compared with the best of
/// those before it.
pub fn on_viewers(viewers: usize, unit: &str, sides: &[Side]) -> String {
    let got: Option<Vec<(f64, &Side)>> = sides.iter().map(|s| Some((s.worst.mean()?, s))).collect();
    let Some(got) = got.filter(|g| !g.is_empty()) else {
        return "No run has the figures that a comparison needs.".to_owned();
    };
    let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
    let who = match viewers {
        1 => "the viewer".to_owned(),
        2 => "the worse of two viewers".to_owned(),
        n => format!("the worst of {} viewers", count(n)),
    };
    let cases = sides[0].worst.0.iter().filter(|c| !c.is_empty()).count();
    let who = match cases {
        1 => sentence(&who),
        n => format!("Over {}, {who}", plural(n, "case")),
    };
    // Ours first: it is what the report is about.
    let ours_first = got.last().into_iter().chain(&got[..got.len() - 1]);
    let shares: Vec<String> =
        ours_first.map(|(q, s)| format!("{q:.1} under {}", s.title)).collect();
    let start = format!("{who} gets a QoE of {}", list(&shares));
    let (ours, baselines) = match got.as_slice() {
        [(_, only)] => return format!("{start}{}.", alone(only)),
        [baselines @ .., (_, ours)] => (*ours, baselines),
        [] => return start,
    };
    let best = baselines.iter().max_by(|a, b| a.0.total_cmp(&b.0)).map_or(ours, |b| b.1);
    let gain = difference(&ours.worst, &best.worst);
    let d = gain.mean().unwrap_or(0.0);
    let over = &best.title;
    let (ci, units) = (gain.ci95("gain"), gain.units());
    let interval = ci.map_or_else(
        || " (one run each: chance is not ruled out)".to_owned(),
        |ci| {
            let what = if cases > 1 { "cases" } else { "seeds" };
            format!(" (95 % interval {:+.1} to {:+.1}, {units} {what})", ci.lo, ci.hi)
        },
    );
    let middle = if ci.is_some_and(|ci| ci.contains(0.0)) || d.abs() < NOTHING {
        format!("no clear difference to {over}: {d:+.1}{unit}{interval}")
    } else if d > 0.0 {
        format!("{d:+.1}{unit} over {over}{interval}")
    } else {
        format!("{:.1}{unit} less than {over}{interval}", -d)
    };
    format!("{start}: {middle}, {}.", stalls(ours, best, d > NOTHING))
}

fn alone(side: &Side) -> String {
    match side.stalled.mean() {
        Some(s) if s >= NOTHING => format!("; together the pictures stand still for {s:.1} s"),
        _ => ", without a stall".to_owned(),
    }
}

/// Words on stalls beside a gain or a loss.
fn stalls(ours: &Side, theirs: &Side, gain: bool) -> String {
    let (a, b) = (ours.stalled.mean().unwrap_or(0.0), theirs.stalled.mean().unwrap_or(0.0));
    let figures = format!("{a:.1} s instead of {b:.1} s");
    if (a - b).abs() < NOTHING {
        return if a < NOTHING {
            "without stalls in either".to_owned()
        } else {
            format!("with as much stalling ({a:.1} s)")
        };
    }
    if difference(&ours.stalled, &theirs.stalled).ci95("stalled").is_some_and(|ci| ci.contains(0.0))
    {
        return format!("with {a:.1} s of stalls instead of {b:.1} s, which may be chance");
    }
    match (a < b, gain) {
        (true, true) => format!("and with less stalling ({figures})"),
        (true, false) => format!("but with less stalling ({figures})"),
        (false, true) => format!("but with more stalling ({figures})"),
        (false, false) => format!("and with more stalling ({figures})"),
    }
}
