//! Streams: where the draws of a claim come from.
//!
//! Everything that is drawn is split from the set's seed by the name of a stream. The stream of
//! verdicts is named after all that a verdict hangs on: the rules, their n and the settings of
//! every claim that shares its mixes, with the laboratory's own defaults filled in. Whoever changes
//! one of them gets draws that nobody has seen; whoever looks around does so on other ones.

use airlane_base::{Fnv64, InputError, Seed};

use super::spec::{Claim, ClaimSet, Patch};
use crate::scenario::{Scenario, Source};
use crate::workloads;

/// What draws are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Verdicts. Nothing else is ever run on these draws before.
    Verdict,
    /// Looking around: quick runs, tests, calibration.
    Exploration,
}

/// A named stream of draws.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    name: String,
    seed: Seed,
}

impl Stream {
    /// Its name, such as `fig9/5e1f0c2a9b3d4786`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// That of a cell with draws of its own.
    #[must_use]
    pub fn of_cell(&self, cell: &str) -> Self {
        Self { name: format!("{}/{cell}", self.name), seed: self.seed }
    }

    /// The seed of what is drawn for `what`.
    pub(super) fn seed(&self, what: &str) -> Seed {
        self.seed.split(what).split(&self.name)
    }
}

impl ClaimSet {
    /// The stream that `claim` of this set draws from. Claims with the same mixes share it.
    ///
    /// # Errors
    /// If a claim with the same mixes says what no scenario can mean.
    pub fn stream(&self, claim: &Claim, purpose: Purpose) -> Result<Stream, InputError> {
        let name = match purpose {
            Purpose::Exploration => format!("exploration/{}", claim.mixes),
            Purpose::Verdict => format!("{}/{:016x}", claim.mixes, self.hash(&claim.mixes)?),
        };
        Ok(Stream { name, seed: Seed(self.seed) })
    }

    /// A hash of all that the verdicts on these mixes hang on.
    fn hash(&self, mixes: &str) -> Result<u64, InputError> {
        let mut hash = Fnv64::new();
        let mut add = |text: &str| {
            hash.write_u64(text.len() as u64);
            hash.write(text.as_bytes());
        };
        workloads::ALL.iter().for_each(|w| add(&w.defaults()));
        // Anything: it is taken out again.
        let blank = Stream { name: String::new(), seed: Seed(0) };
        for claim in self.claims.iter().filter(|c| c.mixes == mixes) {
            add(&claim.id);
            add(&claim.rule_text);
            add(&format!(
                "{:?} {:?} {:?} {:?} {:?}",
                claim.rule, claim.full, claim.measure, claim.draws, claim.compare
            ));
            let none = Patch::default();
            let cells: Vec<(&str, &Patch)> = match claim.cells.as_slice() {
                [] => vec![("", &none)],
                names => names.iter().map(|n| (n.as_str(), &self.variants[n])).collect(),
            };
            for (name, patch) in cells {
                add(name);
                for real in [false, true] {
                    let scene = self.scenario(claim, claim.full, &blank, real, &[patch])?;
                    add(&format!("{:?}", settings(scene)));
                }
            }
        }
        Ok(hash.finish())
    }
}

/// A scenario without what says nothing about its runs, or follows from the stream.
fn settings(scenario: Scenario) -> Scenario {
    let mut scenario = Scenario {
        name: String::new(),
        title: String::new(),
        story: String::new(),
        seeds: Vec::new(),
        source: Source { name: "".into(), folder: None, text: String::new(), set: Vec::new() },
        ..scenario
    };
    scenario.cases.seed = 0;
    scenario
}
