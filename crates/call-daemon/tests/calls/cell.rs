//! Calls behind a cell whose queue drops PDU Sets.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::{Rate, Seed};
use airlane_call_daemon::CallLimits;
use airlane_call_daemon::client::{ClientSummary, ReceivedSummary};
use airlane_net::Way;
use airlane_net::link::{RateProfile, Supply};
use airlane_net::queue::{Limit, QueueSpec};
use airlane_net::trace::{Medium, Trace};
use airlane_pdu_set::DEFAULT_ID;

use crate::world::{Disturbance, Member, call, cell, clip, layered_clip, link};

const S: Duration = Duration::from_secs(1);
/// Bitrate of the video, and mean of the cell's capacity.
const VIDEO_KBPS: u32 = 900;
const CELL_MBPS: f64 = 1.6;
/// Length of a call.
const LENGTH: Duration = Duration::from_secs(40);
/// Recorded downlinks, in the folder of shared data, and the offsets at which calls begin, s.
const RECORDED: [&str; 4] = [
    "Verizon-LTE-driving.down.gz",
    "Verizon-LTE-short.down.gz",
    "ATT-LTE-driving.down.gz",
    "TMobile-UMTS-driving.down.gz",
];
const OFFSETS: [u32; 2] = [20, 120];

/// The queue in front of a cell, and the marking of the server.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Case {
    is_marked: bool,
    /// Time that a frame waits before it is dropped, ms; `None`: nothing is dropped.
    slack_ms: Option<u64>,
    is_layered: bool,
}

/// As `airlane relay` has it.
const DROPPING: Case = Case { is_marked: true, slack_ms: Some(0), is_layered: true };
const LATER: Case = Case { slack_ms: Some(100), ..DROPPING };
const FIFO: Case = Case { slack_ms: None, ..DROPPING };
const UNMARKED: Case = Case { is_marked: false, ..FIFO };

/// Capacity of a trace from this time on, scaled to the mean of [`CELL_MBPS`].
fn way(trace: &Trace, offset: Duration) -> Way {
    let trace = trace.scaled_to(Rate::from_mbps(CELL_MBPS)).unwrap();
    let queue = QueueSpec::DropTail(Limit::Unlimited);
    Way { offset, ..Way::new(trace.supply(), queue) }
}

/// Capacity that falls to a sixth for a second, every five seconds: more often than an estimator can follow.
fn dips() -> Way {
    let steps = [(Duration::ZERO, Rate::from_mbps(2.0)), (4 * S, Rate::from_mbps(0.35))];
    let profile = RateProfile::new(&steps, Some(5 * S)).unwrap();
    let queue = QueueSpec::DropTail(Limit::Unlimited);
    Way::new(Supply::Profile(Arc::new(profile)), queue)
}

/// Summary of a client behind a cell who watches somebody.
fn watch(down: Way, case: Case, length: Duration) -> ClientSummary {
    let video = if case.is_layered { layered_clip(VIDEO_KBPS) } else { clip(VIDEO_KBPS) };
    let members = vec![
        Member::new(&[], length).sending(video).on(link(100.0, 100.0)),
        Member::new(&[], length).on(cell(
            down,
            case.slack_ms.map(|_| DEFAULT_ID),
            Duration::from_millis(case.slack_ms.unwrap_or_default()),
        )),
    ];
    let limits = CallLimits {
        is_coordinated: false,
        pdu_set_id: case.is_marked.then_some(DEFAULT_ID),
        ..CallLimits::default()
    };
    let mut outcomes = call(members, limits, Disturbance::Nothing);
    let summary = outcomes.pop().unwrap().unwrap();
    assert_eq!(summary.failure, None);
    summary
}

fn video(summary: &ClientSummary) -> &ReceivedSummary {
    &summary.received[0]
}

fn row(name: &str, case: Case, summary: &ClientSummary) -> String {
    let of = video(summary);
    let queue = match (case.slack_ms, case.is_marked) {
        (Some(slack_ms), _) => format!("drops after {slack_ms} ms"),
        (None, true) => "drops nothing".to_owned(),
        (None, false) => "no marks".to_owned(),
    };
    let case = queue + if case.is_layered { "" } else { ", one layer" };
    format!(
        "{name:36} {case:29} {:5.1} fps {:4.0} of {:4.0} kbit/s, {:2} freezes {:5.1} s, delay {:3.0} {:4.0} {:4.0} ms",
        of.frame_rate,
        of.bitrate_bps / 1e3,
        summary.received_bps / 1e3,
        of.freezes,
        of.frozen_s,
        of.delay_p50_s * 1e3,
        of.delay_p95_s * 1e3,
        of.delay_p99_s * 1e3,
    )
}

#[test]
fn a_cell_that_drops_what_nothing_depends_on_keeps_frames_young() {
    let of = |case, length| {
        let summary = watch(dips(), case, length);
        println!("{}", row("dips", case, &summary));
        summary
    };
    let (dropping, fifo) = (of(DROPPING, LENGTH), of(FIFO, LENGTH));
    assert!(dropping.marked_packets > 1000 && fifo.marked_packets > 1000);
    assert_eq!(of(UNMARKED, 5 * S).marked_packets, 0);
    let (dropping, fifo) = (video(&dropping), video(&fifo));
    assert!(dropping.delay_p95_s < 0.9 * fifo.delay_p95_s, "{dropping:?} {fifo:?}");
    assert!(dropping.frame_rate > fifo.frame_rate - 3.0, "{dropping:?} {fifo:?}");
}

#[test]
fn without_layers_nothing_is_dropped_but_for_key_frames() {
    let trace = Trace::synthetic(Medium::Lte, Seed(5), 60 * S).unwrap();
    let of = |case| {
        let summary = watch(way(&trace, Duration::ZERO), case, 20 * S);
        println!("{}", row("generated LTE", case, &summary));
        video(&summary).clone()
    };
    let plain = Case { is_layered: false, ..DROPPING };
    let (dropping, fifo) = (of(plain), of(Case { slack_ms: None, ..plain }));
    assert!(dropping.freezes <= fifo.freezes + 2, "{dropping:?} {fifo:?}");
    assert!(dropping.frame_rate > fifo.frame_rate - 3.0, "{dropping:?} {fifo:?}");
}

/// Each trace takes a minute or more of a processor: `AIRLANE_CELLS=all` runs all of them.
#[test]
fn recorded_cells_are_compared_where_they_are_there() {
    let root = std::env::var_os("AIRLANE_DATA").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data")),
        PathBuf::from,
    );
    if !root.is_dir() {
        println!("left out: the recorded traces (set AIRLANE_DATA)");
        return;
    }
    let is_short = std::env::var("AIRLANE_CELLS").as_deref() != Ok("all");
    let (traces, offsets, length) = match is_short {
        true => (&RECORDED[..1], &OFFSETS[..1], LENGTH),
        false => (&RECORDED[..], &OFFSETS[..], 60 * S),
    };
    for name in traces {
        let trace = Trace::load(root.join("cellular").join(name)).unwrap();
        let cases: &[Case] = if is_short { &[DROPPING, FIFO] } else { &[DROPPING, FIFO, LATER] };
        let mut sums = [0.0; 3];
        for offset in offsets {
            for (case, sum) in cases.iter().zip(&mut sums) {
                let summary = watch(way(&trace, *offset * S), *case, length);
                println!("{}", row(&format!("{name} at {offset} s"), *case, &summary));
                *sum += video(&summary).delay_p95_s;
            }
        }
        let [dropping, fifo, _] = sums;
        assert!(dropping < 1.1 * fifo, "{name}: {dropping} {fifo}");
    }
}
