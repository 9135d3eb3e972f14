//! What was run: the words around the figures, and how to get them again.

use airlane_report::model::{Fact, Provenance, Scheme, Term};

use super::figures::RunFigures;
use super::results::Results;
use super::words::{self, actor_name, count, list, metric_title, plural, sentence};
use crate::plan::Plan;
use crate::request::{Common, quoted};
use crate::scenario::{Capacity, Cipher};
use crate::summary::{COMMIT, VERSION};

/// Failures that are told one by one.
const FAILURES_TOLD: usize = 12;

/// What was run, in two or three sentences.
pub(super) fn lead(plan: &Plan) -> String {
    let scenario = &plan.scenario;
    let mut who = Vec::new();
    match scenario.viewers.len() {
        0 => {}
        1 => who.push("one viewer".to_owned()),
        n => who.push(format!("{} viewers{}", count(n), which_videos(plan))),
    }
    match scenario.bulk.iter().map(|b| b.count).sum() {
        0 => {}
        1 => who.push("one transfer of data".to_owned()),
        n => who.push(format!("{} transfers of data", count(n))),
    }
    let alone = scenario.viewers.len() + scenario.bulk.iter().map(|b| b.count).sum::<usize>() == 1
        && scenario.web.is_empty();
    for web in &scenario.web {
        let (load, servers) = (words::mbps(web.load.as_f64()), web.servers);
        who.push(format!("web traffic of {load} from {servers} servers"));
    }
    let verb = if alone { "has" } else { "share" };
    let mut text = format!(
        "{} {verb} one link ({}) for {}.",
        sentence(&list(&who)),
        words::capacity(scenario, &traces(plan)),
        words::seconds(scenario.duration)
    );
    if scenario.schemes.len() > 1 {
        text.push_str(
            " Videos, players and link are the same every time; what differs is how the servers \
             send.",
        );
    }
    if !scenario.story.is_empty() {
        text.push(' ');
        text.push_str(&scenario.story);
    }
    text
}

fn which_videos(plan: &Plan) -> &'static str {
    let distinct = |videos: &[std::sync::Arc<airlane_media::Video>]| {
        let names: std::collections::BTreeSet<&str> =
            videos.iter().map(|v| v.name.as_str()).collect();
        (names.len(), videos.len())
    };
    let counts: Vec<(usize, usize)> = plan.cases.iter().map(|c| distinct(&c.videos)).collect();
    match counts.as_slice() {
        c if c.iter().all(|(names, all)| names == all) => " with different videos",
        c if c.iter().all(|(names, _)| *names == 1) => " with the same video",
        _ => "",
    }
}

/// The files of the traces.
fn traces(plan: &Plan) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for trace in plan.cases.iter().filter_map(|c| c.trace.as_ref()) {
        let name = words::file_name(trace.name());
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

pub(super) fn facts(plan: &Plan) -> Vec<Fact> {
    let scenario = &plan.scenario;
    let link = &scenario.link;
    let mut facts = vec![
        Fact::new("Link", words::capacity(scenario, &traces(plan))),
        Fact::new("Round trip", words::round_trip(link.rtt)),
        Fact::new("Queue", words::queue(&link.queue)),
    ];
    if let Some(loss) = &link.loss {
        facts.push(Fact::new("Loss", words::loss(loss)));
    }
    if let (Some(corpus), false) = (&plan.corpus, scenario.viewers.is_empty()) {
        let videos = plural(corpus.entries.len(), "video");
        facts.push(Fact::new("Content", format!("{}, {videos}", words::file_name(&corpus.name))));
        facts.push(Fact::new("Player", words::player(&scenario.player)));
    }
    facts.push(Fact::new("Duration", words::seconds(scenario.duration)));
    if plan.cases.len() > 1 {
        facts.push(Fact::new("Cases", plan.cases.len().to_string()));
    }
    facts.push(Fact::new("Seeds", scenario.seeds.len().to_string()));
    if scenario.transport.cipher == Cipher::Tls {
        facts.push(Fact::new("Encryption", "TLS 1.3"));
    }
    facts
}

pub(super) fn schemes(plan: &Plan) -> Vec<Scheme> {
    let scenario = &plan.scenario;
    scenario
        .schemes
        .iter()
        .map(|s| Scheme::new(&s.name, &s.title, words::scheme_note(s, &scenario.link.queue)))
        .collect()
}

pub(crate) fn terms(plan: &Plan) -> Vec<Term> {
    let scenario = &plan.scenario;
    let mut terms = Vec::new();
    if !scenario.viewers.is_empty() {
        let player = &scenario.player;
        let metric = metric_title(player.metric);
        if metric.starts_with("VMAF") {
            let meaning = "How good a picture looks, 0 to 100, as a model of viewers judges it. \
                           Six points are about what people notice.";
            terms.push(Term::new(metric, meaning));
        }
        terms.extend([
            Term::new(
                "QoE",
                format!(
                    "Quality of experience, per chunk: its {metric}, less {} for each second of \
                     stall, less {} for each point by which the version changed. A viewer's QoE \
                     is the mean over the chunks that began to play.",
                    player.beta, player.gamma
                ),
            ),
            Term::new("Chunk", "A few seconds of video, fetched at once in one of its versions."),
            Term::new(
                "Version",
                "One encoding of a video. The player takes a better one (a higher rung of the \
                 ladder) when it expects to get it in time.",
            ),
            Term::new(
                "Stall",
                "The picture stands still because the buffer is empty. The wait before the first \
                 picture is start-up and counts apart.",
            ),
        ]);
    }
    if scenario.schemes.iter().any(|s| s.minerva.is_some()) {
        terms.push(Term::new(
            "Weight",
            "How many ordinary connections a viewer's connection counts for when it competes.",
        ));
    }
    terms.extend([
        Term::new("Queueing delay", "How long a packet waits at the link before it is sent."),
        Term::new(
            "95 % interval",
            "Where the mean would lie in 19 of 20 repetitions with other seeds (and other videos, \
             if there are several cases).",
        ),
        Term::new("Seed", "What all chance in a run comes from: the same seed, the same packets."),
    ]);
    terms
}

/// Remarks: what failed, what is missing, what is shown only in part.
pub(super) fn notes(results: &Results<'_>, (planned, stopped): (usize, bool)) -> Vec<String> {
    let plan = results.plan;
    let mut notes = Vec::new();
    let finished = results.all().count();
    if stopped {
        notes.push(format!(
            "This was stopped: {finished} of {planned} runs finished, and the figures are of \
             these."
        ));
    }
    let failures: Vec<String> = results
        .all()
        .flat_map(|run| run.failures().map(move |(name, why)| failure(plan, run, name, why)))
        .collect();
    notes.extend(failures.iter().take(FAILURES_TOLD).cloned());
    if failures.len() > FAILURES_TOLD {
        notes.push(format!("{} more failed.", failures.len() - FAILURES_TOLD));
    }
    let shown = plan.runs().filter(|key| super::is_drawn(plan, *key)).count();
    if finished > shown {
        let seed = plan.scenario.seeds.first().copied().unwrap_or_default();
        let cases = match plan.cases.len() {
            1 => String::new(),
            n => format!(" and the first {} of {n} cases", super::DRAWN_CASES.min(n)),
        };
        notes.push(format!("What is drawn over time is of seed {seed}{cases}."));
    }
    if let Some(corpus) = &plan.corpus {
        notes.extend(corpus.warnings().into_iter().map(|w| format!("About the content: {w}.")));
    }
    notes
}

fn failure(plan: &Plan, run: &RunFigures, name: &str, why: &str) -> String {
    let scheme = &plan.scenario.schemes[run.key.scheme].title;
    format!(
        "{} failed under {scheme} (case {}, seed {}): {why}",
        actor_name(name),
        plan.cases[run.key.case].name,
        run.key.seed
    )
}

/// Where the figures come from, seed by seed.
pub(super) fn provenance(results: &Results<'_>, common: &Common<'_>) -> Vec<Provenance> {
    let plan = results.plan;
    let scenario = &plan.scenario;
    let titles: Vec<String> = scenario.schemes.iter().map(|s| s.title.clone()).collect();
    let cases = match plan.cases.len() {
        1 => String::new(),
        n => format!("{n} cases, each "),
    };
    let content = plan
        .corpus
        .as_ref()
        .map(|c| format!("{}, hash {:016x}", words::file_name(&c.name), plan.content_hash));
    let trace = match (&scenario.link.capacity, traces(plan)) {
        (Capacity::Trace(source), names) => {
            let offset = match source.offset {
                Some(at) => format!("from {}", words::seconds(at)),
                None => "from an offset that the seed draws".to_owned(),
            };
            format!("{}, {offset}", names.join(", "))
        }
        (Capacity::Constant(_), _) => format!("constant {}", words::capacity(scenario, &[])),
        (Capacity::Steps(_), _) => words::capacity(scenario, &[]),
    };
    let mut all = Vec::new();
    for (i, &seed) in scenario.seeds.iter().enumerate() {
        let runs: Vec<&RunFigures> = results.all().filter(|r| r.key.seed == seed).collect();
        if runs.is_empty() {
            continue;
        }
        all.push(Provenance {
            label: format!("Seed {seed}: {cases}{}", titles.join(", ")),
            command: command(plan, common, seed),
            scenario: scenario.source.name.display().to_string(),
            scenario_text: if i == 0 { scenario.source.text.clone() } else { String::new() },
            seeds: vec![seed],
            airlane: VERSION.to_owned(),
            commit: COMMIT.to_owned(),
            packet_hashes: runs.iter().map(|r| format!("{:016x}", r.packet_hash)).collect(),
            content: content.clone().unwrap_or_default(),
            trace: trace.clone(),
            more: Vec::new(),
        });
    }
    all
}

/// The command that does the runs of one seed again.
fn command(plan: &Plan, common: &Common<'_>, seed: u64) -> String {
    let source = &plan.scenario.source;
    let mut words = vec!["airlane".to_owned(), "run".to_owned()];
    words.push(quoted(&source.name.to_string_lossy()));
    for set in &source.set {
        words.extend(["--set".to_owned(), quoted(set)]);
    }
    let paths = [("--content", &common.content), ("--trace", &common.trace)];
    for (option, path) in paths {
        if let Some(path) = path {
            words.extend([option.to_owned(), quoted(&path.to_string_lossy())]);
        }
    }
    if common.cipher == Some(Cipher::Tls) {
        words.push("--tls".to_owned());
    }
    words.extend(["--seed".to_owned(), seed.to_string()]);
    words.join(" ")
}
