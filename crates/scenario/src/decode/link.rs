//! Keys of a link: what each direction carries, its queue, its loss.

use std::time::Duration;

use airlane_base::Rate;
use airlane_net::queue::CustomQueue;
use airlane_net::trace::{MAX_FADING, Medium};
use airlane_net::{AbcConfig, DualPi2Config};

use super::super::bounds::{Range, Word, range};
use super::super::reader::{NONE, Reader};
use super::super::tree::plain;
use super::super::types::*;
use super::{MOMENT, RATE, RTT};
use crate::words;

/// Keys of which a way has one: its capacity.
const CAPACITIES: [&str; 4] = ["rate_bps", "trace", "generator", "steps"];
/// Keys of a capacity: those, and what belongs to a trace.
pub(crate) const CAPACITY_KEYS: [&str; 10] = [
    "rate_bps",
    "trace",
    "generator",
    "generator_outages",
    "trace_mean_bps",
    "trace_column",
    "trace_scale",
    "trace_offset_s",
    "trace_fading",
    "steps",
];
/// Highest identifier of an RTP header extension in the two-byte form (RFC 8285, section 4.3).
const MAX_EXTENSION_ID: u8 = 255;
/// Longest slack that Octopus counts, s.
const MAX_PDU_SET_SLACK_S: f64 = 0.511;
const PROBABILITY: Range = range(0.0, 1.0, "0.01");

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

#[derive(Clone, Copy, PartialEq)]
enum LossKind {
    Bernoulli,
    GilbertElliott,
    Periodic,
}

words! {
    QueueWord: "droptail" => Self::DropTail, "pie" => Self::Pie, "octopus" => Self::Octopus,
        "codel" => Self::Codel, "fq-codel" => Self::FqCodel, "priority-drop" => Self::PriorityDrop,
        "abc" => Self::Abc, "discard-timer" => Self::DiscardTimer, "dualpi2" => Self::DualPi2;
    LossKind: "bernoulli" => Self::Bernoulli, "gilbert-elliott" => Self::GilbertElliott,
        "periodic" => Self::Periodic;
    Medium: "lte" => Self::Lte, "5g" => Self::FiveG, "wifi" => Self::Wifi,
        "wifi-restaurant" => Self::WifiRestaurant, "wifi-gaming" => Self::WifiGaming,
        "wifi-ac" => Self::WifiAc, "wigig-los" => Self::WigigLos, "wigig-nlos" => Self::WigigNlos,
        "wigig-mobile" => Self::WigigMobile;
}

/// Disciplines that go by how long packets wait.
const TIMED: &[QueueWord] =
    &[QueueWord::Pie, QueueWord::Codel, QueueWord::FqCodel, QueueWord::Abc, QueueWord::DualPi2];

/// Disciplines that mark instead of dropping if they are asked to.
const MARKING: &[QueueWord] = &[QueueWord::Pie, QueueWord::Codel, QueueWord::FqCodel];

/// Limit of a queue unless a scenario says otherwise.
pub(super) const DOWN_LIMIT: QueueLimit = QueueLimit::Bdp(1.5);

/// Rate of a link's way up unless a scenario says otherwise: it is never the bottleneck of a
/// download.
const UP_BPS: u64 = 10_000_000;
const UP_PACKETS: u64 = 1_000;

/// The short form: the round trip in the core, and the link.
pub(super) fn link(r: &mut Reader<'_>) -> (Duration, Link) {
    let capacity = capacity(r, None);
    let rtt = r.time("rtt_s", RTT, 0.02, "Round trip of propagation, half of it each way.");
    let queue =
        r.section("queue", "The queue in front of the bottleneck.", |r| queue(r, DOWN_LIMIT));
    let up = r
        .rate_or_none("uplink_rate_bps", RATE, "10e6", "Rate of the way back.")
        .unwrap_or(Rate::from_bps(UP_BPS));
    let (loss, jitter) = impairments(r);
    let down = Way { capacity, delay: Duration::ZERO, loss, jitter, queue };
    let up = Way {
        capacity: Capacity::Constant(up),
        delay: Duration::ZERO,
        loss: None,
        jitter: Duration::ZERO,
        queue: super::of_nothing(queue_of_up),
    };
    (rtt, Link { down, up })
}

/// Both directions of an access.
pub(super) fn links(r: &mut Reader<'_>) -> Link {
    let down = r.section("down", "From the core to the hosts.", |r| {
        let capacity = capacity(r, None);
        way(r, capacity, |r| queue(r, DOWN_LIMIT))
    });
    let up = r.section("up", "From the hosts to the core.", |r| {
        let capacity = capacity(r, Some(Rate::from_bps(UP_BPS)));
        way(r, capacity, queue_of_up)
    });
    Link { down, up }
}

/// Both directions of a link that stands alone, from settings of the command line. A queue holds as much as that of
/// a way down, unless its way up has no capacity of its own.
pub(super) fn settings(r: &mut Reader<'_>) -> Link {
    let up = r.section("up", "From the clients to the target.", |r| {
        let is_given = CAPACITIES.iter().any(|key| r.has(key));
        let capacity = capacity(r, (!is_given).then_some(Rate::from_bps(UP_BPS)));
        let limit = if is_given { DOWN_LIMIT } else { QueueLimit::Packets(UP_PACKETS) };
        setting_way(r, capacity, limit)
    });
    let down = r.section("down", "Back.", |r| {
        let capacity = capacity(r, None);
        setting_way(r, capacity, DOWN_LIMIT)
    });
    Link { down, up }
}

pub(super) fn setting_way(r: &mut Reader<'_>, capacity: Capacity, limit: QueueLimit) -> Way {
    let way = way(r, capacity, |r| queue(r, limit));
    let rtt =
        r.time_or_none("rtt_s", range(0.0, 60.0, "0.02"), NONE, "Twice the delay of this way.");
    if rtt.is_some() && r.has("delay_s") {
        r.fail("rtt_s", "found beside delay_s", "expected one of the two; rtt_s is twice as long");
    }
    Way { delay: rtt.map_or(way.delay, |rtt| rtt / 2), ..way }
}

pub(super) fn way(
    r: &mut Reader<'_>,
    capacity: Capacity,
    queue: impl FnOnce(&mut Reader<'_>) -> Queue,
) -> Way {
    let delay =
        r.time("delay_s", range(0.0, 60.0, "0.01"), 0.0, "Constant time on this way, each packet.");
    let queue = r.section("queue", "The queue in front of it.", |r| queue(r));
    let (loss, jitter) = impairments(r);
    Way { capacity, delay, loss, jitter, queue }
}

fn queue_of_up(r: &mut Reader<'_>) -> Queue {
    queue(r, QueueLimit::Packets(UP_PACKETS))
}

fn impairments(r: &mut Reader<'_>) -> (Option<Loss>, Duration) {
    let loss = r.table("loss", NONE, "Loss in front of the queue.", loss);
    let jitter = r.time(
        "jitter_s",
        range(0.0, 10.0, "0.002"),
        0.0,
        "Most that is added to the delay of a packet, uniform from 0; packets keep their order.",
    );
    (loss, jitter)
}

/// Reads the capacity of a way; one that says nothing has `default`.
pub(super) fn capacity(r: &mut Reader<'_>, default: Option<Rate>) -> Capacity {
    let or = default.map_or_else(|| NONE.to_owned(), |rate| plain(rate.as_f64()));
    let rate = r.rate_or_none("rate_bps", RATE, &or, "A capacity that never changes.");
    let file = r.text_or_none(
        "trace",
        NONE,
        "A recorded capacity: a Mahimahi, time/bandwidth or CSV file, or a CSV report of iperf 2, plain or gzipped; the path \
         is relative to the scenario.",
    );
    let medium: Option<Medium> = r.word_or_none(
        "generator",
        NONE,
        "A made-up capacity, another for each case, that varies like recordings of such a link \
         ([traces](traces.md)).",
    );
    let outages = r.number_or_none(
        "generator_outages",
        range(0.0, 1.0, "0.1"),
        "0",
        "Of a generator for radios, the share of what each second lacks to the radio's peak that \
         outages of less than a second have; its mean stays ([traces](traces.md)).",
    );
    let mean = r.rate_or_none(
        "trace_mean_bps",
        RATE,
        "the trace's own",
        "The mean that the trace is scaled to.",
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
    let fading = r.number_or_none(
        "trace_fading",
        range(0.0, MAX_FADING, "0.47"),
        "0",
        "Coefficient of variation of fading within each second, of traces that were recorded by the \
         second; the second's mean stays ([traces](traces.md#fading)).",
    );
    let steps = r.rows(
        "steps",
        [("t_s", MOMENT), ("rate_bps", range(0.0, 1e12, "10e6"))],
        "[[0, 10e6], [60, 4e6]]",
        "A capacity that changes at given times; 0 is an outage.",
    );
    let given: Vec<&str> = CAPACITIES.into_iter().filter(|k| r.has(k)).collect();
    let one = "expected exactly one of rate_bps, trace, generator and steps";
    match given.as_slice() {
        [] if default.is_some() => {}
        [] => r.fail("rate_bps", "missing", one),
        [_] => {}
        [_, second, ..] => r.fail(second, format!("found {} capacities", given.len()), one),
    }
    let of_files: &[&str] = if file.is_none() { &["trace_column"] } else { &[] };
    let of_traces: &[&str] = match file.is_none() && medium.is_none() {
        true => &["trace_scale", "trace_mean_bps", "trace_offset_s", "trace_fading"],
        false => &[],
    };
    for key in of_files.iter().chain(of_traces).filter(|key| r.has(key)) {
        r.fail(key, "found without a trace", "expected `trace` beside it");
    }
    match medium {
        _ if !r.has("generator_outages") => {}
        None => {
            let expected = "expected `generator` beside it";
            r.fail("generator_outages", "found without a generator", expected);
        }
        Some(medium) if !medium.takes_outages() => {
            let found = format!("found beside \"{medium}\"");
            let expected = format!("{medium}'s recordings have their outages already");
            r.fail("generator_outages", found, expected);
        }
        Some(_) => {}
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
    let from = match (file, medium) {
        (Some(file), _) => TraceFrom::File(file.into()),
        (None, Some(medium)) => TraceFrom::Generator { medium, outages: outages.unwrap_or(0.0) },
        (None, None) => return Capacity::Constant(rate.or(default).unwrap_or_default()),
    };
    let (scale, fading) = (scale.unwrap_or(1.0), fading.unwrap_or(0.0));
    Capacity::Trace(TraceSource { from, column, scale, mean, offset, fading })
}

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
    let name = kind.map_or_else(|kind| kind.0.name(), Word::word);
    for (key, found, of) in [
        ("target_s", target.is_some(), TIMED),
        ("ecn", ecn.is_some(), MARKING),
        ("slack", slack.is_some(), &[QueueWord::Octopus]),
        ("headless", headless.is_some(), &[QueueWord::Octopus]),
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
    }
}

fn loss(r: &mut Reader<'_>) -> Loss {
    let kind = r.word(
        "kind",
        LossKind::Bernoulli,
        "Independent losses, bursts by a chain of two states, or one of every so many packets.",
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
    let every = r.count_or_none(
        "every",
        (1, 1 << 40),
        "required for \"periodic\"",
        "Of so many packets of a flow one is lost.",
    );
    let first = r.count_or_none(
        "first",
        (0, 1 << 40),
        "`every` - 1",
        "So many packets of a flow pass before its first loss.",
    );
    const CHAIN: [&str; 4] = ["p_good_to_bad", "p_bad_to_good", "p_loss_good", "p_loss_bad"];
    const COUNTED: [&str; 2] = ["every", "first"];
    let (needed, own): (&[&str], &[&str]) = match kind {
        LossKind::Bernoulli => (&["p"], &["p"]),
        LossKind::GilbertElliott => (&CHAIN[..2], &CHAIN),
        LossKind::Periodic => (&COUNTED[..1], &COUNTED),
    };
    for key in needed.iter().filter(|key| !r.has(key)) {
        let expected = match kind {
            LossKind::Periodic => "expected a number of packets, such as 1000",
            _ => "expected a probability, such as 0.01",
        };
        r.fail(key, "missing", expected);
    }
    let all = ["p"].iter().chain(&CHAIN).chain(&COUNTED);
    for key in all.filter(|key| !own.contains(key) && r.has(key)) {
        r.fail(key, "found beside another kind of loss", format!("expected {}", needed.join(", ")));
    }
    match kind {
        LossKind::Bernoulli => Loss::Bernoulli { p: p.unwrap_or(0.0) },
        LossKind::Periodic => {
            let every = every.unwrap_or(1);
            Loss::Periodic { every, first: first.unwrap_or(every.saturating_sub(1)) }
        }
        LossKind::GilbertElliott => Loss::GilbertElliott {
            good_to_bad: good_to_bad.unwrap_or(0.0),
            bad_to_good: bad_to_good.unwrap_or(0.0),
            good: good.unwrap_or(0.0),
            bad: bad.unwrap_or(1.0),
        },
    }
}
