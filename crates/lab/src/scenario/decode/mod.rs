//! Every key of a scenario, defined once: its meaning, bounds and default.

mod network;
mod scheme;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use airlane_base::InputError;
use airlane_media::Metric;
use airlane_quality::Smoothness;

use super::KeyDoc;
use super::bounds::{Range, Word, range};
use super::notes::Notes;
use super::reader::{NONE, Reader};
use super::tree::{Data, Node, Origin, plain};
use super::types::*;
use network::link;
use scheme::{control, scheme};

macro_rules! words {
    ($($type:ty: $($word:literal => $value:expr),+;)+) => {
        $(impl Word for $type {
            const WORDS: &'static [(&'static str, Self)] = &[$(($word, $value)),+];
        })+
    };
}
use words;

const RATE: Range = range(1e3, 1e12, "10e6");
const RTT: Range = range(1e-5, 60.0, "0.02");
const DURATION: Range = range(1e-3, 1e6, "200");
const MOMENT: Range = range(0.0, 1e6, "70");
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
    AckPolicy: "every-2" => Self::Every2, "decimated" => Self::Decimated;
    Cipher: "null" => Self::Null, "tls" => Self::Tls;
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
        AbrKind::Bola => Abr::Bola,
        AbrKind::Buffer => Abr::Buffer,
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

fn viewer(r: &mut Reader<'_>, number: usize, duration: Duration) -> Viewer {
    let name = r.name_or_none("name", "\"v\" and its number from 1", "Name of rows.");
    let video = r.name_or_none(
        "video",
        "drawn for each case",
        "Name of the video; those drawn for a case are distinct.",
    );
    let start = start(r, duration);
    Viewer {
        name: name.unwrap_or_else(|| format!("v{number}")),
        video,
        start,
        rtt: r.time_or_none("rtt_s", RTT, "`link.rtt_s`", "Round trip of propagation."),
        abr: abr(r, None, "`player.abr`"),
        control: control(r, None, "the scheme's, with its weight and its Minerva"),
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
