//! Speed: packets per second of one Cubic flow, beside the fastest ns-3 that can be had.

use airlane_lab::scenario::Cipher;

use crate::bar::{Figure, Problem, Rule, Setting, median};
use crate::ns3::{Build, Builds};
use crate::output::figure;
use crate::scene::{ONE_FLOW, Scene, Timed};

/// Packets per second in each round.
#[derive(Clone, Debug, Default)]
struct Rates {
    /// Of the wall clock.
    wall: Vec<f64>,
    /// Of the processor.
    cpu: Vec<f64>,
}

impl Rates {
    fn add(&mut self, run: &Timed) {
        self.wall.push(run.packets_per_s());
        self.cpu.push(run.packets_per_cpu_s());
    }

    fn wall(&self) -> f64 {
        median(self.wall.iter().copied())
    }

    fn cpu(&self) -> f64 {
        median(self.cpu.iter().copied())
    }
}

/// A build of the peer, what one run of it hands over, and how fast it did.
struct Peer<'a> {
    build: &'a Build,
    packets: f64,
    rates: Rates,
}

pub(super) fn measure(setting: &Setting) -> Result<Vec<Figure>, Problem> {
    // Without a peer ours is shown all the same.
    let (builds, missing) = match Builds::make(setting) {
        Ok(builds) => (builds.all().to_vec(), builds.missing()),
        Err(problem) => (Vec::new(), problem.to_string()),
    };
    let null = Scene::own(ONE_FLOW, &[])?;
    let tls = Scene::own(ONE_FLOW, &[])?.sealed_with(Cipher::Tls);
    let mut peers = Vec::new();
    for build in &builds {
        // Counting costs time, and a run repeats to the packet: count once, then time.
        let counted = build.run(&null.plan.scenario, &["--count=1"])?;
        let packets = counted.counts.map_or(f64::NAN, |c| c.packets() as f64);
        peers.push(Peer { build, packets, rates: Rates::default() });
    }
    let (mut with_null, mut with_tls) = (Rates::default(), Rates::default());
    for _ in 0..setting.rounds(5) {
        with_null.add(&null.run_seed(1)?);
        for peer in &mut peers {
            let run = peer.build.run(&null.plan.scenario, &[])?;
            peer.rates.wall.push(peer.packets / run.wall_s);
            peer.rates.cpu.push(peer.packets / run.cpu_s);
        }
        with_tls.add(&tls.run_seed(1)?);
    }
    let fastest = peers.iter().max_by(|a, b| a.rates.wall().total_cmp(&b.rates.wall()));
    let one = |cipher: &str, ours: &Rates, times: f64, note: String| {
        let by_cpu = fastest.map_or_else(String::new, |peer| {
            let (ours, peer) = (ours.cpu(), peer.rates.cpu());
            let (a, b) = (figure(ours), figure(peer));
            format!("; per second of processor time {a} and {b}: {:.2} x", ours / peer)
        });
        Figure {
            bar: format!("speed.{cipher}"),
            ours: ours.wall(),
            peer: fastest.map(|p| p.rates.wall()),
            unit: "packets/s",
            rule: Rule::TimesPeer(times),
            note: note + &by_cpu,
        }
    };
    Ok(vec![
        one("tls", &with_tls, 3.0, how(&peers, &missing)),
        one("null", &with_null, 4.5, "the same with the null cipher; the aim is 5.5 x".into()),
    ])
}

/// How it was measured, and what each build reached.
fn how(peers: &[Peer<'_>], missing: &str) -> String {
    let mut note = String::from(
        "IP packets handed over, data and acknowledgements, over the wall time of the run alone; \
         ours and ns-3 in turn, medians",
    );
    for Peer { build, rates, .. } in peers {
        note.push_str(&format!("; {} {}", build.name(), figure(rates.wall())));
    }
    if !peers.is_empty() {
        note.push_str("; the fastest is the peer");
    }
    if !missing.is_empty() {
        note.push_str(&format!("; left out: {missing}"));
    }
    note
}
