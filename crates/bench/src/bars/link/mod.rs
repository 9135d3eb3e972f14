//! The link in real time: how precise it is, what one core moves, what TCP gets of it.

pub(crate) mod forward;
mod precision;
mod tcp;
mod train;

use std::time::Duration;

use airlane_link::LinkError;

use crate::bar::{Figure, Problem, Rule, Setting, median};

/// Rate that one core is to move: bits of UDP payload per second.
const FORWARD_GBPS: f64 = 1.0;

impl From<LinkError> for Problem {
    fn from(error: LinkError) -> Self {
        match error {
            LinkError::Device { .. } => Self::Skipped(error.to_string()),
            _ => Self::Broke(error.to_string()),
        }
    }
}

/// Delivery times beside a closed form and the laboratory's elements.
pub(super) fn precision(setting: &Setting) -> Result<Vec<Figure>, Problem> {
    let seconds = if setting.quick { 2.0 } else { 10.0 };
    let mut figures = Vec::new();
    for case in precision::CASES {
        let mut errors: Vec<f64> = Vec::new();
        let (mut packets, mut idle) = (0, Vec::new());
        for round in 0..setting.rounds(5) {
            let run = precision::run(case, seconds, round as u64)?;
            packets += run.errors_ms.len();
            idle.push(run.idle_cpu);
            errors.extend(run.errors_ms);
        }
        errors.sort_unstable_by(f64::total_cmp);
        let at = |q: f64| errors[((q * errors.len() as f64) as usize).min(errors.len() - 1)];
        let figure = |what: &str, ours: f64, most: f64, note: String| Figure {
            bar: format!("link.{}.{what}", case.name()),
            ours,
            peer: None,
            unit: "ms",
            rule: Rule::AtMost(most),
            note,
        };
        let note = format!(
            "{packets} packets of 100 to 1428 IP bytes, Poisson with bursts of 20, through the UDP \
             forwarder: {}; distance between a packet's time at its receiver and the time that \
             {} gives for the same times of sending; greatest {:.3} ms; an idle link uses {:.3} % \
             of a core",
            case.link(),
            case.reference(),
            at(1.0),
            median(idle) * 100.0,
        );
        figures.push(figure("median", at(0.5), 1.0, note));
        figures.push(figure("p99", at(0.99), 5.0, "the same packets".to_owned()));
    }
    // There is no row for what cannot be had.
    if let Some(last) = figures.last_mut() {
        last.note.push_str("; not beside Mahimahi: no registry at hand has a package of it");
    }
    Ok(figures)
}

/// UDP through one core.
pub(super) fn forward(setting: &Setting) -> Result<Vec<Figure>, Problem> {
    let span = Duration::from_secs(if setting.quick { 1 } else { 5 });
    let measure = |batch: usize| -> Result<Vec<forward::Moved>, Problem> {
        (0..setting.rounds(5)).map(|_| forward::run(batch, FORWARD_GBPS * 1.02, span)).collect()
    };
    let (joined, single) = (measure(32)?, measure(1)?);
    let of =
        |runs: &[forward::Moved], what: fn(&forward::Moved) -> f64| median(runs.iter().map(what));
    let line = |runs: &[forward::Moved]| {
        format!(
            "{:.3} Gbit/s arrived, {:.2} us of processor time per packet ({:.2} Gbit/s if the \
             core did nothing else), {:.4} % lost",
            of(runs, forward::Moved::gbps),
            of(runs, |m| m.cpu_per_packet_us),
            of(runs, forward::Moved::of_a_core),
            of(runs, |m| m.lost * 100.0),
        )
    };
    Ok(vec![
        Figure {
            bar: "link_udp.rate".to_owned(),
            ours: of(&joined, forward::Moved::gbps),
            peer: None,
            unit: "Gbit/s",
            rule: Rule::AtLeast(FORWARD_GBPS),
            note: format!(
                "payload of packets of 1400 bytes offered at {:.2} Gbit/s in bursts of 32, the \
                 forwarder's thread pinned to one core, sender and receiver to the other; {}",
                FORWARD_GBPS * 1.02,
                line(&joined),
            ),
        },
        Figure {
            bar: "link_udp.core".to_owned(),
            ours: of(&single, forward::Moved::of_a_core),
            peer: None,
            unit: "Gbit/s",
            rule: Rule::AtLeast(FORWARD_GBPS),
            note: format!(
                "what one core would move by the processor time per packet when each packet is \
                 sent alone, which is as fast as a sender on the other core can: {}",
                line(&single),
            ),
        },
    ])
}

/// TCP through a pair of devices.
pub(super) fn tcp(setting: &Setting) -> Result<Vec<Figure>, Problem> {
    let span = Duration::from_secs(if setting.quick { 2 } else { 10 });
    let mut figures = Vec::new();
    for algorithm in ["cubic", "reno"] {
        let mut shares = Vec::new();
        for _ in 0..setting.rounds(3) {
            shares.push(tcp::run(algorithm, span)? / tcp::bound_mbps());
        }
        let share = median(shares);
        figures.push(Figure {
            bar: format!("link_tcp.{algorithm}"),
            ours: share,
            peer: None,
            unit: "of the bound",
            rule: Rule::AtLeast(0.95),
            note: format!(
                "one kernel flow between two namespaces, 50 Mbit/s and 20 ms, 1.5 BDP of droptail, \
                 after 3 s of start: {:.2} Mbit/s of payload; the bound is the share of payload in \
                 a packet, 1448 of 1500 bytes: {:.2}",
                share * tcp::bound_mbps(),
                tcp::bound_mbps(),
            ),
        });
    }
    Ok(figures)
}
