//! A scenario, ready to be run and timed.

use std::path::Path;
use std::time::Duration;

use airlane_link::thread_cpu;
use airlane_scenario::{Cipher, Scenario};
use airlane_sim::Common;
use airlane_sim::LabError;
use airlane_sim::plan::{Plan, RunKey};
use airlane_sim::pool::{self, Job, StopFlag};
use airlane_sim::workload::Caches;
use airlane_sim::world::{self, Options, RunOutput};

use crate::clock::Watch;

/// One flow over one link: what every simulator can do.
pub(crate) const ONE_FLOW: (&str, &str) = ("one-flow", include_str!("../scenes/one-flow.toml"));
/// As many flows as one likes.
pub(crate) const MANY_FLOWS: (&str, &str) =
    ("many-flows", include_str!("../scenes/many-flows.toml"));

/// One transfer over the air of a WiFi.
pub(crate) const AIR: (&str, &str) = ("air", include_str!("../scenes/air.toml"));

/// Many sessions under Minerva.
pub(crate) const SESSIONS: (&str, &str) = ("sessions", include_str!("../scenes/sessions.toml"));

/// A scenario with all that its runs need: reading it is not what is timed.
pub(crate) struct Scene {
    pub(crate) plan: Plan,
    stocks: Caches,
}

/// A run and how long it took.
pub(crate) struct Timed {
    pub(crate) output: RunOutput,
    pub(crate) wall: Duration,
    /// Processor time; where the system does not tell it, the same.
    pub(crate) cpu: Duration,
}

impl Timed {
    /// IP packets that the network handed over, data and acknowledgements: all that hosts sent but
    /// what the links dropped.
    pub(crate) fn packets(&self) -> u64 {
        let dropped = self.output.ways.iter().map(|way| way.counters.dropped_total().0);
        self.output.packets - dropped.sum::<u64>()
    }

    /// Of these, per second of the wall clock.
    pub(crate) fn packets_per_s(&self) -> f64 {
        self.packets() as f64 / self.wall.as_secs_f64()
    }

    /// Of these, per second of the processor: what a quiet machine would show.
    pub(crate) fn packets_per_cpu_s(&self) -> f64 {
        self.packets() as f64 / self.cpu.as_secs_f64()
    }
}

impl Scene {
    /// One of the bench's own.
    pub(crate) fn own((name, text): (&str, &str), set: &[String]) -> Result<Self, LabError> {
        Self::new(Scenario::from_bytes(
            airlane_lab::registry().scenarios(),
            text.as_bytes(),
            Path::new(name),
            set,
        )?)
    }

    /// One that comes with Airlane.
    pub(crate) fn embedded(name: &str, set: &[String]) -> Result<Self, LabError> {
        Self::new(Scenario::from_file(airlane_lab::registry().scenarios(), Path::new(name), set)?)
    }

    fn new(scenario: Scenario) -> Result<Self, LabError> {
        let plan = Plan::new(scenario, &Common::default())?;
        let stocks = Caches::of_plan(&plan)?;
        Ok(Self { plan, stocks })
    }

    /// The same scene with another cipher.
    pub(crate) fn sealed_with(mut self, cipher: Cipher) -> Self {
        self.plan.scenario.transport.cipher = cipher;
        self
    }

    /// Virtual seconds of a run.
    pub(crate) fn seconds(&self) -> f64 {
        self.plan.scenario.duration.as_secs_f64()
    }

    /// One run, on one core.
    pub(crate) fn run(&self, key: RunKey) -> Result<Timed, LabError> {
        let mut all = self.run_all(&[key], 1)?;
        Ok(all.remove(0))
    }

    /// The first of the scene's runs, with this seed.
    pub(crate) fn run_seed(&self, seed: u64) -> Result<Timed, LabError> {
        self.run(RunKey { case: 0, scheme: 0, seed })
    }

    /// Several runs over so many cores, in the order of the keys.
    pub(crate) fn run_all(&self, keys: &[RunKey], jobs: usize) -> Result<Vec<Timed>, LabError> {
        let stop = StopFlag::default();
        let job = |&key: &RunKey| Job {
            label: self.plan.label(key),
            seed: key.seed,
            command: "make bench".to_owned(),
            units: 1,
            work: Box::new(move |ticket: &pool::Ticket<'_>| {
                let (watch, cpu) = (Watch::start(), thread_cpu());
                let options = Options::default();
                let output = world::run(&self.plan, &self.stocks, key, &options, ticket)?;
                let wall = watch.elapsed();
                let cpu = thread_cpu().zip(cpu).map_or(wall, |(end, start)| end - start);
                Ok(Timed { output, wall, cpu })
            }) as pool::Work<'_, Timed>,
        };
        let done = pool::run(keys.iter().map(job).collect(), jobs, "runs", &stop, &());
        match done.error {
            Some(error) => Err(error),
            None => Ok(done.results.into_iter().flatten().collect()),
        }
    }
}
