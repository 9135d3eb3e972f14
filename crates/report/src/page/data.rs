//! The figures that the page's script draws, as compact JSON.

use serde::Serialize;

use super::names::{ACTOR_COLOURS, Names};
use super::occupancy::OccupancyData;
use crate::decimate::{MAX_POINTS, decimate, rounded, rounded_time};
use crate::model::run::gaps;
use crate::model::{
    AtRest, Axis, Better, Cdf, Cell, Column, Draw, Grid, Kind, Panel, Run, Section, Tradeoff,
    XyGroup,
};

/// Points of a cumulative line: more than a chart is wide in pixels.
const CDF_POINTS: usize = 500;

/// Data that the page's script reads.
#[derive(Serialize)]
pub struct PageData<'a> {
    sections: Vec<SectionData<'a>>,
}

#[derive(Serialize)]
struct SectionData<'a> {
    schemes: Vec<SchemeData<'a>>,
    actors: Vec<ActorData<'a>>,
    tradeoffs: Vec<TradeoffData<'a>>,
    curves: Vec<CurveData<'a>>,
    cdfs: Vec<CdfData<'a>>,
    groups: Vec<GroupData<'a>>,
}

#[derive(Serialize)]
struct SchemeData<'a> {
    title: &'a str,
    mark: usize,
}

#[derive(Serialize)]
struct ActorData<'a> {
    name: &'a str,
    short: String,
    detail: &'a str,
    colour: usize,
}

#[derive(Serialize)]
struct TradeoffData<'a> {
    x: SideData<'a>,
    y: SideData<'a>,
    points: Vec<PointData>,
}

/// An axis of a trade-off.
#[derive(Serialize)]
struct SideData<'a> {
    title: &'a str,
    unit: &'a str,
    digits: u8,
    log: bool,
    better: Option<Better>,
}

#[derive(Serialize)]
struct PointData {
    scheme: usize,
    x: ReadingData,
    y: ReadingData,
}

#[derive(Serialize)]
struct ReadingData {
    value: f64,
    ci95: Option<[f64; 2]>,
}

#[derive(Serialize)]
struct CurveData<'a> {
    x: &'a Axis,
    y: &'a Axis,
    charts: Vec<XyData<'a>>,
}

#[derive(Serialize)]
struct XyData<'a> {
    colour: Option<usize>,
    lines: Vec<XyLineData<'a>>,
    marks: Vec<MarkData>,
}

#[derive(Serialize)]
struct XyLineData<'a> {
    name: &'a str,
    #[serde(with = "gaps")]
    x: Vec<f64>,
    #[serde(with = "gaps")]
    y: Vec<f64>,
}

#[derive(Serialize)]
struct MarkData {
    scheme: usize,
    x: f64,
    y: Option<f64>,
}

#[derive(Serialize)]
struct CdfData<'a> {
    x: &'a Axis,
    lines: Vec<CdfLineData>,
}

#[derive(Serialize)]
struct CdfLineData {
    scheme: usize,
    samples: usize,
    x: Vec<f64>,
    p: Vec<f64>,
}

/// Runs that stand side by side: the same case and seed under several schemes.
#[derive(Serialize)]
struct GroupData<'a> {
    label: String,
    panels: Vec<PanelHead<'a>>,
    runs: Vec<RunData<'a>>,
}

#[derive(Serialize)]
struct PanelHead<'a> {
    id: &'a str,
    title: &'a str,
    unit: &'a str,
    help: &'a str,
    step: bool,
    last: bool,
    digits: u8,
    range: Option<[f64; 2]>,
}

#[derive(Serialize)]
struct RunData<'a> {
    scheme: usize,
    label: &'a str,
    panels: Vec<PanelData<'a>>,
    spans: Vec<SpanData<'a>>,
    grids: Vec<GridData<'a>>,
    occupancies: Vec<OccupancyData<'a>>,
}

#[derive(Serialize)]
struct GridData<'a> {
    id: &'a str,
    title: &'a str,
    help: &'a str,
    columns: usize,
    rows: usize,
    aspect: f64,
    kinds: &'a [Kind],
    mark: &'a str,
    frames: Vec<FrameData<'a>>,
}

#[derive(Serialize)]
struct FrameData<'a> {
    t: f64,
    cells: &'a [u8],
    /// In percent.
    marks: Vec<u8>,
    note: &'a str,
}

#[derive(Serialize)]
struct PanelData<'a> {
    id: &'a str,
    series: Vec<SeriesData<'a>>,
}

#[derive(Serialize)]
struct SeriesData<'a> {
    actor: Option<usize>,
    name: &'a str,
    t: Vec<f64>,
    #[serde(with = "gaps")]
    v: Vec<f64>,
}

#[derive(Serialize)]
struct SpanData<'a> {
    actor: Option<usize>,
    kind: &'a str,
    start: f64,
    end: f64,
}

impl<'a> PageData<'a> {
    /// The figures of all sections; `names` has one entry for each of them.
    pub fn new(sections: &'a [Section], names: &'a [Names]) -> Self {
        let sections = sections.iter().zip(names).map(|(s, n)| section(s, n)).collect();
        Self { sections }
    }
}

fn section<'a>(section: &'a Section, names: &'a Names) -> SectionData<'a> {
    SectionData {
        schemes: (0..names.schemes.len())
            .map(|i| SchemeData { title: &names.schemes[i].title, mark: names.mark(i) })
            .collect(),
        actors: names
            .actors
            .iter()
            .zip(&names.details)
            .enumerate()
            .map(|(i, (name, detail))| ActorData {
                name,
                short: names.brief(name),
                detail,
                colour: i % ACTOR_COLOURS,
            })
            .collect(),
        tradeoffs: section.tradeoffs.iter().map(|t| tradeoff(t, names)).collect(),
        curves: section.curves.iter().map(|g| curves(g, names)).collect(),
        cdfs: section.cdfs.iter().map(|c| cdf(c, names)).collect(),
        groups: groups(&section.runs, names),
    }
}

fn tradeoff<'a>(chart: &'a Tradeoff, names: &Names) -> TradeoffData<'a> {
    let side = |column: &'a Column, log| SideData {
        title: &column.title,
        unit: &column.unit,
        digits: column.digits,
        log,
        better: column.better,
    };
    let points = chart.points.iter().filter_map(|point| {
        let (x, y) = (reading(&point.x, chart.log_x)?, reading(&point.y, chart.log_y)?);
        Some(PointData { scheme: names.scheme(&point.scheme), x, y })
    });
    TradeoffData {
        x: side(&chart.x, chart.log_x),
        y: side(&chart.y, chart.log_y),
        points: points.collect(),
    }
}

/// A figure that can be drawn on its axis.
fn reading(cell: &Cell, log: bool) -> Option<ReadingData> {
    match cell {
        Cell::Number { value, ci95 } if value.is_finite() && (*value > 0.0 || !log) => {
            let finite = ci95.filter(|ends| ends.iter().all(|end| end.is_finite()));
            Some(ReadingData { value: rounded(*value), ci95: finite.map(|ci| ci.map(rounded)) })
        }
        _ => None,
    }
}

fn curves<'a>(group: &'a XyGroup, names: &Names) -> CurveData<'a> {
    let charts = group
        .charts
        .iter()
        .map(|chart| XyData {
            colour: names.actor(&chart.title).map(|a| a % ACTOR_COLOURS),
            lines: chart
                .lines
                .iter()
                .map(|line| {
                    let (x, y) = decimate(&line.x, &line.y, MAX_POINTS);
                    let (x, y) = (all_rounded(x), all_rounded(y));
                    XyLineData { name: &line.name, x, y }
                })
                .collect(),
            marks: chart
                .marks
                .iter()
                .filter(|m| m.x.is_finite())
                .map(|m| MarkData {
                    scheme: names.scheme(&m.scheme),
                    x: rounded(m.x),
                    y: m.y.or_else(|| chart.at(m.x)).map(rounded),
                })
                .collect(),
        })
        .collect();
    CurveData { x: &group.x, y: &group.y, charts }
}

fn all_rounded(values: Vec<f64>) -> Vec<f64> {
    values.into_iter().map(rounded).collect()
}

fn cdf<'a>(cdf: &'a Cdf, names: &Names) -> CdfData<'a> {
    let lines = cdf
        .lines
        .iter()
        .map(|line| {
            let mut sorted: Vec<f64> =
                line.samples.iter().copied().filter(|v| v.is_finite()).collect();
            sorted.sort_by(f64::total_cmp);
            let n = sorted.len();
            // Thinned evenly in rank, which keeps the first and the last sample.
            let kept = n.min(CDF_POINTS);
            let rank = |i: usize| if kept > 1 { i * (n - 1) / (kept - 1) } else { 0 };
            CdfLineData {
                scheme: names.scheme(&line.scheme),
                samples: n,
                x: (0..kept).map(|i| rounded(sorted[rank(i)])).collect(),
                p: (0..kept).map(|i| rounded((rank(i) + 1) as f64 / n as f64)).collect(),
            }
        })
        .collect();
    CdfData { x: &cdf.x, lines }
}

fn groups<'a>(runs: &'a [Run], names: &Names) -> Vec<GroupData<'a>> {
    let mut keys: Vec<(&str, u64)> = Vec::new();
    for run in runs {
        let key = (run.case.as_str(), run.seed);
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys.into_iter()
        .map(|(case, seed)| {
            let mut members: Vec<&Run> =
                runs.iter().filter(|r| r.case == case && r.seed == seed).collect();
            members.sort_by_key(|r| names.scheme(&r.scheme));
            GroupData {
                label: if case.is_empty() {
                    format!("seed {seed}")
                } else {
                    format!("{case}, seed {seed}")
                },
                panels: heads(&members),
                runs: members.into_iter().map(|r| run(r, names)).collect(),
            }
        })
        .collect()
}

/// The panels of a group: those of the run that has most, and then those that only others have.
fn heads<'a>(runs: &[&'a Run]) -> Vec<PanelHead<'a>> {
    let mut panels: Vec<&'a Panel> = Vec::new();
    let fullest = runs.iter().rev().max_by_key(|r| r.panels.len());
    for run in fullest.into_iter().chain(runs) {
        for panel in &run.panels {
            if !panels.iter().any(|p| p.id == panel.id) {
                panels.push(panel);
            }
        }
    }
    panels
        .into_iter()
        .map(|p| PanelHead {
            id: &p.id,
            title: &p.title,
            unit: &p.unit,
            help: &p.help,
            step: p.draw == Draw::Step,
            last: p.at_rest == AtRest::Last,
            digits: p.digits,
            range: p.range,
        })
        .collect()
}

fn run<'a>(run: &'a Run, names: &Names) -> RunData<'a> {
    let panels = run
        .panels
        .iter()
        .map(|panel| PanelData {
            id: &panel.id,
            series: panel
                .series
                .iter()
                .map(|s| {
                    let (t, v) = decimate(&s.times_s, &s.values, MAX_POINTS);
                    let actor = names.actor(&s.name);
                    let t = t.into_iter().map(rounded_time).collect();
                    SeriesData { actor, name: &s.name, t, v: all_rounded(v) }
                })
                .collect(),
        })
        .collect();
    let spans = run
        .spans
        .iter()
        .filter(|s| s.start_s.is_finite() && s.end_s.is_finite())
        .map(|s| SpanData {
            actor: names.actor(&s.actor),
            kind: &s.kind,
            start: rounded_time(s.start_s),
            end: rounded_time(s.end_s),
        })
        .collect();
    let grids = run.grids.iter().map(grid).collect();
    let occupancies = run.occupancies.iter().map(|of| OccupancyData::of(of, names)).collect();
    let scheme = names.scheme(&run.scheme);
    RunData { scheme, label: &run.label, panels, spans, grids, occupancies }
}

fn grid(grid: &Grid) -> GridData<'_> {
    let frames = grid.frames.iter().map(|frame| FrameData {
        t: rounded_time(frame.at_s),
        cells: &frame.cells,
        marks: frame.marks.iter().map(|mark| (100.0 * mark.clamp(0.0, 1.0)) as u8).collect(),
        note: &frame.note,
    });
    GridData {
        id: &grid.id,
        title: &grid.title,
        help: &grid.help,
        columns: grid.columns,
        rows: grid.rows,
        aspect: rounded(grid.aspect),
        kinds: &grid.kinds,
        mark: &grid.mark,
        frames: frames.collect(),
    }
}
