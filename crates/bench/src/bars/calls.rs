//! Calls of three pages in one Chromium through half-duplex links, with Plum and without, in pairs:
//! `tests/browser/call-pairs.mjs`. It takes half an hour, most of it waiting.

use std::process::Command;

use airlane_quality::stats::mean;
use airlane_quality::student::mean_interval;
use serde::Deserialize;

use crate::bar::{Figure, Problem, Rule, Setting};
use crate::process::airlane;

const SCRIPT: &str = "tests/browser/call-pairs.mjs";
/// Pairs of calls, and those of a quick bench: an interval takes two.
const PAIRS: usize = 12;
const QUICK_PAIRS: usize = 2;
/// Exit code of a script where the processor is the bottleneck.
const NOT_MEASURABLE: i32 = 3;
/// Share of the channel that calls with Plum must use.
const MIN_USED: f64 = 0.85;

/// A line of the script: one call.
#[derive(Debug, Deserialize)]
struct Call {
    /// `on` or `off`: Plum; `none`: no link either.
    scheme: String,
    /// Number of its pair.
    pair: Option<usize>,
    /// Capacity of a link, and their number.
    rate_mbps: Option<f64>,
    links: usize,
    received_mbps: f64,
    shown_fps: f64,
    freezes: f64,
    up_mbps: Option<f64>,
    down_mbps: Option<f64>,
    /// Share of the time of participants in which a direction was held.
    held_share: f64,
}

impl Call {
    /// Share of the links' capacity that was in use.
    fn used(&self) -> Option<f64> {
        Some((self.up_mbps? + self.down_mbps?) / (self.rate_mbps? * self.links as f64))
    }
}

pub(super) fn measure(setting: &Setting) -> Result<Vec<Figure>, Problem> {
    let pairs = if setting.quick { QUICK_PAIRS } else { PAIRS };
    figures(&printed(setting, SCRIPT, &["--pairs", &pairs.to_string()])?)
}

/// Lines that a script of the browsers' folder prints.
pub(super) fn printed(
    setting: &Setting,
    script: &str,
    arguments: &[&str],
) -> Result<String, Problem> {
    if !setting.root.join("tests/browser/node_modules").is_dir() {
        return Err(Problem::Skipped("no packages from npm: make setup".into()));
    }
    let mut command = Command::new("node");
    command.arg(setting.root.join(script)).args(arguments);
    command.env("AIRLANE_BIN", airlane()?);
    let done = command.output().map_err(|e| Problem::Skipped(format!("node: {e}")))?;
    let said = String::from_utf8_lossy(&done.stderr);
    let last = said.lines().last().unwrap_or("it said nothing").to_owned();
    match done.status.code() {
        Some(0) => Ok(String::from_utf8_lossy(&done.stdout).into_owned()),
        Some(2 | NOT_MEASURABLE) => Err(Problem::Skipped(last)),
        _ => Err(Problem::Broke(format!("{}: {last}", done.status))),
    }
}

/// Figures of the calls in the script's lines.
fn figures(lines: &str) -> Result<Vec<Figure>, Problem> {
    let read = |line| serde_json::from_str(line);
    let calls: Result<Vec<Call>, _> = lines.lines().map(read).collect();
    let calls = calls.map_err(|e| Problem::Broke(format!("{SCRIPT}: {e}")))?;
    let of = |scheme: &'static str| calls.iter().filter(move |call| call.scheme == scheme);
    let pairs: Vec<(&Call, &Call)> = of("on")
        .filter_map(|on| of("off").find(|off| off.pair == on.pair).map(|off| (on, off)))
        .collect();
    let ratio = |figure: fn(&Call) -> f64| -> Vec<f64> {
        pairs.iter().map(|(on, off)| (figure(on) / figure(off)).ln()).collect()
    };
    let mean_of = |scheme: &'static str, figure: fn(&Call) -> f64| {
        mean(&of(scheme).map(figure).collect::<Vec<_>>()).unwrap_or(f64::NAN)
    };
    let few = || Problem::Skipped(format!("{} pairs: an interval takes two", pairs.len()));
    let received = mean_interval(&ratio(|call| call.received_mbps)).ok_or_else(few)?.exp();
    let shown = mean_interval(&ratio(|call| call.shown_fps)).ok_or_else(few)?.exp();
    let both = |figure: fn(&Call) -> f64| (mean_of("on", figure), Some(mean_of("off", figure)));
    let ((mbps, mbps_off), (fps, fps_off)) =
        (both(|call| call.received_mbps), both(|call| call.shown_fps));
    let (freezes, freezes_off) = both(|call| call.freezes);
    let held = mean_of("on", |call| call.held_share);
    let figure = |name: &str, ours, rule, unit, note| Figure {
        bar: format!("calls.{name}"),
        ours,
        peer: None,
        unit,
        rule,
        note,
    };
    Ok(vec![
        figure(
            "received",
            received.lo,
            Rule::Above(1.0),
            "of Vanilla's",
            format!(
                "lower end of the 95 % interval ({:.3} to {:.3}) of what all receive with Plum over Vanilla, {} pairs: \
             {mbps:.2} beside {:.2} Mbit/s on average; a direction is held for {held:.2} of the time",
                received.lo,
                received.hi,
                pairs.len(),
                mbps_off.unwrap_or(f64::NAN),
            ),
        ),
        figure(
            "shown",
            shown.hi,
            Rule::AtLeast(1.0),
            "of Vanilla's",
            format!(
                "upper end of the 95 % interval ({:.3} to {:.3}) of shown frames: {fps:.1} beside {:.1} frames/s",
                shown.lo,
                shown.hi,
                fps_off.unwrap_or(f64::NAN),
            ),
        ),
        figure(
            "used",
            mean_of("on", |call| call.used().unwrap_or(f64::NAN)),
            Rule::AtLeast(MIN_USED),
            "of the channel",
            "capacity of the links in use with Plum".to_owned(),
        ),
        Figure {
            peer: freezes_off,
            rule: Rule::AtMost(freezes_off.unwrap_or(f64::NAN)),
            ..figure("freezes", freezes, Rule::Reported, "per call", "Plum beside Vanilla".into())
        },
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls of two pairs as the script prints them, of which those with Plum get `gain` times as much.
    fn lines(gain: f64) -> String {
        let call = |scheme: &str, pair: usize, mbps: f64| {
            format!(
                r#"{{"pair":{pair},"scheme":"{scheme}","rate_mbps":2,"links":3,"codec":"av1","seconds":25,"received_mbps":{mbps},"shown_fps":20,"freezes":1,"frozen_s":0.5,"up_mbps":2.4,"down_mbps":3,"held_share":0.5}}"#
            )
        };
        let none = r#"{"scheme":"none","rate_mbps":null,"links":0,"codec":"av1","seconds":25,"received_mbps":3,"shown_fps":24,"freezes":0,"frozen_s":0,"up_mbps":null,"down_mbps":null,"held_share":0}"#;
        let calls = [
            none.to_owned(),
            call("off", 0, 2.0),
            call("on", 0, 2.0 * gain),
            call("on", 1, 2.1 * gain * 1.01),
            call("off", 1, 2.1),
        ];
        calls.join("\n")
    }

    #[test]
    fn a_gain_holds_and_a_loss_does_not() {
        for (gain, holds) in [(1.2, true), (0.9, false)] {
            let figures = figures(&lines(gain)).unwrap();
            let of = |bar: &str| figures.iter().find(|figure| figure.bar == bar).unwrap();
            assert_eq!(of("calls.received").holds(), Some(holds), "{gain}");
            assert_eq!(of("calls.shown").holds(), Some(true));
            assert!((of("calls.used").ours - 0.9).abs() < 1e-9);
            assert_eq!(of("calls.freezes").holds(), Some(true));
        }
    }

    #[test]
    fn one_pair_is_no_interval_and_a_line_that_is_no_call_is_told() {
        let first: Vec<_> = lines(1.2).lines().take(3).map(str::to_owned).collect();
        assert!(matches!(figures(&first.join("\n")), Err(Problem::Skipped(_))));
        assert!(matches!(figures("what"), Err(Problem::Broke(_))));
    }
}
