//! The figures that tables and charts of a sweep show, by cell and scheme.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::cells::{Cell, Cells};
use super::record::Record;
use crate::plan::RunKey;
use crate::scenario::Grid;
use crate::story::{Samples, metric_unit};

/// A figure of a run that tables and charts show.
pub(super) struct Headline {
    /// What it is.
    pub(super) title: &'static str,
    /// Its unit; empty for none.
    pub(super) unit: &'static str,
    /// Digits after the point.
    pub(super) digits: u8,
    /// Whether it can be below zero.
    pub(super) signed: bool,
    /// Whether charts of it begin at zero.
    pub(super) from_zero: bool,
    /// The figure.
    pub(super) of: fn(&Record) -> Option<f64>,
}

/// A figure of a cell under a scheme.
#[derive(Clone)]
pub(super) struct Measured {
    /// The mean over cases of the mean over seeds.
    pub(super) mean: f64,
    /// Its 95 % interval.
    pub(super) ci95: Option<[f64; 2]>,
    /// The figure of each run.
    pub(super) runs: Vec<f64>,
}

/// QoE of the worst viewer.
pub(super) fn worst_qoe(record: &Record) -> Option<f64> {
    record.value("min_qoe")
}

/// Share of the link in use, percent.
pub(super) fn link_use(record: &Record) -> Option<f64> {
    Some(100.0 * record.value("link_utilisation")?)
}

/// Goodput of the slowest transfer, Mbit/s.
fn slowest(record: &Record) -> Option<f64> {
    Some(record.values("goodput_bps").into_iter().min_by(f64::total_cmp)? / 1e6)
}

/// Goodput of all transfers together, Mbit/s.
fn goodput(record: &Record) -> Option<f64> {
    let all = record.values("goodput_bps");
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / 1e6)
}

/// The cells of a grid with the records that there are.
pub(super) struct Findings<'a> {
    /// The grid.
    pub(super) grid: &'a Grid,
    /// Its cells, in order.
    pub(super) cells: &'a [Cell],
    records: &'a BTreeMap<String, Record>,
    /// What has been asked for: intervals take time.
    known: RefCell<BTreeMap<String, Option<Measured>>>,
}

impl<'a> Findings<'a> {
    pub(super) fn new(
        grid: &'a Grid,
        cells: &'a Cells,
        records: &'a BTreeMap<String, Record>,
    ) -> Self {
        Self { grid, cells: &cells.list, records, known: RefCell::default() }
    }

    /// The runs of a cell that finished.
    pub(super) fn runs(&self, cell: &'a Cell) -> impl Iterator<Item = (RunKey, &'a Record)> {
        cell.runs.iter().filter_map(|(key, id)| Some((*key, self.records.get(id)?)))
    }

    /// Runs planned and finished.
    pub(super) fn count(&self) -> (usize, usize) {
        let finished = self.cells.iter().map(|c| self.runs(c).count()).sum();
        (self.cells.iter().map(|c| c.runs.len()).sum(), finished)
    }

    /// Whether somebody watches.
    pub(super) fn viewers(&self) -> bool {
        self.cells.iter().any(|c| !c.plan.scenario.viewers.is_empty())
    }

    /// Whether data is transferred.
    fn transfers(&self) -> bool {
        self.cells.iter().any(|c| !c.plan.scenario.bulk.is_empty())
    }

    /// The unit of QoE, empty if cells differ in it.
    pub(super) fn qoe_unit(&self) -> &'static str {
        let mut units = self.cells.iter().map(|c| metric_unit(c.plan.scenario.player.metric));
        let first = units.next().unwrap_or_default();
        if units.all(|u| u == first) { first } else { "" }
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
    pub(super) fn samples(
        &self,
        cell: &'a Cell,
        scheme: &str,
        of: fn(&Record) -> Option<f64>,
    ) -> Samples {
        let mut cases = vec![Vec::new(); cell.plan.cases.len()];
        for (key, record) in self.runs(cell) {
            if cell.plan.scenario.schemes[key.scheme].name == scheme
                && let Some(value) = of(record)
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
    ) -> Option<Measured> {
        let name = format!("{}/{scheme}/{}", cell.plan.scenario.name, headline.title);
        if let Some(known) = self.known.borrow().get(&name) {
            return known.clone();
        }
        let samples = self.samples(cell, scheme, headline.of);
        // What cannot be below zero has no interval there either.
        let floor = if headline.signed { f64::NEG_INFINITY } else { 0.0 };
        let measured = samples.mean().map(|mean| Measured {
            mean,
            ci95: samples.ci95(&name).map(|i| [i.lo.max(floor), i.hi]),
            runs: samples.0.into_iter().flatten().collect(),
        });
        self.known.borrow_mut().insert(name, measured.clone());
        measured
    }

    /// The samples of every scheme of the cell, of those cases and seeds alone for which all schemes
    /// have it: sample by sample the circumstances are the same.
    pub(super) fn pairs(&self, cell: &'a Cell, of: fn(&Record) -> Option<f64>) -> Vec<Samples> {
        let schemes = cell.plan.scenario.schemes.len();
        let mut by_pair: BTreeMap<(usize, u64), Vec<(usize, f64)>> = BTreeMap::new();
        for (key, record) in self.runs(cell) {
            if let Some(value) = of(record) {
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
                let each = record.failures.iter();
                each.map(move |(who, why)| (cell, key, who.as_str(), why.as_str()))
            })
        })
    }

    /// The figures to show: the first is the one that matters most.
    pub(super) fn headlines(&self) -> Vec<Headline> {
        let unit = self.qoe_unit();
        let mut list = Vec::new();
        let mut add = |title, unit, digits, of| {
            list.push(Headline { title, unit, digits, signed: false, from_zero: false, of });
        };
        if self.viewers() {
            add("Worst viewer's QoE", unit, 1, worst_qoe as fn(&Record) -> Option<f64>);
            add("Mean QoE", unit, 1, |r| r.value("mean_qoe"));
            add("Stalled", "s", 1, |r| r.value("stall_total_s"));
        }
        if self.transfers() {
            add("Slowest transfer", "Mbit/s", 2, slowest);
            add("All transfers", "Mbit/s", 2, goodput);
        }
        add("Link use", "%", 1, link_use);
        add("Queueing delay", "ms", 1, |r| r.value("mean_queue_ms"));
        for headline in &mut list {
            headline.signed = headline.title.contains("QoE");
            headline.from_zero = !headline.signed && headline.title != "Link use";
        }
        list
    }

    /// Of these the ones that are drawn.
    pub(super) fn drawn(&self) -> Vec<Headline> {
        let wanted: &[&str] = match self.viewers() {
            true => &["Worst viewer's QoE", "Stalled"],
            false => &["Slowest transfer", "Link use", "Queueing delay"],
        };
        let all = self.headlines().into_iter();
        all.filter(|h| wanted.contains(&h.title)).collect()
    }
}
