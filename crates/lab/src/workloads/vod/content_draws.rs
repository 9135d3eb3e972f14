//! What viewers watch: the content, and the titles and starts of each draw.

use std::any::Any;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::{InputError, Seed};
use airlane_media::{Corpus, Video};
use rand::RngExt;

use super::cache::{self, Cache};
use super::files::{FileCache, MinervaFiles};
use super::types::{Abr, Start, Viewer, Viewers};
use airlane_judge::reporting::words::file_name;
use airlane_scenario::{Draw, Scenario};
use airlane_sim::Common;
use airlane_sim::LabError;
use airlane_sim::plan::{Plan, RunKey, Sources};
use airlane_sim::workload::Draws;

/// Content that viewers watch.
#[derive(Clone, Debug)]
pub struct ContentDraws {
    /// The content, cut as the scenario says; `None` without viewers.
    pub corpus: Option<Corpus>,
    /// The hash of the whole content; 0 without.
    pub content_hash: u64,
    /// Content that is watched in each draw.
    pub draws: Vec<ViewingDraw>,
    /// Content of the schemes' own files.
    pub files: MinervaFiles,
}

/// Content that is watched in a draw.
#[derive(Clone, Debug)]
pub struct ViewingDraw {
    /// The video of each viewer.
    pub videos: Vec<Arc<Video>>,
    /// Start time of each viewer.
    pub starts: Vec<Duration>,
}

/// Content and files that have been read for several plans.
#[derive(Debug, Default)]
struct Read {
    corpus: Option<Corpus>,
    files: FileCache,
}

/// Makes plans that are read with `sources` draw from `corpus`, whatever content they ask for.
pub fn draw_from(corpus: Corpus, sources: &mut Sources) {
    sources.kept::<Read>().corpus = Some(corpus);
}

/// The content of a folder, or the embedded one; whatever comes first is for all plans.
fn corpus(sources: &mut Sources, folder: Option<&Path>) -> Result<Corpus, InputError> {
    let kept = sources.kept::<Read>();
    let corpus = match (kept.corpus.take(), folder) {
        (Some(corpus), _) => corpus,
        (None, Some(folder)) => Corpus::load_dir(folder)?,
        (None, None) => Corpus::embedded()?,
    };
    Ok(kept.corpus.insert(corpus).clone())
}

impl ContentDraws {
    /// Content that is watched in a plan; `None` without viewers.
    pub fn of(plan: &Plan) -> Option<&Self> {
        plan.draws.of::<Self>().filter(|drawn| drawn.corpus.is_some())
    }

    /// Content that is watched in a case of `plan`, if there are viewers.
    pub fn in_case(plan: &Plan, case: usize) -> Option<&ViewingDraw> {
        plan.draws.of::<Self>()?.draws.get(plan.cases[case].draw)
    }

    pub(super) fn read(
        traffic: &Viewers,
        scenario: &Scenario,
        common: &Common<'_>,
        sources: &mut Sources,
    ) -> Result<Self, InputError> {
        let wanted = !traffic.viewers.is_empty();
        let whole = if wanted { Some(corpus(sources, common.content.as_deref())?) } else { None };
        let content_hash = whole.as_ref().map_or(0, Corpus::content_hash);
        let corpus = match traffic.player.max_chunks {
            Some(chunks) => whole.map(|c| c.cut_to(chunks)),
            None => whole,
        };
        let draw = |number| {
            let videos = match &corpus {
                Some(corpus) => videos(traffic, scenario, corpus, number)?,
                None => Vec::new(),
            };
            let starts = starts(traffic, scenario, &videos, number);
            Ok(ViewingDraw { videos, starts })
        };
        let draws: Vec<ViewingDraw> =
            (0..scenario.cases.count).map(draw).collect::<Result<_, InputError>>()?;
        let mut drawn = Self { corpus, content_hash, draws, files: MinervaFiles::default() };
        drawn.files =
            MinervaFiles::read(&drawn, traffic, scenario, &mut sources.kept::<Read>().files)?;
        Ok(drawn)
    }

    /// Every title that may be watched: popularity is a matter of what is drawn from, and what is
    /// named counts as drawn.
    pub(super) fn titles(&self, traffic: &Viewers) -> Vec<Arc<Video>> {
        let named: Vec<&Arc<Video>> = self.draws.iter().flat_map(|d| &d.videos).collect();
        let videos = self.corpus.iter().flat_map(Corpus::videos);
        videos
            .filter(|v| v.chunks() >= traffic.min_chunks || named.iter().any(|n| n.name == v.name))
            .cloned()
            .collect()
    }
}

impl Draws for ContentDraws {
    fn identity(&self, plan: &Plan, key: RunKey) -> String {
        let ViewingDraw { videos, starts } = &self.draws[plan.cases[key.case].draw];
        let videos: Vec<&str> = videos.iter().map(|v| v.name.as_str()).collect();
        let minerva = super::minerva_of(&plan.scenario.schemes[key.scheme]);
        let (content, files) = (self.content_hash, self.files.digest(minerva));
        format!("{videos:?} {starts:?} {content:x} {files:x}")
    }

    fn cache_key(&self, plan: &Plan) -> String {
        cache::key(self, plan)
    }

    fn check(&self, plan: &Plan) -> Result<(), InputError> {
        cache::check(self, plan)
    }

    fn cache(&self, plan: &Plan) -> Result<Arc<dyn Any + Send + Sync>, LabError> {
        Ok(Arc::new(Cache::new(self, plan)?))
    }

    fn content_name(&self) -> Option<String> {
        Some(file_name(&self.corpus.as_ref()?.name).to_owned())
    }

    fn content(&self) -> Option<String> {
        Some(format!("{}, hash {:016x}", self.content_name()?, self.content_hash))
    }

    fn warnings(&self) -> Vec<String> {
        self.corpus.as_ref().map(Corpus::warnings).unwrap_or_default()
    }

    fn case(&self, draw: usize) -> String {
        let videos: Vec<&str> = self.draws[draw].videos.iter().map(|v| v.name.as_str()).collect();
        videos.join(", ")
    }
}

/// Start times of the viewers of a draw.
fn starts(
    traffic: &Viewers,
    scenario: &Scenario,
    videos: &[Arc<Video>],
    case: usize,
) -> Vec<Duration> {
    let mut rng = Seed(scenario.cases.seed).split("arrivals").index(case as u64).rng();
    // A Poisson process at whose rate so many watch at once, by Little's law.
    let films = videos.iter().map(|v| v.duration().as_secs_f64());
    let film_s = films.sum::<f64>() / videos.len().max(1) as f64;
    let gap_s = traffic.arrivals.map_or(0.0, |a| film_s / a.at_once);
    let mut now_s = 0.0;
    let each = traffic.viewers.iter().map(|viewer| match viewer.start {
        Start::At(at) => at,
        Start::Arrives => {
            now_s -= gap_s * (1.0 - rng.random::<f64>()).ln();
            Duration::from_secs_f64(now_s)
        }
    });
    each.collect()
}

/// The videos of a draw: those named, and drawn ones for the viewers that name none.
fn videos(
    traffic: &Viewers,
    scenario: &Scenario,
    corpus: &Corpus,
    case: usize,
) -> Result<Vec<Arc<Video>>, InputError> {
    let about = |e: InputError| e.at_file(&scenario.source.name);
    let own = |v: &&Viewer| v.video.is_none() && v.same_as.is_none();
    let mut drawn =
        draw(traffic, scenario, corpus, traffic.viewers.iter().filter(own).count(), case)
            .map_err(about)?
            .into_iter();
    let mut videos: Vec<Arc<Video>> = Vec::new();
    for (i, viewer) in traffic.viewers.iter().enumerate() {
        let next = match (&viewer.video, viewer.same_as) {
            (Some(name), _) => Some(video(corpus, name, i).map_err(about)?),
            (None, Some(other)) => videos.get(other).cloned(),
            (None, None) => drawn.next(),
        };
        videos.extend(next);
    }
    for (i, (viewer, video)) in traffic.viewers.iter().zip(&videos).enumerate() {
        suits(traffic, viewer, video, i).map_err(about)?;
    }
    Ok(videos)
}

/// Draws `count` videos for a draw.
fn draw(
    traffic: &Viewers,
    scenario: &Scenario,
    corpus: &Corpus,
    count: usize,
    case: usize,
) -> Result<Vec<Arc<Video>>, InputError> {
    let seed = Seed(scenario.cases.seed).split("case").index(case as u64);
    let distinct = |k| airlane_media::select::draw(corpus, k, traffic.min_chunks, seed);
    match (scenario.cases.draw, count) {
        (_, 0) => Ok(Vec::new()),
        (Draw::Distinct, _) => distinct(count),
        (Draw::Identical, _) => Ok(vec![distinct(1)?.remove(0); count]),
        (Draw::Independent, _) => {
            airlane_media::select::draw_independent(corpus, count, traffic.min_chunks, seed)
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

/// Checks that a video has what the player asks of it.
fn suits(
    traffic: &Viewers,
    viewer: &Viewer,
    video: &Video,
    index: usize,
) -> Result<(), InputError> {
    let metric = viewer.metric.unwrap_or(traffic.player.metric);
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
    if let Abr::Fixed(rung) = viewer.abr.unwrap_or(traffic.player.abr)
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
