//! The demo, as a newcomer runs it after the build.

use std::process::Command;

use crate::bar::{Figure, Problem, Rule, Setting};
use crate::clock::Watch;
use crate::process::airlane;

pub(super) fn measure(_setting: &Setting) -> Result<Vec<Figure>, Problem> {
    let broke = |what: String| Problem::Broke(what);
    let airlane = airlane()?;
    let out = std::env::temp_dir().join(format!("airlane-bench-demo-{}", std::process::id()));
    let watch = Watch::start();
    let done = Command::new(&airlane).args(["demo", "--quiet", "--out"]).arg(&out).output();
    let wall = watch.elapsed().as_secs_f64();
    let report = out.join("report.html").exists();
    // A folder that stays behind in the system's temporary one does no harm.
    let _ = std::fs::remove_dir_all(&out);
    let done = done.map_err(|e| broke(format!("cannot run airlane: {e}")))?;
    if !done.status.success() || !report {
        return Err(broke(format!("airlane demo: {}, report: {report}", done.status)));
    }
    Ok(vec![Figure {
        bar: "demo".into(),
        ours: wall,
        peer: None,
        unit: "s",
        rule: Rule::AtMost(10.0),
        note: "wall time of airlane demo with its report, all cores".into(),
    }])
}
