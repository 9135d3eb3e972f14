//! The samples of a claim: figures by cell, metric, draw and seed, and the rows that statistics
//! take from them.

use super::spec::Draws;
use std::collections::{BTreeMap, BTreeSet};

use airlane_sim::plan::Window;
pub use airlane_sim::workload::ByMetric;

/// The figures of a claim.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples {
    /// The cells; a claim without cells has one without a name.
    cells: Vec<CellSamples>,
    draws: Draws,
}

/// The figures of one cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CellSamples {
    /// Its name; empty if the claim has no cells.
    pub name: String,
    /// Its figures.
    pub figures: ByMetric,
    /// For each draw the window of the recording that it was measured on; none where draws share
    /// nothing.
    pub windows: Vec<Window>,
}

/// The figures of one draw in one cell: per seed one figure of each of a statistic's metrics. With
/// one metric the second figure is 0. A second metric that has one figure per draw repeats it for
/// each seed.
pub(super) type Row = Vec<[f64; 2]>;

/// Rows by stratum, then by draw: a draw has a row per cell that shares it. Draws are independent
/// of each other; the rows of a draw are not.
pub(super) type Rows = Vec<Vec<Vec<Row>>>;

impl Samples {
    /// The samples of a claim without cells.
    pub fn without_cells(figures: ByMetric) -> Self {
        Self::of_cell(CellSamples { figures, ..CellSamples::default() })
    }

    /// The samples of one cell, or of a claim without cells.
    pub fn of_cell(cell: CellSamples) -> Self {
        Self { cells: vec![cell], draws: Draws::Shared }
    }

    /// The samples of a claim with cells.
    pub fn with_cells(draws: Draws, cells: Vec<CellSamples>) -> Self {
        Self { cells, draws }
    }

    /// The names of the cells; none without cells.
    pub(super) fn cells(&self) -> impl Iterator<Item = &str> {
        self.cells.iter().map(|cell| cell.name.as_str()).filter(|name| !name.is_empty())
    }

    /// The samples of one cell alone; empty if there is none of that name.
    pub(super) fn cell(&self, name: &str) -> Self {
        let of = self.cells.iter().find(|cell| cell.name == name);
        let alone = |cell: &CellSamples| CellSamples { name: String::new(), ..cell.clone() };
        of.map(|cell| Self::of_cell(alone(cell))).unwrap_or_default()
    }

    /// The names of the recordings that draws are windows of, in order; none if they are not.
    pub(super) fn recordings(&self) -> BTreeSet<&str> {
        let windows = self.cells.iter().flat_map(|cell| &cell.windows);
        windows.map(|window| window.recording.as_str()).collect()
    }

    /// The samples of one recording alone.
    pub(super) fn recording(&self, name: &str) -> Self {
        let part = |cell: &CellSamples| {
            let is_of = |i: &usize| cell.windows.get(*i).is_some_and(|w| w.recording == name);
            let figures = cell.figures.iter().map(|(metric, draws)| {
                let of = draws.iter().enumerate().filter(|(i, _)| is_of(i));
                (metric.clone(), of.map(|(_, draw)| draw.clone()).collect())
            });
            let windows = cell.windows.iter().filter(|w| w.recording == name).cloned();
            CellSamples {
                name: cell.name.clone(),
                figures: figures.collect(),
                windows: windows.collect(),
            }
        };
        Self { cells: self.cells.iter().map(part).collect(), draws: self.draws }
    }

    /// Number of draws of the cell that has most of them.
    pub(super) fn draws(&self) -> usize {
        let figures = self.cells.iter().flat_map(|cell| cell.figures.values());
        figures.map(Vec::len).max().unwrap_or(0)
    }

    /// The samples of one draw alone, counted from 0. A cell that has no such draw has no figures.
    pub(super) fn draw(&self, at: usize) -> Self {
        let part = |cell: &CellSamples| {
            let figures = cell.figures.iter().map(|(metric, draws)| {
                (metric.clone(), draws.iter().skip(at).take(1).cloned().collect())
            });
            CellSamples {
                name: cell.name.clone(),
                figures: figures.collect(),
                windows: cell.windows.iter().skip(at).take(1).cloned().collect(),
            }
        };
        Self { cells: self.cells.iter().map(part).collect(), draws: self.draws }
    }

    /// All figures of a metric, cell by cell.
    pub fn values(&self, metric: &str) -> impl Iterator<Item = f64> {
        let of = self.cells.iter().filter_map(|cell| cell.figures.get(metric));
        of.flatten().flatten().copied().collect::<Vec<_>>().into_iter()
    }

    /// The rows of one metric or two, each as rules name them: `x` of all cells, `x@CELL` of one.
    ///
    /// # Errors
    /// Why it has none, in words.
    pub(super) fn rows(&self, metrics: &[&str]) -> Result<Rows, String> {
        let Some((first, rest)) = metrics.split_first() else {
            return Err("no metric".to_owned());
        };
        let xs = self.metric_figures(first)?;
        let ys = rest.first().map(|name| self.metric_figures(name)).transpose()?;
        let mut cells: Vec<Vec<Row>> = Vec::new();
        for (i, x) in xs.iter().enumerate() {
            let y = match &ys {
                None => None,
                Some(ys) if ys.len() == xs.len() => Some(ys[i]),
                Some(_) => return Err(format!("{first} and {} have different cells", rest[0])),
            };
            cells.push(cell_rows(metrics, x, y)?);
        }
        let across = rest.first().is_some_and(|y| cell_of(first) != cell_of(y));
        if across && self.draws == Draws::Own {
            return Err(format!("{first} and {} have draws of their own", rest[0]));
        }
        let windows = self.windows_of(first);
        if windows.iter().any(|of_cell| !of_cell.is_empty()) {
            return by_window(cells, &windows);
        }
        if self.draws == Draws::Own {
            let alone = |cell: Vec<Row>| cell.into_iter().map(|row| vec![row]).collect();
            return Ok(cells.into_iter().map(alone).collect());
        }
        // Row for row the cells have the same draws.
        let draws = cells.first().map_or(0, Vec::len);
        if let Some(other) = cells.iter().find(|cell| cell.len() != draws) {
            return Err(format!(
                "{draws} draws of {first} in one cell, {} in another",
                other.len()
            ));
        }
        let of_draw = |i: usize| cells.iter().map(|cell| cell[i].clone()).collect();
        Ok(vec![(0..draws).map(of_draw).collect()])
    }

    /// The windows of the draws of a metric as a rule names it, cell by cell.
    fn windows_of(&self, metric: &str) -> Vec<&[Window]> {
        let cell = cell_of(metric);
        let meant = self.cells.iter().filter(|c| cell.is_none_or(|cell| c.name == cell));
        meant.map(|cell| cell.windows.as_slice()).collect()
    }

    /// The figures of a metric as a rule names it, cell by cell.
    fn metric_figures(&self, metric: &str) -> Result<Vec<&[Vec<f64>]>, String> {
        let none = || format!("no sample of {metric}");
        let (name, cell) = (name_of(metric), cell_of(metric));
        let meant = self.cells.iter().filter(|c| cell.is_none_or(|cell| c.name == cell));
        let mut all: Vec<&[Vec<f64>]> = Vec::new();
        for CellSamples { figures, .. } in meant {
            let draws = figures.get(name).map_or(&[][..], Vec::as_slice);
            if draws.is_empty() {
                return Err(none());
            }
            if let Some(empty) = draws.iter().position(Vec::is_empty) {
                return Err(format!("no sample of {metric} in draw {}", empty + 1));
            }
            if draws.iter().flatten().any(|x| !x.is_finite()) {
                return Err(format!("a sample of {metric} is no finite number"));
            }
            all.push(draws);
        }
        if all.is_empty() { Err(none()) } else { Ok(all) }
    }
}

/// The rows of all cells by recording and window: whatever was measured on one window counts as one.
/// Recordings with a single window are one stratum together, as the spread within a stratum has to be
/// known.
fn by_window(cells: Vec<Vec<Row>>, windows: &[&[Window]]) -> Result<Rows, String> {
    let mut recordings: BTreeMap<&str, BTreeMap<u64, Vec<Row>>> = BTreeMap::new();
    for (rows, windows) in cells.into_iter().zip(windows) {
        if rows.len() != windows.len() {
            return Err(format!("{} draws of {} windows", rows.len(), windows.len()));
        }
        for (row, window) in rows.into_iter().zip(*windows) {
            let of_recording = recordings.entry(&window.recording).or_default();
            of_recording.entry(window.number).or_default().push(row);
        }
    }
    let strata = recordings.into_values().map(|of| of.into_values().collect::<Vec<_>>());
    let (mut many, single): (Rows, Rows) = strata.partition(|stratum| stratum.len() > 1);
    let single: Vec<Vec<Row>> = single.into_iter().flatten().collect();
    match (single.len(), many.last_mut()) {
        (0, _) => {}
        (1, Some(other)) => other.extend(single),
        _ => many.push(single),
    }
    Ok(many)
}

/// The rows of one cell.
fn cell_rows(metrics: &[&str], x: &[Vec<f64>], y: Option<&[Vec<f64>]>) -> Result<Vec<Row>, String> {
    let Some(y) = y else {
        return Ok(x.iter().map(|seeds| seeds.iter().map(|x| [*x, 0.0]).collect()).collect());
    };
    if x.len() != y.len() {
        return Err(format!("{} draws of {}, {} of {}", x.len(), metrics[0], y.len(), metrics[1]));
    }
    let row = |(x, y): (&Vec<f64>, &Vec<f64>)| match y.as_slice() {
        // An offline reference has one figure per draw, whatever the number of seeds.
        [one] => Ok(x.iter().map(|x| [*x, *one]).collect()),
        y if y.len() == x.len() => Ok(x.iter().zip(y).map(|(x, y)| [*x, *y]).collect()),
        _ => Err(format!("{} and {} have different seeds", metrics[0], metrics[1])),
    };
    x.iter().zip(y).map(row).collect()
}

/// A metric's name without its cell.
pub fn name_of(metric: &str) -> &str {
    metric.split_once('@').map_or(metric, |(name, _)| name)
}

/// The cell that a metric is of, if a rule names one.
pub fn cell_of(metric: &str) -> Option<&str> {
    metric.split_once('@').map(|(_, cell)| cell)
}
