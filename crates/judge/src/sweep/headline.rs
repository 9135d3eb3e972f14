//! The figures that tables and charts of a sweep show, by cell and scheme.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::cells::{Cell, Cells};
use crate::reporting::{Samples, headlines};
use airlane_scenario::Grid;
use airlane_sim::plan::{Plan, RunKey};
use airlane_sim::workload::{GridVerdict, Headline, RunResult, SweepForm, traffic_of};

/// A figure of a cell under a scheme.
#[derive(Clone)]
pub(super) struct CellFigure {
    /// The mean over cases of the mean over seeds.
    pub(super) mean: f64,
    /// Its 95 % interval.
    pub(super) ci95: Option<[f64; 2]>,
    /// The figure of each run.
    pub(super) runs: Vec<f64>,
}

/// The cells of a grid with the records that there are.
pub(super) struct Findings<'a> {
    /// The grid.
    pub(super) grid: &'a Grid,
    /// Its cells, in order.
    pub(super) cells: &'a [Cell],
    records: &'a BTreeMap<String, RunResult>,
    /// Results that have been asked for, kept as intervals take time.
    known: RefCell<BTreeMap<String, Option<CellFigure>>>,
}

impl<'a> Findings<'a> {
    pub(super) fn new(
        grid: &'a Grid,
        cells: &'a Cells,
        records: &'a BTreeMap<String, RunResult>,
    ) -> Self {
        Self { grid, cells: &cells.list, records, known: RefCell::default() }
    }

    /// The runs of a cell that finished.
    pub(super) fn runs(&self, cell: &'a Cell) -> impl Iterator<Item = (RunKey, &'a RunResult)> {
        cell.runs.iter().filter_map(|(key, id)| Some((*key, self.records.get(id)?)))
    }

    /// Runs planned and finished.
    pub(super) fn count(&self) -> (usize, usize) {
        let finished = self.cells.iter().map(|c| self.runs(c).count()).sum();
        (self.cells.iter().map(|c| c.runs.len()).sum(), finished)
    }

    /// Names and titles of all schemes, in the order of the cells.
    pub(super) fn schemes(&self) -> Vec<(&'a str, &'a str)> {
        let mut schemes: Vec<(&str, &str)> = Vec::new();
        for scheme in self.cells.iter().flat_map(|c| &c.plan.scenario.schemes) {
            if !schemes.iter().any(|(name, _)| *name == scheme.name) {
                schemes.push((&scheme.name, &scheme.title));
            }
        }
        schemes
    }

    /// A figure of a cell under a scheme, by case and seed.
    pub(super) fn samples(&self, cell: &'a Cell, scheme: &str, of: &Headline) -> Samples {
        let mut cases = vec![Vec::new(); cell.plan.cases.len()];
        for (key, record) in self.runs(cell) {
            if cell.plan.scenario.schemes[key.scheme].name == scheme
                && let Some(value) = of.of(record)
            {
                cases[key.case].push(value);
            }
        }
        Samples(cases)
    }

    /// A figure of a cell under a scheme, with its interval; `None` without a sample.
    pub(super) fn measured(
        &self,
        cell: &'a Cell,
        scheme: &str,
        headline: &Headline,
    ) -> Option<CellFigure> {
        let name = format!("{}/{scheme}/{}", cell.plan.scenario.name, headline.column.title);
        if let Some(known) = self.known.borrow().get(&name) {
            return known.clone();
        }
        let samples = self.samples(cell, scheme, headline);
        // What cannot be below zero has no interval there either.
        let floor = headline.floor.unwrap_or(f64::NEG_INFINITY);
        let measured = samples.mean().map(|mean| CellFigure {
            mean,
            ci95: samples.ci95(&name).map(|i| [i.lo.max(floor), i.hi]),
            runs: samples.0.into_iter().flatten().collect(),
        });
        self.known.borrow_mut().insert(name, measured.clone());
        measured
    }

    /// The samples of every scheme of the cell, of those cases and seeds alone for which all schemes
    /// have it: sample by sample the circumstances are the same.
    pub(super) fn pairs(&self, cell: &'a Cell, of: &Headline) -> Vec<Samples> {
        let schemes = cell.plan.scenario.schemes.len();
        let mut by_pair: BTreeMap<(usize, u64), Vec<(usize, f64)>> = BTreeMap::new();
        for (key, record) in self.runs(cell) {
            if let Some(value) = of.of(record) {
                by_pair.entry((key.case, key.seed)).or_default().push((key.scheme, value));
            }
        }
        let mut all = vec![Samples(vec![Vec::new(); cell.plan.cases.len()]); schemes];
        for ((case, _), figures) in by_pair {
            if figures.len() == schemes {
                for (scheme, value) in figures {
                    all[scheme].0[case].push(value);
                }
            }
        }
        all
    }

    /// Sessions and transfers that ended early, each with the cell's name and its own.
    pub(super) fn failures(&self) -> impl Iterator<Item = (&'a Cell, RunKey, &'a str, &'a str)> {
        self.cells.iter().flat_map(move |cell| {
            self.runs(cell).flat_map(move |(key, record)| {
                record.failures().map(move |(who, why)| (cell, key, who, why))
            })
        })
    }

    /// The figures to show: the first is the one that matters most.
    pub(super) fn headlines(&self) -> Vec<Headline> {
        self.merged(headlines).filter(|h| h.in_sweep != SweepForm::No).collect()
    }

    /// Of these the ones that are drawn: those of workloads or, where these are few, all.
    pub(super) fn drawn(&self) -> Vec<Headline> {
        let drawn = |h: &Headline| matches!(h.in_sweep, SweepForm::Drawn | SweepForm::DrawnInRange);
        let of_casts = |plan: &Plan| {
            let participants = traffic_of(&plan.scenario).filter(|traffic| !traffic.is_empty());
            participants.flat_map(|traffic| traffic.headlines()).collect()
        };
        let own: Vec<Headline> = self.merged(of_casts).filter(drawn).collect();
        if own.len() > 1 { own } else { self.headlines().into_iter().filter(drawn).collect() }
    }

    /// Wording of the gain of a scheme, and the figure that it is in; `None` where no workload of
    /// the first cell has such words.
    pub(super) fn grid_verdict(&self) -> Option<(GridVerdict, Headline)> {
        let plan = &self.cells.first()?.plan;
        let mut participants = traffic_of(&plan.scenario).filter(|traffic| !traffic.is_empty());
        let (words, traffic) =
            participants.find_map(|traffic| Some((traffic.verdict_of_grid()?, traffic)))?;
        let title = traffic.headlines().into_iter().next()?.column.title;
        Some((words, self.headlines().into_iter().find(|h| h.column.title == title)?))
    }

    /// The figures of all cells, each once; one whose unit differs from cell to cell has none.
    fn merged(&self, of: impl Fn(&Plan) -> Vec<Headline>) -> impl Iterator<Item = Headline> {
        let mut all: Vec<Headline> = Vec::new();
        for headline in self.cells.iter().flat_map(|cell| of(&cell.plan)) {
            match all.iter_mut().find(|known| known.column.title == headline.column.title) {
                Some(known) if known.column.unit != headline.column.unit => {
                    known.column.unit.clear();
                }
                Some(_) => {}
                None => all.push(headline),
            }
        }
        all.into_iter()
    }
}
