//! Everything that a run needs, read and checked before anything runs.

mod traces;
mod windows;

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use airlane_base::InputError;
use airlane_net::Direction;
use airlane_net::trace::{Trace, TraceOptions};

use crate::common::Common;
use crate::identity;
use crate::workload::{AllDraws, traffic_of};
use airlane_scenario::{Scenario, Scheme};

pub use traces::GivenTrace;
use traces::{Traces, of_unequal_number};
pub use windows::Window;

/// A scenario with all that its runs need, and these runs.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The scenario, with what the command line overrides.
    pub scenario: Scenario,
    /// The cases, in order.
    pub cases: Vec<Case>,
    /// Draws of the cases, by workload.
    pub draws: AllDraws,
}

/// Content that has been read for plans, each file once, and the use of traces.
#[derive(Debug)]
pub struct Sources {
    usage: TraceUse,
    /// By file and column.
    traces: BTreeMap<(PathBuf, Option<String>), Trace>,
    /// The traces of the command line that took a capacity's place.
    used: BTreeSet<String>,
    /// Data that workloads keep, one value of each type.
    kept: Vec<Box<dyn Any + Send + Sync>>,
}

impl Sources {
    /// Nothing was read yet.
    pub fn new(usage: TraceUse) -> Self {
        Self { usage, traces: BTreeMap::new(), used: BTreeSet::new(), kept: Vec::new() }
    }

    /// Data of type `T` that a workload keeps here between plans; at first its default.
    pub fn kept<T: Any + Default + Send + Sync>(&mut self) -> &mut T {
        let place = match self.kept.iter().position(|kept| kept.is::<T>()) {
            Some(place) => place,
            None => {
                self.kept.push(Box::<T>::default());
                self.kept.len() - 1
            }
        };
        self.kept[place].downcast_mut().expect("it was found by its type")
    }

    /// Refuses a trace of the command line that no plan uses, as there is no capacity in whose place
    /// it could be put.
    ///
    /// # Errors
    /// If one of them is not used.
    pub fn refuse_unused(&self, given: &[GivenTrace]) -> Result<(), InputError> {
        match given.iter().find(|given| !self.used.contains(&given.to_string())) {
            None => Ok(()),
            Some(unused) => {
                let found = format!("no scene has a recorded or made-up capacity for {unused}");
                let expected = "expected one with a single access, or ACCESS=FILE with its name";
                Err(InputError::new(found, expected).at_key("--trace"))
            }
        }
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
    pub traces: BTreeMap<DirectionKey, Trace>,
    /// Positions in these traces at which the run starts, for those with a fixed start.
    pub offsets: BTreeMap<DirectionKey, Duration>,
    /// The window of the recordings that claims are measured on, if these are recorded.
    pub window: Option<Window>,
}

/// A direction of an access: the access's number in the scenario, and which way.
pub type DirectionKey = (usize, Direction);

/// Use of the traces of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceUse {
    /// Every case on each of them.
    Each,
    /// Every case on a window of one, where the scenario's own capacity is a trace: of claims.
    Windows,
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
        let given = traces::given(&scenario, &common.traces, sources)?;
        traces::replace(&mut scenario, &given);
        let traces = traces::of(&scenario, &given, sources)?;
        let cases = cases(&scenario, &traces)?;
        let prepared = traffic_of(&scenario).map(|c| c.prepare(&scenario, common, sources));
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

    /// Label of a run for people: `four-viewers, minerva, case 1, seed 3`.
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

fn cases(
    scenario: &Scenario,
    traces: &BTreeMap<DirectionKey, Traces>,
) -> Result<Vec<Case>, InputError> {
    let mut cases = Vec::new();
    for draw in 0..scenario.cases.count {
        // Where several ways have several traces, their first ones are a case, then their second ones.
        let several = || traces.values().map(|traces| traces.of(draw)).filter(|t| t.len() > 1);
        let count = several().map(<[Trace]>::len).max().unwrap_or(1);
        if let Some(fewer) = several().find(|traces| traces.len() < count) {
            return Err(of_unequal_number(fewer.len(), count));
        }
        let windows =
            || traces.iter().filter_map(|(way, traces)| Some((*way, traces.window(draw)?)));
        let window = windows().next().map(|(_, (window, _))| window);
        let offsets: BTreeMap<DirectionKey, Duration> =
            windows().filter_map(|(way, (_, offset))| Some((way, offset?))).collect();
        for at in 0..count {
            let of_way = |(way, traces): (&DirectionKey, &Traces)| {
                let traces = traces.of(draw);
                (*way, traces[at.min(traces.len() - 1)].clone())
            };
            let name = match (several().next(), &window) {
                (Some(first), _) => format!("{}@{}", draw + 1, file_name(first[at].name())),
                (None, Some(Window { recording, number })) => {
                    format!("{}@{recording}.{}", draw + 1, number + 1)
                }
                (None, None) => (draw + 1).to_string(),
            };
            let (offsets, window) = (offsets.clone(), window.clone());
            let traces = traces.iter().map(of_way).collect();
            cases.push(Case { name, draw, traces, offsets, window });
        }
    }
    Ok(cases)
}

fn file_name(path: &str) -> String {
    Path::new(path).file_name().map_or_else(|| path.to_owned(), |n| n.to_string_lossy().into())
}

/// All that a run depends on but the content of its traces, as text: everything in the scenario but
/// names for people, what the case draws, and the seed. Runs that agree in it are the same.
pub fn identity(plan: &Plan, key: RunKey) -> String {
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
        participants,
        source: _,
    } = &plan.scenario;
    let Scheme { name: _, title: _, note: _, control, queue, cupid, parts } = &schemes[key.scheme];
    // The name tells the window.
    let Case { name, draw: _, traces, offsets: _, window: _ } = &plan.cases[key.case];
    let traces: Vec<_> = traces.iter().map(|(way, trace)| (way, trace.name())).collect();
    // It chooses the seed of an access, and identities of version 1 do not have it.
    let short: Vec<bool> = network.accesses.iter().map(|access| access.is_short_form).collect();
    let drawn: Vec<String> = plan.draws.iter().map(|draws| draws.identity(plan, key)).collect();
    identity::text(&(
        (duration, network, host, transport, control, queue, cupid, parts, participants),
        (short, name, traces, drawn, key.seed),
    ))
}
