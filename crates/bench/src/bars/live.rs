//! Live video over one cell, all case studies: how much faster than real time.

use airlane_sim::plan::RunKey;

use crate::bar::{Figure, Problem, Rule, Setting, median};
use crate::scene::Scene;

/// Times real time that is asked of the case studies over LTE, and of point clouds over 5G.
const LTE: f64 = 100.0;
const VOLUMETRIC: f64 = 12.0;

pub(super) fn measure(setting: &Setting) -> Result<Vec<Figure>, Problem> {
    // WebRTC does not carry temporal layers.
    let temporal = ["live.0.video=frame-rate", "scheme.2.live_transport=salsify"];
    Ok(vec![
        speed("live.quality", "live", &[], LTE, setting)?,
        speed("live.frame-rate", "live", &temporal, LTE, setting)?,
        speed("live.volumetric", "volumetric", &[], VOLUMETRIC, setting)?,
    ])
}

/// Speed at which the schemes of a scenario run, with these settings, as a multiple of real time.
fn speed(
    bar: &str,
    scenario: &str,
    set: &[&str],
    asked: f64,
    setting: &Setting,
) -> Result<Figure, Problem> {
    let set: Vec<String> =
        ["transport.cipher=null"].iter().chain(set).map(|s| (*s).to_owned()).collect();
    let scene = Scene::embedded(scenario, &set)?;
    let schemes = &scene.plan.scenario.schemes;
    let mut times: Vec<_> = schemes.iter().map(|_| (Vec::new(), Vec::new())).collect();
    for _ in 0..setting.rounds(5) {
        for (scheme, (walls, cpus)) in times.iter_mut().enumerate() {
            let run = scene.run(RunKey { case: 0, scheme, seed: 1 })?;
            walls.push(run.wall.as_secs_f64());
            cpus.push(run.cpu.as_secs_f64());
        }
    }
    let times: Vec<(f64, f64)> =
        times.into_iter().map(|(walls, cpus)| (median(walls), median(cpus))).collect();
    let each: Vec<String> = schemes
        .iter()
        .zip(&times)
        .map(|(scheme, (wall, _))| format!("{} {:.0}", scheme.title, scene.seconds() / wall))
        .collect();
    let whole = scene.seconds() * schemes.len() as f64;
    Ok(Figure {
        bar: bar.to_owned(),
        ours: whole / times.iter().map(|(wall, _)| wall).sum::<f64>(),
        peer: None,
        unit: "x real time",
        rule: Rule::AtLeast(asked),
        note: format!(
            "{:.0} s of the scenario {scenario} on one core, null cipher, virtual over wall time of all \
             schemes, medians; each: {}; over processor time {:.0}",
            scene.seconds(),
            each.join(", "),
            whole / times.iter().map(|(_, cpu)| cpu).sum::<f64>()
        ),
    })
}
