//! Recorded capacities: those of a scenario, and those of the command line in their place.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use airlane_base::{InputError, Seed};
use airlane_net::Direction;
use airlane_net::trace::Trace;

use super::windows::{Window, WindowPlace, whole, windows};
use super::{DirectionKey, Sources, TraceUse, file_name};
use crate::world::of_way;
use airlane_scenario::{Capacity, Scenario, TraceFrom, TraceSource};

/// A made-up trace is at least so long.
const MIN_MADE: Duration = Duration::from_secs(60);

/// A trace of the command line, or a folder of traces: `[ACCESS=]FILE[#COLUMN]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenTrace {
    /// The access whose way down it is for; by default the only one.
    pub access: Option<String>,
    /// A file, or a folder of which each file is a trace.
    pub path: PathBuf,
    /// The column of capacities, where that is not the format's own.
    pub column: Option<String>,
}

impl From<PathBuf> for GivenTrace {
    /// One for the only access.
    fn from(path: PathBuf) -> Self {
        Self { access: None, path, column: None }
    }
}

impl FromStr for GivenTrace {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // A path may have an equals sign in it, but not before its first separator.
        let named = text.split_once('=').filter(|(name, _)| !name.contains(['/', '\\']));
        let (access, rest) = named.map_or((None, text), |(name, rest)| (Some(name), rest));
        let (path, column) = rest.rsplit_once('#').map_or((rest, None), |(p, c)| (p, Some(c)));
        if path.is_empty() || access == Some("") || column == Some("") {
            return Err("expected [ACCESS=]FILE[#COLUMN], such as wifi=wifi.csv".to_owned());
        }
        let (access, column) = (access.map(str::to_owned), column.map(str::to_owned));
        Ok(Self { access, path: path.into(), column })
    }
}

impl fmt::Display for GivenTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(access) = &self.access {
            write!(f, "{access}=")?;
        }
        write!(f, "{}", self.path.display())?;
        match &self.column {
            Some(column) => write!(f, "#{column}"),
            None => Ok(()),
        }
    }
}

/// Traces of the command line, by the number of the access: one, or of claims several.
pub(super) type TracesByAccess<'a> = BTreeMap<usize, Vec<&'a GivenTrace>>;

/// Assigns each trace of the command line to its access.
pub(super) fn given<'a>(
    scenario: &Scenario,
    traces: &'a [GivenTrace],
    sources: &mut Sources,
) -> Result<TracesByAccess<'a>, InputError> {
    let accesses = &scenario.network.accesses;
    let refused =
        |found: String, expected: &str| Err(InputError::new(found, expected).at_key("--trace"));
    let mut all = TracesByAccess::new();
    for trace in traces {
        let number = match &trace.access {
            Some(name) => accesses.iter().position(|access| access.name == *name),
            None => (accesses.len() == 1).then_some(0),
        };
        let number = match (number, sources.usage) {
            (Some(number), TraceUse::Each) => number,
            (None, TraceUse::Each) => {
                let names: Vec<&str> = accesses.iter().map(|access| access.name.as_str()).collect();
                let names = names.join(", ");
                let (found, expected) = match &trace.access {
                    Some(name) => (format!("no access {name}"), format!("expected one of {names}")),
                    None => {
                        let found = format!("{} accesses, and none is named", accesses.len());
                        (found, format!("expected ACCESS=FILE with one of {names}"))
                    }
                };
                return refused(found, &expected);
            }
            // What is claimed of constant links is not claimed of a trace.
            (number, TraceUse::Windows) => {
                let is_trace = |number: &usize| {
                    let way = accesses[*number].way(Direction::Down);
                    matches!(way.capacity, Capacity::Trace(_))
                };
                let Some(number) = number.filter(is_trace) else { continue };
                number
            }
        };
        let of_access: &mut Vec<&GivenTrace> = all.entry(number).or_default();
        if let (Some(other), TraceUse::Each) = (of_access.first(), sources.usage) {
            return refused(
                format!("{other} and {trace} are for one access"),
                "expected one of them",
            );
        }
        of_access.push(trace);
        sources.used.insert(trace.to_string());
    }
    Ok(all)
}

/// Lets the ways down carry the traces that are given for them. Column, scale and offset of a file of the scenario
/// say nothing about another file; mean and fading do, and the scale of a generator: it is for all traces of a kind.
pub(super) fn replace(scenario: &mut Scenario, given: &TracesByAccess<'_>) {
    for (number, traces) in given {
        let Some(trace) = traces.first() else { continue };
        let way = scenario.network.accesses[*number].way_mut(Direction::Down);
        let (scale, mean, fading) = match &way.capacity {
            Capacity::Trace(source) => {
                let is_file = matches!(source.from, TraceFrom::File(_));
                (if is_file { 1.0 } else { source.scale }, source.mean, source.fading)
            }
            _ => (1.0, None, 0.0),
        };
        let (from, column) = (TraceFrom::File(trace.path.clone()), trace.column.clone());
        way.capacity =
            Capacity::Trace(TraceSource { from, column, scale, mean, offset: None, fading });
    }
}

/// The traces of a way.
pub(super) enum Traces {
    /// Every case on each of them.
    Each(Vec<Trace>),
    /// Every case on one, one after the other.
    InTurn(Vec<Trace>),
    /// Every case on a window of one.
    Windows(Vec<Trace>, Vec<WindowPlace>),
}

impl Traces {
    /// Those of a case, from 0; at least one.
    pub(super) fn of(&self, case: usize) -> &[Trace] {
        match self {
            Self::Each(traces) => traces,
            Self::InTurn(traces) => std::slice::from_ref(&traces[case % traces.len()]),
            Self::Windows(traces, windows) => {
                std::slice::from_ref(&traces[windows[case % windows.len()].file])
            }
        }
    }

    /// The window of a case, from 0, with where it begins; `None` if its traces are not recordings
    /// that claims are measured on.
    pub(super) fn window(&self, case: usize) -> Option<(Window, Option<Duration>)> {
        let Self::Windows(traces, windows) = self else { return None };
        let WindowPlace { file, number, offset } = windows[case % windows.len()];
        let recording = file_name(traces[file].name());
        Some((Window { recording, number }, offset))
    }
}

/// The traces of every way whose capacity is one.
pub(super) fn of(
    scenario: &Scenario,
    given: &TracesByAccess<'_>,
    sources: &mut Sources,
) -> Result<BTreeMap<DirectionKey, Traces>, InputError> {
    let mut all = BTreeMap::new();
    for (number, access, direction, way) in scenario.network.ways() {
        let Capacity::Trace(source) = &way.capacity else { continue };
        let given = given.get(&number).filter(|_| direction == Direction::Down);
        let seed = of_way(Seed(scenario.cases.seed).split("trace"), access, direction);
        let traces = match given {
            Some(given) => Traces::Each(of_files(given, source, seed, sources)?),
            None => of_way_itself(scenario, seed, source, sources)?,
        };
        all.insert((number, direction), traces);
    }
    if sources.usage == TraceUse::Windows {
        part(scenario, given, &mut all)?;
    }
    Ok(all)
}

/// Parts the given recordings into windows: files that stand at the same place of several accesses
/// belong together, and have the windows of the shortest of them.
fn part(
    scenario: &Scenario,
    given: &TracesByAccess<'_>,
    all: &mut BTreeMap<DirectionKey, Traces>,
) -> Result<(), InputError> {
    let is_given = |key: &DirectionKey| key.1 == Direction::Down && given.contains_key(&key.0);
    let recordings: Vec<&Vec<Trace>> = all
        .iter()
        .filter(|(key, _)| is_given(key))
        .filter_map(|(_, traces)| match traces {
            Traces::Each(traces) => Some(traces),
            Traces::InTurn(_) | Traces::Windows(..) => None,
        })
        .collect();
    let Some(count) = recordings.iter().map(|traces| traces.len()).max() else { return Ok(()) };
    if let Some(fewer) = recordings.iter().find(|traces| traces.len() < count) {
        return Err(of_unequal_number(fewer.len(), count));
    }
    let shortest = |place: usize| {
        recordings.iter().map(|traces| traces[place].length()).min().unwrap_or_default()
    };
    let lengths: Vec<Duration> = (0..count).map(shortest).collect();
    let accesses = &scenario.network.accesses;
    let windows = match given.keys().any(|number| accesses[*number].is_per_host()) {
        true => whole(count),
        false => windows(&lengths, scenario.duration, Seed(scenario.cases.seed)),
    };
    for (_, traces) in all.iter_mut().filter(|(key, _)| is_given(key)) {
        if let Traces::Each(of_access) = traces {
            *traces = Traces::Windows(std::mem::take(of_access), windows.clone());
        }
    }
    Ok(())
}

/// The error of accesses that have different numbers of traces.
pub(super) fn of_unequal_number(fewer: usize, count: usize) -> InputError {
    let found = format!("folders of {fewer} and of {count} traces");
    let expected = "expected as many in each: those at the same place belong together";
    InputError::new(found, expected).at_key("--trace")
}

fn of_files(
    given: &[&GivenTrace],
    source: &TraceSource,
    seed: Seed,
    sources: &mut Sources,
) -> Result<Vec<Trace>, InputError> {
    let mut traces = Vec::new();
    for given in given {
        for file in trace_files(&given.path)? {
            let trace = sources.trace(&file, given.column.as_ref())?;
            traces.push(source.adapted(trace, seed)?);
        }
    }
    Ok(traces)
}

fn of_way_itself(
    scenario: &Scenario,
    seed: Seed,
    source: &TraceSource,
    sources: &mut Sources,
) -> Result<Traces, InputError> {
    match &source.from {
        TraceFrom::File(file) => {
            let folder = scenario.source.folder.clone().unwrap_or_default();
            let trace = sources.trace(&folder.join(file), source.column.as_ref())?;
            Ok(Traces::Each(vec![source.adapted(trace, seed)?]))
        }
        TraceFrom::Generator { medium, outages } => {
            let length = scenario.duration.max(MIN_MADE);
            let made = (0..scenario.cases.count as u64).map(|i| {
                let seed = seed.index(i);
                source.adapted(Trace::synthetic_with(*medium, *outages, seed, length)?, seed)
            });
            Ok(Traces::InTurn(made.collect::<Result<_, InputError>>()?))
        }
    }
}

/// The file, or the files of the folder in the order of their names.
fn trace_files(path: &Path) -> Result<Vec<PathBuf>, InputError> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let io = |e| InputError::io(path, "read the folder of traces", &e);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(io)? {
        let file = entry.map_err(io)?.path();
        let hidden = file.file_name().is_some_and(|n| n.to_string_lossy().starts_with('.'));
        if file.is_file() && !hidden {
            files.push(file);
        }
    }
    if files.is_empty() {
        let expected = "expected traces: Mahimahi, time/bandwidth or CSV, plain or gzipped";
        return Err(InputError::new("no file in this folder", expected).at_file(path));
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_a_path_with_an_access_before_and_a_column_behind() {
        let trace = |access: Option<&str>, path: &str, column: Option<&str>| GivenTrace {
            access: access.map(str::to_owned),
            path: path.into(),
            column: column.map(str::to_owned),
        };
        for (text, given) in [
            ("a.csv", trace(None, "a.csv", None)),
            ("wifi=a.csv", trace(Some("wifi"), "a.csv", None)),
            ("wifi=/d/a=b.txt#3", trace(Some("wifi"), "/d/a=b.txt", Some("3"))),
            ("./a=b.txt", trace(None, "./a=b.txt", None)),
        ] {
            assert_eq!(text.parse(), Ok(given.clone()), "{text}");
            assert_eq!(given.to_string(), text);
        }
        for bad in ["", "=a.csv", "wifi=", "a.csv#", "#3"] {
            assert!(bad.parse::<GivenTrace>().is_err(), "{bad}");
        }
    }
}
