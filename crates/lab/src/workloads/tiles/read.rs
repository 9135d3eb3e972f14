//! The tables of sessions, and what a scheme says of them.

use airlane_tiles::Method;
use airlane_viewport::LossKind;

use super::{Entry, Rates, SchemeOptions, Sessions};
use airlane_scenario::{CORE_RTT, DURATION, Frame, RTT, Reader, at, control, range, start, words};

words! {
    Rates: "reported" => Self::Reported,
        "known" => Self::Known;
    Method: "ows" => Self::Ows(LossKind::Corrected),
        "ows-literal" => Self::Ows(LossKind::Literal),
        "ows-descending" => Self::Ows(LossKind::Descending),
        "fix" => Self::Fix,
        "likelihood" => Self::Likelihood,
        "joint" => Self::Joint;
}

/// Memory that radios of some ten Mbit/s need.
const MEMORY: u64 = 128 << 10;

pub(super) fn tables(r: &mut Reader<'_>, frame: &Frame<'_>) -> Sessions {
    let mut number = 0;
    let doc = "Viewers of 360-degree videos, tile by tile over several accesses at once.";
    Sessions(r.list("tiles", doc, |r| {
        number += 1;
        entry(r, number, frame)
    }))
}

fn entry(r: &mut Reader<'_>, number: usize, frame: &Frame<'_>) -> Entry {
    let name = r.name_or_none("name", "\"tiles\" and its number from 1", "Name of rows.");
    let doc = "GoPs that are shown so soon after its start do not count.";
    Entry {
        name: name.unwrap_or_else(|| format!("tiles{number}")),
        control: control(r, None, "the scheme's, with its weight"),
        start: start(r, frame.duration, "0").unwrap_or_default(),
        skip: r.time_or_none("skip_s", DURATION, "0", doc).unwrap_or_default(),
        memory: r.count(
            "memory_bytes",
            (64 << 10, 1 << 32),
            MEMORY,
            "What each end holds of what it receives, and of what it sends.",
        ),
        segment: r.count(
            "segment_bytes",
            (256, 65_536),
            4096,
            "Bytes at most that FBDT and MPTCP hand to an access at once.",
        ),
        left_out: r.count(
            "left_out_levels",
            (0, 255),
            0,
            "Levels of each tile that the server does not have, from the lowest.",
        ),
        title: r.text_or_none("title", "drawn for each case", "Name of the video."),
        head: r.count_or_none(
            "head",
            (1, 100_000),
            "drawn for each case",
            "Number, from 1, of the recorded head of this video that looks around.",
        ),
        at: at(r, frame.network, usize::MAX),
        rtt: r.time_or_none("rtt_s", RTT, CORE_RTT, "Round trip of propagation in the core."),
    }
}

pub(super) fn of_scheme(r: &mut Reader<'_>) -> Option<SchemeOptions> {
    let doc = "How the server chooses the levels and the order of tiles: OWS with the corrected loss, \
               as printed or in the reverse order; the same levels row by row, or by how likely tiles are seen \
               alone; or both together.";
    let planner = r.word_or_none("tiles_planner", "\"ows\"", doc);
    let doc = "What a GoP may have of what the past brought on average.";
    let margin = r.number_or_none("tiles_margin", range(0.01, 10.0, "0.8"), "1", doc);
    let doc = "Seconds of the past from which throughput is known.";
    let history = r.count_or_none("tiles_history", (1, 3600), "30", doc);
    let doc = "Rates by which the server plans a GoP: those that the client has reported, or those that the \
               accesses will have while it is sent, as the paper assumes.";
    let rates = r.word_or_none("tiles_rates", "\"reported\"", doc);
    let doc = "Which access sends what of tiles: FBDT, or MPTCP with one of its schedulers.";
    let scheduler = r.word_or_none("tiles_scheduler", "\"fbdt\"", doc);
    let doc = "Bytes of a window of FBDT at most.";
    let window = r.count_or_none("tiles_window_bytes", (1024, 16 << 20), "32768", doc);
    let is_silent = planner.is_none() && margin.is_none() && history.is_none();
    if is_silent && rates.is_none() && scheduler.is_none() && window.is_none() {
        return None;
    }
    let default = SchemeOptions::default();
    Some(SchemeOptions {
        planner: planner.unwrap_or(default.planner),
        margin: margin.unwrap_or(default.margin),
        history: history.unwrap_or(default.history),
        rates: rates.unwrap_or(default.rates),
        scheduler: scheduler.unwrap_or(default.scheduler),
        window: window.unwrap_or(default.window),
    })
}
