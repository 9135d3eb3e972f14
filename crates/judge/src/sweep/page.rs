//! The report of a sweep: small multiples and a table over the cells.

use std::collections::BTreeSet;

use airlane_report::Report;
use airlane_report::model::{
    self, Cell as TableCell, Column, Estimate, Facet, Fact, Multiples, Provenance, Scheme, Section,
    SmallPanel, Table,
};

use super::cells::Cell;
use super::headline::Findings;
use super::places;
use crate::reporting::{terms, words};
use crate::summary::Summary;
use airlane_scenario::Axis;
use airlane_sim::Common;
use airlane_sim::workload::{Headline, SweepForm};

/// Cells that are drawn and listed: a page of more could not be opened.
const SHOWN: usize = 1_000;

/// Failures that are told one by one, and packet hashes that are listed.
const TOLD: usize = 12;

/// The report of a sweep.
pub(super) fn report(
    findings: &Findings<'_>,
    summary: &Summary,
    common: &Common<'_>,
    verdict: &str,
    stopped: bool,
) -> Report {
    let Some(first) = findings.cells.first() else { return Report::new(&summary.scenario) };
    let mut report = Report::new(format!("{}: a sweep", first.plan.scenario.title));
    report.verdict = verdict.to_owned();
    report.lead = lead(findings);
    let layout = Layout::of(findings);
    report.sections = layout.sections(findings);
    report.terms = terms(&first.plan);
    report.notes = notes(findings, stopped);
    report.provenance = vec![provenance(findings, first, summary, common)];
    report
}

fn lead(findings: &Findings<'_>) -> String {
    let axes = findings.grid.axes().iter();
    let axes: Vec<String> =
        axes.map(|a| format!("{} ({})", a.key, words::plural(a.values.len(), "value"))).collect();
    let schemes = findings.schemes();
    let compared = match schemes.len() {
        1 => String::new(),
        n => format!(", under {n} schemes"),
    };
    format!(
        "The same scenario with every combination of {}{compared}: {}. All cells have their seeds \
         in common, so that cells can be compared as schemes can.",
        words::list(&axes),
        words::plural(findings.cells.len(), "cell")
    )
}

/// Layout of cells as columns, rows and sections.
struct Layout {
    columns: usize,
    rows: Option<usize>,
    /// The other axes.
    further: Vec<usize>,
}

impl Layout {
    /// Of the first two axes with several values the longer one goes across, the other down.
    fn of(findings: &Findings<'_>) -> Self {
        let sizes: Vec<usize> = findings.grid.axes().iter().map(|a| a.values.len()).collect();
        let mut several = (0..sizes.len()).filter(|&axis| sizes[axis] > 1);
        let (columns, rows) = match (several.next(), several.next()) {
            (Some(a), Some(b)) if sizes[b] > sizes[a] => (b, Some(a)),
            (Some(a), b) => (a, b),
            (None, _) => (0, None),
        };
        let used = |axis: &usize| *axis == columns || Some(*axis) == rows;
        Self { columns, rows, further: (0..sizes.len()).filter(|axis| !used(axis)).collect() }
    }

    /// A section per combination of the further axes.
    fn sections(&self, findings: &Findings<'_>) -> Vec<Section> {
        let shown = &findings.cells[..findings.cells.len().min(SHOWN)];
        let group = |cell: &Cell| -> Vec<usize> {
            self.further.iter().map(|&axis| cell.position[axis]).collect()
        };
        let mut groups: Vec<(Vec<usize>, Vec<&Cell>)> = Vec::new();
        for cell in shown {
            let of = group(cell);
            match groups.iter_mut().find(|(g, _)| *g == of) {
                Some((_, cells)) => cells.push(cell),
                None => groups.push((of, vec![cell])),
            }
        }
        let ranges: Vec<(Headline, Option<[f64; 2]>)> = findings
            .drawn()
            .into_iter()
            .map(|h| {
                let r = range(findings, shown, &h);
                (h, r)
            })
            .collect();
        let section = |(i, (at, cells)): (usize, &(Vec<usize>, Vec<&Cell>))| {
            let mut section = Section::new(self.title(findings, at));
            if i == 0 {
                section.facts = facts(findings);
            }
            section.schemes = schemes(findings);
            let drawn = ranges.iter().map(|(h, range)| self.multiples(findings, cells, h, *range));
            section.multiples = drawn.collect();
            if let Some(first) = section.multiples.first_mut() {
                first.note = "A panel per cell, all on the same scale; a mark per scheme with its \
                              95 % interval, thin lines for the single runs."
                    .to_owned();
            }
            section.tables = vec![self.table(findings, cells)];
            section
        };
        groups.iter().enumerate().map(section).collect()
    }

    fn title(&self, findings: &Findings<'_>, at: &[usize]) -> String {
        let parts = self.further.iter().zip(at).map(|(&axis, &value)| {
            let axis = &findings.grid.axes()[axis];
            format!("{} = {}", axis.key, places::value(&axis.key, &axis.values[value]))
        });
        parts.collect::<Vec<_>>().join(", ")
    }

    fn facet(&self, findings: &Findings<'_>, axis: usize) -> Facet {
        let axis = &findings.grid.axes()[axis];
        let labels = axis.values.iter().map(|v| places::value(&axis.key, v));
        Facet { title: axis.key.clone(), labels: labels.collect() }
    }

    fn multiples(
        &self,
        findings: &Findings<'_>,
        cells: &[&Cell],
        headline: &Headline,
        range: Option<[f64; 2]>,
    ) -> Multiples {
        let panel = |cell: &&Cell| SmallPanel {
            column: cell.position[self.columns],
            row: self.rows.map_or(0, |axis| cell.position[axis]),
            marks: findings
                .schemes()
                .into_iter()
                .filter_map(|(scheme, _)| estimate(findings, cell, scheme, headline))
                .collect(),
        };
        Multiples {
            title: headline.column.title.clone(),
            note: String::new(),
            y: model::Axis {
                title: headline.column.title.clone(),
                unit: headline.column.unit.clone(),
                range,
            },
            columns: self.facet(findings, self.columns),
            rows: self.rows.map(|axis| self.facet(findings, axis)).unwrap_or_default(),
            panels: cells.iter().map(panel).collect(),
        }
    }

    /// A row per cell and scheme. What a section has in common stands in its title.
    fn table(&self, findings: &Findings<'_>, cells: &[&Cell]) -> Table {
        let headlines = findings.headlines();
        let axes: Vec<(usize, &Axis)> = findings.grid.axes().iter().enumerate().collect();
        let axes = axes.iter().filter(|(i, _)| !self.further.contains(i));
        let mut columns: Vec<Column> =
            axes.clone().map(|(_, axis)| Column::text(&axis.key).merged()).collect();
        columns.push(Column::text("Scheme"));
        columns.extend(headlines.iter().map(|h| h.plain_column()));
        let mut table = Table::new("By cell and scheme", columns);
        table.note = "Means over cases and seeds, with 95 % intervals where there are several. \
                      The rest of the figures is in sweep.csv."
            .to_owned();
        for cell in cells {
            let value = |(i, axis): &(usize, &Axis)| {
                places::value(&axis.key, &axis.values[cell.position[*i]]).into()
            };
            for (scheme, title) in findings.schemes() {
                let mut row: Vec<TableCell> = axes.clone().map(value).collect();
                row.push(title.into());
                row.extend(headlines.iter().map(|headline| {
                    match findings.measured(cell, scheme, headline) {
                        Some(m) => TableCell::with_ci(m.mean, m.ci95),
                        None => TableCell::Empty,
                    }
                }));
                table.push(row);
            }
        }
        table
    }
}

fn estimate(
    findings: &Findings<'_>,
    cell: &Cell,
    scheme: &str,
    headline: &Headline,
) -> Option<Estimate> {
    let m = findings.measured(cell, scheme, headline)?;
    let samples = if m.runs.len() > 1 { m.runs } else { Vec::new() };
    Some(Estimate { scheme: scheme.to_owned(), value: m.mean, ci95: m.ci95, samples })
}

/// Range that all panels of all sections show at least.
fn range(findings: &Findings<'_>, cells: &[Cell], headline: &Headline) -> Option<[f64; 2]> {
    let mut range: Option<[f64; 2]> = (headline.in_sweep == SweepForm::Drawn).then_some([0.0; 2]);
    for cell in cells {
        for (scheme, _) in findings.schemes() {
            let Some(m) = findings.measured(cell, scheme, headline) else { continue };
            for value in m.runs.into_iter().chain(m.ci95.into_iter().flatten()) {
                let [lo, hi] = range.unwrap_or([value; 2]);
                range = Some([lo.min(value), hi.max(value)]);
            }
        }
    }
    range
}

fn facts(findings: &Findings<'_>) -> Vec<Fact> {
    let sizes: Vec<String> =
        findings.grid.axes().iter().map(|a| a.values.len().to_string()).collect();
    let most = |of: &dyn Fn(&Cell) -> usize| findings.cells.iter().map(of).max().unwrap_or(0);
    let mut facts = vec![
        Fact::new("Cells", sizes.join(" × ")),
        Fact::new("Schemes", findings.schemes().len().to_string()),
    ];
    if most(&|c| c.plan.cases.len()) > 1 {
        facts.push(Fact::new("Cases", most(&|c| c.plan.cases.len()).to_string()));
    }
    facts.push(Fact::new("Seeds", most(&|c| c.plan.scenario.seeds.len()).to_string()));
    facts.push(Fact::new("Runs", findings.count().1.to_string()));
    facts
}

fn schemes(findings: &Findings<'_>) -> Vec<Scheme> {
    let note = |name: &str| {
        let mut all = findings.cells.iter().flat_map(|c| &c.plan.scenario.schemes);
        all.find(|s| s.name == name).map(|s| s.note.clone()).unwrap_or_default()
    };
    let all = findings.schemes().into_iter();
    all.map(|(name, title)| Scheme::new(name, title, note(name))).collect()
}

fn notes(findings: &Findings<'_>, stopped: bool) -> Vec<String> {
    let mut notes = Vec::new();
    let (planned, finished) = findings.count();
    if stopped {
        notes.push(format!(
            "This was stopped: {finished} of {planned} runs finished, and the figures are of these. \
             The same command goes on."
        ));
    }
    let failures: Vec<String> = findings
        .failures()
        .map(|(cell, key, who, why)| format!("{}: {who} failed: {why}", cell.plan.label(key)))
        .collect();
    notes.extend(failures.iter().take(TOLD).cloned());
    if failures.len() > TOLD {
        notes.push(format!("{} more failed.", failures.len() - TOLD));
    }
    if findings.cells.len() > SHOWN {
        notes.push(format!("The first {SHOWN} of {} cells are shown.", findings.cells.len()));
    }
    // Cells may have other networks: each warning once.
    let cells = findings.cells.iter();
    let warnings: BTreeSet<String> =
        cells.flat_map(|cell| cell.plan.scenario.network.warnings()).collect();
    notes.extend(warnings);
    let draws = findings.cells.first().into_iter().flat_map(|c| c.plan.draws.iter());
    notes.extend(draws.flat_map(|d| d.warnings()).map(|w| format!("About the content: {w}.")));
    notes
}

fn provenance(
    findings: &Findings<'_>,
    first: &Cell,
    summary: &Summary,
    common: &Common<'_>,
) -> Provenance {
    let scenario = &first.plan.scenario;
    let hashes: Vec<String> = summary.runs.iter().filter_map(|r| r.packet_hash.clone()).collect();
    let many = hashes.len() > TOLD;
    let content: Vec<String> = first.plan.draws.iter().filter_map(|d| d.content()).collect();
    Provenance {
        label: "All cells".to_owned(),
        command: places::command(findings.grid, None, &first.plan, common, None),
        scenario: scenario.source.name.display().to_string(),
        scenario_text: scenario.source.text.clone(),
        seeds: summary.seeds.clone(),
        airlane: summary.airlane.clone(),
        commit: summary.commit.clone(),
        content: content.join("; "),
        more: if many {
            vec![Fact::new("Packet hashes", "in summary.json, one per run")]
        } else {
            Vec::new()
        },
        packet_hashes: if many { Vec::new() } else { hashes },
        ..Provenance::default()
    }
}
