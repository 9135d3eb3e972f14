//! Records of one system, joined by the content that they were measured on.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use airlane_base::InputError;

use crate::Registry;
use crate::claims::{Claim, ClaimSet, Purpose};
use crate::record::{self, Verdicts};
use crate::summary::{ClaimEntry, Judgement, Row};

/// Results on one content.
#[derive(Debug, Default)]
pub(super) struct Content {
    /// Its name; empty of systems without content.
    pub(super) name: String,
    /// Its claims, in the order of their set.
    pub(super) claims: Vec<ClaimEntry>,
    /// Statistics over all draws.
    pub(super) rows: Vec<Row>,
    /// Number of its verdicts; `None` without one.
    pub(super) judgement: Option<Judgement>,
}

/// Results of a system, by content in the order of the records.
pub(super) struct Contents {
    /// The system's claims as they are today.
    pub(super) set: ClaimSet,
    /// Names of the streams that they draw from today, by id.
    streams: BTreeMap<String, String>,
    /// By content.
    pub(super) list: Vec<Content>,
}

impl Content {
    /// A claim; `None` if it was not measured on this content.
    pub(super) fn claim(&self, id: &str) -> Option<&ClaimEntry> {
        self.claims.iter().find(|claim| claim.id == id)
    }

    /// The content's name above a column.
    pub(super) fn heading(&self) -> &str {
        if self.name.is_empty() { "measured" } else { &self.name }
    }
}

impl Contents {
    /// Reads and joins records.
    ///
    /// # Errors
    /// If one is no record, or of another system; if a claim is in two of one content; if a scene of today is invalid.
    pub(super) fn read(registry: &Registry, files: &[PathBuf]) -> Result<Self, InputError> {
        let mut records = Vec::new();
        for file in files {
            records.push((file.as_path(), record::verdicts(file)?));
        }
        let system = |id: &str| id.split('.').next().unwrap_or_default().to_owned();
        let ids = || records.iter().flat_map(|(_, record)| &record.claims).map(|claim| &claim.id);
        let systems: BTreeSet<String> = ids().map(|id| system(id)).collect();
        let [system] = &systems.into_iter().collect::<Vec<_>>()[..] else {
            let expected = "expected records of one system, with at least one claim";
            return Err(InputError::new("records of none or of several systems", expected)
                .at_file(files.first().map_or(Path::new(""), PathBuf::as_path)));
        };
        let set = ClaimSet::of_system(registry, system)?;
        let mut list: Vec<Content> = Vec::new();
        for (file, record) in records {
            add(&mut list, file, record)?;
        }
        let place = |claim: &ClaimEntry| set.claims.iter().position(|c| c.id == claim.id);
        for content in &mut list {
            content.claims.sort_by_key(|claim| place(claim).unwrap_or(usize::MAX));
            leave_out_common_reason(&mut content.claims);
        }
        let stream = |claim: &Claim| {
            let stream = set.stream(claim, Purpose::Verdict)?;
            Ok((claim.id.clone(), stream.name().to_owned()))
        };
        let streams = set.claims.iter().map(stream).collect::<Result<_, InputError>>()?;
        Ok(Self { set, streams, list })
    }

    /// The ids of all that was measured: first the claims of the first content.
    pub(super) fn ids(&self) -> Vec<&str> {
        let mut ids: Vec<&str> = Vec::new();
        for claim in self.list.iter().flat_map(|content| &content.claims) {
            if !ids.contains(&claim.id.as_str()) {
                ids.push(&claim.id);
            }
        }
        ids
    }

    /// Number of a content's claims whose draws are not those of today's rules, scenes and defaults.
    pub(super) fn stale(&self, content: &Content) -> usize {
        let is_stale = |claim: &&ClaimEntry| self.streams.get(&claim.id) != Some(&claim.stream);
        content.claims.iter().filter(is_stale).count()
    }
}

fn add(list: &mut Vec<Content>, file: &Path, record: Verdicts) -> Result<(), InputError> {
    let full = record.claims.first().map(|claim| claim.content.as_str()).unwrap_or_default();
    let name = full.rsplit('/').next().unwrap_or_default().to_owned();
    let at = list.iter().position(|content| content.name == name).unwrap_or_else(|| {
        list.push(Content { name: name.clone(), ..Content::default() });
        list.len() - 1
    });
    let content = &mut list[at];
    if let Some(twice) = record.claims.iter().find(|claim| content.claim(&claim.id).is_some()) {
        let found = format!("{} on {name}, which an earlier record has", twice.id);
        return Err(InputError::new(found, "expected each claim once per content").at_file(file));
    }
    content.claims.extend(record.claims);
    content.rows.extend(record.rows);
    content.judgement = match (content.judgement, record.judgement) {
        (Some(a), Some(b)) => Some(Judgement {
            claims: a.claims + b.claims,
            conditions: a.conditions + b.conditions,
            expected_false: a.expected_false + b.expected_false,
        }),
        (a, b) => a.or(b),
    };
    Ok(())
}

/// Clears the reason of all claims where it is the same: why nothing at all is judged on a content its page says once.
fn leave_out_common_reason(claims: &mut [ClaimEntry]) {
    let [first, rest @ ..] = &claims else { return };
    if !rest.is_empty() && rest.iter().all(|claim| claim.reason == first.reason) {
        claims.iter_mut().for_each(|claim| claim.reason.clear());
    }
}
