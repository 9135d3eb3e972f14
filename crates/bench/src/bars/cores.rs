//! Many runs: does a second core bring what it should?

use airlane_sim::plan::RunKey;
use airlane_sim::pool::available_cores;

use crate::bar::{Figure, Problem, Rule, Setting, median};
use crate::clock::Watch;
use crate::scene::Scene;

/// Runs at once: so many that an uneven end does not show.
const RUNS: u64 = 16;

pub(super) fn measure(setting: &Setting) -> Result<Vec<Figure>, Problem> {
    if available_cores() < 2 {
        return Err(Problem::Skipped("it takes two cores".into()));
    }
    let scene = Scene::embedded("four-viewers", &[])?;
    let runs = if setting.quick { 4 } else { RUNS };
    let keys: Vec<RunKey> = (1..=runs).map(|seed| RunKey { case: 0, scheme: 0, seed }).collect();
    let (mut one, mut two) = (Vec::new(), Vec::new());
    for _ in 0..setting.rounds(3) {
        for (jobs, walls) in [(1, &mut one), (2, &mut two)] {
            let watch = Watch::start();
            scene.run_all(&keys, jobs)?;
            walls.push(watch.elapsed().as_secs_f64());
        }
    }
    let (one, two) = (median(one), median(two));
    Ok(vec![Figure {
        bar: "cores".into(),
        ours: one / two,
        peer: None,
        unit: "x",
        rule: Rule::AtLeast(1.7),
        note: format!(
            "wall time of {runs} runs of four viewers under Cubic, one world at a time \
             ({one:.2} s) over two ({two:.2} s), medians"
        ),
    }])
}
