//! What each case draws: a title, and whose head looks at it.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use airlane_base::{InputError, Seed};
use rand::RngExt;

use super::content::{Content, HeadView};
use super::{Entry, NAME, Sessions};
use airlane_judge::reporting::words::file_name;
use airlane_scenario::Scenario;
use airlane_sim::Common;
use airlane_sim::LabError;
use airlane_sim::plan::{Plan, RunKey, Sources};
use airlane_sim::workload::{Caches, Draws};

/// A title and a head of it, by their places, and how many of its lowest levels are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Chosen {
    title: usize,
    head: usize,
    left_out: usize,
}

/// The content, and what of it each draw has.
#[derive(Clone, Debug)]
pub(super) struct ContentDraws {
    /// `None` without sessions.
    content: Option<Content>,
    /// By draw, then by session.
    draws: Vec<Vec<Chosen>>,
}

/// Content that all runs of a plan share, by title and head.
pub(super) struct Cache(BTreeMap<Chosen, Arc<HeadView>>);

impl Cache {
    /// Content that a session of a case watches.
    pub(super) fn watched(
        caches: &Caches,
        plan: &Plan,
        case: usize,
        session: usize,
    ) -> Arc<HeadView> {
        let drawn = plan.draws.of::<ContentDraws>().expect("a plan with sessions has drawn");
        let chosen = drawn.draws[plan.cases[case].draw][session];
        let cache = caches.of::<Self>().expect("a plan with sessions has a stock");
        cache.0[&chosen].clone()
    }
}

/// The last content that was read for several plans, and from where.
#[derive(Debug, Default)]
struct Read(Option<Content>);

impl ContentDraws {
    pub(super) fn read(
        traffic: &Sessions,
        scenario: &Scenario,
        common: &Common<'_>,
        sources: &mut Sources,
    ) -> Result<Self, InputError> {
        if traffic.0.is_empty() {
            return Ok(Self { content: None, draws: Vec::new() });
        }
        // One command has one content.
        let kept = &mut sources.kept::<Read>().0;
        let content = match kept.take() {
            Some(content) => content,
            None => Content::read(common.content.as_deref(), common.heads.as_deref())?,
        };
        let content = kept.insert(content).clone();
        let draw = |number: usize| {
            let seed = Seed(scenario.cases.seed).split(NAME).index(number as u64);
            traffic.0.iter().map(|session| chosen(session, &content, seed)).collect()
        };
        let draws = (0..scenario.cases.count).map(draw).collect::<Result<_, _>>()?;
        Ok(Self { content: Some(content), draws })
    }

    fn words(&self, Chosen { title, head, .. }: Chosen) -> String {
        let content = self.content.as_ref().expect("a draw is of a content");
        format!("{}, head {}", content.titles[title].title.name(), head + 1)
    }
}

/// The title and the head of a session, drawn if they are not given.
fn chosen(session: &Entry, content: &Content, seed: Seed) -> Result<Chosen, InputError> {
    let mut rng = seed.split(&session.name).rng();
    let title = match &session.title {
        None => rng.random_range(0..content.titles.len()),
        Some(name) => content.find(name).ok_or_else(|| {
            let has: Vec<&str> = content.titles.iter().map(|show| show.title.name()).collect();
            let found = format!("found \"{name}\"");
            InputError::new(found, format!("expected one of {}", has.join(", ")))
                .at_key("tiles.title")
        })?,
    };
    let heads = content.titles[title].heads();
    let head = match session.head {
        None => rng.random_range(0..heads),
        Some(number) if number as usize <= heads => number as usize - 1,
        Some(number) => {
            let expected = format!("expected 1 to {heads}, as many as looked at this title");
            return Err(InputError::new(format!("found {number}"), expected).at_key("tiles.head"));
        }
    };
    Ok(Chosen { title, head, left_out: session.left_out as usize })
}

impl Draws for ContentDraws {
    fn identity(&self, plan: &Plan, key: RunKey) -> String {
        let Some(content) = &self.content else { return String::new() };
        let chosen = &self.draws[plan.cases[key.case].draw];
        let names: Vec<String> = chosen.iter().map(|chosen| self.words(*chosen)).collect();
        format!("{names:?} {:016x}", content.hash)
    }

    fn cache_key(&self, _: &Plan) -> String {
        let hash = self.content.as_ref().map(|content| content.hash);
        format!("{:?} {hash:?}", self.draws)
    }

    fn cache(&self, _: &Plan) -> Result<Arc<dyn Any + Send + Sync>, LabError> {
        let mut watched = BTreeMap::new();
        if let Some(content) = &self.content {
            let mut audiences = BTreeMap::new();
            for chosen in self.draws.iter().flatten().copied() {
                let show = &content.titles[chosen.title];
                let audience = audiences.entry(chosen.title).or_insert_with(|| show.audience());
                let of = || Arc::new(HeadView::new(show, audience, chosen.head, chosen.left_out));
                watched.entry(chosen).or_insert_with(of);
            }
        }
        Ok(Arc::new(Cache(watched)))
    }

    fn content_name(&self) -> Option<String> {
        Some(file_name(&self.content.as_ref()?.name).to_owned())
    }

    fn content(&self) -> Option<String> {
        let content = self.content.as_ref()?;
        Some(format!("{}, hash {:016x}", file_name(&content.name), content.hash))
    }

    fn case(&self, draw: usize) -> String {
        let chosen = self.draws.get(draw).map_or(&[][..], Vec::as_slice);
        let words: Vec<String> = chosen.iter().map(|chosen| self.words(*chosen)).collect();
        words.join("; ")
    }
}
