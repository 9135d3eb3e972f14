//! What browsers measured behind an emulated link, beside what the laboratory predicts for them.
//!
//! `tests/browser/story.mjs` leaves `browsers.json` and the quality tables of the titles that were
//! played (`docs/guide/browsers.md`). From these a scenario follows: the same link, titles, players
//! and beginnings. Its schemes stand twice in it, as the laboratory runs them and as the browsers
//! met them; what the browsers saw becomes the output of a run like any other, so that one code
//! makes all figures and the page.

mod judge;
mod record;
mod replay;
mod scenario;

use std::path::Path;

use airlane_base::InputError;
use airlane_report::model;

use self::judge::JudgedRun;
use self::record::{Record, Scheme};
use self::scenario::{Side, sides};
use airlane_judge::ExternalResult;
use airlane_judge::reporting::{self, ReportedRun, words};
use airlane_judge::summary::{CheckEntry, ClaimEntry, Verdict};
use airlane_sim::Common;
use airlane_sim::LabError;
use airlane_sim::execute;
use airlane_sim::plan::Plan;
use airlane_sim::workload::Caches;
use airlane_sim::world::{self, Options};

/// The name of the file in a folder of results.
pub(super) const FILE: &str = "browsers.json";
/// The folder of quality tables beside it.
const TABLES: &str = "tables";

/// Reads what browsers left in `folder`, runs the same in the laboratory, and judges.
///
/// # Errors
/// If the file or the tables beside it are not what they should be; a fault of a run.
pub(super) fn findings(folder: &Path) -> Result<ExternalResult, LabError> {
    let file = folder.join(FILE);
    let record = Record::read(&file)?;
    let mut common = Common { content: Some(folder.join(TABLES)), ..Common::default() };
    common.circumstances.command = vec![record.command.clone()];
    let scenario = scenario::scenario(&record, &file)?;
    let plan = Plan::new(scenario, &common)?;
    let caches = Caches::of_plan(&plan)?;
    let sides = sides(&record);
    let done = execute(&plan, &common, |key, ticket| {
        let (side, scheme) = sides[key.scheme];
        let run = match side {
            Side::Laboratory => None,
            Side::Browsers => match run_of(&record, scheme, key.seed)? {
                Some(run) => Some(run),
                // The laboratory has more seeds than there were rounds.
                None => return Ok(None),
            },
        };
        let output = match run {
            None => world::run(&plan, &caches, key, &Options::default(), ticket)?,
            Some(run) => replay::output(&plan, &caches, key, run).map_err(|e| e.at_file(&file))?,
        };
        let told = ReportedRun::of(&plan, &output);
        Ok(Some((JudgedRun::of((side, scheme), run, &output, &told), told)))
    })?;
    let (judged, told): (Vec<_>, Vec<_>) = done.results.into_iter().filter_map(|(_, r)| r).unzip();
    let mut story = reporting::tell(&plan, &caches, &common, told, (done.planned, false));
    let content = folder.join(TABLES).display().to_string();
    story.summary.claims = judge::claims(&record, &judged, &content);
    story.report.claims = story.summary.claims.iter().map(shown).collect();
    story.report.verdict = verdict(&story.summary.claims);
    story.report.lead = lead(&record);
    story.report.notes.splice(0..0, notes(&record));
    let fails = story.summary.claims.iter().filter(|c| c.verdict == Verdict::Fails).count();
    Ok(ExternalResult {
        table: story.table,
        failed: story.failed + fails,
        summary: story.summary,
        report: story.report,
    })
}

/// The run of a scheme in the round of a seed; `None` beyond the last round.
fn run_of(record: &Record, scheme: Scheme, seed: u64) -> Result<Option<&record::Run>, InputError> {
    if seed > record.setup.repeat as u64 {
        return Ok(None);
    }
    let found = record.of(scheme).find(|run| run.round as u64 + 1 == seed);
    found.map(Some).ok_or_else(|| {
        let found = format!("no run of {scheme:?} in round {seed}");
        InputError::new(found, "expected one of each scheme and round").at_key("runs")
    })
}

/// Result of the runs in words: the gain, then the differences of predictions. A prediction without
/// a verdict is for the table, unless there is nothing else.
fn verdict(claims: &[ClaimEntry]) -> String {
    let find = |id: String| claims.iter().find(|c| c.id == id);
    let gain = find("browsers.gain".to_owned());
    let predictions = [("minerva", "Minerva"), ("cubic", "plain Cubic")].map(|(who, scheme)| {
        let quality = find(format!("browsers.{who}.quality"))?;
        Some((quality, find(format!("browsers.{who}.rate"))?, scheme))
    });
    let predictions: Vec<_> = predictions.into_iter().flatten().collect();
    let has_verdict = |claim: &ClaimEntry| claim.verdict != Verdict::Reported;
    let alone = gain.is_none() && !predictions.iter().any(|(quality, ..)| has_verdict(quality));
    let told = predictions.iter().filter(|(quality, ..)| alone || has_verdict(quality));
    let predicted = told.map(|(quality, rate, scheme)| predicted(quality, rate, scheme));
    gain.map(gained).into_iter().chain(predicted).collect::<Vec<_>>().join(" ")
}

/// Sentence on the differences between the laboratory's predictions and the browsers.
fn predicted(quality: &ClaimEntry, rate: &ClaimEntry, scheme: &str) -> String {
    match quality.measured.zip(rate.measured) {
        Some((points, percent)) => format!(
            "Under {scheme} the laboratory predicts every browser's mean quality within \
             {points:.1} {}{} and its mean rate within {percent:.1} %{}; {}.",
            quality.unit,
            asked(quality, "5"),
            asked(rate, "10"),
            words::plural(quality.n as usize, "run"),
        ),
        None => format!("Nothing can be said under {scheme}: {}.", quality.reason),
    }
}

/// Sentence on what Minerva gained.
fn gained(gain: &ClaimEntry) -> String {
    match (gain.measured, gain.ci95) {
        (Some(m), Some([lo, hi])) => format!(
            "The worst browser's QoE under Minerva is {m:+.1} {} from that under plain Cubic \
             (95 % interval {lo:+.1} to {hi:+.1}, {} pairs){}.",
            gain.unit,
            gain.n,
            asked(gain, "above 0")
        ),
        (Some(m), None) => format!(
            "The worst browser's QoE under Minerva is {m:+.1} {} from that under plain Cubic, \
             in one pair of runs.",
            gain.unit
        ),
        (None, _) => format!("No gain can be told: {}.", gain.reason),
    }
}

/// The bound of a claim that was judged, and its verdict.
fn asked(claim: &ClaimEntry, bound: &str) -> String {
    match claim.verdict {
        Verdict::Reported => String::new(),
        verdict => format!(" (asked {bound}: {})", verdict.name()),
    }
}

fn lead(record: &Record) -> String {
    format!(
        "{} headless Chromium with dash.js {} played over HTTP/3 from airlane serve behind airlane \
         link, {}; the laboratory ran the same link, titles, players and beginnings in virtual \
         time. The gain compares browsers with browsers, the prediction browsers with the \
         laboratory.",
        words::sentence(&words::count(record.setup.players)),
        record.dashjs,
        words::plural(record.setup.repeat, "round"),
    )
}

/// Notes on what the figures do not show: the load of the machine, and what was lost to it.
fn notes(record: &Record) -> Vec<String> {
    let cpu: Vec<f64> = record.runs.iter().map(|r| 100.0 * r.cpu).collect();
    let most = cpu.iter().copied().fold(0.0, f64::max);
    let least = cpu.iter().copied().fold(100.0, f64::min);
    let void = record.runs.iter().filter(|r| !judge::is_valid(r)).count();
    let players = || record.runs.iter().flat_map(|r| &r.players);
    let (frames, dropped) =
        players().fold((0, 0), |(f, d), p| (f + p.frames, d + p.dropped_frames));
    let share = 100.0 * dropped as f64 / frames.max(1) as f64;
    let mut notes = vec![
        format!(
            "The runs used {least:.0} to {most:.0} % of the machine's processors; {void} of {} are \
             void for using more than {:.0} %. Browsers dropped {share:.1} % of the pictures, \
             which is not charged.",
            cpu.len(),
            100.0 * judge::MAX_CPU
        ),
        "Start-up and stalls of browsers are as they saw them; their delivery rate counts bodies \
         alone, the laboratory's what QUIC acknowledged."
            .to_owned(),
    ];
    let faults = players().filter(|p| !p.faults.is_empty()).count();
    if faults > 0 {
        notes.push(format!("{} reported faults.", words::plural(faults, "player")));
    }
    let failed: usize = players().map(|p| p.failed_loads.len()).sum();
    if failed > 0 {
        notes.push(format!(
            "{} failed below HTTP, as where a browser gives a connection up because the link \
             carries nothing for seconds; the players asked again. The laboratory's players wait.",
            words::sentence(&words::plural(failed, "request"))
        ));
    }
    notes
}

/// A claim as the page shows it.
fn shown(claim: &ClaimEntry) -> model::Claim {
    model::Claim {
        id: claim.id.clone(),
        statement: claim.statement.clone(),
        source: String::new(),
        content: String::new(),
        measured: claim.measured,
        ci95: claim.ci95,
        unit: claim.unit.clone(),
        digits: 1,
        n: claim.n,
        rule: claim.rule.clone(),
        bound: Some(judge::bound(claim)),
        verdict: claim.verdict.shown(),
        also: claim.checks.iter().map(|c| player(c, &claim.unit)).collect(),
        why: claim.reason.clone(),
        ..model::Claim::default()
    }
}

/// Part of a claim for one player, as the page shows it.
fn player(check: &CheckEntry, unit: &str) -> model::Check {
    model::Check {
        statement: check.metric.clone(),
        measured: check.measured,
        ci95: check.ci95,
        unit: unit.to_owned(),
        digits: 1,
        rule: check.rule.clone(),
        bound: Some(model::Bound::AtMost(check.bound)),
        verdict: check.verdict.shown(),
    }
}
