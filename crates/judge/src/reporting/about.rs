//! What was run: the words around the figures, and how to get them again.

use airlane_net::Direction;
use airlane_report::model::{Fact, Provenance, Scheme, Term};

use super::words::{self, count, list, sentence};
use airlane_scenario::{Access, AccessKind, Capacity, Cipher};
use airlane_sim::Common;
use airlane_sim::Results;
use airlane_sim::plan::{DirectionKey, Plan, RunKey};
use airlane_sim::quoted;
use airlane_sim::workload::{RunResult, TrafficDescription, traffic_of};
use airlane_sim::{COMMIT, VERSION};

/// Failures that are told one by one.
const FAILURES_TOLD: usize = 12;

/// Description of what was run, in two or three sentences.
pub(super) fn lead(plan: &Plan) -> String {
    let scenario = &plan.scenario;
    let about = about(plan);
    let who: Vec<String> = about.iter().flat_map(|a| a.who.iter().cloned()).collect();
    let alone = about.iter().map(|a| a.count).sum::<usize>() == 1;
    let length = words::seconds(scenario.duration);
    let who = sentence(&list(&who));
    let mut text = match scenario.network.bottleneck() {
        Some(way) => {
            let verb = if alone { "has" } else { "share" };
            let capacity = words::capacity(&way.capacity, &traces(plan, None));
            format!("{who} {verb} one link ({capacity}) for {length}.")
        }
        None => {
            let verb = if alone { "uses" } else { "share" };
            let all = &scenario.network.accesses;
            let points = all.iter().filter(|a| matches!(a.kind, AccessKind::Wifi(_))).count();
            let what = match (scenario.network.has_links(), points) {
                (false, 1) => "one WiFi".to_owned(),
                _ if all.len() == 1 => "one half-duplex link".to_owned(),
                _ => format!("a network of {} accesses", count(all.len())),
            };
            format!("{who} {verb} {what} for {length}: {}.", accesses(plan))
        }
    };
    if scenario.schemes.len() > 1 {
        let mut same: Vec<String> =
            about.iter().flat_map(|a| &a.constants).map(|c| (*c).to_owned()).collect();
        if same.is_empty() {
            same.push("traffic".to_owned());
        }
        let alone = scenario.network.bottleneck().is_some();
        same.push(if alone { "link" } else { "network" }.to_owned());
        text.push_str(&format!(
            " {} are the same every time; what differs is how the servers send.",
            sentence(&list(&same))
        ));
    }
    if !scenario.story.is_empty() {
        text.push(' ');
        text.push_str(&scenario.story);
    }
    text
}

/// Users of the network, in words.
pub fn who(plan: &Plan) -> String {
    let who: Vec<String> = about(plan).into_iter().flat_map(|a| a.who).collect();
    list(&who)
}

/// Descriptions by the workloads that take part, of themselves.
fn about(plan: &Plan) -> Vec<TrafficDescription> {
    let participants = traffic_of(&plan.scenario).filter(|traffic| !traffic.is_empty());
    participants.map(|traffic| traffic.about(plan)).collect()
}

/// Description of each access: what it carries towards its hosts, and what it is behind.
fn accesses(plan: &Plan) -> String {
    let network = &plan.scenario.network;
    let accesses = network.accesses.iter().enumerate().map(|(i, access)| {
        let traces = traces(plan, Some((i, Direction::Down)));
        let carries = || words::carries(access, Direction::Down, &traces);
        let capacity = words::air(&access.kind).unwrap_or_else(carries);
        match access.behind {
            Some(outer) => {
                format!("{}, behind {} ({capacity})", access.name, network.accesses[outer].name)
            }
            None => format!("{} ({capacity})", access.name),
        }
    });
    accesses.collect::<Vec<_>>().join("; ")
}

/// The files of the traces, of one way or of all.
fn traces(plan: &Plan, of: Option<DirectionKey>) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    let all = plan.cases.iter().flat_map(|c| &c.traces);
    for (_, trace) in all.filter(|(way, _)| of.is_none_or(|of| **way == of)) {
        let name = words::file_name(trace.name());
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

pub(super) fn facts(plan: &Plan) -> Vec<Fact> {
    let scenario = &plan.scenario;
    let network = &scenario.network;
    let mut facts = Vec::new();
    if let Some(link) = network.bottleneck() {
        facts.extend([
            Fact::new("Link", words::capacity(&link.capacity, &traces(plan, None))),
            Fact::new("Round trip", words::round_trip(network.rtt)),
            Fact::new("Queue", words::queue(&link.queue)),
        ]);
        facts.extend(link.loss.as_ref().map(|loss| Fact::new("Loss", words::loss(loss))));
    } else {
        facts.push(Fact::new("Round trip in the core", words::round_trip(network.rtt)));
        let on_air = network.accesses.iter().filter_map(|access| {
            let air = words::air(&access.kind)?;
            let queue = words::queue(&access.way(Direction::Down).queue);
            Some(match access.behind {
                None => Fact::new(&access.name, format!("{air}; {queue} for each station")),
                Some(outer) => {
                    let outer = &network.accesses[outer].name;
                    Fact::new(format!("{}, behind {outer}", access.name), air)
                }
            })
        });
        facts.extend(on_air);
        let links = network.ways().filter(|(_, access, ..)| !access.is_air());
        facts.extend(links.map(|(i, access, direction, _)| {
            let behind = access.behind.map(|outer| &network.accesses[outer].name);
            let name = match (direction, behind) {
                (Direction::Down, Some(outer)) => format!("{}, behind {outer}, down", access.name),
                _ => format!("{}, {}", access.name, direction.name()),
            };
            Fact::new(name, words::way(access, direction, &traces(plan, Some((i, direction)))))
        }));
    }
    facts.extend(about(plan).into_iter().flat_map(|a| a.facts));
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
        .map(|s| Scheme::new(&s.name, &s.title, words::scheme_note(s, &scenario.network)))
        .collect()
}

/// Words that a report on a plan uses, and what they mean.
pub fn terms(plan: &Plan) -> Vec<Term> {
    let scenario = &plan.scenario;
    let mut terms: Vec<Term> = about(plan).into_iter().flat_map(|a| a.terms).collect();
    if scenario.schemes.iter().flat_map(|s| s.parts.iter()).any(|p| p.sets_weights()) {
        terms.push(Term::new(
            "Weight",
            "How many ordinary connections a connection counts for when it competes.",
        ));
    }
    terms.extend([Term::new(
        "Queueing delay",
        "How long a packet waits at the link before it is sent.",
    )]);
    if scenario.network.accesses.iter().any(Access::is_half_duplex) {
        terms.push(Term::new(
            "Half-duplex link",
            "A link whose two directions take turns on one capacity: what one of them uses the other \
             cannot, and their use adds up to 100 % at most.",
        ));
    }
    if scenario.network.has_air() {
        terms.extend([
            Term::new(
                "The air",
                "The channel that an access point and its stations share: one radio sends at a time.",
            ),
            Term::new(
                "SNR",
                "How much stronger a radio's signal arrives than the noise. Far away it is low, and then \
                 the same data take several times as long in the air.",
            ),
        ]);
    }
    terms.extend([
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
        .flat_map(|(key, run)| run.failures().map(move |(name, why)| failure(plan, key, name, why)))
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
    notes.extend(plan.scenario.network.warnings());
    let warnings = plan.draws.iter().flat_map(|draws| draws.warnings());
    notes.extend(warnings.map(|w| format!("About the content: {w}.")));
    notes
}

fn failure(plan: &Plan, key: RunKey, name: &str, why: &str) -> String {
    let scheme = &plan.scenario.schemes[key.scheme].title;
    format!(
        "{name} failed under {scheme} (case {}, seed {}): {why}",
        plan.cases[key.case].name, key.seed
    )
}

/// Provenance of the figures, seed by seed.
pub(super) fn provenance(results: &Results<'_>, common: &Common<'_>) -> Vec<Provenance> {
    let plan = results.plan;
    let scenario = &plan.scenario;
    let titles: Vec<String> = scenario.schemes.iter().map(|s| s.title.clone()).collect();
    let cases = match plan.cases.len() {
        1 => String::new(),
        n => format!("{n} cases, each "),
    };
    let content: Vec<String> = plan.draws.iter().filter_map(|draws| draws.content()).collect();
    let trace = match scenario.network.bottleneck() {
        Some(way) => carried(&way.capacity, &traces(plan, None)),
        None => scenario
            .network
            .ways()
            // Air carries what its stations make of it.
            .filter(|(_, access, ..)| !access.is_air())
            .map(|(i, access, direction, way)| {
                let of = match direction {
                    Direction::Down if access.is_half_duplex() => "both directions: ",
                    _ => "",
                };
                let of =
                    format!("{of}{}", carried(&way.capacity, &traces(plan, Some((i, direction)))));
                format!("{} {}: {of}", access.name, direction.name())
            })
            .collect::<Vec<_>>()
            .join("; "),
    };
    let mut all = Vec::new();
    for (i, &seed) in scenario.seeds.iter().enumerate() {
        let runs: Vec<&RunResult> =
            results.all().filter(|(key, _)| key.seed == seed).map(|(_, run)| run).collect();
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
            packet_hashes: runs.iter().filter_map(|r| r.packet_hash.clone()).collect(),
            content: content.join("; "),
            trace: trace.clone(),
            more: Vec::new(),
        });
    }
    all
}

/// Description of what a way carries, and of where that comes from.
fn carried(capacity: &Capacity, traces: &[&str]) -> String {
    match capacity {
        Capacity::Trace(source) => {
            let offset = match source.offset {
                Some(at) => format!("from {}", words::seconds(at)),
                None => "from an offset that the seed draws".to_owned(),
            };
            format!("{}, {offset}", traces.join(", "))
        }
        Capacity::Constant(_) => format!("constant {}", words::capacity(capacity, &[])),
        Capacity::Steps(_) | Capacity::Air | Capacity::Shared => words::capacity(capacity, &[]),
    }
}

/// The command that does the runs of one seed again.
fn command(plan: &Plan, common: &Common<'_>, seed: u64) -> String {
    let source = &plan.scenario.source;
    let mut words = vec!["airlane".to_owned(), "run".to_owned()];
    words.push(quoted(&source.name.to_string_lossy()));
    for set in &source.set {
        words.extend(["--set".to_owned(), quoted(set)]);
    }
    for (option, folder) in [("--content", &common.content), ("--heads", &common.heads)] {
        if let Some(folder) = folder {
            words.extend([option.to_owned(), quoted(&folder.to_string_lossy())]);
        }
    }
    for trace in &common.traces {
        words.extend(["--trace".to_owned(), quoted(&trace.to_string())]);
    }
    if common.cipher == Some(Cipher::Tls) {
        words.push("--tls".to_owned());
    }
    words.extend(["--seed".to_owned(), seed.to_string()]);
    words.join(" ")
}
