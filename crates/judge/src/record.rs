//! Records of verdicts: what a command measured of claims, kept with the commit, the data and the
//! draws that it is of, and with the verdicts before it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use airlane_base::InputError;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::summary::{ClaimEntry, Judgement, Row, RunEntry, Summary};

/// Request to record verdicts in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordRequest {
    /// The file; it is made, or its claims that were measured again are replaced.
    pub file: PathBuf,
    /// Reason for which claims that the file has were measured again.
    pub reason: Option<String>,
}

/// A file of verdicts: `claims/verdicts/SYSTEM-CONTENT.json`.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    schema: u32,
    /// Statistics over all draws, for tables.
    rows: Vec<Value>,
    /// Claims as in `summary.json`, each with `commit`, `data`, `packet_hashes` and `earlier`.
    claims: Vec<Map<String, Value>>,
    judgement: Value,
}

/// A claim of a record, as far as it tells whether the record stands.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct RecordedClaim {
    /// Its id.
    pub id: String,
    /// The stream that its draws were from.
    #[serde(default)]
    pub stream: String,
    /// The packet hash of its first run under each scheme; none in records of before 2026-11-28.
    #[serde(default)]
    pub packet_hashes: BTreeMap<String, String>,
}

/// The claims of a record.
///
/// # Errors
/// With the file, if there is none or it is no record.
pub fn claims(file: &Path) -> Result<Vec<RecordedClaim>, InputError> {
    let claim = |claim| serde_json::from_value(Value::Object(claim));
    recorded(file)?
        .claims
        .into_iter()
        .map(claim)
        .collect::<Result<_, _>>()
        .map_err(|e| InputError::new(e.to_string(), "expected claims of a record").at_file(file))
}

/// Content of a record, as far as tables need it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdicts {
    /// Its claims.
    pub claims: Vec<ClaimEntry>,
    /// Statistics over all draws.
    pub rows: Vec<Row>,
    /// Number of its verdicts; `None` without one.
    pub judgement: Option<Judgement>,
}

/// The claims and statistics of a record.
///
/// # Errors
/// With the file, if there is none or it is no record.
pub fn verdicts(file: &Path) -> Result<Verdicts, InputError> {
    let record = recorded(file)?;
    let bad = |e: serde_json::Error| {
        InputError::new(e.to_string(), "expected a record of verdicts").at_file(file)
    };
    let claims = record.claims.iter().map(entry_of).collect::<Result<_, _>>().map_err(bad)?;
    let rows = record.rows.into_iter().map(serde_json::from_value);
    let rows = rows.collect::<Result<_, _>>().map_err(bad)?;
    Ok(Verdicts {
        claims,
        rows,
        judgement: serde_json::from_value(record.judgement).ok().flatten(),
    })
}

/// Keys that a claim of a record has and a summary's has not.
const OWN: [&str; 4] = ["commit", "data", "packet_hashes", "earlier"];

/// A recorded claim as a summary has it.
fn entry_of(claim: &Map<String, Value>) -> Result<ClaimEntry, serde_json::Error> {
    let mut plain = claim.clone();
    plain.retain(|key, _| !OWN.contains(&key.as_str()));
    serde_json::from_value(Value::Object(plain))
}

/// Keys of an earlier verdict that stay when its claim is measured again.
const KEPT: [&str; 8] = ["commit", "stream", "measured", "ci95", "unit", "n", "rule", "verdict"];

impl RecordRequest {
    /// Refuses, before anything runs, a file that is none of verdicts, and claims that it has if
    /// there is no reason to measure them again.
    ///
    /// # Errors
    /// With the file.
    pub fn check<'a>(&self, ids: impl Iterator<Item = &'a str>) -> Result<(), InputError> {
        let record = read(&self.file)?;
        let known = |id: &&str| record.claims.iter().any(|claim| id_of(claim) == *id);
        match ids.into_iter().find(known) {
            Some(id) if self.reason.is_none() => {
                let found = format!("{id} is recorded already");
                let expected = "expected --reason TEXT: why it is measured again";
                Err(InputError::new(found, expected).at_file(&self.file))
            }
            _ => Ok(()),
        }
    }

    /// Writes the claims of a summary that `is_finished` says of, by id, that all their runs are. `data` says what they
    /// were measured on.
    ///
    /// # Errors
    /// If the file cannot be read or written.
    pub fn write(
        &self,
        summary: &Summary,
        data: &[String],
        is_finished: &dyn Fn(&str) -> bool,
    ) -> Result<(), InputError> {
        let finished = || summary.claims.iter().filter(|claim| is_finished(&claim.id));
        if finished().next().is_none() {
            return Ok(());
        }
        let mut record = read(&self.file)?;
        for entry in finished() {
            let before = record.claims.iter().position(|claim| id_of(claim) == entry.id);
            let before = before.map(|at| record.claims.remove(at));
            record.claims.push(self.claim(entry, before, summary, data)?);
        }
        record.claims.sort_by(|a, b| id_of(a).cmp(id_of(b)));
        let is_measured = |experiment: &str| {
            let id = experiment.split('/').next().unwrap_or_default();
            finished().any(|claim| claim.id == id)
        };
        record.rows.retain(|row| !is_measured(row["experiment"].as_str().unwrap_or_default()));
        let statistics =
            summary.rows.iter().filter(|row| row.case == "all" && is_measured(&row.experiment));
        record.rows.extend(statistics.map(|row| json!(row)));
        record.judgement = json!(self.judgement(&record));
        let text = serde_json::to_string_pretty(&record).expect("numbers and texts") + "\n";
        let refused = |e| InputError::io(&self.file, "write the record of verdicts", &e);
        // Whole or not at all.
        let part = self.file.with_extension("json.part");
        fs::write(&part, text).map_err(refused)?;
        fs::rename(&part, &self.file).map_err(refused)
    }

    fn claim(
        &self,
        entry: &ClaimEntry,
        before: Option<Map<String, Value>>,
        summary: &Summary,
        data: &[String],
    ) -> Result<Map<String, Value>, InputError> {
        let Value::Object(mut claim) = json!(entry) else { unreachable!("a struct is an object") };
        claim.insert("commit".to_owned(), json!(summary.commit));
        claim.insert("data".to_owned(), json!(data));
        claim.insert("packet_hashes".to_owned(), json!(hashes(summary, &entry.id)));
        if let Some(mut before) = before {
            let mut earlier = match before.remove("earlier") {
                Some(Value::Array(earlier)) => earlier,
                _ => Vec::new(),
            };
            before.retain(|key, _| KEPT.contains(&key.as_str()));
            before.insert("measured_again_because".to_owned(), json!(self.reason));
            earlier.push(Value::Object(before));
            claim.insert("earlier".to_owned(), Value::Array(earlier));
        }
        Ok(claim)
    }

    /// Number of the verdicts of the record, and of those that chance would get wrong.
    fn judgement(&self, record: &Record) -> Option<Judgement> {
        let mut all = Summary::new("", Vec::new());
        all.claims.extend(record.claims.iter().filter_map(|claim| entry_of(claim).ok()));
        all.count_verdicts();
        all.judgement
    }
}

/// The packet hash of the first run of a claim under each scheme: a record is stale where one of
/// them changes.
fn hashes<'a>(summary: &'a Summary, id: &str) -> BTreeMap<&'a str, &'a str> {
    let is_of = |run: &&RunEntry| run.experiment.split('/').next() == Some(id);
    let mut first = BTreeMap::new();
    for run in summary.runs.iter().filter(is_of) {
        let hash = run.packet_hash.as_deref().unwrap_or_default();
        first.entry(run.scheme.as_str()).or_insert(hash);
    }
    first
}

fn id_of(claim: &Map<String, Value>) -> &str {
    claim.get("id").and_then(Value::as_str).unwrap_or_default()
}

/// The record in a file, which has at least one claim.
fn recorded(file: &Path) -> Result<Record, InputError> {
    let record = read(file)?;
    if record.claims.is_empty() {
        let expected = "expected a record that `airlane reproduce --record` made";
        return Err(InputError::new("no recorded claims", expected).at_file(file));
    }
    Ok(record)
}

/// The record in a file; an empty one if there is no such file.
fn read(file: &Path) -> Result<Record, InputError> {
    let schema = crate::summary::SCHEMA;
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            let (rows, claims) = (Vec::new(), Vec::new());
            return Ok(Record { schema, rows, claims, judgement: Value::Null });
        }
        Err(e) => return Err(InputError::io(file, "read the record of verdicts", &e)),
    };
    let record: Record = serde_json::from_str(&text).map_err(|e| {
        InputError::new(e.to_string(), "expected a record of verdicts, or no such file")
            .at_file(file)
            .at_line(e.line())
    })?;
    if record.schema == schema {
        return Ok(record);
    }
    let found = format!("schema {}", record.schema);
    Err(InputError::new(found, format!("expected {schema}")).at_file(file).at_key("schema"))
}
