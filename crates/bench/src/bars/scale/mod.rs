//! Many flows: do packets per second hold, and what does a flow take in memory?

mod beside;

use airlane_lab::workloads::bulk;
use airlane_sim::LabError;
use airlane_sim::world::FlowSample;
use serde::{Deserialize, Serialize};

use crate::bar::{Figure, Problem, Rule, Setting, median};
use crate::output::figure;
use crate::process::{Usage, run_child};
use crate::scene::{MANY_FLOWS, Scene};

const FLOWS: [usize; 3] = [8, 80, 800];
const RATE_BPS: f64 = 2.5e6;
/// A packet in five seconds.
const QUIET_BPS: f64 = 2e3;

/// Cost of one run of so many flows, told by the process that ran it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Cost {
    packets: u64,
    packets_per_s: f64,
    packets_per_cpu_s: f64,
    /// Most memory that the process had resident.
    peak_bytes: u64,
    /// Mean over the flows and the second half of the run.
    in_flight_bytes: f64,
}

/// So many flows for so many seconds. Those at work fill the link; the others keep their
/// connections.
fn scene(flows: usize, at_work: usize, seconds: u64) -> Result<Scene, LabError> {
    let mut set = vec![
        format!("bulk.0.count={at_work}"),
        format!("link.rate_bps={}", RATE_BPS * flows as f64),
        format!("duration_s={seconds}"),
    ];
    let mut text = MANY_FLOWS.1.to_owned();
    if at_work < flows {
        text.push_str("[[bulk]]\nname = \"quiet\"\ncontroller = \"explicit\"\n");
        text.push_str(&format!("rate_bps = {QUIET_BPS:?}\n"));
        set.push(format!("bulk.1.count={}", flows - at_work));
    }
    Scene::own((MANY_FLOWS.0, &text), &set)
}

/// Runs such a scene in this process, which should do nothing else.
pub(crate) fn child(flows: usize, at_work: usize, seconds: u64) -> Result<Cost, Problem> {
    let run = scene(flows, at_work, seconds)?.run_seed(1)?;
    if let Some(failed) = bulk::Output::of(&run.output).iter().find_map(|b| b.failure.as_ref()) {
        return Err(Problem::Broke(failed.clone()));
    }
    let late: Vec<f64> = bulk::Output::of(&run.output)
        .iter()
        .flat_map(|b| &b.samples[b.samples.len() / 2..])
        .map(|s: &FlowSample| s.sent_bytes.saturating_sub(s.acked_bytes + s.lost_bytes) as f64)
        .collect();
    Ok(Cost {
        packets: run.packets(),
        packets_per_s: run.packets_per_s(),
        packets_per_cpu_s: run.packets_per_cpu_s(),
        peak_bytes: Usage::own()?.peak_bytes,
        in_flight_bytes: late.iter().sum::<f64>() / late.len() as f64,
    })
}

pub(super) fn measure(setting: &Setting) -> Result<Vec<Figure>, Problem> {
    let seconds = if setting.quick { 2 } else { 20 };
    let mut costs: [Vec<Cost>; FLOWS.len()] = Default::default();
    let mut few_of_many = Vec::new();
    for _ in 0..setting.rounds(3) {
        for (flows, costs) in FLOWS.iter().zip(&mut costs) {
            costs.push(in_a_child(*flows, *flows, seconds)?);
        }
        few_of_many.push(in_a_child(FLOWS[2], FLOWS[0], seconds)?);
    }
    let middle = |costs: &[Cost], of: fn(&Cost) -> f64| median(costs.iter().map(of));
    let rates: Vec<f64> = costs.iter().map(|c| middle(c, |c| c.packets_per_s)).collect();
    let peaks: Vec<f64> = costs.iter().map(|c| middle(c, |c| c.peak_bytes as f64)).collect();
    let in_flight = middle(&costs[2], |c| c.in_flight_bytes);
    let per_flow = (peaks[2] - peaks[0]) / (FLOWS[2] - FLOWS[0]) as f64;
    let mib = |bytes: f64| format!("{:.1}", bytes / f64::from(1 << 20));
    let kib = |bytes: f64| bytes / 1024.0;
    let mut figures = vec![
        Figure {
            bar: "scale.speed".into(),
            ours: rates[2] / rates[0],
            peer: None,
            unit: "of 8 flows' rate",
            rule: Rule::AtLeast(0.5),
            note: format!(
                "Cubic flows on a link of 2.5 Mbit/s per flow, {seconds} s from the first \
                 handshake on, null cipher, one core, medians; packets/s with 8, 80, 800 flows: \
                 {}; with 800 of which 8 fill the link, the others sending a packet in five \
                 seconds: {}",
                rates.iter().map(|r| figure(*r)).collect::<Vec<_>>().join(", "),
                figure(middle(&few_of_many, |c| c.packets_per_s))
            ),
        },
        Figure {
            bar: "scale.memory".into(),
            ours: kib(per_flow - in_flight),
            peer: None,
            unit: "KiB/flow",
            rule: Rule::AtMost(200.0),
            note: format!(
                "a process per run: peak resident memory at 800 flows ({} MiB) less that at 8 \
                 ({} MiB), over 792, less {:.1} KiB in flight; both ends, the network and the \
                 run's samples included",
                mib(peaks[2]),
                mib(peaks[0]),
                kib(in_flight)
            ),
        },
    ];
    figures.extend(beside::measure(setting)?);
    Ok(figures)
}

fn in_a_child(flows: usize, at_work: usize, seconds: u64) -> Result<Cost, Problem> {
    run_child(&[
        format!("--child-flows={flows}"),
        format!("--child-at-work={at_work}"),
        format!("--child-seconds={seconds}"),
    ])
}
