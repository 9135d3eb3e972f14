//! The finished runs of a plan, to be asked for figures.

use std::collections::BTreeMap;

use super::samples::Samples;
use crate::plan::{Plan, RunKey};
use crate::workload::{ActorResult, RunResult};

/// The finished runs of a plan.
pub struct Results<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// By case, scheme and position of the seed.
    runs: BTreeMap<(usize, usize, usize), (RunKey, &'a RunResult)>,
}

impl<'a> Results<'a> {
    /// The finished runs `runs` of `plan`.
    pub fn new(plan: &'a Plan, runs: impl IntoIterator<Item = (RunKey, &'a RunResult)>) -> Self {
        let place =
            |seed| plan.scenario.seeds.iter().position(|s| *s == seed).unwrap_or(usize::MAX);
        let runs = runs.into_iter();
        let runs = runs.map(|(k, r)| ((k.case, k.scheme, place(k.seed)), (k, r))).collect();
        Self { plan, runs }
    }

    /// In the order of the plan: by case, scheme, seed.
    pub fn all(&self) -> impl Iterator<Item = (RunKey, &'a RunResult)> {
        self.runs.values().copied()
    }

    /// The runs of a scheme.
    pub fn of_scheme(&self, scheme: usize) -> impl Iterator<Item = (RunKey, &'a RunResult)> {
        self.all().filter(move |(key, _)| key.scheme == scheme)
    }

    /// A figure under a scheme, by case and seed; runs without it are left out.
    pub fn samples(&self, scheme: usize, figure: impl Fn(&RunResult) -> Option<f64>) -> Samples {
        let cases = (0..self.plan.cases.len()).map(|case| {
            let runs = self.of_scheme(scheme).filter(|(key, _)| key.case == case);
            runs.filter_map(|(_, run)| figure(run)).collect()
        });
        Samples(cases.collect())
    }

    /// A figure of the `number`-th actor of a workload.
    pub fn of_actor(
        &self,
        scheme: usize,
        (workload, number): (&str, usize),
        figure: impl Fn(&ActorResult) -> Option<f64>,
    ) -> Samples {
        self.samples(scheme, |run| figure(run.of(workload).nth(number)?))
    }

    /// The names of a workload's actors.
    pub fn actors(&self, workload: &str) -> Vec<&'a str> {
        let Some((_, run)) = self.all().next() else { return Vec::new() };
        run.actors.iter().filter(|a| a.workload == workload).map(|a| a.name.as_str()).collect()
    }

    /// A figure under every scheme, of those cases and seeds alone for which all schemes have it:
    /// sample by sample the circumstances are the same.
    pub fn paired<T>(&self, figure: impl Fn(&RunResult) -> Option<T>) -> Vec<Vec<Vec<T>>> {
        let schemes = 0..self.plan.scenario.schemes.len();
        let seeds = 0..self.plan.scenario.seeds.len();
        // Case by case and seed by seed, the figure under each scheme.
        let mut by_case: Vec<Vec<Vec<T>>> = Vec::new();
        for case in 0..self.plan.cases.len() {
            let of_seed = |seed| -> Option<Vec<T>> {
                let of = |scheme| figure(self.runs.get(&(case, scheme, seed))?.1);
                schemes.clone().map(of).collect()
            };
            by_case.push(seeds.clone().filter_map(of_seed).collect());
        }
        let mut all: Vec<Vec<Vec<T>>> = schemes.map(|_| Vec::new()).collect();
        for seeds in by_case {
            all.iter_mut().for_each(|cases| cases.push(Vec::new()));
            for figures in seeds {
                for (cases, figure) in all.iter_mut().zip(figures) {
                    cases.last_mut().expect("this case was just added").push(figure);
                }
            }
        }
        all
    }

    /// Actors of all runs, and how many of them failed.
    pub fn sessions(&self) -> (usize, usize) {
        self.all().fold((0, 0), |(all, failed), (_, r)| {
            let whole = r.actors.iter().filter(|a| !a.part).count();
            (all + whole, failed + r.failures().count())
        })
    }
}
