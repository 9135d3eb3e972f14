//! Many flows beside as many of ns-3's.

use super::{FLOWS, in_a_child, scene};
use crate::bar::{Figure, Problem, Rule, Setting};
use crate::bars::peers::{HOW, Peers, Rates};

/// Pairs of hosts at which ns-3 is fastest; 0 is two nodes and no routers. Between two nodes every
/// packet waits for a scan over all the sockets of its host; with pairs the scans are short, but
/// each packet takes three hops. Packets per second of processor time with pairs, over those of two
/// nodes: with 8 flows 0.6 (1, 3 and 8 pairs), with 80 0.7 (3), 0.6 (9 and 20), with 800 1.3 (10),
/// 1.4 (16), 1.3 (28), 0.9 (80).
const PAIRS: [usize; FLOWS.len()] = [0, 0, 16];
/// Virtual seconds, ours and the peer's. With 800 flows the peer takes a minute for five.
const SECONDS: [u64; FLOWS.len()] = [20, 20, 5];

pub(super) fn measure(setting: &Setting) -> Result<Vec<Figure>, Problem> {
    let mut figures = Vec::new();
    for ((flows, pairs), seconds) in FLOWS.into_iter().zip(PAIRS).zip(SECONDS) {
        let seconds = if setting.quick { 1 } else { seconds };
        let theirs = scene(flows, flows, seconds)?;
        let options = [format!("--flows={flows}"), format!("--pairs={pairs}")];
        let mut peers = Peers::prepare(setting, &theirs.plan.scenario, &options)?;
        let mut ours = Rates::default();
        for _ in 0..setting.rounds(3) {
            let cost = in_a_child(flows, flows, seconds)?;
            ours.add(cost.packets_per_s, cost.packets_per_cpu_s);
            peers.round()?;
        }
        let layout = match pairs {
            0 => "all between two nodes".to_owned(),
            pairs => format!("over {pairs} pairs of hosts behind routers"),
        };
        figures.push(Figure {
            bar: format!("scale.{flows}"),
            ours: ours.wall(),
            peer: peers.fastest().map(Rates::wall),
            unit: "packets/s",
            rule: Rule::TimesPeer(3.0),
            note: format!(
                "{flows} Cubic flows that start at once, {seconds} s; {HOW}; in ns-3 {layout}, \
                 its faster way with so many{}{}",
                peers.each(),
                peers.by_cpu(&ours)
            ),
        });
    }
    Ok(figures)
}
