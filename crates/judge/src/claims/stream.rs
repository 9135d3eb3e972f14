//! Streams: where the draws of a claim come from.
//!
//! All random numbers of a claim are split from the set's seed by the name of a stream. A stream
//! for verdicts is called `MIXES/HASH`. The hash covers everything that verdicts on these mixes
//! depend on: rule, number of draws, schemes and complete scenario (with all defaults) of every
//! claim that shares the mixes, and the defaults of the workloads that take part. So a claim whose
//! rule or setting changes gets new draws, which nothing was run on before. Quick runs use
//! `exploration/MIXES`, which never has draws in common with verdicts.
//!
//! The hash is taken over their [identities](airlane_sim::identity), which names of today do not enter.

use airlane_base::{Fnv64, InputError, Seed};

use super::spec::{Claim, ClaimSet, Patch};
use airlane_scenario::{Scenario, Source};
use airlane_sim::identity::text;

/// Purpose of draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Verdicts. Nothing else is ever run on these draws before.
    Verdict,
    /// Exploration: quick runs, tests, calibration.
    Exploration,
}

/// A named stream of draws.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    name: String,
    seed: Seed,
    purpose: Purpose,
}

impl Stream {
    /// Its name, such as `fig9/5e1f0c2a9b3d4786`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The purpose of its draws.
    pub fn purpose(&self) -> Purpose {
        self.purpose
    }

    /// The stream of a cell that has draws of its own.
    #[must_use]
    pub fn of_cell(&self, cell: &str) -> Self {
        Self { name: format!("{}/{cell}", self.name), ..*self }
    }

    /// The seed for `what`: `mixes`, `runs`.
    pub(super) fn seed(&self, what: &str) -> Seed {
        self.seed.split(what).split(&self.name)
    }
}

impl ClaimSet {
    /// The stream that `claim` of this set draws from. Claims with the same mixes share it.
    ///
    /// # Errors
    /// If the scenario of a claim with the same mixes is invalid.
    pub fn stream(&self, claim: &Claim, purpose: Purpose) -> Result<Stream, InputError> {
        let name = match purpose {
            Purpose::Exploration => format!("exploration/{}", claim.mixes),
            Purpose::Verdict => format!("{}/{:016x}", claim.mixes, self.hash(&claim.mixes)?),
        };
        Ok(Stream { name, seed: Seed(self.seed), purpose })
    }

    /// A hash of everything that verdicts on these mixes depend on.
    fn hash(&self, mixes: &str) -> Result<u64, InputError> {
        let mut hash = Fnv64::new();
        let mut add = |text: &str| {
            hash.write_u64(text.len() as u64);
            hash.write(text.as_bytes());
        };
        // Seeds do not enter the hash: `run_settings` removes them.
        let purpose = Purpose::Verdict;
        let placeholder = Stream { name: String::new(), seed: Seed(0), purpose };
        for claim in self.claims.iter().filter(|c| c.mixes == mixes) {
            add(&claim.id);
            add(&claim.rule_text);
            let rule = text(&claim.rule);
            let (full, measure, draws) =
                (text(&claim.full), text(&claim.measure), text(&claim.draws));
            add(&format!("{rule} {full} {measure} {draws} {}", text(&claim.compare)));
            let none = Patch::default();
            let cells: Vec<(&str, &Patch)> = match claim.cells.as_slice() {
                [] => vec![("", &none)],
                names => names.iter().map(|n| (n.as_str(), &self.variants[n])).collect(),
            };
            for (name, patch) in cells {
                add(name);
                for real in [false, true] {
                    let scene = self.scenario(claim, claim.full, &placeholder, real, &[patch])?;
                    let workloads = self.registry.workloads().iter().zip(scene.participants.iter());
                    let part = workloads.filter(|(_, traffic)| !traffic.is_empty());
                    part.for_each(|(w, _)| add(&w.defaults()));
                    add(&text(&run_settings(scene)));
                }
            }
        }
        Ok(hash.finish())
    }
}

/// The scenario without what does not affect its runs: names, texts, workloads that nobody takes
/// part in; and without seeds, which follow from the stream.
fn run_settings(scenario: Scenario) -> Scenario {
    let mut scenario = Scenario {
        name: String::new(),
        title: String::new(),
        story: String::new(),
        seeds: Vec::new(),
        source: Source { name: "".into(), folder: None, text: String::new(), set: Vec::new() },
        ..scenario
    };
    scenario.cases.seed = 0;
    scenario.participants.leave_out_empty();
    scenario
}
