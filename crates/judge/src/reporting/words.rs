//! Names and numbers as people say them.

use std::path::Path;
use std::time::Duration;

use airlane_net::Direction;
use airlane_net::air::{Motion, Signal};
use airlane_wifi::{Format, Position};

use airlane_scenario::{
    Access, AccessKind, Capacity, Discipline, Loss, Network, Queue, QueueLimit, Scheme,
    SchemeQueue, TraceFrom,
};

/// A scheme's name with a capital, or in capitals if it is an abbreviation.
pub fn scheme_title(name: &str) -> String {
    match name {
        "bbr3" => "BBRv3".to_owned(),
        "scream" => "SCReAM".to_owned(),
        _ if name.len() <= 3 => name.to_uppercase(),
        _ => sentence(name),
    }
}

/// `one` to `twelve`, then digits.
pub fn count(n: usize) -> String {
    const WORDS: [&str; 13] = [
        "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
        "eleven", "twelve",
    ];
    WORDS.get(n).map_or_else(|| n.to_string(), |w| (*w).to_owned())
}

/// `1 seed`, `3 seeds`.
pub fn plural(n: usize, one: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") }
}

/// `a`, `a and b`, `a, b and c`.
pub fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// With its first letter in upper case.
pub fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |c| c.to_uppercase().collect::<String>() + chars.as_str())
}

/// The last part of a path, which is what people call a file or folder by.
pub fn file_name(path: &str) -> &str {
    Path::new(path).file_name().and_then(|n| n.to_str()).unwrap_or(path)
}

/// Bits per second in Mbit/s with as many digits as say something.
pub fn mbps(bps: f64) -> String {
    format!("{} Mbit/s", short(bps / 1e6))
}

/// At most three digits after the point, none that is a zero at the end.
pub fn short(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Duration in seconds, for people.
pub fn seconds(d: Duration) -> String {
    format!("{} s", short(d.as_secs_f64()))
}

/// Duration in milliseconds, for people.
pub fn ms(d: Duration) -> String {
    format!("{} ms", short(d.as_secs_f64() * 1e3))
}

/// Description of what a way carries; `traces` are those that it had, by their files.
pub(super) fn capacity(capacity: &Capacity, traces: &[&str]) -> String {
    match (capacity, traces) {
        (Capacity::Constant(rate), _) => mbps(rate.as_f64()),
        (Capacity::Air, _) => "what the air leaves".to_owned(),
        (Capacity::Shared, _) => "the capacity of the way down, in turns with it".to_owned(),
        (Capacity::Steps(steps), _) => {
            let steps: Vec<String> = steps
                .iter()
                .map(|s| format!("{} from {}", mbps(s.rate.as_f64()), seconds(s.at)))
                .collect();
            steps.join(", ")
        }
        (Capacity::Trace(source), names) => {
            let how = match source.from {
                TraceFrom::File(_) => "recorded",
                TraceFrom::Generator { .. } => "made up",
            };
            match names {
                [one] => format!("{how}: {one}"),
                many => format!("{how}: {} traces", many.len()),
            }
        }
    }
}

/// Description of what a direction of an access carries; of a half-duplex one the way down says
/// that it is for both.
pub(super) fn carries(access: &Access, direction: Direction, traces: &[&str]) -> String {
    let capacity = capacity(&access.way(direction).capacity, traces);
    match (&access.kind, direction) {
        (AccessKind::HalfDuplex { per_host: true, .. }, Direction::Down) => {
            format!("{capacity} for both directions together, of each host")
        }
        (AccessKind::HalfDuplex { .. }, Direction::Down) => {
            format!("{capacity} for both directions together")
        }
        _ => capacity,
    }
}

/// Description of the air that an access is; `None` of one that is none.
pub(super) fn air(kind: &AccessKind) -> Option<String> {
    match kind {
        AccessKind::Wifi(wifi) => {
            let standard = match wifi.format {
                Format::Dsss => "b",
                Format::Ofdm => "a",
                Format::Ht => "n",
                Format::Vht => "ac",
                Format::He => "ax",
            };
            Some(format!("WiFi 802.11{standard} on {} MHz", wifi.width.mhz()))
        }
        AccessKind::Station { station, .. } => {
            let rate = station.mcs.map_or_else(String::new, |(mcs, n)| {
                format!(", MCS {mcs} with {}", plural(usize::from(n), "stream"))
            });
            let signal = match &station.signal {
                Signal::Fixed(db) => format!("SNR of {} dB", short(*db)),
                Signal::Trace(_) => "SNR from a trace".to_owned(),
                Signal::Place(Motion::Still(at)) => {
                    format!("{} m away", short(at.distance(Position::default())))
                }
                Signal::Place(Motion::Walk { .. }) => "walking about".to_owned(),
                Signal::Place(Motion::Waypoints(_)) => "on its way".to_owned(),
            };
            Some(format!("{signal}{rate}"))
        }
        AccessKind::Link(_) | AccessKind::Cell(_) | AccessKind::HalfDuplex { .. } => None,
    }
}

pub(super) fn queue(queue: &Queue) -> String {
    let flows = if queue.per_flow { ", one for each flow" } else { "" };
    format!("{}{flows}", discipline(queue))
}

fn discipline(queue: &Queue) -> String {
    let limit = match queue.limit {
        QueueLimit::Bdp(n) => format!("{} x rate x round trip", short(n)),
        QueueLimit::Bytes(n) => format!("{n} bytes"),
        QueueLimit::Packets(n) => plural(usize::try_from(n).unwrap_or(usize::MAX), "packet"),
    };
    match queue.discipline {
        Discipline::DropTail => format!("drop-tail, holds {limit}"),
        Discipline::Custom(queue) => format!("{}, holds {limit}", queue.0.name()),
        Discipline::Pie { target, ecn } => {
            let marks = if ecn { ", marks" } else { "" };
            format!("PIE at {}{marks}, holds {limit}", ms(target))
        }
        Discipline::Codel { target, ecn, flows } => {
            let marks = if ecn { ", marks" } else { "" };
            let kind = if flows { "FQ-CoDel" } else { "CoDel" };
            format!("{kind} at {}{marks}, holds {limit}", ms(target))
        }
        Discipline::Abc { threshold } => format!("ABC at {}, holds {limit}", ms(threshold)),
        Discipline::DualPi2 { target, step_threshold } => {
            let (target, step) = (ms(target), ms(step_threshold));
            format!("DualPI2 at {target}, marks L4S above {step}, holds {limit}")
        }
        Discipline::PriorityDrop => format!("priority dropping, holds {limit}"),
        Discipline::DiscardTimer { timer } => {
            format!("discard timer of {}, holds {limit}", ms(timer))
        }
        Discipline::Octopus { slack, headless, per_packet, pdu_set_id, .. } => {
            let slack = if slack { ", with slack" } else { "" };
            let headless = if headless { ", drops what lacks its head" } else { "" };
            let sets = pdu_set_id.map_or(String::new(), |id| format!(", reads PDU Sets by {id}"));
            let packets = if per_packet { ", decides by packet" } else { "" };
            format!("Octopus{slack}{headless}{packets}{sets}, holds {limit}")
        }
    }
}

pub(super) fn loss(loss: &Loss) -> String {
    match loss {
        Loss::Bernoulli { p } => format!("{} % of packets at random", short(p * 100.0)),
        Loss::Periodic { every, .. } => format!("one packet of {every}"),
        Loss::GilbertElliott { .. } => "in bursts (Gilbert-Elliott)".to_owned(),
    }
}

/// Everything about one direction of an access, in one line.
pub(super) fn way(access: &Access, direction: Direction, traces: &[&str]) -> String {
    let way = access.way(direction);
    let mut parts = vec![carries(access, direction, traces), queue(&way.queue)];
    if !way.delay.is_zero() {
        parts.push(format!("{} on the way", ms(way.delay)));
    }
    if let Some(lost) = &way.loss {
        parts.push(format!("loses {}", loss(lost)));
    }
    if let Some(handover) = way.handover {
        let queue = if handover.forwards { "forwarded" } else { "lost" };
        let (min, max) = (ms(handover.min_pause), ms(handover.max_pause));
        let every = short(handover.interval.as_secs_f64());
        parts.push(format!("a handover of {min} to {max} each {every} s, the queue {queue}"));
    }
    parts.join("; ")
}

/// The circumstances that a scheme brings along.
pub fn scheme_note(scheme: &Scheme, network: &Network) -> String {
    let mut note = scheme.note.clone();
    let mut add = |more: String| {
        if !note.is_empty() {
            note.push(' ');
        }
        note.push_str(&more);
    };
    let weight = scheme.control.weight();
    if weight != 1.0 && !scheme.parts.iter().any(|part| part.sets_weights()) {
        add(format!("Each server sends like {} connections.", short(weight)));
    }
    let of = |own: &SchemeQueue| &network.accesses[own.access];
    let differs = |own: &&SchemeQueue| own.queue != of(own).way(Direction::Down).queue;
    if let Some(own) = scheme.queue.as_ref().filter(differs) {
        match network.bottleneck() {
            Some(_) => add(format!("Queue: {}.", queue(&own.queue))),
            None => add(format!("Queue of {}: {}.", of(own).name, queue(&own.queue))),
        }
    }
    scheme.parts.iter().flat_map(|part| part.note()).for_each(add);
    note
}

pub(super) fn round_trip(rtt: Duration) -> String {
    ms(rtt)
}
