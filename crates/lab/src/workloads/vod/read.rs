//! The tables of viewers and players, and what schemes say of Minerva.

use std::path::PathBuf;
use std::time::Duration;

use airlane_abr::CustomAbr;
use airlane_media::Metric;
use airlane_quality::Smoothness;

use super::types::*;
use airlane_scenario::{
    CORE_RTT, ControllerConfig, Frame, NONE, RTT, Range, Reader, Word, at, control, of_nothing,
    range, start, words,
};

/// More than a manifest has.
const MAX_OPENING_BYTES: u64 = 64 << 20;
const PENALTY: Range = range(0.0, 1e4, "25");
const PART: Range = range(0.0, 1e3, "1");

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
    Utility: "client-aware" => Self::ClientAware, "basic" => Self::Basic;
    Normalisation: "fixed-rate" => Self::FixedRate, "mean-curve" => Self::MeanCurve,
        "fitted" => Self::Fitted, "none" => Self::None;
    Fairness: "max-min" => Self::MaxMin, "proportional" => Self::Proportional;
    Value: "on-demand" => Self::OnDemand, "table" => Self::Table, "fitted" => Self::Fitted,
        "optimal" => Self::Optimal, "sent" => Self::Sent;
}

/// The tables of those who watch.
pub(super) fn tables(r: &mut Reader<'_>, frame: &Frame<'_>) -> Viewers {
    let min_chunks = r.count(
        "min_chunks",
        (1, 100_000),
        MIN_CHUNKS,
        "Videos with fewer chunks are not drawn for viewers that name none.",
    );
    let player = r.section("player", "The players, the same under every scheme.", player);
    let arrivals = r.table(
        "arrivals",
        NONE,
        "Viewers without a start_s come one by one, a Poisson process; the run ends with the last \
         of them.",
        |r| Arrivals {
            at_once: r.number(
                "at_once",
                range(0.01, 1e4, "4"),
                4.0,
                "How many watch at once on average, if films take as long as they last.",
            ),
        },
    );
    let viewers = viewers(r, frame, arrivals.is_some());
    let drawn = |v: &Viewer| v.video.is_none() && v.same_as.is_none();
    let count = frame.cases.count;
    if count > 1 && arrivals.is_none() && !viewers.is_empty() && !viewers.iter().any(drawn) {
        r.fail(
            "cases",
            format!("found {count} cases of the same videos"),
            "expected a [[viewer]] without `video`, or count = 1",
        );
    }
    Viewers { viewers, arrivals, player, min_chunks: min_chunks as usize }
}

/// Reads the settings of a scheme for Minerva, if it has any.
pub(super) fn of_scheme(r: &mut Reader<'_>, control: &ControllerConfig) -> Option<Minerva> {
    let minerva = r.table(
        "minerva",
        NONE,
        "Minerva sets the weights; keys left out have the algorithm's defaults.",
        minerva,
    );
    if minerva.is_some() && !control.has_weight() {
        let expected =
            "expected controller = \"cubic\", \"fast\" or \"cupid\", the ones with a weight";
        r.fail("minerva", "found beside a controller without weights", expected);
    }
    minerva
}

fn abr(r: &mut Reader<'_>, default: Option<AbrKind>, default_text: &str) -> Option<Abr> {
    let own = AbrKind::WORDS.iter().map(|(word, kind)| (*word, Ok(*kind)));
    let brought = r.registry().words::<CustomAbr>("abr").map(|abr| (abr.name, Err(*abr)));
    let choices: Vec<_> = own.chain(brought).collect();
    let choice = r.choice_or_none("abr", &choices, default_text, "What chooses the rungs.");
    let rung = r.count_or_none(
        "fixed_rung",
        (0, 63),
        "required for \"fixed\"",
        "The rung of \"fixed\", from 0.",
    );
    if let Some(Err(custom)) = choice {
        if rung.is_some() {
            r.fail("fixed_rung", "found without abr = \"fixed\"", "expected them together");
        }
        return Some(Abr::Custom(custom));
    }
    let kind = choice.and_then(Result::ok).or(default);
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
        of_nothing(player)
    }
}

fn player(r: &mut Reader<'_>) -> Player {
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
fn viewers(r: &mut Reader<'_>, frame: &Frame<'_>, arriving: bool) -> Vec<Viewer> {
    let mut viewers: Vec<Viewer> = Vec::new();
    r.list("viewer", "A viewer who watches a film.", |r| {
        let first = viewers.len();
        let (viewer, count, same_as) = viewer(r, frame, arriving);
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
    frame: &Frame<'_>,
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
    let start = match (start(r, frame.duration, "0, or when it arrives"), arriving) {
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
        at: at(r, frame.network, 1)[0],
        rtt: r.time_or_none("rtt_s", RTT, CORE_RTT, "Round trip of propagation in the core."),
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

fn minerva(r: &mut Reader<'_>) -> Minerva {
    const OWN: &str = "the algorithm's";
    let minerva = Minerva {
        alpha: r.number_or_none("alpha", range(1e-3, 1e3, "1.96"), OWN, "Factor on every weight."),
        mu: r.number_or_none(
            "mu",
            range(1.0, 1e3, "1.5"),
            NONE,
            "Weights stay within 1/mu and mu of the scheme's `weight`.",
        ),
        utility: r.word_or_none(
            "utility",
            OWN,
            "What is made equal among viewers; \"basic\" if `fairness` is \"proportional\".",
        ),
        normalisation: r.word_or_none(
            "normalisation",
            OWN,
            "What the normalisation averages over the corpus: the player's QoE at constant rates, \
             mean curves, exponentials that fit the first; or that there is none.",
        ),
        popularity: r
            .text_or_none(
                "popularity",
                "uniform",
                "How popular each title is, which the normalisation averages with: a CSV file of \
                 `title,popularity` ([chunk tables](chunk-tables.md)); the path is relative to the \
                 scenario.",
            )
            .map(PathBuf::from),
        normalisation_file: r
            .text_or_none(
                "normalisation_file",
                NONE,
                "A normalisation that `airlane corpus normalise` wrote, instead of computing one; \
                 its alpha counts unless `alpha` is given. The path is relative to the scenario.",
            )
            .map(PathBuf::from),
        fairness: r.word_or_none(
            "fairness",
            OWN,
            "What the weights make equal: utility, or what more rate brings over what is there.",
        ),
        value: r.word_or_none(
            "value",
            OWN,
            "How the value function is had: simulated with every update, from a table, from \
             exponentials that fit the table, as the best that any player could do, or sent by the \
             player.",
        ),
        past: r.number_or_none(
            "past",
            PART,
            OWN,
            "Weight of the mean QoE of the past in the utility, beside 1 for the current chunk.",
        ),
        future: r.number_or_none(
            "future",
            PART,
            OWN,
            "Weight of the value function in the utility, beside 1 for the current chunk.",
        ),
        horizon: r
            .count_or_none("horizon", (1, 100), OWN, "Chunks that the value function looks ahead.")
            .map(|n| n as usize),
        interval_rtts: r
            .count_or_none("interval_rtts", (1, 1000), OWN, "Round trips between updates.")
            .map(|n| u32::try_from(n).unwrap_or(u32::MAX)),
        conservative: r.flag_or_none(
            "conservative",
            OWN,
            "Whether rates are lowered by half the deviation of the last ones.",
        ),
        smoothed: r.flag_or_none("smoothed", OWN, "Whether rates and weights are smoothed."),
    };
    for key in ["normalisation", "popularity"] {
        if r.has("normalisation_file") && r.has(key) {
            let found = "found beside normalisation_file";
            r.fail(key, found, "expected one of them: the file was computed with its own");
        }
    }
    minerva
}
