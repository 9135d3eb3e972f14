//! The tables of weighted Cubic.

use std::time::Duration;

use airlane_base::{Seed, Time};
use airlane_congestion::pacer::BURST_PACKETS;
use airlane_congestion::{ControllerConfig, CubicConfig, WeightRule};
use rand::seq::SliceRandom;

use crate::harness::{AckPolicy, Discipline, Flow, OnOff, Outcome, PACKET_BYTES, Scene, run};

/// How often weights change where they do.
const SHUFFLE_S: f64 = 0.5;

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
    /// Share of the time that is left out at first.
    warmup: f64,
    acks: AckPolicy,
    /// Each flow's own round trip over `rtt_ms`.
    rtt_factors: Vec<f64>,
    /// Pauses, with a phase per flow.
    pauses: Option<(Duration, Duration)>,
    jitter: f64,
    /// Packets that pacers let go at once after a pause.
    burst: f64,
    /// Shuffles the weights of the first so many flows among them every half second.
    shuffled: usize,
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
            // Epochs last by packets: fewer seconds hold as many at the short round trip.
            seconds: if rtt_ms < 100 { 150.0 } else { 300.0 },
            warmup: 0.1,
            acks: AckPolicy::EVERY_SECOND,
            rtt_factors: vec![1.0; weights.len()],
            pauses: None,
            jitter: 3.0,
            burst: BURST_PACKETS,
            shuffled: 0,
        }
    }

    fn config(&self, weight: f64) -> ControllerConfig {
        ControllerConfig::Cubic(CubicConfig { weight, rule: self.rule, ..CubicConfig::default() })
    }

    fn flows(&self, seed: Seed) -> Vec<Flow> {
        let rtt = Duration::from_millis(self.rtt_ms);
        let each = self.weights.iter().zip(&self.rtt_factors).enumerate();
        let changes = self.changes(seed);
        let flows = each.map(|(i, (&weight, &factor))| {
            let seed = seed.index(i as u64);
            let controller = self.config(weight).build(Time::ZERO, PACKET_BYTES, seed);
            let mut flow = Flow::new(controller, rtt.mul_f64(factor));
            flow.acks = self.acks;
            flow.burst = self.burst;
            flow.start = Time::from_millis(seed.0 % 500);
            flow.on_off = self.pauses.map(|(on, off)| OnOff {
                on,
                off,
                phase: (on + off).mul_f64((seed.0 >> 32) as f64 / f64::from(u32::MAX)),
            });
            flow.weights = changes.iter().map(|(at, now)| (*at, now[i])).collect();
            flow
        });
        flows.collect()
    }

    /// All weights, every half second, where they change.
    fn changes(&self, seed: Seed) -> Vec<(Time, Vec<f64>)> {
        let mut rng = seed.split("weights").rng();
        let mut weights = self.weights.clone();
        let times = if self.shuffled > 0 { 1..(self.seconds / SHUFFLE_S) as u64 } else { 0..0 };
        let each = times.map(|i| {
            weights[..self.shuffled].shuffle(&mut rng);
            (Time::from_secs_f64(i as f64 * SHUFFLE_S), weights.clone())
        });
        each.collect()
    }

    fn scene(&self, seed: Seed) -> Scene {
        let bdp = self.unit * self.weights.iter().sum::<f64>();
        let service = Duration::from_secs_f64(self.rtt_ms as f64 / 1e3 / bdp);
        let discipline = match self.queue {
            Queue::Bdp(x) => Discipline::DropTail((x * bdp).round() as usize),
            Queue::Pie => Discipline::Pie((20.0 * bdp) as usize),
        };
        let duration = Duration::from_secs_f64(self.seconds);
        let warmup = duration.mul_f64(self.warmup).max(Duration::from_secs(10));
        Scene { discipline, service, jitter: self.jitter, duration, warmup, seed }
    }

    fn run(&self, seed: u64) -> Outcome {
        let seed = Seed(seed);
        run(&self.scene(seed), self.flows(seed))
    }

    /// Per-weight rate of the flows in `some` over that of the flows in `others`, times what
    /// `some` weigh over what `others` do: by seeds.
    fn ratios(&self, seeds: u64, some: &[usize], others: &[usize]) -> Vec<f64> {
        let ratio = |seed| {
            let out = self.run(seed);
            let mean = |ids: &[usize]| {
                let sum: u64 = ids.iter().map(|&i| out.flows[i].packets).sum();
                sum as f64 / ids.len() as f64
            };
            mean(some) / mean(others)
        };
        (1..=seeds).map(ratio).collect()
    }
}

pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

pub fn spread(values: &[f64]) -> String {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(0.0, f64::max);
    format!("{:.2} ({low:.2}-{high:.2})", mean(values))
}

pub fn header(title: &str, columns: &[String]) {
    println!("\n### {title}\n");
    println!("| {} |", columns.join(" | "));
    println!("|{}", "---|".repeat(columns.len()));
}

/// Two flows of weight w and two plain ones.
fn ratio_cells(
    case: impl Fn(f64, f64, u64, Queue) -> Case,
    seeds: u64,
    units: &[f64],
    rtts: &[u64],
) {
    let columns = queue_columns("wanted", rtts);
    let list: Vec<_> = units.iter().map(|u| format!("{u}")).collect();
    header(
        &format!("flows of weight w over as many plain ones, {} packets per unit", list.join("/")),
        &columns,
    );
    for w in [1.0, 2.0, 3.0, 5.0, 0.5] {
        let mut row = vec![format!("{w}")];
        for &rtt in rtts {
            for queue in Queue::ALL {
                let cell = units.iter().map(|&unit| {
                    let case = case(w, unit, rtt, queue);
                    let all: Vec<usize> = (0..case.weights.len()).collect();
                    let (weighted, plain) = all.split_at(all.len() / 2);
                    format!("{:.2}", mean(&case.ratios(seeds, weighted, plain)))
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

pub fn ratios(seeds: u64) {
    ratio_cells(pair, seeds, &[4.0, 10.0, 40.0], &[20, 100]);
}

pub fn long(seeds: u64) {
    // Cubic forgets its start within some thirty epochs, and these last ten seconds.
    let case = |w, unit, rtt, queue| Case {
        seconds: 800.0,
        warmup: 0.5,
        ..Case::new(&[w, 1.0], unit, rtt, queue)
    };
    ratio_cells(case, seeds, &[400.0], &[100]);
}

pub fn textbook(seeds: u64) {
    let case =
        |w, unit, rtt, queue| Case { rule: WeightRule::Textbook, ..pair(w, unit, rtt, queue) };
    ratio_cells(case, seeds, &[4.0, 10.0, 40.0], &[20, 100]);
}

/// Share of the link that the first `count` flows of each seed took.
fn shares(case: &Case, seeds: u64, count: usize) -> Vec<f64> {
    let share = |seed| {
        let out = case.run(seed);
        let packets: Vec<_> = out.flows.iter().map(|f| f.packets as f64).collect();
        packets[..count].iter().sum::<f64>() / packets.iter().sum::<f64>()
    };
    (1..=seeds).map(share).collect()
}

fn queue_columns(first: &str, rtts: &[u64]) -> Vec<String> {
    let mut columns = vec![first.to_owned()];
    for rtt in rtts {
        columns.extend(Queue::ALL.map(|q| format!("{}, {rtt} ms", q.name())));
    }
    columns
}

/// Weighted flows beside plain ones of the same sum.
pub fn crowd(seeds: u64) {
    header(
        "share of weighted flows beside as many plain ones, 10/40 packets per unit",
        &queue_columns("weights beside plain", &[20, 100]),
    );
    let sets: [(&[f64], usize); 5] = [
        (&[0.5, 0.8, 1.2, 1.5], 4),
        (&[1.0, 3.0], 4),
        (&[0.5, 3.0, 0.5, 2.0], 6),
        (&[0.5, 0.5, 0.5, 0.5], 2),
        (&[10.0], 10),
    ];
    for (set, plain) in sets {
        let mut weights = set.to_vec();
        weights.resize(set.len() + plain, 1.0);
        let mut row = vec![format!("{set:?} beside {plain}")];
        for rtt in [20, 100] {
            for queue in Queue::ALL {
                let cell = [10.0, 40.0].map(|unit| {
                    let case = Case::new(&weights, unit, rtt, queue);
                    format!("{:.3}", mean(&shares(&case, seeds, set.len())))
                });
                row.push(cell.join("/"));
            }
        }
        println!("| {} |", row.join(" | "));
    }
}

/// Slope of the logarithm of a flow's rate over that of its weight: rates are taken from the
/// last 300 ms of each half second.
fn slope(case: &Case, out: &Outcome, seed: u64) -> f64 {
    let (mut xy, mut xx) = (0.0, 0.0);
    for (at, weights) in case.changes(Seed(seed)).iter().skip(20) {
        let bin = (at.as_nanos() / 100_000_000) as usize;
        let rate = |i: usize| {
            let bins = out.flows[i].bins.get(bin + 2..bin + 5).unwrap_or(&[]);
            f64::from(bins.iter().sum::<u32>().max(1)).ln()
        };
        let ids = 0..case.shuffled;
        let mean_rate = ids.clone().map(rate).sum::<f64>() / case.shuffled as f64;
        let mean_weight =
            weights[..case.shuffled].iter().map(|w| w.ln()).sum::<f64>() / case.shuffled as f64;
        for i in ids {
            let x = weights[i].ln() - mean_weight;
            xy += x * (rate(i) - mean_rate);
            xx += x * x;
        }
    }
    xy / xx
}

/// Weights that change every half second.
pub fn changing(seeds: u64) {
    header(
        "weights shuffled every 0.5 s, 10/40 packets per unit: share (slope of rate over weight)",
        &queue_columns("weights beside plain", &[20, 100]),
    );
    for set in [[0.5, 0.8, 1.2, 1.5], [0.5, 0.5, 1.0, 2.0]] {
        let mut weights = set.to_vec();
        weights.resize(8, 1.0);
        let mut row = vec![format!("{set:?} beside 4")];
        for rtt in [20, 100] {
            for queue in Queue::ALL {
                let cell = [10.0, 40.0].map(|unit| {
                    let case = Case { shuffled: 4, ..Case::new(&weights, unit, rtt, queue) };
                    let (mut share, mut slopes) = (Vec::new(), Vec::new());
                    for seed in 1..=seeds {
                        let out = case.run(seed);
                        let of = |r: std::ops::Range<usize>| {
                            out.flows[r].iter().map(|f| f.packets).sum::<u64>() as f64
                        };
                        share.push(of(0..4) / of(0..8));
                        slopes.push(slope(&case, &out, seed));
                    }
                    format!("{:.3} ({:.2})", mean(&share), mean(&slopes))
                });
                row.push(cell.join("/"));
            }
        }
        println!("| {} |", row.join(" | "));
    }
}

/// Windows under two packets.
pub fn small(seeds: u64) {
    header(
        "two flows of weight 0.5 over two plain ones at 3/4/6 packets per unit",
        &queue_columns("wanted", &[20, 100]),
    );
    let mut row = vec!["0.5".to_owned()];
    for rtt in [20, 100] {
        for queue in Queue::ALL {
            let cell = [3.0, 4.0, 6.0].map(|unit| {
                let ratios = pair(0.5, unit, rtt, queue).ratios(seeds, &[0, 1], &[2, 3]);
                format!("{:.2}", mean(&ratios))
            });
            row.push(cell.join("/"));
        }
    }
    println!("| {} |", row.join(" | "));
}

/// Changes a case; the durations are those of data and of pauses.
type Variation = fn(&mut Case, (Duration, Duration));

/// Decimated acknowledgements, mixed round trips, pauses, less jitter.
pub fn variations(seeds: u64) {
    let pauses = (Duration::from_millis(3_400), Duration::from_millis(600));
    let variants: [(&str, Variation); 7] = [
        ("as above", |_, _| {}),
        ("acknowledgements of ten", |c, _| c.acks = decimated(c)),
        ("of ten, paced in bursts of ten", |c, _| {
            c.acks = decimated(c);
            c.burst = 10.0;
        }),
        ("round trips 1:2", |c, _| c.rtt_factors = vec![1.0, 2.0, 1.0, 2.0]),
        ("pauses of 0.6 s", |c, pauses| c.pauses = Some(pauses)),
        ("jitter of one packet", |c, _| c.jitter = 1.0),
        ("all but the jitter", |c, pauses| {
            c.acks = decimated(c);
            c.rtt_factors = vec![1.0, 2.0, 1.0, 2.0];
            c.pauses = Some(pauses);
        }),
    ];
    let mut columns = vec!["variation".to_owned(), "wanted".to_owned()];
    columns.extend(Queue::ALL.map(Queue::name));
    header(
        "two flows of weight w over two plain ones, 40 ms, 10/40 packets per unit: mean (least-most)",
        &columns,
    );
    for (name, vary) in variants {
        for w in [1.0, 3.0, 0.5] {
            let mut row = vec![name.to_owned(), format!("{w}")];
            for queue in Queue::ALL {
                let cell = [10.0, 40.0].map(|unit| {
                    let mut case = pair(w, unit, 40, queue);
                    vary(&mut case, pauses);
                    spread(&case.ratios(seeds, &[0, 1], &[2, 3]))
                });
                row.push(cell.join(" / "));
            }
            println!("| {} |", row.join(" | "));
        }
    }
}

fn decimated(case: &Case) -> AckPolicy {
    AckPolicy::decimated(Duration::from_millis(case.rtt_ms))
}
