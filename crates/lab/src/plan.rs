//! Everything that a run needs, read and checked before anything runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use airlane_base::{InputError, Seed};
use airlane_media::{Corpus, Video};
use airlane_net::trace::{Trace, TraceOptions};

use crate::request::Common;
use crate::scenario::{Abr, Capacity, Scenario, TraceSource, Viewer};

/// A scenario with its content and traces, and the runs that it means.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The scenario, with what the command line overrides.
    pub scenario: Scenario,
    /// The content; `None` if nobody watches.
    pub corpus: Option<Corpus>,
    /// The cases, in order.
    pub cases: Vec<Case>,
}

/// Content and traces that have been read.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    corpus: Option<Corpus>,
    /// By file and column.
    traces: BTreeMap<(PathBuf, Option<String>), Trace>,
}

impl Sources {
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
    /// The recorded capacity, if it is one.
    pub trace: Option<Trace>,
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
    /// What is wrong with a trace, the content or how they go together.
    pub fn new(scenario: Scenario, common: &Common<'_>) -> Result<Self, InputError> {
        Self::with(scenario, common, &mut Sources::default())
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
        let traces = traces(&mut scenario, common.trace.as_deref(), sources)?;
        let wanted = common.content.is_some() || !scenario.viewers.is_empty();
        let corpus = if wanted { Some(sources.corpus(common.content.as_deref())?) } else { None };
        let cases = cases(&scenario, corpus.as_ref(), &traces)?;
        Ok(Self { scenario, corpus, cases })
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

/// The traces of the scenario or of the command line; none if the capacity is no trace.
fn traces(
    scenario: &mut Scenario,
    given: Option<&Path>,
    sources: &mut Sources,
) -> Result<Vec<Trace>, InputError> {
    if let Some(path) = given {
        // Column, scale and offset of the scenario's own trace say nothing about another.
        let source = |file: &Path| TraceSource {
            file: file.to_owned(),
            column: None,
            scale: 1.0,
            offset: None,
        };
        scenario.link.capacity = Capacity::Trace(source(path));
        return trace_files(path)?.iter().map(|file| sources.trace(file, None)).collect();
    }
    let Capacity::Trace(source) = &scenario.link.capacity else { return Ok(Vec::new()) };
    let folder = scenario.source.folder.clone().unwrap_or_default();
    Ok(vec![sources.trace(&folder.join(&source.file), source.column.as_ref())?])
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
    traces: &[Trace],
) -> Result<Vec<Case>, InputError> {
    let mut cases = Vec::new();
    for number in 0..scenario.cases.count {
        let videos = match corpus {
            Some(corpus) => videos(scenario, corpus, number)?,
            None => Vec::new(),
        };
        let name = (number + 1).to_string();
        if traces.is_empty() {
            cases.push(Case { name: name.clone(), videos: videos.clone(), trace: None });
        }
        for trace in traces {
            let name = match traces.len() {
                1 => name.clone(),
                _ => format!("{name}@{}", file_name(trace.name())),
            };
            cases.push(Case { name, videos: videos.clone(), trace: Some(trace.clone()) });
        }
    }
    Ok(cases)
}

fn file_name(path: &str) -> String {
    Path::new(path).file_name().map_or_else(|| path.to_owned(), |n| n.to_string_lossy().into())
}

/// The videos of a case: those named, and distinct ones drawn for the viewers that name none.
fn videos(
    scenario: &Scenario,
    corpus: &Corpus,
    case: usize,
) -> Result<Vec<Arc<Video>>, InputError> {
    let about = |e: InputError| e.at_file(&scenario.source.name);
    let named: Vec<Option<Arc<Video>>> = scenario
        .viewers
        .iter()
        .enumerate()
        .map(|(i, viewer)| match &viewer.video {
            Some(name) => video(corpus, name, i).map(Some).map_err(about),
            None => Ok(None),
        })
        .collect::<Result<_, _>>()?;
    let unnamed = named.iter().filter(|v| v.is_none()).count();
    let mut drawn = if unnamed > 0 {
        let seed = Seed(scenario.cases.seed).split("case").index(case as u64);
        airlane_media::select::draw(corpus, unnamed, scenario.min_chunks, seed).map_err(about)?
    } else {
        Vec::new()
    }
    .into_iter();
    let videos: Vec<Arc<Video>> =
        named.into_iter().filter_map(|video| video.or_else(|| drawn.next())).collect();
    for (i, (viewer, video)) in scenario.viewers.iter().zip(&videos).enumerate() {
        suits(scenario, viewer, video, i).map_err(about)?;
    }
    Ok(videos)
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
    let metric = scenario.player.metric;
    if video.quality(metric, 0, 0).is_none() {
        let known: Vec<&str> = video.metrics().map(|m| m.name()).collect();
        let expected = format!("expected one of {}", known.join(", "));
        return Err(InputError::new(
            format!("\"{}\" has no {}", video.name, metric.name()),
            expected,
        )
        .at_key("player.metric"));
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
