//! Writes a report with made-up figures to the standard output, to look at the page.
//!
//! `cargo run -p airlane-report --example sample > out.html`; with `--json`, the report itself.

mod claims;
mod play;

use std::io::Write as _;

use airlane_report::model::{
    Axis, Better, Cdf, CdfLine, Cell, Column, Dot, DotChart, DotRow, Fact, Mark, Provenance,
    Report, Scheme, Section, Table, Term, Tradeoff, TradeoffPoint, XyChart, XyGroup, XyLine,
};
use play::{Outcome, SCHEMES, SEED, VIEWERS, play};

fn main() -> std::io::Result<()> {
    let report = sample();
    let bytes = match std::env::args().nth(1).as_deref() {
        Some("--json") => report.to_json(),
        _ => airlane_report::render(&report).into_bytes(),
    };
    std::io::stdout().lock().write_all(&bytes)
}

fn sample() -> Report {
    let mut report = Report::new("Sample report: every figure here is made up");
    let outcomes: Vec<Outcome> = SCHEMES.iter().map(|(id, _)| play(id)).collect();
    let worst = |o: &Outcome| o.qoe.iter().copied().fold(f64::INFINITY, f64::min);
    report.verdict = format!(
        "The worst of four viewers gets {:.0} points of experience under Cubic and {:.0} under \
         Minerva, on the same link.",
        worst(&outcomes[0]),
        worst(&outcomes[2])
    );
    report.lead = "Four people watch different videos over one link. Usually each gets the same \
                   share of it, whether the video is a talking head that looks fine at any rate or \
                   a football match that does not. Minerva gives more to those who gain most from \
                   it."
    .to_owned();
    report.sections = vec![story(outcomes)];
    report.claims = claims::claims();
    report.terms = vec![
        Term::new("VMAF", "How good a picture looks, 0 to 100, as a model of viewers judges it."),
        Term::new(
            "QoE",
            "Quality of experience: VMAF, less a penalty for stalls and one for jumps in quality.",
        ),
        Term::new("Stall", "The picture stands still because the buffer is empty."),
        Term::new("Weight", "How many ordinary connections a viewer's connection counts for."),
    ];
    report.notes = vec!["These figures come from a toy in the example, not from a run.".to_owned()];
    report.provenance = SCHEMES
        .iter()
        .map(|(id, title)| Provenance {
            label: format!("{title}, seeds 1 to 5"),
            command: format!("airlane run scenarios/demo.toml --set scheme={id} --seed 1"),
            scenario: "scenarios/demo.toml".to_owned(),
            scenario_text: "[link]\nrate_bps = 10e6\ndelay = \"10ms\"\nqueue = \"droptail\"\n\n\
                            [[viewer]]\nvideo = \"talking-head\"\n"
                .to_owned(),
            seeds: (1..=5).collect(),
            airlane: "0.1.0".to_owned(),
            commit: "0000000 (sample)".to_owned(),
            packet_hashes: vec!["0123456789abcdef".to_owned()],
            content: "embedded v1".to_owned(),
            trace: "constant 10 Mbit/s".to_owned(),
            more: Vec::new(),
        })
        .collect();
    report
}

fn story(outcomes: Vec<Outcome>) -> Section {
    let mut section = Section::new("Four viewers, one link");
    section.facts = [
        ("Link", "10 Mbit/s"),
        ("Round trip", "20 ms"),
        ("Queue", "drop-tail, 1.5 BDP"),
        ("Content", "embedded v1, 4 of 12 videos"),
        ("Player", "RobustMPC, 40 s buffer"),
        ("Duration", "200 s"),
        ("Seeds", "5"),
    ]
    .map(|(name, value)| Fact::new(name, value))
    .to_vec();
    section.schemes = vec![
        Scheme::new("cubic", "Cubic", "What most servers use: equal shares, filling the queue."),
        Scheme::new("bbr", "BBR", "Models the link instead of filling its queue; shares roughly."),
        Scheme::new("minerva", "Minerva", "Weighs connections so that the worst viewer gains."),
    ];
    section.dots = vec![dots(&outcomes)];
    section.tradeoffs = vec![tradeoff(&outcomes)];
    section.tables = vec![by_scheme(&outcomes), by_viewer(&outcomes)];
    section.curves = vec![curves(&outcomes)];
    section.cdfs = vec![
        cdf("QoE of viewers", "QoE", "Over viewers and seeds.", &outcomes, |o| {
            let of = |d: f64| o.qoe.iter().map(move |q| q + d);
            [-2.1, -0.7, 0.0, 0.9, 1.8].into_iter().flat_map(of).collect()
        }),
        cdf("Quality of chunks", "VMAF", "Over all chunks played.", &outcomes, |o| {
            o.chunk_vmaf.clone()
        }),
    ];
    section.runs = outcomes.into_iter().map(|o| o.run).collect();
    section.notes = vec![format!("Time series are those of seed {SEED}.")];
    section
}

fn cdf(
    title: &str,
    quantity: &str,
    note: &str,
    outcomes: &[Outcome],
    samples: impl Fn(&Outcome) -> Vec<f64>,
) -> Cdf {
    Cdf {
        title: title.to_owned(),
        note: note.to_owned(),
        x: Axis::new(quantity, "points"),
        lines: outcomes
            .iter()
            .map(|o| CdfLine { scheme: o.run.scheme.clone(), samples: samples(o) })
            .collect(),
    }
}

fn dots(outcomes: &[Outcome]) -> DotChart {
    let row = |o: &Outcome| DotRow {
        scheme: o.run.scheme.clone(),
        dots: VIEWERS
            .iter()
            .zip(&o.qoe)
            .map(|(v, &value)| Dot {
                actor: v.name.to_owned(),
                value,
                ci95: Some([value - 1.2, value + 1.1]),
            })
            .collect(),
    };
    DotChart {
        title: "Who got what".to_owned(),
        note:
            "A dot per viewer, its mean quality of experience over 200 s, with the 95 % interval \
               over seeds. Further right is better, closer together is more even."
                .to_owned(),
        x: Axis::new("mean QoE", "points"),
        rows: outcomes.iter().map(row).collect(),
    }
}

fn tradeoff(outcomes: &[Outcome]) -> Tradeoff {
    let point = |o: &Outcome| {
        let worst = o.qoe.iter().copied().fold(f64::INFINITY, f64::min);
        TradeoffPoint {
            scheme: o.run.scheme.clone(),
            x: Cell::with_ci(o.queue_ms, Some([0.8 * o.queue_ms, 1.3 * o.queue_ms])),
            y: Cell::with_ci(worst, Some([worst - 1.2, worst + 1.2])),
            more: Vec::new(),
        }
    };
    Tradeoff {
        title: "What the worst viewer gets, and how long the queue is".to_owned(),
        note: "Means over 5 seeds, lines are 95 % intervals.".to_owned(),
        x: Column::number("queueing delay", "ms", 1).better(Better::Lower),
        log_x: true,
        y: Column::number("worst viewer's QoE", "points", 1).better(Better::Higher),
        points: outcomes.iter().map(point).collect(),
        ..Tradeoff::default()
    }
}

fn by_scheme(outcomes: &[Outcome]) -> Table {
    use Better::{Higher, Lower};
    let mut table = Table::new(
        "By scheme",
        vec![
            Column::text("Scheme"),
            Column::number("Worst viewer's QoE", "points", 1).better(Higher),
            Column::number("Mean QoE", "points", 1).better(Higher),
            Column::number("Mean VMAF", "points", 1).better(Higher),
            Column::number("Stalled", "s", 1).better(Lower).help("All viewers together"),
            Column::number("Start-up", "s", 2).better(Lower),
            Column::number("Link use", "%", 1).better(Higher),
            Column::number("Queue", "ms", 1).better(Lower).help("Mean queueing delay"),
        ],
    );
    table.note = "Means over 5 seeds, with 95 % intervals; a star marks the best.".to_owned();
    for (o, (_, title)) in outcomes.iter().zip(SCHEMES) {
        let worst = o.qoe.iter().copied().fold(f64::INFINITY, f64::min);
        let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
        let with_ci = |v: f64, half: f64| Cell::with_ci(v, Some([(v - half).max(0.0), v + half]));
        let stalls: f64 =
            o.run.spans.iter().filter(|s| s.kind == "stall").map(|s| s.end_s - s.start_s).sum();
        table.push(vec![
            (*title).into(),
            with_ci(worst, 1.2),
            with_ci(mean(&o.qoe), 0.6),
            with_ci(mean(&o.vmaf), 0.5),
            with_ci(stalls, 0.4),
            with_ci(mean(&o.startup_s), 0.06),
            with_ci(100.0 * o.rates_mbps.iter().sum::<f64>() / 10.0, 0.3),
            with_ci(o.queue_ms, 0.4),
        ]);
    }
    table
}

fn by_viewer(outcomes: &[Outcome]) -> Table {
    let mut table = Table::new(
        "By viewer",
        vec![
            Column::text("Viewer").merged(),
            Column::text("Video").merged(),
            Column::text("Scheme"),
            Column::number("QoE", "points", 1),
            Column::number("Mean VMAF", "points", 1),
            Column::number("Mean rate", "Mbit/s", 2),
            Column::number("Stalled", "s", 1),
            Column::number("Mean buffer", "s", 1),
            Column::number("Switches", "", 0).help("Changes of rung"),
        ],
    );
    for (i, v) in VIEWERS.iter().enumerate() {
        for (o, (_, title)) in outcomes.iter().zip(SCHEMES) {
            let stalls: f64 = o
                .run
                .spans
                .iter()
                .filter(|s| s.kind == "stall" && s.actor == v.name)
                .map(|s| s.end_s - s.start_s)
                .sum();
            table.push(vec![
                v.name.into(),
                format!("{}: {}", v.video, v.character).into(),
                (*title).into(),
                o.qoe[i].into(),
                o.vmaf[i].into(),
                o.rates_mbps[i].into(),
                stalls.into(),
                o.buffers_s[i].into(),
                f64::from(o.switches[i]).into(),
            ]);
        }
    }
    table
}

fn curves(outcomes: &[Outcome]) -> XyGroup {
    let chart = |(i, v): (usize, &play::Viewer)| {
        let x: Vec<f64> = play::RUNGS_KBPS.iter().map(|r| r / 1000.0).collect();
        let y = x.iter().map(|r| v.vmaf(*r)).collect();
        XyChart {
            title: v.name.to_owned(),
            subtitle: format!("{}: {}", v.video, v.character),
            lines: vec![XyLine { name: v.video.to_owned(), x, y }],
            marks: outcomes
                .iter()
                .map(|o| Mark { scheme: o.run.scheme.clone(), x: o.rates_mbps[i], y: None })
                .collect(),
        }
    };
    XyGroup {
        title: "Why: what a bit is worth to each viewer".to_owned(),
        note:
            "Each line is how good a video looks at a rate. Where it is steep, a little more rate \
               helps a lot; where it is flat, rate is wasted. The marks show the mean rate that \
               each scheme gave."
                .to_owned(),
        x: Axis::new("rate", "Mbit/s").range(0.0, 6.0),
        y: Axis::new("VMAF", "points").range(20.0, 100.0),
        charts: VIEWERS.iter().enumerate().map(chart).collect(),
    }
}
