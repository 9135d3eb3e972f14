//! Every key of a scenario, defined once: its meaning, bounds and default.

mod half_duplex;
mod handover;
mod link;
mod network;
mod queue;
mod scheme;
mod signal;
mod wifi;

use std::path::PathBuf;
use std::time::Duration;

use airlane_base::InputError;

use super::KeyDoc;
use super::bounds::{Range, range};
use super::notes::Notes;
use super::reader::Reader;
use super::tree::{Node, Origin, plain};
use super::types::*;
use crate::participants::AllParticipants;
use crate::registry::Registry;
use crate::words;
use network::network;
use scheme::scheme;

pub(super) use link::CAPACITY_KEYS;
pub use network::at;
pub use scheme::control;

/// Rates that keys may have, bit/s.
pub const RATE: Range = range(1e3, 1e12, "10e6");
/// Round trips that keys may have, seconds.
pub const RTT: Range = range(1e-5, 60.0, "0.02");
/// Durations that keys may have, seconds.
pub const DURATION: Range = range(1e-3, 1e6, "200");
/// The default of a round trip, in the documentation.
pub const CORE_RTT: &str = "`link.rtt_s` or `core.rtt_s`";
const MOMENT: Range = range(0.0, 1e6, "70");

words! {
    AckPolicy: "every-2" => Self::Every2, "decimated" => Self::Decimated;
    Cipher: "null" => Self::Null, "tls" => Self::Tls;
    Draw: "distinct" => Self::Distinct, "independent" => Self::Independent,
        "identical" => Self::Identical;
}

/// The scenario that a document says.
pub(super) fn scenario(
    registry: &Registry,
    root: &Node,
    source: Source,
) -> Result<Scenario, InputError> {
    let notes = Notes::of_scenario(registry);
    let scenario = Reader::all(root, &notes, |r| document(registry, r, source));
    match notes.first_error() {
        Some(error) => Err(error),
        None => Ok(scenario),
    }
}

/// Result of reading a table without keys: the defaults.
pub fn of_nothing<T>(read: impl FnOnce(&mut Reader<'_>) -> T) -> T {
    Reader::all(&empty(), &Notes::default(), read)
}

fn empty() -> Node {
    Node::table(Origin::Line(1))
}

/// The link that settings of the command line say; `half_duplex`: one capacity for both directions.
pub(super) fn of_settings(root: &Node, half_duplex: bool) -> Result<Link, InputError> {
    let notes = Notes::default();
    let read = if half_duplex { half_duplex::settings } else { link::settings };
    let link = Reader::all(root, &notes, read);
    match notes.first_error() {
        Some(error) => Err(error),
        None => Ok(link),
    }
}

/// The keys that a scenario may have.
pub(super) fn keys(registry: &Registry) -> Vec<KeyDoc> {
    let notes = Notes::listing(registry);
    let source =
        Source { name: PathBuf::new(), folder: None, text: String::new(), set: Vec::new() };
    Reader::all(&empty(), &notes, |r| document(registry, r, source));
    notes.into_keys()
}

fn document(registry: &Registry, r: &mut Reader<'_>, source: Source) -> Scenario {
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
    let network = network(r);
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
    let schemes = r.list("scheme", "What is compared, in order: baselines first.", |r| {
        scheme(registry, r, &network)
    });
    if schemes.is_empty() {
        r.fail("scheme", "found no scheme", "expected at least one [[scheme]] table");
    }
    if let Some(twice) = duplicate(schemes.iter().map(|s| &s.name)) {
        r.fail("scheme", format!("found \"{twice}\" twice"), "expected distinct names");
    }
    let cases = r.section("cases", "Draws of what the scenario leaves open.", |r| Cases {
        count: r.count("count", (1, 100_000), 1, "How many draws; each is a case.") as usize,
        seed: r.count("seed", (0, u32::MAX.into()), 1, "What they are drawn with."),
        draw: r.word(
            "draw",
            Draw::Distinct,
            "How what is drawn for one case goes together: all different, each drawn from all, or \
             one for all.",
        ),
    });
    let frame = Frame { duration, cases, network: &network };
    let participants =
        AllParticipants::new(registry.workloads().iter().map(|w| w.read(r, &frame)).collect());
    let first = registry.workloads().first().map_or("", |w| w.table());
    if participants.iter().all(|of| of.is_empty()) {
        let tables: Vec<String> =
            registry.workloads().iter().map(|w| format!("[[{}]]", w.table())).collect();
        let expected = match tables.as_slice() {
            [rest @ .., last] => {
                format!("expected at least one {} or {last} table", rest.join(", "))
            }
            [] => String::new(),
        };
        r.fail(first, "found nobody who uses the network", expected);
    }
    if let Some(twice) = duplicate(participants.iter().flat_map(|of| of.names())) {
        r.fail(first, format!("found \"{twice}\" twice"), "expected distinct names");
    }
    Scenario {
        title: title.unwrap_or_else(|| name.clone()),
        story: story.unwrap_or_default(),
        name,
        duration,
        seeds,
        network,
        host,
        transport,
        schemes,
        cases,
        participants,
        source,
    }
}

/// Reads a start time, which lies within the run.
pub fn start(r: &mut Reader<'_>, duration: Duration, default: &str) -> Option<Duration> {
    let start = r.time_or_none("start_s", MOMENT, default, "When it starts.")?;
    if start >= duration {
        let found = format!("found {}", plain(start.as_secs_f64()));
        let expected = format!("expected less than duration_s = {}", plain(duration.as_secs_f64()));
        r.fail("start_s", found, expected);
    }
    Some(start)
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
        ecn: r
            .flag_or_none(
                "ecn",
                "false",
                "Packets allow queues to mark them instead of dropping them, and senders answer marks \
                 as they answer losses.",
            )
            .unwrap_or(false),
    }
}
