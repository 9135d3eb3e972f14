//! The finished runs of a plan, to be asked for figures.

use std::collections::BTreeMap;

use super::figures::{RunFigures, ViewerFigures};
use super::verdict::{Samples, Side};
use crate::plan::Plan;

/// The finished runs of a plan.
pub(super) struct Results<'a> {
    pub(super) plan: &'a Plan,
    /// By case, scheme and position of the seed.
    runs: BTreeMap<(usize, usize, usize), &'a RunFigures>,
}

impl<'a> Results<'a> {
    pub(super) fn new(plan: &'a Plan, runs: &'a [RunFigures]) -> Self {
        let place =
            |seed| plan.scenario.seeds.iter().position(|s| *s == seed).unwrap_or(usize::MAX);
        let runs =
            runs.iter().map(|r| ((r.key.case, r.key.scheme, place(r.key.seed)), r)).collect();
        Self { plan, runs }
    }

    /// In the order of the plan: by case, scheme, seed.
    pub(super) fn all(&self) -> impl Iterator<Item = &'a RunFigures> {
        self.runs.values().copied()
    }

    pub(super) fn of_scheme(&self, scheme: usize) -> impl Iterator<Item = &'a RunFigures> {
        self.all().filter(move |r| r.key.scheme == scheme)
    }

    /// A figure under a scheme, by case and seed; runs without it are left out.
    pub(super) fn samples(
        &self,
        scheme: usize,
        figure: impl Fn(&RunFigures) -> Option<f64>,
    ) -> Samples {
        let cases = (0..self.plan.cases.len()).map(|case| {
            let runs = self.of_scheme(scheme).filter(|r| r.key.case == case);
            runs.filter_map(&figure).collect()
        });
        Samples(cases.collect())
    }

    /// A figure of a viewer's sessions that did not fail.
    pub(super) fn of_viewer(
        &self,
        scheme: usize,
        viewer: usize,
        figure: impl Fn(&ViewerFigures) -> Option<f64>,
    ) -> Samples {
        self.samples(scheme, |run| {
            let viewer = run.viewers.get(viewer).filter(|v| v.failure.is_none())?;
            figure(viewer)
        })
    }

    /// What the verdict compares: the runs in which every scheme has a QoE of every viewer.
    pub(super) fn sides(&self) -> Vec<Side> {
        let scenario = &self.plan.scenario;
        let schemes = 0..scenario.schemes.len();
        let mut sides: Vec<Side> = scenario
            .schemes
            .iter()
            .map(|s| Side {
                title: s.title.clone(),
                worst: Samples::default(),
                stalled: Samples::default(),
            })
            .collect();
        for case in 0..self.plan.cases.len() {
            for side in &mut sides {
                side.worst.0.push(Vec::new());
                side.stalled.0.push(Vec::new());
            }
            for seed in 0..scenario.seeds.len() {
                let runs: Option<Vec<(f64, f64)>> = schemes
                    .clone()
                    .map(|scheme| {
                        let run = self.runs.get(&(case, scheme, seed))?;
                        Some((run.min_qoe()?, run.stall_total_s()))
                    })
                    .collect();
                for (side, (worst, stalled)) in sides.iter_mut().zip(runs.into_iter().flatten()) {
                    side.worst.0[case].push(worst);
                    side.stalled.0[case].push(stalled);
                }
            }
        }
        sides
    }

    /// Sessions and transfers of all runs, and how many of them failed.
    pub(super) fn sessions(&self) -> (usize, usize) {
        self.all().fold((0, 0), |(all, failed), r| {
            (all + r.viewers.len() + r.bulk.len(), failed + r.failures().count())
        })
    }
}
