//! Viewers, videos and players as people speak of them.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use airlane_media::{Metric, Video};
use airlane_report::model::{Fact, Term};

use super::content_draws::ContentDraws;
use super::types::{Abr, Minerva, Player, Viewers};
use airlane_judge::reporting::words::{count, file_name, plural, seconds};
use airlane_sim::plan::Plan;
use airlane_sim::workload::TrafficDescription;

/// Texts of the page on viewers, content and players, and the terms it uses.
pub(super) fn about(traffic: &Viewers, plan: &Plan) -> TrafficDescription {
    let who = match traffic.viewers.len() {
        1 => "one viewer".to_owned(),
        n => format!("{} viewers{}", count(n), which_videos(plan)),
    };
    let mut facts = Vec::new();
    if let Some(corpus) = ContentDraws::of(plan).and_then(|drawn| drawn.corpus.as_ref()) {
        let videos = plural(corpus.entries.len(), "video");
        facts.push(Fact::new("Content", format!("{}, {videos}", file_name(&corpus.name))));
        facts.push(Fact::new("Player", player(&traffic.player)));
    }
    TrafficDescription {
        who: vec![who],
        count: traffic.viewers.len(),
        constants: vec!["videos", "players"],
        facts,
        terms: terms(&traffic.player),
    }
}

fn which_videos(plan: &Plan) -> &'static str {
    let distinct = |videos: &[Arc<Video>]| {
        let names: BTreeSet<&str> = videos.iter().map(|v| v.name.as_str()).collect();
        (names.len(), videos.len())
    };
    let draws = plan.draws.of::<ContentDraws>().map_or(&[][..], |drawn| &drawn.draws);
    let counts: Vec<(usize, usize)> = draws.iter().map(|d| distinct(&d.videos)).collect();
    match counts.as_slice() {
        c if c.iter().all(|(names, all)| names == all) => " with different videos",
        c if c.iter().all(|(names, _)| *names == 1) => " with the same video",
        _ => "",
    }
}

fn terms(player: &Player) -> Vec<Term> {
    let metric = metric_title(player.metric);
    let mut terms = Vec::new();
    if metric.starts_with("VMAF") {
        let meaning = "How good a picture looks, 0 to 100, as a model of viewers judges it. Six \
                       points are about what people notice.";
        terms.push(Term::new(metric, meaning));
    }
    terms.extend([
        Term::new(
            "QoE",
            format!(
                "Quality of experience, per chunk: its {metric}, less {} for each second of \
                 stall, less {} for each point by which the version changed. A viewer's QoE is the \
                 mean over the chunks that began to play.",
                player.beta, player.gamma
            ),
        ),
        Term::new("Chunk", "A few seconds of video, fetched at once in one of its versions."),
        Term::new(
            "Version",
            "One encoding of a video. The player takes a better one (a higher rung of the ladder) \
             when it expects to get it in time.",
        ),
        Term::new(
            "Stall",
            "The picture stands still because the buffer is empty. The wait before the first \
             picture is start-up and counts apart.",
        ),
    ]);
    terms
}

/// Notes on a scheme's files for the reader.
pub(super) fn minerva_note(minerva: &Minerva) -> Vec<String> {
    let name = |path: &Path| file_name(&path.to_string_lossy()).to_owned();
    let popularity = minerva
        .popularity
        .as_ref()
        .map(|file| format!("Popular titles count for more, as {} says.", name(file)));
    let stored = minerva
        .normalisation_file
        .as_ref()
        .map(|file| format!("Its normalisation is that of {}.", name(file)));
    popularity.into_iter().chain(stored).collect()
}

/// The name of a viewer, `Viewer 1` for one that has its number only.
pub(super) fn viewer_title(name: &str) -> String {
    match name.strip_prefix('v') {
        Some(n) if !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()) => format!("Viewer {n}"),
        _ => name.to_owned(),
    }
}

/// Words on the video of a viewer: its title and the character of its content.
pub(super) fn video(video: &Video) -> String {
    let title = if video.title.is_empty() { &video.name } else { &video.title };
    match video.character.as_str() {
        "" => title.clone(),
        character => format!("{title}: {character}"),
    }
}

/// A metric's name, for people.
pub(super) fn metric_title(metric: Metric) -> &'static str {
    match metric {
        Metric::Vmaf => "VMAF",
        Metric::VmafPhone => "VMAF, phone",
        Metric::Vmaf4k => "VMAF, 4K",
        Metric::PsnrDb => "PSNR",
        Metric::Ssim => "SSIM",
    }
}

fn player(player: &Player) -> String {
    let abr = match player.abr {
        Abr::RobustMpc => "RobustMPC".to_owned(),
        Abr::Mpc => "MPC".to_owned(),
        Abr::Bola => "BOLA".to_owned(),
        Abr::Buffer => "buffer-based".to_owned(),
        Abr::Rate => "rate-based".to_owned(),
        Abr::Fixed(rung) => format!("rung {rung} always"),
        Abr::Custom(custom) => custom.name.to_owned(),
    };
    format!("{abr}, at most {} in the buffer", seconds(player.buffer_cap))
}
