//! The report of a capture: the air over time by station, and the table of who used it.

use airlane_capture::{Series as Bins, StationUse};
use airlane_report::Report;
use airlane_report::model::{
    Actor, Cell, Column, Draw, Fact, Panel, Provenance, Run, Scheme, Section, Series, Table, Term,
};

use super::figures::{granted, inferred, shares};
use super::gather::Gathered;
use super::terminal::{facts, notes};
use airlane_sim::COMMIT;
use airlane_sim::VERSION;

/// Stations with a line of their own.
const LINES: usize = 8;
/// Lines of the table.
const ROWS: usize = 200;
/// A line has a gap from so long behind a report on, if no other follows, seconds.
const PAUSE_S: f64 = 0.04;
/// Points of a line: bins are put together until there are no more than this.
const POINTS: usize = 512;

/// The report of a capture.
pub(super) fn report(label: &str, gathered: &Gathered, line: &str) -> Report {
    let mut report = Report::new(format!("The air in {label}"));
    report.verdict = line.to_owned();
    report.lead = "Who used the air, and how long. An attempt to send is charged with what it keeps \
                   busy, from its first symbol to the end of its answer, and with what contending for \
                   the air costs."
        .to_owned();
    let air = &gathered.summary;
    let shown: Vec<&StationUse> = air.stations.iter().take(LINES).collect();
    report.sections = vec![Section {
        facts: facts(gathered).into_iter().map(|(name, value)| Fact::new(name, value)).collect(),
        schemes: vec![Scheme::new("capture", label, "")],
        tables: std::iter::once(table(gathered)).chain(grants(gathered)).collect(),
        runs: if air.transmissions == 0 || air.is_impossible() {
            Vec::new()
        } else {
            vec![run(gathered, &shown)]
        },
        notes: notes(gathered),
        ..Section::default()
    }];
    report.terms = TERMS.iter().map(|(term, meaning)| Term::new(*term, *meaning)).collect();
    report.provenance = vec![Provenance {
        label: label.to_owned(),
        command: format!("airlane airtime {}", airlane_sim::quoted(label)),
        airlane: VERSION.to_owned(),
        commit: COMMIT.to_owned(),
        ..Provenance::default()
    }];
    report
}

const TERMS: [(&str, &str); 8] = [
    ("Utilisation", "Air charged to all attempts over the time captured, whoever made them."),
    ("Heard", "The durations of the frames that the receiver made out, by rate and length."),
    (
        "Announced",
        "Air of frames that were not heard, known from the duration fields of RTS, CTS and data, or from \
         the place between two frames that were heard.",
    ),
    (
        "Answered",
        "Air of frames that were not heard but acknowledged, estimated from how many were acknowledged \
         and the sender's last rate.",
    ),
    ("Gaps", "The pauses inside of attempts, and waiting for an answer that was not heard."),
    (
        "Contention",
        "What contending for the air is charged with: AIFS and half of the first contention window.",
    ),
    (
        "Grant",
        "The rate that Cupid on a station would tell its senders, so that each station gets an equal share of \
         the air.",
    ),
    (
        "Delta",
        "What the whole air would carry for a station: what it received over the air charged to it.",
    ),
];

fn table(gathered: &Gathered) -> Table {
    let columns = vec![
        Column::text("Station").merged(),
        Column::text("Way").help("down: from an access point; up: to one; other: neither"),
        Column::number("Air", "%", 2).help("of the time captured"),
        Column::number("Inferred", "%", 1).help("of its air in use: what was not heard"),
        Column::number("Attempts", "", 0),
        Column::number("Unanswered", "%", 1).help("no answer was heard, although one was due"),
        Column::number("Retries", "%", 1).help("of the frames that were heard"),
        Column::number("PHY rate", "Mbit/s", 1).help("of data, weighted by air"),
        Column::text("Usual rate"),
        Column::number("Data", "MB", 2).help("heard and inferred"),
        Column::number("Signal", "dBm", 0).help("mean of the frames heard from it"),
        Column::number("Grant", "Mbit/s", 1).help("what Cupid would grant it, the median"),
    ];
    let mut table = Table::new("Who used the air", columns);
    let shares = shares(gathered);
    if shares.len() > ROWS {
        table.note = format!("The {ROWS} that used most of {}.", shares.len());
    }
    for share in shares.iter().take(ROWS) {
        let used = share.used;
        let is_point = share.station.is_some_and(|s| s.is_access_point);
        let who = if is_point { format!("{} (AP)", share.who) } else { share.who.clone() };
        let percent = |part: f64| Cell::number(100.0 * part);
        table.push(vec![
            who.into(),
            share.direction.into(),
            gathered.summary.share(&used.air).map_or(Cell::Empty, percent),
            percent(inferred(&used.air)),
            (used.attempts as f64).into(),
            percent(used.unanswered as f64 / used.attempts.max(1) as f64),
            used.retry_share().map_or(Cell::Empty, percent),
            used.rate_bps().map_or(Cell::Empty, |rate| Cell::number(rate / 1e6)),
            used.usual().map_or(Cell::Empty, |vector| vector.to_string().into()),
            ((used.bytes + used.inferred_bytes) as f64 / 1e6).into(),
            share.station.and_then(|s| s.signal_dbm).map_or(Cell::Empty, Cell::number),
            granted(gathered, share).map_or(Cell::Empty, |grant| {
                Cell::number(grant.median(|kept| kept.rate_bps) / 1e6)
            }),
        ]);
    }
    table
}

/// Table of the rates that Cupid would grant, and their inputs; `None` where nothing can be said.
fn grants(gathered: &Gathered) -> Option<Table> {
    let columns = vec![
        Column::text("Station"),
        Column::number("Grant", "Mbit/s", 1).help("median over its reports, by the default rule"),
        Column::number("As published", "Mbit/s", 1).help("the same by the paper's rule"),
        Column::number("U", "", 2).help("the share of the air in use, over 80 ms"),
        Column::number("N", "", 0).help("stations that share the air"),
        Column::number("C", "Mbit/s", 0).help("its PHY rate, weighted by air"),
        Column::number("Delta", "Mbit/s", 0).help("what the whole air would carry for it"),
        Column::number("Heard", "%", 0)
            .help("of the air that this follows from; the rest is inferred"),
        Column::number("Reports", "", 0).help("25 per second while it receives data"),
    ];
    let mut table = Table::new("What Cupid would grant", columns);
    let stations = gathered.summary.stations.iter();
    let known = stations.filter_map(|s| Some((s.address, gathered.grants.of(s.address)?)));
    let count = known.clone().count();
    if count > ROWS {
        table.note = format!("The {ROWS} that used most of {count}.");
    }
    for (address, grant) in known.take(ROWS) {
        let mega = |bps: f64| Cell::number(bps / 1e6);
        table.push(vec![
            address.to_string().into(),
            mega(grant.median(|kept| kept.rate_bps)),
            mega(grant.median(|kept| kept.paper_bps)),
            Cell::number(grant.median(|kept| kept.utilisation)),
            Cell::number(grant.median(|kept| kept.stations)),
            grant.median_of(|kept| kept.phy_bps).map_or(Cell::Empty, mega),
            mega(grant.median(|kept| kept.delta_bps)),
            Cell::number(100.0 * grant.median(|kept| kept.confidence)),
            (grant.count as f64).into(),
        ]);
    }
    (count > 0).then_some(table)
}

/// Panel of the rates that Cupid would grant the stations shown, over time.
fn granting(
    gathered: &Gathered,
    shown: &[&StationUse],
    name: impl Fn(&StationUse) -> String,
) -> Panel {
    let mut panel = Panel::new("grant", "What Cupid would grant", "Mbit/s", Draw::Step, 1).help(
        "By the default rule, to each station that receives data and hears what is in the capture.",
    );
    for station in shown {
        let Some(grant) = gathered.grants.of(station.address) else { continue };
        let mut series = Series::new(name(station));
        let mut before: Option<f64> = None;
        for kept in grant.kept() {
            // It received nothing for a while.
            if let Some(last) = before.filter(|last| kept.at_s - last > grant.pause_s()) {
                series.push(last + PAUSE_S, f64::NAN);
            }
            before = Some(kept.at_s);
            series.push(kept.at_s, f64::from(kept.rate_bps) / 1e6);
        }
        panel.series.push(series);
    }
    panel
}

fn run(gathered: &Gathered, shown: &[&StationUse]) -> Run {
    let air = &gathered.summary;
    let bins = air.over_time.with_contention.values().len();
    let together = bins.div_ceil(POINTS).max(1);
    let width = air.bin.as_secs_f64();
    let percent = |name: &str, of: &[f64]| {
        let mut series = Series::new(name);
        for first in (0..bins).step_by(together) {
            let inside = first..(first + together).min(bins);
            // The last bin may have begun only.
            let end = (inside.end as f64 * width).min(air.span.as_secs_f64());
            let long = (end - first as f64 * width).max(width * 0.1);
            let sum: f64 = inside.filter_map(|bin| of.get(bin)).sum();
            series.push(first as f64 * width, (100.0 * sum / long).min(100.0));
        }
        series
    };
    let name = |station: &StationUse| {
        let mark = if station.is_access_point { " (AP)" } else { "" };
        format!("{}{mark}", station.address)
    };
    let mut stations = Panel::new("air", "Air by station", "%", Draw::Step, 1)
        .help("Air charged to each station, both ways.");
    for station in shown {
        stations.series.push(percent(&name(station), station.over_time.values()));
    }
    let rest = rest(&air.over_time.with_contention, shown);
    if rest.iter().sum::<f64>() > 1e-6 {
        stations.series.push(percent("All others", &rest));
    }
    let mut whole = Panel::new("utilisation", "Utilisation", "%", Draw::Step, 1)
        .help("Air charged to everybody; without contention; and what of that was not heard.");
    whole.series.push(percent("Charged", air.over_time.with_contention.values()));
    whole.series.push(percent("Without contention", air.over_time.without_contention.values()));
    if !air.air.inferred().is_zero() {
        whole.series.push(percent("Inferred", air.over_time.inferred.values()));
    }
    let mut active = Panel::new("active", "Active stations", "", Draw::Step, 1)
        .help("Stations with a frame of more than 200 bytes in a second, either way.");
    let mut series = Series::new("Active");
    // None behind the last bin, up to the end.
    let second = air.active_bin.as_secs_f64();
    let many = ((air.span.as_secs_f64() / second).ceil() as usize).max(air.active.len());
    let step = many.div_ceil(POINTS).max(1);
    for first in (0..many).step_by(step) {
        let known = air.active.len();
        let sum: f64 = air.active[first.min(known)..(first + step).min(known)].iter().sum();
        let long = step.min(many - first) as f64;
        series.push(first as f64 * second, sum / long);
    }
    active.series.push(series);
    let mut panels = vec![whole, stations];
    panels.extend(Some(granting(gathered, shown, name)).filter(|panel| !panel.series.is_empty()));
    panels.push(active);
    Run {
        scheme: "capture".to_owned(),
        actors: shown.iter().map(|s| Actor::new(name(s), of_network(s))).collect(),
        panels,
        ..Run::default()
    }
}

/// Airtime charged beyond that of the stations shown.
fn rest(charged: &Bins, shown: &[&StationUse]) -> Vec<f64> {
    let mut rest = charged.values().to_vec();
    for station in shown {
        for (rest, own) in rest.iter_mut().zip(station.over_time.values()) {
            *rest = (*rest - own).max(0.0);
        }
    }
    rest
}

fn of_network(station: &StationUse) -> String {
    match station.network {
        Some(network) => format!("network {network}"),
        None => String::new(),
    }
}
