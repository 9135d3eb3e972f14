//! Check of records: which verdicts still are about what runs today.
//!
//! A record stands while its claims have the draws that they had, which follow from rules, scenes and
//! defaults, and while the first run of each scheme sends the very same packets. Nothing is measured
//! for that but these first runs.

use std::collections::{BTreeMap, BTreeSet};

use super::experiments::Experiments;
use super::runs::Reproduction;
use super::worlds::{ClaimWorlds, selected};
use crate::claims::{ClaimSet, Purpose};
use crate::record;
use crate::record::RecordedClaim;
use crate::request::{Outcome, RecordCheckRequest};
use airlane_sim::LabError;
use airlane_sim::workload::ClaimRun;

/// Tells which claims of a record stand and which are stale, of those in `sets`; the outcome counts the stale ones as
/// failed.
///
/// # Errors
/// If the record or other input is invalid, before anything runs; the first fault of a run.
pub fn check_record(
    sets: &[ClaimSet],
    request: &RecordCheckRequest<'_>,
) -> Result<Outcome, LabError> {
    let common = &request.common;
    let recorded = record::claims(&request.file)?;
    let mut claims = selected(sets, &request.only, Purpose::Verdict)?;
    claims.retain(|(_, claim)| recorded.iter().any(|recorded| recorded.id == claim.id));
    let worlds = ClaimWorlds::of_claims(claims, Purpose::Verdict, common)?;
    let mut all = Reproduction::of_worlds(worlds, common, false)?;
    let wanted: BTreeSet<usize> = first_runs(&all.worlds.experiments)
        .into_values()
        .flatten()
        .map(|(_, world)| world)
        .collect();
    let stopped = all.run_wanted(common, &request.system, &|world| wanted.contains(&world))?;
    all.journal.sync()?;
    let (experiments, worlds) = (&all.worlds.experiments, &all.runs);
    let first = first_runs(experiments);

    let (mut table, mut stale) = (String::new(), 0);
    let told: Vec<&RecordedClaim> =
        recorded.iter().filter(|r| first.contains_key(r.id.as_str())).collect();
    let width = told.iter().map(|claim| claim.id.len()).max().unwrap_or(0);
    for claim in &told {
        let stream =
            experiments.list.iter().find(|e| e.claim.id == claim.id).map(|e| e.stream.name());
        let standing =
            standing(claim, stream.unwrap_or_default(), &first[claim.id.as_str()], worlds);
        stale += usize::from(standing != STANDS);
        table += &format!("{:width$}  {standing}\n", claim.id);
    }
    let line = format!("{stale} of {} recorded claims are stale.", told.len());
    Ok(Outcome { table, line, out: common.out.clone(), failed: stale, stopped })
}

const STANDS: &str = "stands";

/// By claim the first run of each scheme of its first scene: scheme and world.
fn first_runs<'e>(experiments: &'e Experiments<'_>) -> BTreeMap<&'e str, Vec<(&'e str, usize)>> {
    let mut all: BTreeMap<&str, Vec<(&str, usize)>> = BTreeMap::new();
    for experiment in &experiments.list {
        let scenario = &experiment.plan.scenario;
        let first = experiment
            .runs
            .iter()
            .filter(|(key, _)| key.case == 0 && scenario.seeds.first() == Some(&key.seed));
        let of_schemes =
            first.map(|(key, world)| (scenario.schemes[key.scheme].name.as_str(), *world));
        all.entry(&experiment.claim.id).or_insert_with(|| of_schemes.collect());
    }
    all
}

/// Words for how a recorded claim stands.
fn standing(
    recorded: &RecordedClaim,
    stream: &str,
    first: &[(&str, usize)],
    worlds: &[Option<ClaimRun>],
) -> String {
    if recorded.stream != stream {
        return format!("stale: draws of {} then, of {stream} now", recorded.stream);
    }
    for (scheme, world) in first {
        let then = recorded.packet_hashes.get(*scheme).map(String::as_str);
        let Some(run) = &worlds[*world] else { return "not known: stopped".to_owned() };
        match (then, run.result.packet_hash.as_deref()) {
            (None, _) => return format!("not known: no packet hash of {scheme} is recorded"),
            (then, now) if then != now => return format!("stale: other packets under {scheme}"),
            _ => {}
        }
    }
    STANDS.to_owned()
}
