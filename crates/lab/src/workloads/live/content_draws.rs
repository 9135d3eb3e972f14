//! What each case draws: a clip for each stream.

use std::sync::Arc;

use airlane_base::{InputError, Seed};
use airlane_media::layers::{LayerContent, LayeredVideo};
use rand::RngExt;

use super::{Entry, NAME, SchemeOptions, Streams, Transport, Video};
use airlane_judge::reporting::words::file_name;
use airlane_scenario::{Scenario, Word};
use airlane_sim::Common;
use airlane_sim::plan::{Plan, RunKey, Sources};
use airlane_sim::workload::Draws;

/// The clips, and which of them each draw has.
#[derive(Clone, Debug)]
pub(super) struct ContentDraws {
    /// `None` without streams.
    content: Option<Content>,
    /// By draw, then by stream: the place of the clip.
    draws: Vec<Vec<usize>>,
}

#[derive(Clone, Debug)]
struct Content {
    clips: LayerContent,
    hash: u64,
}

/// The last content that was read for several plans.
#[derive(Debug, Default)]
struct Read(Option<Content>);

impl ContentDraws {
    pub(super) fn read(
        traffic: &Streams,
        scenario: &Scenario,
        common: &Common<'_>,
        sources: &mut Sources,
    ) -> Result<Self, InputError> {
        if traffic.0.is_empty() {
            return Ok(Self { content: None, draws: Vec::new() });
        }
        carried(traffic, scenario)?;
        // One command has one content.
        let kept = &mut sources.kept::<Read>().0;
        let content = match kept.take() {
            Some(content) => content,
            None => {
                let clips = match &common.content {
                    Some(folder) => LayerContent::load_dir(folder)?,
                    None => LayerContent::embedded()?,
                };
                Content { hash: clips.content_hash(), clips }
            }
        };
        let content = kept.insert(content).clone();
        let draw = |number: usize| {
            let seed = Seed(scenario.cases.seed).split(NAME).index(number as u64);
            traffic.each().map(|(s, name)| chosen(s, &name, &content.clips, seed)).collect()
        };
        let draws = (0..scenario.cases.count).map(draw).collect::<Result<_, _>>()?;
        Ok(Self { content: Some(content), draws })
    }

    /// The clip of a stream of a case.
    pub(super) fn clip(plan: &Plan, case: usize, stream: usize) -> Arc<LayeredVideo> {
        let drawn = plan.draws.of::<Self>().expect("a plan with streams has drawn");
        let content = drawn.content.as_ref().expect("a draw is of a content");
        let chosen = drawn.draws[plan.cases[case].draw][stream];
        content.clips.videos[chosen].clone()
    }

    fn names(&self, draw: usize) -> Vec<&str> {
        let Some(content) = &self.content else { return Vec::new() };
        let chosen = self.draws.get(draw).map_or(&[][..], Vec::as_slice);
        chosen.iter().map(|clip| content.clips.videos[*clip].name.as_str()).collect()
    }
}

/// Checks that the transport of every scheme carries the kinds of video of the streams.
fn carried(traffic: &Streams, scenario: &Scenario) -> Result<(), InputError> {
    for scheme in &scenario.schemes {
        let transport =
            scheme.parts.of::<SchemeOptions>().map_or(Transport::default(), |s| s.transport);
        if let Some(stream) = traffic.0.iter().find(|stream| !transport.carries(stream.video)) {
            let found = format!("found {} of \"{}\"", stream.name, stream.video.word());
            let expected = format!(
                "scheme {} has live_transport = \"{}\", which does not carry it",
                scheme.name,
                transport.word()
            );
            return Err(InputError::new(found, expected).at_key("live.video"));
        }
    }
    Ok(())
}

/// The clip of a stream, drawn if it is not given.
fn chosen(
    stream: &Entry,
    name: &str,
    clips: &LayerContent,
    seed: Seed,
) -> Result<usize, InputError> {
    let fits = |clip: &LayeredVideo| match stream.video {
        Video::Quality => clip.quality.is_some(),
        Video::FrameRate => clip.temporal.is_some(),
        Video::Volumetric => clip.clouds.is_some(),
    };
    let all: Vec<usize> = (0..clips.videos.len()).filter(|i| fits(&clips.videos[*i])).collect();
    let names: Vec<&str> = all.iter().map(|i| clips.videos[*i].name.as_str()).collect();
    match &stream.clip {
        None if all.is_empty() => Err(InputError::new(
            format!("no clip of {} has the layers that {name} asks for", clips.name),
            "name another folder with --content DIR",
        )),
        None => {
            let mut rng = seed.split(name).rng();
            Ok(all[rng.random_range(0..all.len())])
        }
        Some(name) => {
            all.iter().copied().find(|i| clips.videos[*i].name == *name).ok_or_else(|| {
                let found = format!("found \"{name}\"");
                InputError::new(found, format!("expected one of {}", names.join(", ")))
                    .at_key("live.clip")
            })
        }
    }
}

impl Draws for ContentDraws {
    fn identity(&self, plan: &Plan, key: RunKey) -> String {
        let Some(content) = &self.content else { return String::new() };
        format!("{:?} {:016x}", self.names(plan.cases[key.case].draw), content.hash)
    }

    fn content_name(&self) -> Option<String> {
        Some(file_name(&self.content.as_ref()?.clips.name).to_owned())
    }

    fn content(&self) -> Option<String> {
        let content = self.content.as_ref()?;
        Some(format!("{}, hash {:016x}", file_name(&content.clips.name), content.hash))
    }

    fn case(&self, draw: usize) -> String {
        self.names(draw).join("; ")
    }
}
