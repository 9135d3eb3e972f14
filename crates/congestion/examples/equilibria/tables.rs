//! The tables.

use std::time::Duration;

use airlane_base::{Seed, Time};
use airlane_congestion::{ControllerConfig, WeightRule};

use crate::Effort;
use crate::harness::{AckPolicy, Discipline, Flow, OnOff, Outcome, PACKET_BYTES, Scene, run};

/// A bottleneck in front of flows of the given weights.
#[derive(Clone)]
struct Case {
    weights: Vec<f64>,
    rule: WeightRule,
    /// Packets of bandwidth-delay product per unit of weight.
    unit: f64,
    rtt_ms: u64,
    queue: Queue,
    seconds: f64,
    acks: AckPolicy,
    /// Each flow's own round trip over `rtt_ms`.
    rtt_factors: Vec<f64>,
    /// Pauses, with a phase per flow.
    pauses: Option<(Duration, Duration)>,
    jitter: f64,
}

#[derive(Clone, Copy, PartialEq)]
enum Queue {
    Bdp(f64),
    Pie,
}

impl Queue {
    const ALL: [Self; 3] = [Self::Bdp(1.0), Self::Bdp(1.5), Self::Pie];

    fn name(self) -> String {
        match self {
            Self::Bdp(x) => format!("droptail {x} BDP"),
            Self::Pie => "PIE".to_owned(),
        }
    }
}

impl Case {
    fn new(weights: &[f64], unit: f64, rtt_ms: u64, queue: Queue) -> Self {
        Self {
            weights: weights.to_vec(),
            rule: WeightRule::Synchronised,
            unit,
            rtt_ms,
            queue,
            seconds: 300.0,
            acks: AckPolicy::EVERY_SECOND,
            rtt_factors: vec![1.0; weights.len()],
            pauses: None,
            jitter: 3.0,
        }
    }

    fn config(&self, weight: f64) -> ControllerConfig {
        ControllerConfig { weight_rule: Some(self.rule), ..ControllerConfig::cubic(weight) }
    }

    fn flows(&self, seed: Seed) -> Vec<Flow> {
        let rtt = Duration::from_millis(self.rtt_ms);
        let each = self.weights.iter().zip(&self.rtt_factors).enumerate();
        let flows = each.map(|(i, (&weight, &factor))| {
            let seed = seed.index(i as u64);
            let controller = self.config(weight).build(Time::ZERO, PACKET_BYTES, seed);
            let mut flow = Flow::new(controller, rtt.mul_f64(factor));
            flow.acks = self.acks;
            flow.start = Time::from_millis(seed.0 % 500);
            flow.on_off = self.pauses.map(|(on, off)| OnOff {
                on,
                off,
                phase: (on + off).mul_f64((seed.0 >> 32) as f64 / f64::from(u32::MAX)),
            });
            flow
        });
        flows.collect()
    }

    fn scene(&self, effort: Effort, seed: Seed) -> Scene {
        let bdp = self.unit * self.weights.iter().sum::<f64>();
        let service = Duration::from_secs_f64(self.rtt_ms as f64 / 1e3 / bdp);
        let discipline = match self.queue {
            Queue::Bdp(x) => Discipline::DropTail((x * bdp).round() as usize),
            Queue::Pie => Discipline::Pie((20.0 * bdp) as usize),
        };
        let duration = Duration::from_secs_f64(self.seconds * effort.time);
        let warmup = duration.mul_f64(0.1).max(Duration::from_secs(10));
        Scene { discipline, service, jitter: self.jitter, duration, warmup, seed }
    }

    fn run(&self, effort: Effort, seed: u64) -> Outcome {
        let seed = Seed(seed);
        run(&self.scene(effort, seed), self.flows(seed))
    }

    /// Per-weight rate of the flows in `some` over that of the flows in `others`, times what
    /// `some` weigh over what `others` do: by seeds.
    fn ratios(&self, effort: Effort, some: &[usize], others: &[usize]) -> Vec<f64> {
        let seeds = 1..=effort.seeds;
        let ratio = |seed| {
            let out = self.run(effort, seed);
            let mean = |ids: &[usize]| {
                let sum: u64 = ids.iter().map(|&i| out.flows[i].packets).sum();
                sum as f64 / ids.len() as f64
            };
            mean(some) / mean(others)
        };
        seeds.map(ratio).collect()
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn spread(values: &[f64]) -> String {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(0.0, f64::max);
    format!("{:.2} ({low:.2}-{high:.2})", mean(values))
}

fn header(title: &str, columns: &[String]) {
    println!("\n### {title}\n");
    println!("| {} |", columns.join(" | "));
    println!("|{}", "---|".repeat(columns.len()));
}

/// Two flows of weight w and two plain ones.
fn ratio_cells(case: impl Fn(f64, f64, u64, Queue) -> Case, effort: Effort, units: &[f64]) {
    let mut columns = vec!["wanted".to_owned()];
    for rtt in [20, 100] {
        columns.extend(Queue::ALL.map(|q| format!("{}, {rtt} ms", q.name())));
    }
    let list: Vec<_> = units.iter().map(|u| format!("{u}")).collect();
    header(
        &format!("two flows of weight w over two plain ones, {} packets per unit", list.join("/")),
        &columns,
    );
    for w in [1.0, 2.0, 3.0, 5.0, 0.5] {
        let mut row = vec![format!("{w}")];
        for rtt in [20, 100] {
            for queue in Queue::ALL {
                let cell = units.iter().map(|&unit| {
                    let ratios = case(w, unit, rtt, queue).ratios(effort, &[0, 1], &[2, 3]);
                    format!("{:.2}", mean(&ratios))
                });
                row.push(cell.collect::<Vec<_>>().join("/"));
            }
        }
        println!("| {} |", row.join(" | "));
    }
}

fn pair(w: f64, unit: f64, rtt: u64, queue: Queue) -> Case {
    Case::new(&[w, w, 1.0, 1.0], unit, rtt, queue)
}

pub fn ratios(effort: Effort) {
    ratio_cells(pair, effort, &[4.0, 10.0, 40.0]);
}

pub fn long(effort: Effort) {
    let case = |w, unit, rtt, queue| Case {
        // The same number of packets at both round trips, and at least ten epochs.
        seconds: if rtt == 20 { 120.0 } else { 300.0 },
        ..pair(w, unit, rtt, queue)
    };
    ratio_cells(case, effort, &[400.0]);
}

pub fn textbook(effort: Effort) {
    let case =
        |w, unit, rtt, queue| Case { rule: WeightRule::Textbook, ..pair(w, unit, rtt, queue) };
    ratio_cells(case, effort, &[4.0, 10.0, 40.0]);
}
pub fn crowd(_effort: Effort) {}
pub fn changing(_effort: Effort) {}
pub fn small(_effort: Effort) {}
pub fn variations(_effort: Effort) {}
pub fn bbr(_effort: Effort) {}
