//! What the report says of viewers.

use airlane_quality::stats;
use airlane_report::model::{
    Axis, Better, Cdf, CdfLine, Cell, Column, Dot, DotChart, DotRow, Mark, Table, XyChart, XyGroup,
    XyLine,
};

use super::cache::Cache;
use super::content_draws::ContentDraws;
use super::verdict::{Side, on_viewers};
use super::words::{metric_title, video, viewer_title};
use super::{NAME, Viewers};
use airlane_judge::reporting::{cell, over, words};
use airlane_scenario::Scheme;
use airlane_sim::Results;
use airlane_sim::Samples;
use airlane_sim::workload::{
    ActorResult, Caches, Draws, Headline, ReportSection, RunResult, SweepForm,
};

/// Samples of a distribution that are drawn: more could not be told apart.
const CDF_SAMPLES: usize = 2_000;

/// From so many figures on, a distribution says more than the table.
const WORTH_A_CDF: usize = 12;

/// The figures of the tables by scheme.
pub(super) fn headlines(traffic: &Viewers) -> Vec<Headline> {
    use Better::{Higher, Lower};
    let unit = traffic.unit().symbol();
    let metric = traffic.watched_metric();
    vec![
        Headline::new(
            Column::number("Worst viewer's QoE", unit, 1)
                .better(Higher)
                .help("Who is worst may differ from scheme to scheme."),
            |r| r.value("min_qoe"),
        )
        .signed()
        .on_terminal("worst QoE")
        .in_sweep(SweepForm::DrawnInRange),
        Headline::new(Column::number("Mean QoE", unit, 1).better(Higher), |r| r.value("mean_qoe"))
            .signed()
            .on_terminal("mean QoE")
            .in_sweep(SweepForm::Table),
        Headline::new(
            Column::number("Spread", unit, 1)
                .better(Lower)
                .help("QoE of the best viewer less that of the worst."),
            |r| r.value("qoe_range"),
        ),
        Headline::new(
            Column::number(format!("Mean {}", metric_title(metric)), unit, 1).better(Higher),
            move |r| r.mean_of(NAME, metric.name()),
        )
        .signed(),
        Headline::new(
            Column::number("Stalled", "s", 1).better(Lower).help("All viewers together."),
            |r| r.value("stall_total_s"),
        )
        .on_terminal("stalled")
        .in_sweep(SweepForm::Drawn),
        Headline::new(
            Column::number("Start-up", "s", 2)
                .better(Lower)
                .help("From play to the first picture, mean over viewers."),
            |r| r.mean_of(NAME, "startup_s"),
        ),
    ]
}

/// The tables and charts.
pub(super) fn section(traffic: &Viewers, results: &Results<'_>, caches: &Caches) -> ReportSection {
    let Some(drawn) = ContentDraws::of(results.plan) else { return ReportSection::default() };
    let cdfs = cdfs(traffic, results);
    if results.plan.cases.len() > 1 {
        return ReportSection {
            tables: vec![by_case(traffic, results)],
            cdfs,
            ..ReportSection::default()
        };
    }
    ReportSection {
        tables: vec![by_viewer(traffic, drawn, results)],
        dots: vec![dots(traffic, results)],
        curves: Cache::of(caches).map(|s| curves(traffic, drawn, results, s)).into_iter().collect(),
        cdfs,
    }
}

/// Sides that the verdict compares: the runs in which every scheme has a QoE of every viewer.
fn sides(results: &Results<'_>) -> Vec<Side> {
    let pairs = results.paired(|run| Some((run.value("min_qoe")?, run.value("stall_total_s")?)));
    let side = |(scheme, cases): (&Scheme, Vec<Vec<(f64, f64)>>)| {
        let of = |which: fn(&(f64, f64)) -> f64| {
            Samples(cases.iter().map(|seeds| seeds.iter().map(which).collect()).collect())
        };
        Side { title: scheme.title.clone(), worst: of(|f| f.0), stalled: of(|f| f.1) }
    };
    results.plan.scenario.schemes.iter().zip(pairs).map(side).collect()
}

/// Result of the runs, in one sentence.
pub(super) fn verdict(traffic: &Viewers, results: &Results<'_>) -> String {
    on_viewers(traffic.viewers.len(), traffic.unit().symbol(), &sides(results))
}

/// A column of the table of viewers and what stands in it.
type Figure = (Column, Box<dyn Fn(&ActorResult) -> Option<f64>>);

/// Everything but quality and experience is a count, a time or a rate, and not below zero.
fn floor(column: &Column, unit: &str) -> Option<f64> {
    (column.unit != unit).then_some(0.0)
}

/// A row per viewer and scheme; for plans of one case, in which a viewer has one video.
fn by_viewer(traffic: &Viewers, drawn: &ContentDraws, results: &Results<'_>) -> Table {
    let scenario = &results.plan.scenario;
    let metric = traffic.watched_metric();
    let unit = traffic.unit().symbol();
    // Viewers with another quality metric have their figures under another name.
    let quality = move |v: &ActorResult| v.value(metric.name());
    let figures: Vec<Figure> = vec![
        (Column::number("QoE", unit, 1), Box::new(|v| v.value("qoe"))),
        (Column::number(format!("Mean {}", metric_title(metric)), unit, 1), Box::new(quality)),
        (
            Column::number("Rate", "Mbit/s", 2).help("What the connection got from the link."),
            Box::new(|v| Some(v.value("mean_rate_bps")? / 1e6)),
        ),
        (
            Column::number("Played", "Mbit/s", 2)
                .help("The mean rate of the chunks played, as encoded."),
            Box::new(|v| Some(v.value("bitrate_bps")? / 1e6)),
        ),
        (Column::number("Stalled", "s", 1), Box::new(|v| v.value("stall_s"))),
        (Column::number("Start-up", "s", 2), Box::new(|v| v.value("startup_s"))),
        (Column::number("Mean buffer", "s", 1), Box::new(|v| v.value("mean_buffer_s"))),
        (
            Column::number("Changes", "", 1).help("How often the version changed."),
            Box::new(|v| v.value("switches")),
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
    let videos = &drawn.draws[0].videos;
    for (viewer, (named, watched)) in traffic.viewers.iter().zip(videos).enumerate() {
        for (i, scheme) in scenario.schemes.iter().enumerate() {
            let mut cells: Vec<Cell> = vec![
                viewer_title(&named.name).into(),
                video(watched).into(),
                scheme.title.as_str().into(),
            ];
            for (column, figure) in &figures {
                let samples = results.of_actor(i, (NAME, viewer), figure);
                let name = format!("{}/{}/{}", named.name, scheme.name, column.title);
                cells.push(cell(&samples, &name, floor(column, unit)));
            }
            table.push(cells);
        }
    }
    table
}

/// A row per case: who watched what, and how the worst viewer fared under each scheme.
fn by_case(traffic: &Viewers, results: &Results<'_>) -> Table {
    let scenario = &results.plan.scenario;
    let unit = traffic.unit().symbol();
    let mut columns = vec![Column::text("Case"), Column::text("Videos")];
    columns.extend(scenario.schemes.iter().map(|s| Column::number(&s.title, unit, 1)));
    let mut table = Table::new("QoE of the worst viewer, by case", columns);
    table.note = match scenario.seeds.len() {
        1 => "One run of each scheme.".to_owned(),
        n => format!("Means over {n} seeds."),
    };
    for (i, case) in results.plan.cases.iter().enumerate() {
        let videos =
            results.plan.draws.of::<ContentDraws>().map_or_else(String::new, |d| d.case(case.draw));
        let mut cells: Vec<Cell> = vec![case.name.as_str().into(), videos.into()];
        for scheme in 0..scenario.schemes.len() {
            let samples = results.samples(scheme, |r| r.value("min_qoe")).0;
            cells.push(stats::mean(&samples[i]).map_or(Cell::Empty, Cell::number));
        }
        table.push(cells);
    }
    table
}

/// A dot per viewer and scheme.
fn dots(traffic: &Viewers, results: &Results<'_>) -> DotChart {
    let scenario = &results.plan.scenario;
    let row = |(i, scheme): (usize, &Scheme)| DotRow {
        scheme: scheme.name.clone(),
        dots: traffic
            .viewers
            .iter()
            .enumerate()
            .filter_map(|(n, viewer)| {
                let samples = results.of_actor(i, (NAME, n), |v| v.value("qoe"));
                let ci95 = samples.ci95(&format!("dot/{}/{}", viewer.name, scheme.name));
                Some(Dot {
                    actor: viewer_title(&viewer.name),
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
            words::seconds(scenario.duration)
        ),
        x: Axis::new("QoE", traffic.unit()),
        rows: scenario.schemes.iter().enumerate().map(row).collect(),
    }
}

/// The quality curve of each viewer's video, with what each scheme made of it.
fn curves(
    traffic: &Viewers,
    drawn: &ContentDraws,
    results: &Results<'_>,
    cache: &Cache,
) -> XyGroup {
    let scenario = &results.plan.scenario;
    let metric = traffic.watched_metric();
    let mut charts = Vec::new();
    for (n, (viewer, watched)) in traffic.viewers.iter().zip(&drawn.draws[0].videos).enumerate() {
        let Some(setting) = cache.setting(traffic, viewer, &watched.name) else { continue };
        let (x, y) = setting.view().curve().points().map(|(r, q)| (r / 1e6, q)).unzip();
        let marks = scenario.schemes.iter().enumerate().filter_map(|(i, scheme)| {
            Some(Mark {
                scheme: scheme.name.clone(),
                x: results.of_actor(i, (NAME, n), |v| v.value("bitrate_bps")).mean()? / 1e6,
                y: results.of_actor(i, (NAME, n), |v| v.value(metric.name())).mean(),
            })
        });
        charts.push(XyChart {
            title: viewer_title(&viewer.name),
            subtitle: video(watched),
            lines: vec![XyLine { name: watched.name.clone(), x, y }],
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
        y: Axis::new(metric_title(metric), traffic.unit()),
        charts,
    }
}

/// Distributions over chunks, viewers and cases, where there are enough of them.
fn cdfs(traffic: &Viewers, results: &Results<'_>) -> Vec<Cdf> {
    let scenario = &results.plan.scenario;
    let metric = traffic.watched_metric();
    let unit = traffic.unit().symbol();
    let cdf = |title: &str, note: &str, x: &str, samples: &dyn Fn(&RunResult) -> Vec<f64>| Cdf {
        title: title.to_owned(),
        note: note.to_owned(),
        x: Axis::new(x, unit),
        lines: scenario
            .schemes
            .iter()
            .enumerate()
            .map(|(i, scheme)| CdfLine {
                scheme: scheme.name.clone(),
                samples: thinned(results.of_scheme(i).flat_map(|(_, r)| samples(r)).collect()),
            })
            .collect(),
    };
    let all = vec![
        cdf(
            "QoE of viewers",
            "Over all viewers, cases and seeds. Further right is better; the left end is the worst \
             off.",
            "QoE",
            &|r| r.of(NAME).filter_map(|v| v.value("qoe")).collect(),
        ),
        cdf("QoE of the worst viewer", "Over cases and seeds.", "QoE", &|r| {
            r.value("min_qoe").into_iter().collect()
        }),
        cdf("Picture quality", "Over all chunks that began to play.", metric_title(metric), &|r| {
            r.of(NAME).flat_map(|v| v.samples_of("quality")).copied().collect()
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
