//! Packets per second of every build of ns-3 in a scene, to be run in turn with ours.

use airlane_scenario::Scenario;

use crate::bar::{Problem, Setting, median};
use crate::ns3::{Build, Builds};
use crate::output::figure;

/// Method of the measurement, for notes.
pub(super) const HOW: &str = "IP packets handed over, data and acknowledgements, over the wall time of the run alone; ours \
     and ns-3 in turn, medians";

/// Packets per second in each round.
#[derive(Clone, Debug, Default)]
pub(super) struct Rates {
    wall: Vec<f64>,
    cpu: Vec<f64>,
}

impl Rates {
    /// A round: packets per second of the wall clock, and of the processor.
    pub(super) fn add(&mut self, wall: f64, cpu: f64) {
        self.wall.push(wall);
        self.cpu.push(cpu);
    }

    /// Of the wall clock.
    pub(super) fn wall(&self) -> f64 {
        median(self.wall.iter().copied())
    }

    /// Of the processor.
    pub(super) fn cpu(&self) -> f64 {
        median(self.cpu.iter().copied())
    }
}

/// A build of the peer, what one run of it hands over, and how fast it did.
struct Peer {
    build: Build,
    packets: f64,
    rates: Rates,
}

/// The builds in one scene.
pub(super) struct Peers<'a> {
    scene: &'a Scenario,
    options: Vec<String>,
    all: Vec<Peer>,
    missing: String,
}

impl<'a> Peers<'a> {
    /// Those that can be had, with further options of the program. Without any, ours can be shown
    /// all the same.
    pub(super) fn prepare(
        setting: &Setting,
        scene: &'a Scenario,
        options: &[String],
    ) -> Result<Self, Problem> {
        let (builds, missing) = match Builds::make(setting) {
            Ok(builds) => (builds.all().to_vec(), builds.missing()),
            Err(problem) => (Vec::new(), problem.to_string()),
        };
        let mut peers = Self { scene, options: options.to_vec(), all: Vec::new(), missing };
        for build in builds {
            // Counting costs time, and a run repeats to the packet: count once, then time.
            let counted = build.run(scene, &[options, &["--count=1".to_owned()]].concat())?;
            let packets = counted.counts.map_or(f64::NAN, |c| c.packets() as f64);
            peers.all.push(Peer { build, packets, rates: Rates::default() });
        }
        Ok(peers)
    }

    /// Each of them once.
    pub(super) fn round(&mut self) -> Result<(), Problem> {
        for Peer { build, packets, rates } in &mut self.all {
            let run = build.run(self.scene, &self.options)?;
            rates.add(*packets / run.wall_s, *packets / run.cpu_s);
        }
        Ok(())
    }

    /// Rates of the fastest, which is the peer.
    pub(super) fn fastest(&self) -> Option<&Rates> {
        let rates = self.all.iter().map(|p| &p.rates);
        rates.max_by(|a, b| a.wall().total_cmp(&b.wall()))
    }

    /// Ours and the peer's by processor time, for a note.
    pub(super) fn by_cpu(&self, ours: &Rates) -> String {
        self.fastest().map_or_else(String::new, |peer| {
            let (ours, peer) = (ours.cpu(), peer.cpu());
            let (a, b) = (figure(ours), figure(peer));
            format!("; per second of processor time {a} and {b}: {:.2} x", ours / peer)
        })
    }

    /// Values that each peer reached, and the peers that are missing, for a note.
    pub(super) fn each(&self) -> String {
        let one = |p: &Peer| format!("; {} {}", p.build.name(), figure(p.rates.wall()));
        let mut note: String = self.all.iter().map(one).collect();
        if !self.all.is_empty() {
            note.push_str("; the fastest is the peer");
        }
        if !self.missing.is_empty() {
            note.push_str(&format!("; left out: {}", self.missing));
        }
        note
    }
}
