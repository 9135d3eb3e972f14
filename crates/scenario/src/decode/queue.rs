//! Keys of a queue: its discipline, its limit, and what each discipline has besides.

use std::time::Duration;

use airlane_net::queue::CustomQueue;
use airlane_net::{AbcConfig, DualPi2Config};

use super::super::bounds::{Word, range};
use super::super::reader::{NONE, Reader};
use super::super::tree::plain;
use super::super::types::*;
use super::{RATE, RTT};
use crate::words;

/// Highest identifier of an RTP header extension in the two-byte form (RFC 8285, section 4.3).
const MAX_EXTENSION_ID: u8 = 255;
/// Longest slack that Octopus counts, s.
const MAX_PDU_SET_SLACK_S: f64 = 0.511;

#[derive(Clone, Copy, PartialEq)]
enum QueueWord {
    DropTail,
    Pie,
    Octopus,
    Codel,
    FqCodel,
    PriorityDrop,
    Abc,
    DiscardTimer,
    DualPi2,
}

words! {
    QueueWord: "droptail" => Self::DropTail, "pie" => Self::Pie, "octopus" => Self::Octopus,
        "codel" => Self::Codel, "fq-codel" => Self::FqCodel, "priority-drop" => Self::PriorityDrop,
        "abc" => Self::Abc, "discard-timer" => Self::DiscardTimer, "dualpi2" => Self::DualPi2;
}

/// Disciplines that go by how long packets wait.
const TIMED: &[QueueWord] =
    &[QueueWord::Pie, QueueWord::Codel, QueueWord::FqCodel, QueueWord::Abc, QueueWord::DualPi2];

/// Disciplines of which each flow may have one: those that know nothing of the link.
const PER_FLOW: &[QueueWord] = &[
    QueueWord::DropTail,
    QueueWord::Octopus,
    QueueWord::Codel,
    QueueWord::PriorityDrop,
    QueueWord::DiscardTimer,
];

/// Disciplines that mark instead of dropping if they are asked to.
const MARKING: &[QueueWord] = &[QueueWord::Pie, QueueWord::Codel, QueueWord::FqCodel];

pub(super) fn queue(r: &mut Reader<'_>, default: QueueLimit) -> Queue {
    let (bdp_default, packets_default) = match default {
        QueueLimit::Packets(n) => (NONE.to_owned(), n.to_string()),
        QueueLimit::Bdp(x) => (plain(x), NONE.to_owned()),
        QueueLimit::Bytes(_) => (NONE.to_owned(), NONE.to_owned()),
    };
    let own = QueueWord::WORDS.iter().map(|(word, kind)| (*word, Ok(*kind)));
    let brought = r.registry().queues().iter().map(|kind| (kind.name(), Err(CustomQueue(*kind))));
    let choices: Vec<_> = own.chain(brought).collect();
    let kind = r.choice_or_none(
        "kind",
        &choices,
        "\"droptail\"",
        "The discipline; PIE is that of RFC 8033, CoDel of RFC 8289, FQ-CoDel of RFC 8290, Octopus and \
         priority dropping those of docs/design/octopus.md; ABC marks packets for senders under \
         it; a discard timer is that of a base station's PDCP layer (3GPP TS 38.323); DualPI2 is that of RFC 9332, \
         for L4S.",
    );
    let kind = kind.unwrap_or(Ok(QueueWord::DropTail));
    let bdp = r.number_or_none(
        "limit_bdp",
        range(1e-3, 1e4, "1.5"),
        &bdp_default,
        "Most that it holds, as a multiple of rate times round trip, counted in IP bytes.",
    );
    let bytes =
        r.count_or_none("limit_bytes", (1_500, 1 << 40), NONE, "Most that it holds in IP bytes.");
    let packets = r.count_or_none(
        "limit_packets",
        (1, 1 << 30),
        &packets_default,
        "Most that it holds in packets.",
    );
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
        "0.015, of CoDel 0.005, of ABC 0.02",
        "The delay that PIE aims at and DualPI2 for all but L4S, or that CoDel and ABC let stand.",
    );
    let ecn = r.flag_or_none(
        "ecn",
        "false",
        "PIE and CoDel mark packets that allow it instead of dropping them, PIE while it would drop fewer \
         than one of ten; with `transport.ecn` connections allow it.",
    );
    let slack = r.flag_or_none(
        "slack",
        "false",
        "Octopus drops a message only once it is whole in the queue and has waited for its slack.",
    );
    let headless = r.flag_or_none(
        "headless",
        "false",
        "Octopus drops packets of which the first of their message never came.",
    );
    let per_packet = r.flag_or_none(
        "per_packet",
        "false",
        "Octopus decides about each packet on its own, as if no header said which is the first of its message.",
    );
    let pdu_set_id = r.count_or_none(
        "pdu_set_id",
        (1, u64::from(MAX_EXTENSION_ID)),
        NONE,
        "Octopus also takes PDU Sets of RTP for messages, by the header extension of this identifier (RFC 8285).",
    );
    let pdu_set_slack = r.time_or_none(
        "pdu_set_slack_s",
        range(0.0, MAX_PDU_SET_SLACK_S, "0.1"),
        "0",
        "Time that a PDU Set waits before Octopus drops it for a newer one.",
    );
    let discard_timer = r.time_or_none(
        "discard_timer_s",
        range(0.01, 1.5, "0.1"),
        "0.1",
        "Time that a packet waits before a discard timer drops it.",
    );
    let step_threshold = r.time_or_none(
        "step_threshold_s",
        range(1e-4, 1.0, "0.005"),
        "0.001",
        "Time in DualPI2's queue of L4S above which every packet is marked.",
    );
    let per_flow = r.flag_or_none(
        "per_flow",
        "false",
        "Each flow has a queue of this kind with the whole limit, as a bearer has; these queues are served in turn, \
         equal bytes each (deficit round robin).",
    );
    let name = kind.map_or_else(|kind| kind.0.name(), Word::word);
    for (key, found, of) in [
        ("target_s", target.is_some(), TIMED),
        ("ecn", ecn.is_some(), MARKING),
        ("slack", slack.is_some(), &[QueueWord::Octopus]),
        ("headless", headless.is_some(), &[QueueWord::Octopus]),
        ("per_packet", per_packet.is_some(), &[QueueWord::Octopus]),
        ("per_flow", per_flow.is_some(), PER_FLOW),
        ("pdu_set_id", pdu_set_id.is_some(), &[QueueWord::Octopus]),
        ("pdu_set_slack_s", pdu_set_slack.is_some(), &[QueueWord::Octopus]),
        ("discard_timer_s", discard_timer.is_some(), &[QueueWord::DiscardTimer]),
        ("step_threshold_s", step_threshold.is_some(), &[QueueWord::DualPi2]),
    ] {
        if found && !kind.is_ok_and(|kind| of.contains(&kind)) {
            let kinds: Vec<String> = of.iter().map(|of| format!("\"{}\"", of.word())).collect();
            let expected = format!("expected it beside kind {} only", kinds.join(" or "));
            r.fail(key, format!("found beside kind \"{name}\""), expected);
        }
    }
    Queue {
        discipline: match kind {
            Err(kind) => Discipline::Custom(kind),
            Ok(QueueWord::DropTail) => Discipline::DropTail,
            Ok(QueueWord::Pie) => Discipline::Pie {
                target: target.unwrap_or(Duration::from_millis(15)),
                ecn: ecn.unwrap_or(false),
            },
            Ok(kind @ (QueueWord::Codel | QueueWord::FqCodel)) => Discipline::Codel {
                target: target.unwrap_or(Duration::from_millis(5)),
                ecn: ecn.unwrap_or(false),
                flows: kind == QueueWord::FqCodel,
            },
            Ok(QueueWord::PriorityDrop) => Discipline::PriorityDrop,
            Ok(QueueWord::Abc) => {
                Discipline::Abc { threshold: target.unwrap_or(AbcConfig::default().threshold) }
            }
            Ok(QueueWord::DiscardTimer) => Discipline::DiscardTimer {
                timer: discard_timer.unwrap_or(Duration::from_millis(100)),
            },
            Ok(QueueWord::DualPi2) => Discipline::DualPi2 {
                target: target.unwrap_or(DualPi2Config::default().target),
                step_threshold: step_threshold.unwrap_or(DualPi2Config::default().step_threshold),
            },
            Ok(QueueWord::Octopus) => Discipline::Octopus {
                slack: slack.unwrap_or(false),
                headless: headless.unwrap_or(false),
                per_packet: per_packet.unwrap_or(false),
                pdu_set_id: pdu_set_id.map(|id| id as u8),
                pdu_set_slack: pdu_set_slack.unwrap_or_default(),
            },
        },
        limit: match (bytes, packets, bdp) {
            (Some(bytes), ..) => QueueLimit::Bytes(bytes),
            (None, Some(packets), _) => QueueLimit::Packets(packets),
            (None, None, Some(bdp)) => QueueLimit::Bdp(bdp),
            (None, None, None) => default,
        },
        bdp_rtt: r.time_or_none(
            "bdp_rtt_s",
            RTT,
            "that of the core and of the delays on the way",
            "The round trip that limit_bdp counts with.",
        ),
        bdp_rate: r.rate_or_none(
            "bdp_rate_bps",
            RATE,
            "the link's, its mean if it varies",
            "The rate that limit_bdp counts with.",
        ),
        per_flow: per_flow.unwrap_or(false),
    }
}
