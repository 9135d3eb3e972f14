//! Speed: packets per second of one Cubic flow, beside the fastest ns-3 that can be had.

use airlane_scenario::Cipher;

use super::peers::{HOW, Peers, Rates};
use crate::bar::{Figure, Problem, Rule, Setting};
use crate::scene::{ONE_FLOW, Scene};

pub(super) fn measure(setting: &Setting) -> Result<Vec<Figure>, Problem> {
    let null = Scene::own(ONE_FLOW, &[])?;
    let tls = Scene::own(ONE_FLOW, &[])?.sealed_with(Cipher::Tls);
    let mut peers = Peers::prepare(setting, &null.plan.scenario, &[])?;
    let (mut with_null, mut with_tls) = (Rates::default(), Rates::default());
    let once = |scene: &Scene, rates: &mut Rates| -> Result<(), Problem> {
        let run = scene.run_seed(1)?;
        rates.add(run.packets_per_s(), run.packets_per_cpu_s());
        Ok(())
    };
    for _ in 0..setting.rounds(5) {
        once(&null, &mut with_null)?;
        peers.round()?;
        once(&tls, &mut with_tls)?;
    }
    let one = |cipher: &str, ours: &Rates, times: f64, note: String| Figure {
        bar: format!("speed.{cipher}"),
        ours: ours.wall(),
        peer: peers.fastest().map(Rates::wall),
        unit: "packets/s",
        rule: Rule::TimesPeer(times),
        note: note + &peers.by_cpu(ours),
    };
    Ok(vec![
        one("tls", &with_tls, 3.0, HOW.to_owned() + &peers.each()),
        one("null", &with_null, 4.5, "the same with the null cipher; the aim is 5.5 x".into()),
    ])
}
