//! Faults in a call of three pages, and how soon it goes on: `tests/browser/call-faults.mjs`.

use serde::Deserialize;

use super::calls::printed;
use crate::bar::{Figure, Problem, Rule, Setting};

const SCRIPT: &str = "tests/browser/call-faults.mjs";
/// Seconds from the end of a fault until everybody's video moves again, and until nobody is held.
const MAX_VIDEO_S: f64 = 5.0;
const MAX_NATURAL_S: f64 = 10.0;
/// Fault of which pages hear nothing: that the connection is lost they find out by themselves, which takes 11 s.
const UNANNOUNCED: &str = "killed_server";

/// A line of the script: a fault.
#[derive(Debug, Deserialize)]
struct Fault {
    fault: String,
    /// Seconds; `None`: not in time.
    video_s: Option<f64>,
    natural_s: Option<f64>,
}

pub(super) fn measure(setting: &Setting) -> Result<Vec<Figure>, Problem> {
    figures(&printed(setting, SCRIPT, &[])?)
}

/// Figures of the faults in the script's lines.
fn figures(lines: &str) -> Result<Vec<Figure>, Problem> {
    let mut all = Vec::new();
    for line in lines.lines() {
        let fault: Fault =
            serde_json::from_str(line).map_err(|e| Problem::Broke(format!("{SCRIPT}: {e}")))?;
        let Fault { fault, video_s, natural_s } = fault;
        let figure = |what: &str, seconds: Option<f64>, rule, note: &str| Figure {
            bar: format!("call_faults.{fault}.{what}"),
            ours: seconds.unwrap_or(f64::NAN),
            peer: None,
            unit: "s",
            rule,
            note: note.to_owned(),
        };
        let of_video = match fault == UNANNOUNCED && video_s.is_some() {
            true => Rule::Reported,
            false => Rule::AtMost(MAX_VIDEO_S),
        };
        all.push(figure("video", video_s, of_video, "from its end until all videos move"));
        let note = "from its end until no page is held that was held when it began";
        all.push(figure("natural", natural_s, Rule::AtMost(MAX_NATURAL_S), note));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_go_on_in_time_misses() {
        let lines = "{\"fault\":\"dead_link\",\"video_s\":3.5,\"natural_s\":null}\n";
        let figures = figures(lines).unwrap();
        let holds: Vec<_> = figures.iter().map(|of| (of.bar.as_str(), of.holds())).collect();
        let expected = [
            ("call_faults.dead_link.video", Some(true)),
            ("call_faults.dead_link.natural", Some(false)),
        ];
        assert_eq!(holds, expected);
        assert!(matches!(super::figures("what"), Err(Problem::Broke(_))));
    }
}
