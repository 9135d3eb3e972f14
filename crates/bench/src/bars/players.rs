//! Four players on one link: how much faster than real time.

use airlane_scenario::Cipher;
use airlane_sim::plan::RunKey;

use crate::bar::{Figure, Problem, Rule, Setting, median};
use crate::scene::Scene;

/// The first story.
const STORY: &str = "four-viewers";

pub(super) fn measure(setting: &Setting) -> Result<Vec<Figure>, Problem> {
    let scenes = [
        ("null", 150.0, Scene::embedded(STORY, &[])?),
        ("tls", 100.0, Scene::embedded(STORY, &[])?.sealed_with(Cipher::Tls)),
    ];
    let schemes = scenes[0].2.plan.scenario.schemes.len();
    // Seconds by cipher and scheme, of the wall clock and of the processor.
    let mut walls = vec![vec![(Vec::new(), Vec::new()); schemes]; scenes.len()];
    for _ in 0..setting.rounds(5) {
        for ((_, _, scene), walls) in scenes.iter().zip(&mut walls) {
            for (scheme, walls) in walls.iter_mut().enumerate() {
                let run = scene.run(RunKey { case: 0, scheme, seed: 1 })?;
                walls.0.push(run.wall.as_secs_f64());
                walls.1.push(run.cpu.as_secs_f64());
            }
        }
    }
    let mut figures = Vec::new();
    for ((cipher, bar, scene), walls) in scenes.iter().zip(walls) {
        let (walls, cpus): (Vec<f64>, Vec<f64>) =
            walls.into_iter().map(|(wall, cpu)| (median(wall), median(cpu))).unzip();
        let mean = |seconds: &[f64]| seconds.iter().sum::<f64>() / seconds.len() as f64;
        let each: Vec<String> = scene
            .plan
            .scenario
            .schemes
            .iter()
            .zip(&walls)
            .map(|(scheme, wall)| format!("{} {:.0}", scheme.name, scene.seconds() / wall))
            .collect();
        figures.push(Figure {
            bar: format!("players.{cipher}"),
            ours: scene.seconds() / mean(&walls),
            peer: None,
            unit: "x real time",
            rule: Rule::AtLeast(*bar),
            note: format!(
                "{:.0} s of the story on one core, virtual over the mean wall time of the \
                 schemes, medians; each: {}; over processor time {:.0}",
                scene.seconds(),
                each.join(", "),
                scene.seconds() / mean(&cpus)
            ),
        });
    }
    Ok(figures)
}
