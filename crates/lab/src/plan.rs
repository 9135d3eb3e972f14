//! Everything that a run needs, read and checked before anything runs.

use std::any::Any;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use airlane_base::{InputError, Seed};
use airlane_net::Direction;
use airlane_net::trace::{Trace, TraceOptions};

use crate::request::Common;
use crate::scenario::{Capacity, Scenario, Scheme, TraceFrom, TraceSource};
use crate::workload::AllDraws;
use crate::world::of_way;

/// A made-up trace is at least so long.
const LEAST_MADE: Duration = Duration::from_secs(60);

/// A scenario with all that its runs need, and these runs.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The scenario, with what the command line overrides.
    pub scenario: Scenario,
    /// The cases, in order.
    pub cases: Vec<Case>,
    /// What the cases draw, by workload.
    pub draws: AllDraws,
}

/// What has been read for plans, each file once, and how traces are used.
#[derive(Debug)]
pub struct Sources {
    usage: TraceUse,
    /// By file and column.
    traces: BTreeMap<(PathBuf, Option<String>), Trace>,
    /// What workloads keep.
    kept: Vec<Box<dyn Any>>,
}

impl Sources {
    /// Nothing was read yet.
    pub fn new(usage: TraceUse) -> Self {
        Self { usage, traces: BTreeMap::new(), kept: Vec::new() }
    }

    /// What a workload keeps here between plans; at first its default.
    pub(crate) fn kept<T: Any + Default>(&mut self) -> &mut T {
        let place = match self.kept.iter().position(|kept| kept.is::<T>()) {
            Some(place) => place,
            None => {
                self.kept.push(Box::<T>::default());
                self.kept.len() - 1
            }
        };
        self.kept[place].downcast_mut().expect("it was found by its type")
    }

    fn trace(&mut self, file: &Path, column: Option<&String>) -> Result<Trace, InputError> {
        let key = (file.to_owned(), column.cloned());
        if let Some(trace) = self.traces.get(&key) {
            return Ok(trace.clone());
        }
        let options = TraceOptions { column: key.1.clone(), ..TraceOptions::default() };
        let trace = Trace::load_with(file, &options)?;
        self.traces.insert(key, trace.clone());
        Ok(trace)
    }
}

/// One draw on one trace. Under every scheme and seed it is a run.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name in rows: its number from 1, and the trace's if there are several.
    pub name: String,
    /// The number of the draw, from 0.
    pub draw: usize,
    /// The traces of the capacities that are traces, by the number of the access and direction.
    pub traces: BTreeMap<WayKey, Trace>,
}

/// A direction of an access: the access's number in the scenario, and which way.
pub type WayKey = (usize, Direction);

/// How the traces of a folder are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceUse {
    /// Every case on each of them.
    Each,
    /// Every case on one, one after the other, where the scenario's own capacity is a trace.
    InTurn,
}

/// One run of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunKey {
    /// Index into [`Plan::cases`].
    pub case: usize,
    /// Index into the schemes of the scenario.
    pub scheme: usize,
    /// The seed.
    pub seed: u64,
}

impl Plan {
    /// Reads all that a run of `scenario` with `common` needs.
    ///
    /// # Errors
    /// What is wrong with a trace, the content, a scheme's file or how they go together.
    pub fn new(scenario: Scenario, common: &Common<'_>) -> Result<Self, InputError> {
        Self::with(scenario, common, &mut Sources::new(TraceUse::Each))
    }

    /// The same for one of several scenarios with the same `common`: what one of them has read is
    /// not read again.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub fn with(
        mut scenario: Scenario,
        common: &Common<'_>,
        sources: &mut Sources,
    ) -> Result<Self, InputError> {
        if let Some(seed) = common.seed {
            scenario.seeds = vec![seed];
        }
        if let Some(cipher) = common.cipher {
            scenario.transport.cipher = cipher;
        }
        let given = match (common.trace.as_deref(), sources.usage) {
            (None, _) => None,
            (Some(_), TraceUse::Each) if scenario.network.bottleneck().is_none() => {
                let found = format!("found {} accesses", scenario.network.accesses.len());
                let expected = "expected a scenario with one: name the trace of each access in the \
                                scenario, such as `trace = \"a.trace\"` in [access.down]";
                return Err(InputError::new(found, expected).at_key("--trace"));
            }
            (given, TraceUse::Each) => given,
            // What is claimed of constant links is not claimed of a trace.
            (given, TraceUse::InTurn) => given.filter(|_| {
                let way = scenario.network.bottleneck();
                way.is_some_and(|way| matches!(way.capacity, Capacity::Trace(_)))
            }),
        };
        if let Some(path) = given {
            replace_capacity(&mut scenario, path);
        }
        let traces = traces(&scenario, given, sources)?;
        let cases = cases(&scenario, &traces);
        let prepared = scenario.casts.iter().map(|c| c.prepare(&scenario, common, sources));
        let draws = AllDraws::new(prepared.collect::<Result<_, InputError>>()?);
        Ok(Self { scenario, cases, draws })
    }

    /// The runs in the order of results: by case, then seed, then scheme, so that what has
    /// finished at a stop can be compared.
    pub fn runs(&self) -> impl Iterator<Item = RunKey> + '_ {
        let schemes = self.scenario.schemes.len();
        (0..self.cases.len()).flat_map(move |case| {
            self.scenario.seeds.iter().flat_map(move |&seed| {
                (0..schemes).map(move |scheme| RunKey { case, scheme, seed })
            })
        })
    }

    /// What a run is, for people: `four-viewers, minerva, case 1, seed 3`.
    pub fn label(&self, run: RunKey) -> String {
        format!(
            "{}, {}, case {}, seed {}",
            self.scenario.name,
            self.scenario.schemes[run.scheme].name,
            self.cases[run.case].name,
            run.seed
        )
    }
}

/// The traces of a way.
enum Traces {
    /// Every case on each of them.
    Each(Vec<Trace>),
    /// Every case on one, one after the other.
    InTurn(Vec<Trace>),
}

impl Traces {
    /// Those of a case, from 0.
    fn of(&self, case: usize) -> &[Trace] {
        match self {
            Self::Each(traces) => traces,
            Self::InTurn(traces) => std::slice::from_ref(&traces[case % traces.len()]),
        }
    }
}

/// Lets the way down of the only access carry the trace, or the traces, at `path`. Column, scale
/// and offset of the scenario's own trace say nothing about another; its mean does.
fn replace_capacity(scenario: &mut Scenario, path: &Path) {
    let way = scenario.network.accesses[0].way_mut(Direction::Down);
    let mean = match &way.capacity {
        Capacity::Trace(source) => source.mean,
        _ => None,
    };
    let from = TraceFrom::File(path.to_owned());
    way.capacity =
        Capacity::Trace(TraceSource { from, column: None, scale: 1.0, mean, offset: None });
}

/// The traces of every way whose capacity is one; `given`: the only one is at this path of the
/// command line.
fn traces(
    scenario: &Scenario,
    given: Option<&Path>,
    sources: &mut Sources,
) -> Result<BTreeMap<WayKey, Traces>, InputError> {
    let mut all = BTreeMap::new();
    for (number, access, direction, way) in scenario.network.ways() {
        let Capacity::Trace(source) = &way.capacity else { continue };
        let down = direction == Direction::Down;
        let given = given.filter(|_| down);
        let traces = traces_of(scenario, (&access.name, direction), source, given, sources)?;
        all.insert((number, direction), traces);
    }
    Ok(all)
}

fn traces_of(
    scenario: &Scenario,
    (access, direction): (&str, Direction),
    source: &TraceSource,
    given: Option<&Path>,
    sources: &mut Sources,
) -> Result<Traces, InputError> {
    let usage = sources.usage;
    let many = |traces| match usage {
        TraceUse::Each => Traces::Each(traces),
        TraceUse::InTurn => Traces::InTurn(traces),
    };
    let scaled = |trace: Trace| match source.mean {
        Some(mean) => trace.scaled_to(mean),
        None => Ok(trace),
    };
    if let Some(path) = given {
        let files = trace_files(path)?;
        let traces: Result<_, InputError> =
            files.iter().map(|file| scaled(sources.trace(file, None)?)).collect();
        return Ok(many(traces?));
    }
    match &source.from {
        TraceFrom::File(file) => {
            let folder = scenario.source.folder.clone().unwrap_or_default();
            let trace = sources.trace(&folder.join(file), source.column.as_ref())?;
            Ok(many(vec![scaled(trace)?]))
        }
        TraceFrom::Generator { medium, outages } => {
            let seed = of_way(Seed(scenario.cases.seed).split("trace"), access, direction);
            let length = scenario.duration.max(LEAST_MADE);
            let made = (0..scenario.cases.count as u64)
                .map(|i| scaled(Trace::synthetic_with(*medium, *outages, seed.index(i), length)?));
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

fn cases(scenario: &Scenario, traces: &BTreeMap<WayKey, Traces>) -> Vec<Case> {
    let mut cases = Vec::new();
    for draw in 0..scenario.cases.count {
        // With every combination of their traces; one way has several at most.
        let mut combinations = vec![((draw + 1).to_string(), BTreeMap::new())];
        for (way, traces) in traces {
            let traces = traces.of(draw);
            let with = |(name, mut others): (String, BTreeMap<WayKey, Trace>), trace: &Trace| {
                let name = match traces.len() {
                    1 => name,
                    _ => format!("{name}@{}", file_name(trace.name())),
                };
                others.insert(*way, trace.clone());
                (name, others)
            };
            let all = combinations.iter().flat_map(|c| traces.iter().map(|t| with(c.clone(), t)));
            combinations = all.collect();
        }
        cases.extend(combinations.into_iter().map(|(name, traces)| Case { name, draw, traces }));
    }
    cases
}

fn file_name(path: &str) -> String {
    Path::new(path).file_name().map_or_else(|| path.to_owned(), |n| n.to_string_lossy().into())
}

/// All that a run depends on but the content of its traces, as text: everything in the scenario but
/// names for people, what the case draws, and the seed. Runs that agree in it are the same.
pub(crate) fn identity(plan: &Plan, key: RunKey) -> String {
    // Each field by name: one that is added later has to be thought of here.
    let Scenario {
        name: _,
        title: _,
        story: _,
        duration,
        seeds: _,
        network,
        host,
        transport,
        schemes,
        cases: _,
        casts,
        source: _,
    } = &plan.scenario;
    let Scheme { name: _, title: _, note: _, control, queue, parts } = &schemes[key.scheme];
    let Case { name, draw: _, traces } = &plan.cases[key.case];
    let traces: Vec<_> = traces.iter().map(|(way, trace)| (way, trace.name())).collect();
    let drawn: Vec<String> = plan.draws.iter().map(|draws| draws.identity(plan, key)).collect();
    format!(
        "{duration:?} {network:?} {host:?} {transport:?} {control:?} {queue:?} {parts:?} {casts:?} \
         {name:?} {traces:?} {drawn:?} {}",
        key.seed
    )
}
