//! Keys of players and of viewers.

use std::time::Duration;

use airlane_media::Metric;
use airlane_quality::Smoothness;

use super::super::bounds::{Range, Word, range};
use super::super::reader::{NONE, Reader};
use super::super::types::*;
use super::scheme::control;
use super::traffic::start;
use super::{RTT, words};

/// More than a manifest has.
const MAX_OPENING_BYTES: u64 = 64 << 20;
const PENALTY: Range = range(0.0, 1e4, "25");

#[derive(Clone, Copy, PartialEq)]
enum AbrKind {
    RobustMpc,
    Mpc,
    Bola,
    Buffer,
    Rate,
    Fixed,
}

words! {
    AbrKind: "robust-mpc" => Self::RobustMpc, "mpc" => Self::Mpc, "bola" => Self::Bola,
        "buffer" => Self::Buffer, "rate" => Self::Rate, "fixed" => Self::Fixed;
    Metric: "vmaf" => Self::Vmaf, "vmaf_phone" => Self::VmafPhone, "vmaf_4k" => Self::Vmaf4k,
        "psnr_db" => Self::PsnrDb, "ssim" => Self::Ssim;
    Smoothness: "mean-curve" => Self::MeanCurve, "chunk" => Self::Chunk;
    Reports: "truth" => Self::Truth, "empty-buffer" => Self::EmptyBuffer,
        "stalls" => Self::Stalls;
}

fn abr(r: &mut Reader<'_>, default: Option<AbrKind>, default_text: &str) -> Option<Abr> {
    let kind = r.word_or_none("abr", default_text, "What chooses the rungs.");
    let rung = r.count_or_none(
        "fixed_rung",
        (0, 63),
        "required for \"fixed\"",
        "The rung of \"fixed\", from 0.",
    );
    let kind = kind.or(default);
    match kind {
        Some(AbrKind::Fixed) if rung.is_none() => {
            r.fail("fixed_rung", "missing", "expected the number of a rung, such as 0");
        }
        Some(AbrKind::Fixed) => {}
        _ if rung.is_some() => {
            r.fail("fixed_rung", "found without abr = \"fixed\"", "expected them together");
        }
        _ => {}
    }
    Some(kind?.adaptive().unwrap_or(Abr::Fixed(rung.unwrap_or(0) as usize)))
}

impl AbrKind {
    /// The algorithm, if it needs no rung.
    fn adaptive(self) -> Option<Abr> {
        match self {
            Self::RobustMpc => Some(Abr::RobustMpc),
            Self::Mpc => Some(Abr::Mpc),
            Self::Bola => Some(Abr::Bola),
            Self::Buffer => Some(Abr::Buffer),
            Self::Rate => Some(Abr::Rate),
            Self::Fixed => None,
        }
    }
}

impl Abr {
    /// The algorithms that choose for themselves, by their names in scenarios.
    pub fn adaptive() -> impl Iterator<Item = (&'static str, Self)> + Clone {
        AbrKind::WORDS.iter().filter_map(|(word, kind)| Some((*word, kind.adaptive()?)))
    }
}

impl Default for Player {
    /// The player of a scenario that says nothing about it.
    fn default() -> Self {
        super::of_nothing(player)
    }
}

pub(super) fn player(r: &mut Reader<'_>) -> Player {
    let robust = AbrKind::RobustMpc;
    Player {
        abr: abr(r, Some(robust), "\"robust-mpc\"").unwrap_or(Abr::RobustMpc),
        horizon: r.count(
            "horizon",
            (1, airlane_abr::mpc::MAX_HORIZON as u64),
            5,
            "Chunks that MPC looks ahead.",
        ) as usize,
        buffer_cap: r.time(
            "buffer_cap_s",
            range(1.0, 3_600.0, "40"),
            40.0,
            "Most that the player holds.",
        ),
        overhead: r.time(
            "overhead_s",
            range(0.0, 60.0, "0.6"),
            0.6,
            "Idle time between a response and the next request.",
        ),
        opening_bytes: r.counts(
            "opening_bytes",
            (1, MAX_OPENING_BYTES),
            &[],
            "Sizes of what is fetched before the first chunk, one after the other: the manifest, \
             the header of the track.",
        ),
        beta: r.number("beta", PENALTY, 25.0, "Cost of a second of rebuffering in the QoE."),
        gamma: r.number("gamma", PENALTY, 2.5, "Cost of a point of change in quality in the QoE."),
        metric: r.word("metric", Metric::Vmaf, "The measure of quality."),
        smoothness: r.word(
            "smoothness",
            Smoothness::MeanCurve,
            "Where changes in quality are taken: on the video's mean curve, or chunk by chunk.",
        ),
        scaled_penalties: r
            .flag_or_none(
                "scaled_penalties",
                "true",
                "Whether beta and gamma, which are for a measure from 0 to 100, shrink with the \
                 span of another: PSNR spans 53, SSIM 1.",
            )
            .unwrap_or(true),
        max_chunks: r
            .count_or_none(
                "max_chunks",
                (1, 100_000),
                NONE,
                "Longer videos are cut to so many chunks.",
            )
            .map(|n| n as usize),
    }
}

/// The viewers: an entry stands for one or for several.
pub(super) fn viewers(r: &mut Reader<'_>, duration: Duration, arriving: bool) -> Vec<Viewer> {
    let mut viewers: Vec<Viewer> = Vec::new();
    r.list("viewer", "Somebody who watches a film.", |r| {
        let first = viewers.len();
        let (viewer, count, same_as) = viewer(r, duration, arriving);
        for i in 0..count {
            let mut one = viewer.clone();
            one.name = match one.group.as_str() {
                "" => format!("v{}", first + i + 1),
                group if count > 1 => format!("{group}{}", i + 1),
                group => group.to_owned(),
            };
            viewers.push(one);
        }
        if let Some(group) = same_as {
            let others = viewers[..first].iter().enumerate().filter(|(_, v)| v.group == group);
            let others: Vec<usize> = others.map(|(i, _)| i).take(count).collect();
            if others.len() < count {
                let found = format!("found {} viewers \"{group}\" before", others.len());
                r.fail("same_as", found, format!("expected at least {count}"));
            }
            for (viewer, other) in viewers[first..].iter_mut().zip(others) {
                viewer.same_as = Some(other);
            }
        }
    });
    viewers
}

/// The viewer without its name's number, how many of it, and whose videos they watch.
fn viewer(
    r: &mut Reader<'_>,
    duration: Duration,
    arriving: bool,
) -> (Viewer, usize, Option<String>) {
    let name = r.name_or_none(
        "name",
        "\"v\" and its number from 1",
        "Name of rows; of several the number from 1 is put behind it.",
    );
    let video = r.name_or_none(
        "video",
        "drawn for each case",
        "Name of the video; those drawn for a case are as `cases.draw` says.",
    );
    let same_as = r.name_or_none(
        "same_as",
        NONE,
        "The name of viewers above whose videos these watch too, one each.",
    );
    if video.is_some() && same_as.is_some() {
        r.fail("same_as", "found beside video", "expected one of them");
    }
    let start = match (start(r, duration, "0, or when it arrives"), arriving) {
        (Some(at), _) => Start::At(at),
        (None, true) => Start::Arrives,
        (None, false) => Start::At(Duration::ZERO),
    };
    let viewer = Viewer {
        name: String::new(),
        group: name.unwrap_or_default(),
        video,
        same_as: None,
        start,
        rtt: r.time_or_none("rtt_s", RTT, "`link.rtt_s`", "Round trip of propagation."),
        abr: abr(r, None, "`player.abr`"),
        metric: r.word_or_none(
            "metric",
            "`player.metric`",
            "The measure of quality: of its device, or of its provider.",
        ),
        provider: r
            .name_or_none(
                "provider",
                "one for all",
                "Whose titles it watches: each provider has a normalisation of its own.",
            )
            .unwrap_or_default(),
        reports: r.word(
            "reports",
            Reports::Truth,
            "What its player says of itself: the truth, that its buffer is empty, or eight more \
             seconds of stalls with every chunk.",
        ),
        control: control(r, None, "the scheme's, with its weight and its Minerva"),
    };
    let count = r.count("count", (1, 10_000), 1, "How many of the same kind.") as usize;
    (viewer, count, same_as)
}
