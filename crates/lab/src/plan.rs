//! Everything that a run needs, read and checked before anything runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use airlane_base::{InputError, Seed};
use airlane_media::{Corpus, Video};
use airlane_net::trace::{Trace, TraceOptions};
use rand::RngExt;

use crate::minerva_files::{FileCache, MinervaFiles};
use crate::request::Common;
use crate::scenario::{Abr, Capacity, Draw, Scenario, Start, TraceFrom, TraceSource, Viewer};

/// A made-up trace is at least so long.
const LEAST_MADE: Duration = Duration::from_secs(60);

/// A scenario with its content and traces, and the runs that it means.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The scenario, with what the command line overrides.
    pub scenario: Scenario,
    /// The content, cut as the scenario says; `None` if nobody watches.
    pub corpus: Option<Corpus>,
    /// The hash of the whole content; 0 without.
    pub content_hash: u64,
    /// The cases, in order.
    pub cases: Vec<Case>,
    /// What the schemes' own files say.
    pub minerva: MinervaFiles,
}

/// Content, traces and the schemes' files that have been read, and how traces are used.
#[derive(Clone, Debug)]
pub struct Sources {
    usage: TraceUse,
    corpus: Option<Corpus>,
    /// By file and column.
    traces: BTreeMap<(PathBuf, Option<String>), Trace>,
    minerva: FileCache,
}

impl Sources {
    /// Nothing was read yet.
    pub fn new(usage: TraceUse) -> Self {
        Self { usage, corpus: None, traces: BTreeMap::new(), minerva: FileCache::default() }
    }

    fn corpus(&mut self, folder: Option<&Path>) -> Result<Corpus, InputError> {
        let corpus = match (self.corpus.take(), folder) {
            (Some(corpus), _) => corpus,
            (None, Some(folder)) => Corpus::load_dir(folder)?,
            (None, None) => Corpus::embedded()?,
        };
        Ok(self.corpus.insert(corpus).clone())
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

/// One draw of videos on one trace. Under every scheme and seed it is a run.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name in rows: its number from 1, and the trace's if there are several.
    pub name: String,
    /// The video of each viewer.
    pub videos: Vec<Arc<Video>>,
    /// When each viewer starts.
    pub starts: Vec<Duration>,
    /// The recorded capacity, if it is one.
    pub trace: Option<Trace>,
}

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
        let given = match (&scenario.link.capacity, sources.usage) {
            // What is claimed of constant links is not claimed of a trace.
            (Capacity::Constant(_) | Capacity::Steps(_), TraceUse::InTurn) => None,
            _ => common.trace.as_deref(),
        };
        let traces = traces(&mut scenario, given, sources)?;
        let wanted = common.content.is_some() || !scenario.viewers.is_empty();
        let corpus = if wanted { Some(sources.corpus(common.content.as_deref())?) } else { None };
        let content_hash = corpus.as_ref().map_or(0, Corpus::content_hash);
        let corpus = match scenario.player.max_chunks {
            Some(chunks) => corpus.map(|c| c.cut_to(chunks)),
            None => corpus,
        };
        let cases = cases(&scenario, corpus.as_ref(), &traces)?;
        let minerva = MinervaFiles::default();
        let mut plan = Self { scenario, corpus, content_hash, cases, minerva };
        plan.minerva = MinervaFiles::read(&plan, &mut sources.minerva)?;
        Ok(plan)
    }

    /// Every title of the plan's `corpus` that may be watched: popularity is a matter of what is
    /// drawn from, and what is named counts as drawn.
    pub(crate) fn titles(&self, corpus: &Corpus) -> Vec<Arc<Video>> {
        let named: Vec<&Arc<Video>> = self.cases.iter().flat_map(|c| &c.videos).collect();
        let least = self.scenario.min_chunks;
        corpus
            .videos()
            .filter(|v| v.chunks() >= least || named.iter().any(|n| n.name == v.name))
            .cloned()
            .collect()
    }

    /// The runs in the order of results: by case, then seed, then scheme, so that what has
    /// finished when somebody stops can be compared.
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

/// The traces of a plan.
enum Traces {
    /// The capacity is no trace.
    None,
    /// Every case on each of them.
    Each(Vec<Trace>),
    /// Every case on one, one after the other.
    InTurn(Vec<Trace>),
}

impl Traces {
    /// Those of a case, from 0.
    fn of(&self, case: usize) -> &[Trace] {
        match self {
            Self::None => &[],
            Self::Each(traces) => traces,
            Self::InTurn(traces) => std::slice::from_ref(&traces[case % traces.len()]),
        }
    }
}

/// The traces of the scenario or of the command line.
fn traces(
    scenario: &mut Scenario,
    given: Option<&Path>,
    sources: &mut Sources,
) -> Result<Traces, InputError> {
    let usage = sources.usage;
    let many = |traces| match usage {
        TraceUse::Each => Traces::Each(traces),
        TraceUse::InTurn => Traces::InTurn(traces),
    };
    let mean = match &scenario.link.capacity {
        Capacity::Trace(source) => source.mean,
        _ => None,
    };
    let scaled = |trace: Trace| match mean {
        Some(mean) => trace.scaled_to(mean),
        None => Ok(trace),
    };
    if let Some(path) = given {
        // Column, scale and offset of the scenario's own trace say nothing about another.
        let from = TraceFrom::File(path.to_owned());
        scenario.link.capacity =
            Capacity::Trace(TraceSource { from, column: None, scale: 1.0, mean, offset: None });
        let files = trace_files(path)?;
        let traces: Result<_, InputError> =
            files.iter().map(|file| scaled(sources.trace(file, None)?)).collect();
        return Ok(many(traces?));
    }
    let Capacity::Trace(source) = &scenario.link.capacity else { return Ok(Traces::None) };
    match &source.from {
        TraceFrom::File(file) => {
            let folder = scenario.source.folder.clone().unwrap_or_default();
            let trace = sources.trace(&folder.join(file), source.column.as_ref())?;
            Ok(many(vec![scaled(trace)?]))
        }
        TraceFrom::Generator(medium) => {
            let seed = Seed(scenario.cases.seed).split("trace");
            let length = scenario.duration.max(LEAST_MADE);
            let made = (0..scenario.cases.count as u64)
                .map(|i| scaled(Trace::synthetic(*medium, seed.index(i), length)?));
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

fn cases(
    scenario: &Scenario,
    corpus: Option<&Corpus>,
    traces: &Traces,
) -> Result<Vec<Case>, InputError> {
    let mut cases = Vec::new();
    for number in 0..scenario.cases.count {
        let videos = match corpus {
            Some(corpus) => videos(scenario, corpus, number)?,
            None => Vec::new(),
        };
        let name = (number + 1).to_string();
        let starts = starts(scenario, &videos, number);
        let case = |name: String, trace| Case {
            name,
            videos: videos.clone(),
            starts: starts.clone(),
            trace,
        };
        let traces = traces.of(number);
        if traces.is_empty() {
            cases.push(case(name.clone(), None));
        }
        for trace in traces {
            let name = match traces.len() {
                1 => name.clone(),
                _ => format!("{name}@{}", file_name(trace.name())),
            };
            cases.push(case(name, Some(trace.clone())));
        }
    }
    Ok(cases)
}

fn file_name(path: &str) -> String {
    Path::new(path).file_name().map_or_else(|| path.to_owned(), |n| n.to_string_lossy().into())
}

/// When the viewers of a case start.
fn starts(scenario: &Scenario, videos: &[Arc<Video>], case: usize) -> Vec<Duration> {
    let mut rng = Seed(scenario.cases.seed).split("arrivals").index(case as u64).rng();
    // A Poisson process at whose rate so many watch at once, by Little's law.
    let films = videos.iter().map(|v| v.duration().as_secs_f64());
    let film_s = films.sum::<f64>() / videos.len().max(1) as f64;
    let gap_s = scenario.arrivals.map_or(0.0, |a| film_s / a.at_once);
    let mut now_s = 0.0;
    let each = scenario.viewers.iter().map(|viewer| match viewer.start {
        Start::At(at) => at,
        Start::Arrives => {
            now_s -= gap_s * (1.0 - rng.random::<f64>()).ln();
            Duration::from_secs_f64(now_s)
        }
    });
    each.collect()
}

/// The videos of a case: those named, and drawn ones for the viewers that name none.
fn videos(
    scenario: &Scenario,
    corpus: &Corpus,
    case: usize,
) -> Result<Vec<Arc<Video>>, InputError> {
    let about = |e: InputError| e.at_file(&scenario.source.name);
    let own = |v: &&Viewer| v.video.is_none() && v.same_as.is_none();
    let mut drawn = draw(scenario, corpus, scenario.viewers.iter().filter(own).count(), case)
        .map_err(about)?
        .into_iter();
    let mut videos: Vec<Arc<Video>> = Vec::new();
    for (i, viewer) in scenario.viewers.iter().enumerate() {
        let next = match (&viewer.video, viewer.same_as) {
            (Some(name), _) => Some(video(corpus, name, i).map_err(about)?),
            (None, Some(other)) => videos.get(other).cloned(),
            (None, None) => drawn.next(),
        };
        videos.extend(next);
    }
    for (i, (viewer, video)) in scenario.viewers.iter().zip(&videos).enumerate() {
        suits(scenario, viewer, video, i).map_err(about)?;
    }
    Ok(videos)
}

/// Draws `count` videos for a case.
fn draw(
    scenario: &Scenario,
    corpus: &Corpus,
    count: usize,
    case: usize,
) -> Result<Vec<Arc<Video>>, InputError> {
    let seed = Seed(scenario.cases.seed).split("case").index(case as u64);
    let distinct = |k| airlane_media::select::draw(corpus, k, scenario.min_chunks, seed);
    match (scenario.cases.draw, count) {
        (_, 0) => Ok(Vec::new()),
        (Draw::Distinct, _) => distinct(count),
        (Draw::Identical, _) => Ok(vec![distinct(1)?.remove(0); count]),
        (Draw::Independent, _) => {
            airlane_media::select::draw_independent(corpus, count, scenario.min_chunks, seed)
        }
    }
}

fn video(corpus: &Corpus, name: &str, viewer: usize) -> Result<Arc<Video>, InputError> {
    corpus.video(name).cloned().ok_or_else(|| {
        let mut names: Vec<&str> = corpus.videos().map(|v| v.name.as_str()).collect();
        names.truncate(12);
        let more = if corpus.entries.len() > names.len() { ", ..." } else { "" };
        InputError::new(
            format!("no video \"{name}\" in {}", corpus.name),
            format!("expected one of {}{more}", names.join(", ")),
        )
        .at_key(format!("viewer.{viewer}.video"))
    })
}

/// Whether a video has what the player asks of it.
fn suits(
    scenario: &Scenario,
    viewer: &Viewer,
    video: &Video,
    index: usize,
) -> Result<(), InputError> {
    let metric = viewer.metric.unwrap_or(scenario.player.metric);
    if video.quality(metric, 0, 0).is_none() {
        let known: Vec<&str> = video.metrics().map(|m| m.name()).collect();
        let expected =
            format!("expected one of {}, or content that has it: --content DIR", known.join(", "));
        return Err(InputError::new(
            format!("\"{}\" has no {}", video.name, metric.name()),
            expected,
        )
        .at_key(match viewer.metric {
            Some(_) => format!("viewer.{index}.metric"),
            None => "player.metric".to_owned(),
        }));
    }
    if let Abr::Fixed(rung) = viewer.abr.unwrap_or(scenario.player.abr)
        && rung >= video.rungs.len()
    {
        let found = format!("found rung {rung} of \"{}\"", video.name);
        let expected = format!("expected a rung below {}", video.rungs.len());
        let key = match viewer.abr {
            Some(_) => format!("viewer.{index}.fixed_rung"),
            None => "player.fixed_rung".to_owned(),
        };
        return Err(InputError::new(found, expected).at_key(key));
    }
    Ok(())
}
