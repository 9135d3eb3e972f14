//! Every key of a scenario, defined once: its meaning, bounds and default.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use airlane_base::{InputError, Rate};
use airlane_media::Metric;
use airlane_quality::Smoothness;

use super::KeyDoc;
use super::reader::{NONE, Notes, Range, Reader, Word, range};
use super::tree::{Data, Node, Origin, plain};
use super::types::*;

const RATE: Range = range(1e3, 1e12, "10e6");
const RTT: Range = range(1e-5, 60.0, "0.02");
const PROBABILITY: Range = range(0.0, 1.0, "0.01");
const WEIGHT: Range = range(0.01, 1000.0, "2.0");
const DURATION: Range = range(1e-3, 1e6, "200");
const MOMENT: Range = range(0.0, 1e6, "70");
const PENALTY: Range = range(0.0, 1e4, "25");

macro_rules! words {
    ($($type:ty: $($word:literal => $value:expr),+;)+) => {
        $(impl Word for $type {
            const WORDS: &'static [(&'static str, Self)] = &[$(($word, $value)),+];
        })+
    };
}

#[derive(Clone, Copy, PartialEq)]
enum AbrKind {
    RobustMpc,
    Mpc,
    Rate,
    Fixed,
}

#[derive(Clone, Copy, PartialEq)]
enum ControllerKind {
    Reno,
    Cubic,
    Bbr,
    Explicit,
}

#[derive(Clone, Copy, PartialEq)]
enum QueueKind {
    DropTail,
    Pie,
}

#[derive(Clone, Copy, PartialEq)]
enum LossKind {
    Bernoulli,
    GilbertElliott,
}

words! {
    AbrKind: "robust-mpc" => Self::RobustMpc, "mpc" => Self::Mpc, "rate" => Self::Rate,
        "fixed" => Self::Fixed;
    ControllerKind: "reno" => Self::Reno, "cubic" => Self::Cubic, "bbr" => Self::Bbr,
        "explicit" => Self::Explicit;
    QueueKind: "droptail" => Self::DropTail, "pie" => Self::Pie;
    LossKind: "bernoulli" => Self::Bernoulli, "gilbert-elliott" => Self::GilbertElliott;
    AckPolicy: "every-2" => Self::Every2, "decimated" => Self::Decimated;
    Cipher: "null" => Self::Null, "tls" => Self::Tls;
    WeightRule: "synchrony" => Self::Synchrony, "textbook" => Self::Textbook;
    Utility: "client-aware" => Self::ClientAware, "basic" => Self::Basic;
    Normalisation: "fixed-rate" => Self::FixedRate, "mean-curve" => Self::MeanCurve;
    Smoothness: "mean-curve" => Self::MeanCurve, "chunk" => Self::Chunk;
    Metric: "vmaf" => Self::Vmaf, "vmaf_phone" => Self::VmafPhone, "vmaf_4k" => Self::Vmaf4k,
        "psnr_db" => Self::PsnrDb, "ssim" => Self::Ssim;
}

/// The scenario that a document says.
pub(super) fn scenario(root: &Node, source: Source) -> Result<Scenario, InputError> {
    let notes = Notes::default();
    let scenario = Reader::all(root, &notes, |r| document(r, source));
    match notes.first_error() {
        Some(error) => Err(error),
        None => Ok(scenario),
    }
}

/// The keys that a scenario may have.
pub(super) fn keys() -> Vec<KeyDoc> {
    let notes = Notes::listing();
    let empty = Node { data: Data::Table(BTreeMap::new()), origin: Origin::Line(1) };
    let source =
        Source { name: PathBuf::new(), folder: None, text: String::new(), set: Vec::new() };
    Reader::all(&empty, &notes, |r| document(r, source));
    notes.into_keys()
}

fn document(r: &mut Reader<'_>, source: Source) -> Scenario {
    let stem = source.name.file_stem().map_or_else(String::new, |s| s.to_string_lossy().into());
    let name = r.name_or_none("name", "the file's name", "Name of rows and files.");
    let name = name.unwrap_or(stem);
    let title = r.text_or_none("title", "`name`", "Title of the report.");
    let story = r.text_or_none("story", "none", "What the reader of the report should look at.");
    let duration = r.time("duration_s", DURATION, 200.0, "Length of a run in virtual time.");
    let seeds =
        r.counts("seeds", (0, u32::MAX.into()), &[1], "One run of every case and scheme per seed.");
    if seeds.is_empty() {
        r.fail("seeds", "found no seed", "expected at least one, such as [1, 2, 3]");
    }
    if let Some(twice) = duplicate(&seeds) {
        r.fail("seeds", format!("found {twice} twice"), "expected distinct seeds");
    }
    let min_chunks = r.count(
        "min_chunks",
        (1, 100_000),
        50,
        "Videos with fewer chunks are not drawn for viewers that name none.",
    );
    let link = r.section("link", "The shared bottleneck.", link);
    let host = r.section("host", "The hosts.", |r| Host {
        send_jitter_packets: r.number(
            "send_jitter_packets",
            range(0.0, 1e3, "3"),
            3.0,
            "Each packet leaves up to so many packet times of the bottleneck late, drawn from the \
             seed: without it a droptail queue picks its victims by phase. 0 turns it off.",
        ),
    });
    let transport = r.section("transport", "The QUIC connections.", transport);
    let player = r.section("player", "The players, the same under every scheme.", player);
    let schemes = r.list("scheme", "What is compared, in order: baselines first.", scheme);
    if schemes.is_empty() {
        r.fail("scheme", "found no scheme", "expected at least one [[scheme]] table");
    }
    if let Some(twice) = duplicate(schemes.iter().map(|s| &s.name)) {
        r.fail("scheme", format!("found \"{twice}\" twice"), "expected distinct names");
    }
    let mut number = 0;
    let viewers = r.list("viewer", "Somebody who watches a film.", |r| {
        number += 1;
        viewer(r, number, duration)
    });
    let cases = r.section("cases", "Draws of videos for the viewers that name none.", |r| Cases {
        count: r.count("count", (1, 100_000), 1, "How many draws; each is a case.") as usize,
        seed: r.count("seed", (0, u32::MAX.into()), 1, "What they are drawn with."),
    });
    if cases.count > 1 && !viewers.is_empty() && viewers.iter().all(|v| v.video.is_some()) {
        r.fail(
            "cases",
            format!("found {} cases of the same videos", cases.count),
            "expected a [[viewer]] without `video`, or count = 1",
        );
    }
    let mut number = 0;
    let bulk = r.list("bulk", "Transfers of data beside the viewers.", |r| {
        number += 1;
        bulk(r, number, duration)
    });
    if viewers.is_empty() && bulk.is_empty() {
        let expected = "expected at least one [[viewer]] or [[bulk]] table";
        r.fail("viewer", "found nobody who uses the link", expected);
    }
    let names = viewers.iter().map(|v| &v.name).chain(bulk.iter().map(|b| &b.name));
    if let Some(twice) = duplicate(names) {
        r.fail("viewer", format!("found \"{twice}\" twice"), "expected distinct names");
    }
    Scenario {
        title: title.unwrap_or_else(|| name.clone()),
        story: story.unwrap_or_default(),
        name,
        duration,
        seeds,
        min_chunks: min_chunks as usize,
        link,
        host,
        transport,
        player,
        schemes,
        viewers,
        cases,
        bulk,
        source,
    }
}

fn duplicate<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Option<T> {
    let mut seen = Vec::new();
    for item in items {
        if seen.contains(&item) {
            return Some(item);
        }
        seen.push(item);
    }
    None
}

fn link(r: &mut Reader<'_>) -> Link {
    let capacity = capacity(r);
    Link {
        capacity,
        rtt: r.time("rtt_s", RTT, 0.02, "Round trip of propagation, half of it each way."),
        queue: r.section("queue", "The queue in front of the bottleneck.", queue),
        uplink: r
            .rate_or_none("uplink_rate_bps", RATE, "10e6", "Rate of the way back.")
            .unwrap_or(Rate::from_bps(10_000_000)),
        loss: r.table("loss", NONE, "Random loss behind the queue.", loss),
        jitter: r.time(
            "jitter_s",
            range(0.0, 10.0, "0.002"),
            0.0,
            "Most that is added to the delay of a packet, uniform from 0; packets keep their order.",
        ),
    }
}

fn capacity(r: &mut Reader<'_>) -> Capacity {
    let rate = r.rate_or_none("rate_bps", RATE, NONE, "A capacity that never changes.");
    let file = r.text_or_none(
        "trace",
        NONE,
        "A recorded capacity: a Mahimahi, time/bandwidth or CSV file, plain or gzipped; the path \
         is relative to the scenario.",
    );
    let column = r.text_or_none(
        "trace_column",
        "the format's own",
        "The column of capacities: a name in the header, or a number from \"1\".",
    );
    let scale = r.number_or_none(
        "trace_scale",
        range(1e-6, 1e6, "1.5"),
        "1",
        "Factor on every capacity of the trace.",
    );
    let offset = r.time_or_none(
        "trace_offset_s",
        MOMENT,
        "drawn from the run's seed",
        "Where in the trace a run starts; it wraps around.",
    );
    let steps = r.rows(
        "steps",
        [("t_s", MOMENT), ("rate_bps", range(0.0, 1e12, "10e6"))],
        "[[0, 10e6], [60, 4e6]]",
        "A capacity that changes at given times; 0 is an outage.",
    );
    let given = [rate.is_some(), file.is_some(), steps.is_some()].iter().filter(|g| **g).count();
    let one = "expected exactly one of rate_bps, trace and steps";
    let several = ["rate_bps", "trace", "steps"].into_iter().filter(|key| r.has(key)).nth(1);
    match several {
        Some(key) => r.fail(key, format!("found {given} capacities"), one),
        None if given == 0 && !["rate_bps", "trace", "steps"].iter().any(|key| r.has(key)) => {
            r.fail("rate_bps", "missing", one);
        }
        None => {}
    }
    if file.is_none() {
        for key in ["trace_column", "trace_scale", "trace_offset_s"] {
            if r.has(key) {
                r.fail(key, "found without a trace", "expected `trace` beside it");
            }
        }
    }
    if let Some(steps) = steps {
        if steps.first().is_none_or(|first| first[0] != 0.0) {
            r.fail(
                "steps",
                "found no capacity at time 0",
                "expected a first row such as [0, 10e6]",
            );
        }
        if let Some(pair) = steps.windows(2).find(|pair| pair[1][0] <= pair[0][0]) {
            let found = format!("found {} after {}", plain(pair[1][0]), plain(pair[0][0]));
            r.fail("steps", found, "expected rising times");
        }
        if steps.iter().all(|step| step[1] == 0.0) && !steps.is_empty() {
            r.fail("steps", "found no capacity at any time", "expected a rate above 0");
        }
        let step = |[at, rate]: &[f64; 2]| RateStep {
            at: Duration::from_secs_f64(*at),
            rate: Rate::from_bps_f64(*rate),
        };
        return Capacity::Steps(steps.iter().map(step).collect());
    }
    match file {
        Some(file) => Capacity::Trace(TraceSource {
            file: file.into(),
            column,
            scale: scale.unwrap_or(1.0),
            offset,
        }),
        None => Capacity::Constant(rate.unwrap_or_default()),
    }
}

fn queue(r: &mut Reader<'_>) -> Queue {
    let kind = r.word("kind", QueueKind::DropTail, "The discipline; PIE is that of RFC 8033.");
    let bdp = r.number_or_none(
        "limit_bdp",
        range(1e-3, 1e4, "1.5"),
        "1.5",
        "Most that it holds, as a multiple of rate times round trip, counted in IP bytes.",
    );
    let bytes =
        r.count_or_none("limit_bytes", (1_500, 1 << 40), NONE, "Most that it holds in IP bytes.");
    let packets =
        r.count_or_none("limit_packets", (1, 1 << 30), NONE, "Most that it holds in packets.");
    let limits = ["limit_bdp", "limit_bytes", "limit_packets"];
    if let Some(second) = limits.into_iter().filter(|key| r.has(key)).nth(1) {
        r.fail(
            second,
            "found several limits",
            "expected one of limit_bdp, limit_bytes and limit_packets",
        );
    }
    let target = r.time_or_none(
        "target_s",
        range(1e-4, 10.0, "0.015"),
        "0.015",
        "The delay that PIE aims at.",
    );
    if kind == QueueKind::DropTail && target.is_some() {
        r.fail(
            "target_s",
            "found beside kind \"droptail\"",
            "expected it beside kind \"pie\" only",
        );
    }
    Queue {
        discipline: match kind {
            QueueKind::DropTail => Discipline::DropTail,
            QueueKind::Pie => {
                Discipline::Pie { target: target.unwrap_or(Duration::from_millis(15)) }
            }
        },
        limit: match (bytes, packets) {
            (Some(bytes), _) => QueueLimit::Bytes(bytes),
            (None, Some(packets)) => QueueLimit::Packets(packets),
            (None, None) => QueueLimit::Bdp(bdp.unwrap_or(1.5)),
        },
        bdp_rtt: r.time_or_none(
            "bdp_rtt_s",
            RTT,
            "`link.rtt_s`",
            "The round trip that limit_bdp counts with.",
        ),
        bdp_rate: r.rate_or_none(
            "bdp_rate_bps",
            RATE,
            "the link's, its mean if it varies",
            "The rate that limit_bdp counts with.",
        ),
    }
}

fn loss(r: &mut Reader<'_>) -> Loss {
    let kind = r.word(
        "kind",
        LossKind::Bernoulli,
        "Independent losses, or bursts by a chain of two states.",
    );
    let p =
        r.number_or_none("p", PROBABILITY, "required for \"bernoulli\"", "Probability of loss.");
    let good_to_bad = r.number_or_none(
        "p_good_to_bad",
        PROBABILITY,
        "required for \"gilbert-elliott\"",
        "Probability per packet of going from the good state to the bad one.",
    );
    let bad_to_good = r.number_or_none(
        "p_bad_to_good",
        PROBABILITY,
        "required for \"gilbert-elliott\"",
        "Probability per packet of going back.",
    );
    let good =
        r.number_or_none("p_loss_good", PROBABILITY, "0", "Probability of loss in the good state.");
    let bad =
        r.number_or_none("p_loss_bad", PROBABILITY, "1", "Probability of loss in the bad state.");
    let (needed, foreign): (&[&str], &[&str]) = match kind {
        LossKind::Bernoulli => {
            (&["p"], &["p_good_to_bad", "p_bad_to_good", "p_loss_good", "p_loss_bad"])
        }
        LossKind::GilbertElliott => (&["p_good_to_bad", "p_bad_to_good"], &["p"]),
    };
    for key in needed.iter().filter(|key| !r.has(key)) {
        r.fail(key, "missing", "expected a probability, such as 0.01");
    }
    for key in foreign.iter().filter(|key| r.has(key)) {
        r.fail(key, "found beside another kind of loss", format!("expected {}", needed.join(", ")));
    }
    match kind {
        LossKind::Bernoulli => Loss::Bernoulli { p: p.unwrap_or(0.0) },
        LossKind::GilbertElliott => Loss::GilbertElliott {
            good_to_bad: good_to_bad.unwrap_or(0.0),
            bad_to_good: bad_to_good.unwrap_or(0.0),
            good: good.unwrap_or(0.0),
            bad: bad.unwrap_or(1.0),
        },
    }
}

fn transport(r: &mut Reader<'_>) -> Transport {
    Transport {
        payload_bytes: r.count(
            "payload_bytes",
            (1_200, 9_000),
            1_350,
            "UDP payload of a full packet; IP and UDP headers add 28 bytes.",
        ),
        ack: r.word("ack", AckPolicy::Every2, "When receivers acknowledge: every second packet, or rarely, as Chromium does."),
        cipher: r.word("cipher", Cipher::Null, "What seals the packets: nothing, with the real sizes, or TLS 1.3. `--tls` overrides it."),
    }
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
    Some(match kind? {
        AbrKind::RobustMpc => Abr::RobustMpc,
        AbrKind::Mpc => Abr::Mpc,
        AbrKind::Rate => Abr::Rate,
        AbrKind::Fixed => Abr::Fixed(rung.unwrap_or(0) as usize),
    })
}

fn player(r: &mut Reader<'_>) -> Player {
    let robust = AbrKind::RobustMpc;
    Player {
        abr: abr(r, Some(robust), "\"robust-mpc\"").unwrap_or(Abr::RobustMpc),
        horizon: r.count("horizon", (1, 10), 5, "Chunks that MPC looks ahead.") as usize,
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
        beta: r.number("beta", PENALTY, 25.0, "Cost of a second of rebuffering in the QoE."),
        gamma: r.number("gamma", PENALTY, 2.5, "Cost of a point of change in quality in the QoE."),
        metric: r.word("metric", Metric::Vmaf, "The measure of quality."),
        smoothness: r.word(
            "smoothness",
            Smoothness::MeanCurve,
            "Where changes in quality are taken: on the video's mean curve, or chunk by chunk.",
        ),
    }
}

fn control(
    r: &mut Reader<'_>,
    default: Option<ControllerKind>,
    default_text: &str,
) -> Option<Control> {
    let kind = r.word_or_none("controller", default_text, "The congestion controller.").or(default);
    let weight = r.number_or_none(
        "weight",
        WEIGHT,
        "1",
        "How many plain connections Cubic counts for; under Minerva, until the first update.",
    );
    let rule = r.word_or_none(
        "weight_rule",
        "\"synchrony\"",
        "How the weight acts: by how synchronised the losses are, or as if they were independent.",
    );
    let rate =
        r.rate_or_none("rate_bps", RATE, "required for \"explicit\"", "The rate of \"explicit\".");
    if kind != Some(ControllerKind::Cubic) {
        for key in ["weight", "weight_rule"].into_iter().filter(|key| r.has(key)) {
            r.fail(key, "found without controller = \"cubic\"", "only Cubic has a weight");
        }
    }
    match kind {
        Some(ControllerKind::Explicit) if !r.has("rate_bps") => {
            r.fail("rate_bps", "missing", "expected the rate to send at, such as 4e6");
        }
        Some(ControllerKind::Explicit) => {}
        _ if r.has("rate_bps") => {
            let found = "found without controller = \"explicit\"";
            r.fail("rate_bps", found, "only that controller has a rate");
        }
        _ => {}
    }
    Some(match kind? {
        ControllerKind::Reno => Control::Reno,
        ControllerKind::Cubic => Control::Cubic {
            weight: weight.unwrap_or(1.0),
            rule: rule.unwrap_or(WeightRule::Synchrony),
        },
        ControllerKind::Bbr => Control::Bbr,
        ControllerKind::Explicit => Control::Explicit(rate.unwrap_or_default()),
    })
}

fn scheme(r: &mut Reader<'_>) -> Scheme {
    let name = r.name_or_none("name", "required", "Name of rows and files.");
    if !r.has("name") {
        r.fail("name", "missing", "expected a name, such as \"cubic\"");
    }
    let name = name.unwrap_or_default();
    let title = r.text_or_none("title", "`name`", "Name for people.");
    let note = r.text_or_none("note", NONE, "One sentence for people who do not know it.");
    let control = control(r, Some(ControllerKind::Cubic), "\"cubic\"").unwrap_or(Control::Reno);
    let queue = r.table("queue", "`link.queue`", "The queue under this scheme.", queue);
    let minerva = r.table(
        "minerva",
        NONE,
        "Minerva sets the weights; keys left out have the algorithm's defaults.",
        minerva,
    );
    if minerva.is_some() && !matches!(control, Control::Cubic { .. }) {
        let expected = "expected controller = \"cubic\", the one with a weight";
        r.fail("minerva", "found beside a controller without weights", expected);
    }
    Scheme {
        title: title.unwrap_or_else(|| name.clone()),
        note: note.unwrap_or_default(),
        name,
        control,
        queue,
        minerva,
    }
}

fn minerva(r: &mut Reader<'_>) -> Minerva {
    const OWN: &str = "the algorithm's";
    let share = range(0.0, 100.0, "0.333");
    Minerva {
        alpha: r.number_or_none("alpha", range(1e-3, 1e3, "1.96"), OWN, "Factor on every weight."),
        phi1: r.number_or_none("phi1", share, OWN, "Weight of the past in the utility."),
        phi2: r.number_or_none("phi2", share, OWN, "Weight of the future in the utility."),
        horizon: r
            .count_or_none("horizon", (1, 50), OWN, "Chunks that the value function looks ahead.")
            .map(|h| h as usize),
        clamp: r.interval(
            "clamp",
            range(0.01, 1e3, "[0.5, 20]"),
            OWN,
            "Least and greatest weight.",
        ),
        mu: r.number_or_none(
            "mu",
            range(1.0, 1e3, "1.5"),
            NONE,
            "Weights stay within 1/mu and mu of the scheme's `weight`.",
        ),
        utility: r.word_or_none("utility", OWN, "What is made equal among viewers."),
        normalisation: r.word_or_none(
            "normalisation",
            OWN,
            "What the normalisation averages over the corpus: the player's QoE at constant rates, \
             or mean curves.",
        ),
    }
}

fn viewer(r: &mut Reader<'_>, number: usize, duration: Duration) -> Viewer {
    let name = r.name_or_none("name", "\"v\" and its number from 1", "Name of rows.");
    let video = r.name_or_none(
        "video",
        "drawn for each case",
        "Name of the video; those drawn are distinct as far as the corpus reaches.",
    );
    let start = start(r, duration);
    Viewer {
        name: name.unwrap_or_else(|| format!("v{number}")),
        video,
        start,
        rtt: r.time_or_none("rtt_s", RTT, "`link.rtt_s`", "Round trip of propagation."),
        abr: abr(r, None, "`player.abr`"),
    }
}

fn start(r: &mut Reader<'_>, duration: Duration) -> Duration {
    let start = r.time("start_s", MOMENT, 0.0, "When it starts.");
    if start >= duration {
        let found = format!("found {}", plain(start.as_secs_f64()));
        r.fail(
            "start_s",
            found,
            format!("expected less than duration_s = {}", plain(duration.as_secs_f64())),
        );
    }
    start
}

fn bulk(r: &mut Reader<'_>, number: usize, duration: Duration) -> Bulk {
    let name = r.name_or_none("name", "\"bulk\" and its number from 1", "Name of rows.");
    let control = control(r, None, "the scheme's, with its weight");
    let start = start(r, duration);
    let stop = r.time_or_none("stop_s", DURATION, "the end of the run", "When it stops.");
    let bytes = r.count_or_none("bytes", (1, 1 << 50), NONE, "It stops after so many bytes.");
    if stop.is_some() && bytes.is_some() {
        r.fail("bytes", "found beside stop_s", "expected one of them");
    }
    if let Some(stop) = stop.filter(|stop| *stop <= start) {
        let found = format!("found {}", plain(stop.as_secs_f64()));
        r.fail("stop_s", found, "expected a time after start_s");
    }
    Bulk {
        name: name.unwrap_or_else(|| format!("bulk{number}")),
        control,
        start,
        until: match (stop, bytes) {
            (Some(stop), _) => BulkEnd::At(stop),
            (None, Some(bytes)) => BulkEnd::Bytes(bytes),
            (None, None) => BulkEnd::Run,
        },
        rtt: r.time_or_none("rtt_s", RTT, "`link.rtt_s`", "Round trip of propagation."),
        count: r.count("count", (1, 10_000), 1, "How many of the same kind.") as usize,
    }
}
