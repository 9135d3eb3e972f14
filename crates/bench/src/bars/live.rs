//! Live video over one cell, both case studies: how much faster than real time.

use airlane_lab::plan::RunKey;

use crate::bar::{Figure, Problem, Rule, Setting, median};
use crate::scene::Scene;

pub(super) fn measure(setting: &Setting) -> Result<Vec<Figure>, Problem> {
    let mut figures = Vec::new();
    for video in ["quality", "frame-rate"] {
        let mut set = vec![format!("live.0.video={video}"), "transport.cipher=null".to_owned()];
        if video == "frame-rate" {
            // WebRTC does not carry it.
            set.push("scheme.2.live_transport=salsify".to_owned());
        }
        let scene = Scene::embedded("live", &set)?;
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
        figures.push(Figure {
            bar: format!("live.{video}"),
            ours: whole / times.iter().map(|(wall, _)| wall).sum::<f64>(),
            peer: None,
            unit: "x real time",
            rule: Rule::AtLeast(100.0),
            note: format!(
                "{:.0} s of the scenario live on one core, null cipher, virtual over wall time of all \
                 schemes, medians; each: {}; over processor time {:.0}",
                scene.seconds(),
                each.join(", "),
                whole / times.iter().map(|(_, cpu)| cpu).sum::<f64>()
            ),
        });
    }
    Ok(figures)
}
