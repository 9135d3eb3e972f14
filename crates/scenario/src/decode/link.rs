//! Keys of a link: what each direction carries, its queue, its loss.

use std::time::Duration;

use airlane_base::Rate;
use airlane_net::trace::{MAX_FADING, Medium};

use super::super::bounds::{Range, range};
use super::super::reader::{NONE, Reader};
use super::super::tree::plain;
use super::super::types::*;
use super::handover::handover;
use super::queue::queue;
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
const PROBABILITY: Range = range(0.0, 1.0, "0.01");

#[derive(Clone, Copy, PartialEq)]
enum LossKind {
    Bernoulli,
    GilbertElliott,
    Periodic,
}

words! {
    LossKind: "bernoulli" => Self::Bernoulli, "gilbert-elliott" => Self::GilbertElliott,
        "periodic" => Self::Periodic;
    Medium: "lte" => Self::Lte, "5g" => Self::FiveG, "wifi" => Self::Wifi,
        "wifi-restaurant" => Self::WifiRestaurant, "wifi-gaming" => Self::WifiGaming,
        "wifi-ac" => Self::WifiAc, "wigig-los" => Self::WigigLos, "wigig-nlos" => Self::WigigNlos,
        "wigig-mobile" => Self::WigigMobile;
}

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
    let down = Way { capacity, delay: Duration::ZERO, loss, jitter, queue, handover: None };
    let up = Way {
        capacity: Capacity::Constant(up),
        delay: Duration::ZERO,
        loss: None,
        jitter: Duration::ZERO,
        queue: super::of_nothing(queue_of_up),
        handover: None,
    };
    (rtt, Link { down, up })
}

/// Both directions of an access.
pub(super) fn links(r: &mut Reader<'_>) -> Link {
    let down = r.section("down", "From the core to the hosts.", |r| {
        let capacity = capacity(r, None);
        let way = way(r, capacity, |r| queue(r, DOWN_LIMIT));
        Way { handover: handover(r), ..way }
    });
    let up = r.section("up", "From the hosts to the core.", |r| {
        let capacity = capacity(r, Some(Rate::from_bps(UP_BPS)));
        let way = way(r, capacity, queue_of_up);
        Way { handover: handover(r), ..way }
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
    Way { capacity, delay, loss, jitter, queue, handover: None }
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
