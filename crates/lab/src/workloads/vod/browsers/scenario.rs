//! The scenario that browsers were in.

use std::fmt::Write as _;

use airlane_base::InputError;
use airlane_minerva::ALPHA_PER_CONNECTION;
use airlane_quality::stats;
use airlane_quic::ETHERNET_PAYLOAD_BYTES;

use super::record::{Chunk, Kind, Record, Rule, Scheme};
use airlane_judge::reporting::words;
use airlane_scenario::Scenario;

/// Runs of the laboratory at least: what it expects is their mean, however few the browsers' are.
const MIN_SEEDS: usize = 32;

/// No player's buffer is full before chunks of the first so many seconds of video.
const NEVER_WAITS_S: f64 = 16.0;

/// Players of a scheme: the laboratory's, or browsers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Laboratory,
    Browsers,
}

/// The schemes of the scenario, in its order: those of the laboratory first, so that the page has
/// each pair of browsers side by side at the end.
pub(super) fn sides(record: &Record) -> Vec<(Side, Scheme)> {
    let schemes = &record.setup.schemes;
    [Side::Laboratory, Side::Browsers]
        .into_iter()
        .flat_map(|side| schemes.iter().map(move |scheme| (side, *scheme)))
        .collect()
}

/// The scenario as text: `airlane run` takes it too.
pub(super) fn text(record: &Record) -> String {
    let setup = &record.setup;
    let players = record.players();
    let seeds = (1..=setup.repeat.max(MIN_SEEDS)).map(|seed| seed.to_string());
    let seeds: Vec<String> = seeds.collect();
    let mut out = String::new();
    let mut line = |text: String| {
        writeln!(out, "{text}").expect("a String takes it");
    };
    line(format!("name = \"browsers\"\ntitle = \"{}\"", title(players.len())));
    line(format!(
        "duration_s = {}\nseeds = [{}]\nmin_chunks = 1",
        setup.duration_s,
        seeds.join(", ")
    ));
    line(format!("\n[link]\nrtt_s = {}", setup.link.rtt_s));
    line(format!("queue = {{ kind = {} }}", quoted(&setup.link.queue)));
    line(capacity(record));
    // `airlane serve` finds that the emulated link takes them.
    line(format!("\n[transport]\nack = \"decimated\"\npayload_bytes = {ETHERNET_PAYLOAD_BYTES}"));
    line(format!("\n[player]\nmetric = {}", quoted(players[0].metric.name())));
    line(format!("overhead_s = {:.4}", pause_s(record)));
    line(format!("opening_bytes = {:?}", opening_bytes(record)));
    for (side, scheme) in sides(record) {
        line(format!(
            "\n[[scheme]]\nname = {}\ntitle = {}",
            quoted(&name(side, scheme)),
            quoted(&named(side, scheme))
        ));
        line("controller = \"cubic\"".to_owned());
        if scheme == Scheme::Minerva {
            line(format!("minerva = {{ alpha = {ALPHA_PER_CONNECTION} }}"));
        }
    }
    for (i, player) in players.iter().enumerate() {
        let abr = match player.abr {
            Rule::Mpc => "robust-mpc",
            Rule::Bola | Rule::Dynamic => "bola",
        };
        let starts: Vec<f64> = record.runs.iter().map(|run| run.players[i].began_s).collect();
        let start_s = starts.iter().sum::<f64>() / starts.len() as f64;
        line(format!(
            "\n[[viewer]]\nvideo = {}\nabr = \"{abr}\"\nmetric = {}\nstart_s = {start_s:.3}",
            quoted(&player.title),
            quoted(player.metric.name())
        ));
    }
    out
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// Capacity of the link from the first player's beginning on, as keys of a scenario. A trace begins
/// with the link, about as long before in all runs.
fn capacity(record: &Record) -> String {
    let link = &record.setup.link;
    let Some(trace) = &link.trace else {
        return format!("rate_bps = {}", link.rate_bps.unwrap_or_default());
    };
    let before: Vec<f64> = record.runs.iter().map(|run| run.link_s).collect();
    let offset_s = link.trace_offset_s + stats::mean(&before).unwrap_or(0.0);
    let mean = link.trace_mean_bps.map(|bps| format!("\ntrace_mean_bps = {bps}"));
    format!("trace = {}\ntrace_offset_s = {offset_s:.3}{}", quoted(trace), mean.unwrap_or_default())
}

/// Sizes of what players fetched before the first chunk: means over all of them, so far as all
/// fetched something.
fn opening_bytes(record: &Record) -> Vec<u64> {
    let all: Vec<_> =
        record.runs.iter().flat_map(|r| &r.players).map(|p| p.opening_bytes.as_slice()).collect();
    let objects = all.iter().map(|of| of.len()).min().unwrap_or(0);
    (0..objects)
        .map(|i| all.iter().map(|of| of[i] as f64).sum::<f64>() / all.len() as f64)
        .map(|mean| mean.round() as u64)
        .collect()
}

/// The time from the last byte of a chunk to the request for the next one, as the browser's network
/// recorded them: the median over all players, 0 without a record. Only pairs in the same rung
/// count, because a player fetches the header of a new rung in between, and only while no player
/// waits for its buffer to drain.
fn pause_s(record: &Record) -> f64 {
    let mut pauses = Vec::new();
    for player in record.runs.iter().flat_map(|r| &r.players) {
        let of_picture = player.chunks.iter().filter(|c| c.kind == Kind::Video);
        let early: Vec<_> = of_picture.filter(|c| c.place_s < NEVER_WAITS_S).collect();
        let alike = early.windows(2).filter(|pair| pair[0].rung == pair[1].rung);
        let pause = |pair: &[&Chunk]| Some((pair[1].sent_s? - pair[0].received_s?).max(0.0));
        pauses.extend(alike.filter_map(pause));
    }
    stats::median(&pauses).unwrap_or(0.0)
}

/// The scenario of a record; `file` is what errors name.
///
/// # Errors
/// What the record asks for and no scenario has.
pub(super) fn scenario(record: &Record, file: &std::path::Path) -> Result<Scenario, InputError> {
    Scenario::from_bytes(crate::registry().scenarios(), text(record).as_bytes(), file, &[])
}

fn title(players: usize) -> String {
    format!("{} browsers behind one link", words::sentence(&words::count(players)))
}

/// The name in rows.
fn name(side: Side, scheme: Scheme) -> String {
    let scheme = match scheme {
        Scheme::Plain => "cubic",
        Scheme::Minerva => "minerva",
    };
    match side {
        Side::Laboratory => format!("{scheme}-laboratory"),
        Side::Browsers => format!("{scheme}-browsers"),
    }
}

/// The name for people.
pub(super) fn named(side: Side, scheme: Scheme) -> String {
    let scheme = match scheme {
        Scheme::Plain => "Cubic",
        Scheme::Minerva => "Minerva",
    };
    match side {
        Side::Laboratory => format!("{scheme}, laboratory"),
        Side::Browsers => format!("{scheme}, browsers"),
    }
}
