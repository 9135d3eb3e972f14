//! The tables and charts of a story.

use airlane_quality::stats;
use airlane_report::model::{
    Axis, Better, Cdf, CdfLine, Cell, Column, Dot, DotChart, DotRow, Mark, Table, XyChart, XyGroup,
    XyLine,
};

use super::figures::{RunFigures, ViewerFigures, WebFigures, metric_unit, watched_metric};
use super::results::Results;
use super::verdict::Samples;
use super::words::{actor_name, metric_title, plural, video_words};
use crate::world::Content;

/// Samples of a distribution that are drawn: more could not be told apart.
const CDF_SAMPLES: usize = 2_000;

/// From so many figures on, a distribution says more than the table.
const WORTH_A_CDF: usize = 12;

/// A column of a table: how it is headed and what stands in it.
type Figure<'a, T> = (Column, Box<dyn Fn(&T) -> Option<f64> + 'a>);

/// The mean with its interval; of what cannot be below zero, the interval ends there.
fn cell(samples: &Samples, name: &str, floor: Option<f64>) -> Cell {
    let lowest = floor.unwrap_or(f64::NEG_INFINITY);
    match samples.mean() {
        None => Cell::Empty,
        Some(mean) => Cell::with_ci(mean, samples.ci95(name).map(|i| [i.lo.max(lowest), i.hi])),
    }
}

/// Everything but quality and experience is a count, a time, a rate or a share; of those two, a
/// spread is none below zero either.
fn floor(column: &Column, unit: &str) -> Option<f64> {
    (column.unit != unit || column.better == Some(Better::Lower)).then_some(0.0)
}

fn over(results: &Results<'_>) -> String {
    let scenario = &results.plan.scenario;
    let seeds = scenario.seeds.len();
    match (results.plan.cases.len(), seeds) {
        (1, 1) => "One run per scheme: without intervals.".to_owned(),
        (1, _) => format!("Means over {seeds} seeds, with 95 % intervals."),
        (n, _) => {
            format!("Means over {n} cases of {}, with 95 % intervals.", plural(seeds, "seed"))
        }
    }
}

/// The summary, a row per scheme.
pub(super) fn by_scheme(results: &Results<'_>) -> Table {
    use Better::{Higher, Lower};
    let scenario = &results.plan.scenario;
    let unit = metric_unit(watched_metric(scenario));
    let mut figures: Vec<Figure<'_, RunFigures>> = Vec::new();
    if !scenario.viewers.is_empty() {
        let quality = format!("Mean {}", metric_title(watched_metric(scenario)));
        figures.push((
            Column::number("Worst viewer's QoE", unit, 1)
                .better(Higher)
                .help("Who is worst may differ from scheme to scheme."),
            Box::new(RunFigures::min_qoe),
        ));
        figures.push((
            Column::number("Mean QoE", unit, 1).better(Higher),
            Box::new(RunFigures::mean_qoe),
        ));
        figures.push((
            Column::number("Spread", unit, 1)
                .better(Lower)
                .help("QoE of the best viewer less that of the worst."),
            Box::new(RunFigures::qoe_range),
        ));
        figures.push((
            Column::number(quality, unit, 1).better(Higher),
            Box::new(|r| mean_of(r, |v| v.quality)),
        ));
        figures.push((
            Column::number("Stalled", "s", 1).better(Lower).help("All viewers together."),
            Box::new(|r| Some(r.stall_total_s())),
        ));
        figures.push((
            Column::number("Start-up", "s", 2)
                .better(Lower)
                .help("From play to the first picture, mean over viewers."),
            Box::new(|r| mean_of(r, |v| v.startup_s)),
        ));
    }
    if !scenario.bulk.is_empty() {
        let goodput =
            |r: &RunFigures| r.bulk.iter().map(|b| b.goodput_bps).collect::<Option<Vec<_>>>();
        figures.push((
            Column::number("Slowest transfer", "Mbit/s", 2).better(Higher),
            Box::new(move |r| Some(goodput(r)?.into_iter().min_by(f64::total_cmp)? / 1e6)),
        ));
        figures.push((
            Column::number("All transfers", "Mbit/s", 2).better(Higher),
            Box::new(move |r| Some(goodput(r)?.into_iter().sum::<f64>() / 1e6)),
        ));
        figures.push((
            Column::number("Evenness of rates", "", 3).help(
                "Jain's index of the rates: 1 if all have the same, 1/n if one has everything.",
            ),
            Box::new(RunFigures::jain),
        ));
    }
    figures.push((
        Column::number("Link use", "%", 1).better(Higher),
        Box::new(|r| Some(r.link?.utilisation * 100.0)),
    ));
    figures.push((
        Column::number("Queueing delay", "ms", 1)
            .better(Lower)
            .help("Time that a packet waits at the link, mean over packets."),
        Box::new(|r| Some(r.link?.mean_queue_ms)),
    ));
    figures.push((
        Column::number("Dropped", "packets", 0).help("At the link, for whatever reason."),
        Box::new(|r| Some(r.drops?.iter().sum::<u64>() as f64)),
    ));

    let mut columns = vec![Column::text("Scheme")];
    columns.extend(figures.iter().map(|(column, _)| column.clone()));
    let mut table = Table::new("By scheme", columns);
    table.note = over(results);
    for (i, scheme) in scenario.schemes.iter().enumerate() {
        let mut cells = vec![Cell::from(scheme.title.as_str())];
        for (column, figure) in &figures {
            let samples = results.samples(i, figure);
            let name = format!("{}/{}", scheme.name, column.title);
            cells.push(cell(&samples, &name, floor(column, unit)));
        }
        table.push(cells);
    }
    table
}

fn mean_of(run: &RunFigures, figure: impl Fn(&ViewerFigures) -> Option<f64>) -> Option<f64> {
    let all: Option<Vec<f64>> = run.viewers.iter().map(figure).collect();
    stats::mean(&all?)
}

/// A row per viewer and scheme; for plans of one case, in which a viewer has one video.
pub(super) fn by_viewer(results: &Results<'_>) -> Table {
    let scenario = &results.plan.scenario;
    let metric = watched_metric(scenario);
    let unit = metric_unit(metric);
    let figures: Vec<Figure<'_, ViewerFigures>> = vec![
        (Column::number("QoE", unit, 1), Box::new(|v| v.qoe)),
        (
            Column::number(format!("Mean {}", metric_title(metric)), unit, 1),
            Box::new(|v| v.quality),
        ),
        (
            Column::number("Rate", "Mbit/s", 2).help("What the connection got from the link."),
            Box::new(|v| Some(v.mean_rate_bps? / 1e6)),
        ),
        (
            Column::number("Played", "Mbit/s", 2)
                .help("The mean rate of the chunks played, as encoded."),
            Box::new(|v| Some(v.bitrate_bps? / 1e6)),
        ),
        (Column::number("Stalled", "s", 1), Box::new(|v| Some(v.stall_s))),
        (Column::number("Start-up", "s", 2), Box::new(|v| v.startup_s)),
        (Column::number("Mean buffer", "s", 1), Box::new(|v| v.mean_buffer_s)),
        (
            Column::number("Changes", "", 1).help("How often the version changed."),
            Box::new(|v| Some(v.switches as f64)),
        ),
    ];
    let mut columns = vec![
        Column::text("Viewer").merged(),
        Column::text("Video").merged(),
        Column::text("Scheme"),
    ];
    columns.extend(figures.iter().map(|(column, _)| column.clone()));
    let mut table = Table::new("By viewer", columns);
    table.note = over(results);
    let videos = &results.plan.cases[0].videos;
    for (viewer, (named, video)) in scenario.viewers.iter().zip(videos).enumerate() {
        for (i, scheme) in scenario.schemes.iter().enumerate() {
            let mut cells: Vec<Cell> = vec![
                actor_name(&named.name).into(),
                video_words(video).into(),
                scheme.title.as_str().into(),
            ];
            let failed = results
                .of_scheme(i)
                .any(|r| r.viewers.get(viewer).is_some_and(|v| v.failure.is_some()));
            for (column, figure) in &figures {
                let samples = results.of_viewer(i, viewer, figure);
                let name = format!("{}/{}/{}", named.name, scheme.name, column.title);
                cells.push(match cell(&samples, &name, floor(column, unit)) {
                    Cell::Empty if failed => "failed".into(),
                    cell => cell,
                });
            }
            table.push(cells);
        }
    }
    table
}

/// A row per case: who watched what, and how the worst viewer fared under each scheme.
pub(super) fn by_case(results: &Results<'_>) -> Table {
    let scenario = &results.plan.scenario;
    let unit = metric_unit(watched_metric(scenario));
    let mut columns = vec![Column::text("Case"), Column::text("Videos")];
    columns.extend(scenario.schemes.iter().map(|s| Column::number(&s.title, unit, 1)));
    let mut table = Table::new("QoE of the worst viewer, by case", columns);
    table.note = match scenario.seeds.len() {
        1 => "One run of each scheme.".to_owned(),
        n => format!("Means over {n} seeds."),
    };
    for (i, case) in results.plan.cases.iter().enumerate() {
        let videos: Vec<&str> = case.videos.iter().map(|v| v.name.as_str()).collect();
        let mut cells: Vec<Cell> = vec![case.name.as_str().into(), videos.join(", ").into()];
        for scheme in 0..scenario.schemes.len() {
            let samples = results.samples(scheme, RunFigures::min_qoe).0;
            cells.push(stats::mean(&samples[i]).map_or(Cell::Empty, Cell::number));
        }
        table.push(cells);
    }
    table
}

/// A row per transfer and scheme.
pub(super) fn by_transfer(results: &Results<'_>) -> Option<Table> {
    let scenario = &results.plan.scenario;
    let names: Vec<&str> = results.all().next()?.bulk.iter().map(|b| b.name.as_str()).collect();
    if names.is_empty() {
        return None;
    }
    let columns = vec![
        Column::text("Transfer").merged(),
        Column::text("Scheme"),
        Column::number("Goodput", "Mbit/s", 2).help("Application bytes over the time it ran."),
    ];
    let mut table = Table::new("By transfer", columns);
    table.note = over(results);
    for (n, name) in names.iter().enumerate() {
        for (i, scheme) in scenario.schemes.iter().enumerate() {
            let samples = results.samples(i, |r| Some(r.bulk.get(n)?.goodput_bps? / 1e6));
            let goodput = cell(&samples, &format!("{name}/{}", scheme.name), Some(0.0));
            table.push(vec![(*name).into(), scheme.title.as_str().into(), goodput]);
        }
    }
    Some(table)
}

/// A row per entry of web traffic and scheme.
pub(super) fn by_web(results: &Results<'_>) -> Option<Table> {
    let scenario = &results.plan.scenario;
    let names: Vec<&str> = results.all().next()?.web.iter().map(|w| w.name.as_str()).collect();
    if names.is_empty() {
        return None;
    }
    let columns = vec![
        Column::text("Traffic").merged(),
        Column::text("Scheme"),
        Column::number("Offered", "Mbit/s", 2).help("Bodies asked for."),
        Column::number("Goodput", "Mbit/s", 2).help("Bodies received."),
        Column::number("Transfers", "", 0),
        Column::number("Mean time", "s", 3).help("Of a transfer, its handshake included."),
        Column::number("95th percentile", "s", 3),
    ];
    let mut table = Table::new("Web traffic", columns);
    table.note = over(results);
    type Figure = (&'static str, fn(&WebFigures) -> Option<f64>);
    let figures: [Figure; 5] = [
        ("offered", |w| Some(w.offered_bps / 1e6)),
        ("goodput", |w| Some(w.goodput_bps / 1e6)),
        ("transfers", |w| Some(w.transfers as f64)),
        ("mean", |w| w.took_mean_s),
        ("p95", |w| w.took_p95_s),
    ];
    for (n, name) in names.iter().enumerate() {
        for (i, scheme) in scenario.schemes.iter().enumerate() {
            let mut cells: Vec<Cell> = vec![(*name).into(), scheme.title.as_str().into()];
            cells.extend(figures.iter().map(|(figure, of)| {
                let samples = results.samples(i, |r| of(r.web.get(n)?));
                cell(&samples, &format!("{name}/{figure}/{}", scheme.name), Some(0.0))
            }));
            table.push(cells);
        }
    }
    Some(table)
}

/// A dot per viewer and scheme.
pub(super) fn dots(results: &Results<'_>) -> DotChart {
    let scenario = &results.plan.scenario;
    let row = |(i, scheme): (usize, &crate::scenario::Scheme)| DotRow {
        scheme: scheme.name.clone(),
        dots: scenario
            .viewers
            .iter()
            .enumerate()
            .filter_map(|(n, viewer)| {
                let samples = results.of_viewer(i, n, |v| v.qoe);
                let ci95 = samples.ci95(&format!("dot/{}/{}", viewer.name, scheme.name));
                Some(Dot {
                    actor: actor_name(&viewer.name),
                    value: samples.mean()?,
                    ci95: ci95.map(|i| [i.lo, i.hi]),
                })
            })
            .collect(),
    };
    let intervals = match scenario.seeds.len() {
        1 => "",
        _ => ", with the 95 % interval over seeds",
    };
    DotChart {
        title: "Who got what".to_owned(),
        note: format!(
            "A dot per viewer: its experience over {}{intervals}. Further right is better, closer \
             together is more even.",
            super::words::seconds(scenario.duration)
        ),
        x: Axis::new("QoE", metric_unit(watched_metric(scenario))),
        rows: scenario.schemes.iter().enumerate().map(row).collect(),
    }
}

/// The quality curve of each viewer's video, with what each scheme made of it.
pub(super) fn curves(results: &Results<'_>, content: &Content) -> XyGroup {
    let plan = results.plan;
    let scenario = &plan.scenario;
    let metric = watched_metric(scenario);
    let mut charts = Vec::new();
    for (n, (viewer, video)) in scenario.viewers.iter().zip(&plan.cases[0].videos).enumerate() {
        let Some(setting) = content.setting(scenario, viewer, &video.name) else { continue };
        let (x, y) = setting.view().curve().points().map(|(r, q)| (r / 1e6, q)).unzip();
        let marks = scenario.schemes.iter().enumerate().filter_map(|(i, scheme)| {
            Some(Mark {
                scheme: scheme.name.clone(),
                x: results.of_viewer(i, n, |v| v.bitrate_bps).mean()? / 1e6,
                y: results.of_viewer(i, n, |v| v.quality).mean(),
            })
        });
        charts.push(XyChart {
            title: actor_name(&viewer.name),
            subtitle: video_words(video),
            lines: vec![XyLine { name: video.name.clone(), x, y }],
            marks: marks.collect(),
        });
    }
    XyGroup {
        title: "Why: what a bit is worth to each viewer".to_owned(),
        note: "Each line is how good a video looks, by its rate. Where it is steep, a little more \
               rate helps a lot; where it is flat, rate is wasted. The marks show what was played \
               under each scheme: mean rate and mean quality. A viewer who switches between \
               versions lies a little beside the line."
            .to_owned(),
        x: Axis::new("rate of the video", "Mbit/s"),
        y: Axis::new(metric_title(metric), metric_unit(metric)),
        charts,
    }
}

/// Distributions over chunks, viewers and cases, where there are enough of them.
pub(super) fn cdfs(results: &Results<'_>) -> Vec<Cdf> {
    let scenario = &results.plan.scenario;
    let metric = watched_metric(scenario);
    let unit = metric_unit(metric);
    let cdf = |title: &str, note: &str, x: &str, samples: &dyn Fn(&RunFigures) -> Vec<f64>| Cdf {
        title: title.to_owned(),
        note: note.to_owned(),
        x: Axis::new(x, unit),
        lines: scenario
            .schemes
            .iter()
            .enumerate()
            .map(|(i, scheme)| CdfLine {
                scheme: scheme.name.clone(),
                samples: thinned(results.of_scheme(i).flat_map(samples).collect()),
            })
            .collect(),
    };
    let all = vec![
        cdf(
            "QoE of viewers",
            "Over all viewers, cases and seeds. Further right is better; the left end is the worst \
             off.",
            "QoE",
            &|r| r.viewers.iter().filter_map(|v| v.qoe).collect(),
        ),
        cdf("QoE of the worst viewer", "Over cases and seeds.", "QoE", &|r| {
            r.min_qoe().into_iter().collect()
        }),
        cdf("Picture quality", "Over all chunks that began to play.", metric_title(metric), &|r| {
            r.viewers.iter().flat_map(|v| v.chunk_quality.clone()).collect()
        }),
    ];
    let worth = |c: &Cdf| c.lines.iter().all(|l| l.samples.len() >= WORTH_A_CDF);
    all.into_iter().filter(worth).collect()
}

/// At most [`CDF_SAMPLES`], evenly spaced in the order of size, the least and greatest included.
fn thinned(mut samples: Vec<f64>) -> Vec<f64> {
    samples.sort_by(f64::total_cmp);
    if samples.len() <= CDF_SAMPLES {
        return samples;
    }
    let last = samples.len() - 1;
    (0..CDF_SAMPLES).map(|i| samples[i * last / (CDF_SAMPLES - 1)]).collect()
}
