//! Fidelity: goodput and mean queue of one Cubic flow, beside ns-3's.

use airlane_lab::workloads::bulk;

use crate::bar::{Figure, Problem, Rule, Setting, median};
use crate::ns3::{Build, Builds, Counts, Run};
use crate::scene::{ONE_FLOW, Scene};

pub(super) fn measure(setting: &Setting) -> Result<Vec<Figure>, Problem> {
    let builds = Builds::make(setting)?;
    let Some(peer) = builds.faithful() else {
        return Err(Problem::Skipped(format!(
            "no ns-3 whose Cubic has the Reno-friendly region (3.40 on): {}",
            builds.missing()
        )));
    };
    let scene = Scene::own(ONE_FLOW, &[])?;
    let (mut goodput, mut queue) = (Vec::new(), Vec::new());
    for seed in 1..=setting.rounds(3) as u64 {
        let run = scene.run_seed(seed)?.output;
        let Some((bulk, link)) = bulk::Output::of(&run).first().zip(run.bottleneck()) else {
            return Err(Problem::Broke("the scene has a transfer and a bottleneck".into()));
        };
        goodput.push(bulk.bytes as f64 * 8.0 / (bulk.end - bulk.start).as_secs_f64() / 1e6);
        queue.push(link.report.mean_queue_packets);
    }
    // It draws nothing: one run is as good as three.
    let (theirs, counts) = counted(peer, &scene, &[])?;
    let (_, proportional) = counted(peer, &scene, &["--recovery=ns3::TcpPrrRecovery"])?;
    let name = peer.name();
    Ok(vec![
        Figure {
            bar: "ns3.goodput".into(),
            ours: median(goodput),
            peer: Some(theirs.goodput_bps / 1e6),
            unit: "Mbit/s",
            rule: Rule::WithinOfPeer(0.02),
            note: format!(
                "application bytes over all 60 s, start-up included on both sides; {name}, \
                 IP packets of 1378 bytes as ours, initial window 10, SACK, an acknowledgement \
                 per two packets, HyStart (ours HyStart++), buffers of 8 MiB"
            ),
        },
        Figure {
            bar: "ns3.queue".into(),
            ours: median(queue),
            peer: Some(counts.mean_queue_packets),
            unit: "packets",
            rule: Rule::WithinOfPeer(0.1),
            note: format!(
                "mean over time of the packets waiting, the one being sent not counted; {name} \
                 with its classic recovery. With its default, the proportional one, {:.1}: in \
                 traces that one enters recovery twice per overflow, why is not proved",
                proportional.mean_queue_packets
            ),
        },
    ])
}

/// A run in which the peer counts.
fn counted(peer: &Build, scene: &Scene, more: &[&str]) -> Result<(Run, Counts), Problem> {
    let mut options = vec!["--count=1"];
    options.extend(more);
    let run = peer.run(&scene.plan.scenario, &options)?;
    match run.counts.clone() {
        Some(counts) => Ok((run, counts)),
        None => Err(Problem::Broke(format!("{} did not count", peer.name()))),
    }
}
