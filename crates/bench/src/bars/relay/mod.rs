//! `airlane relay`: what one core moves with Octopus' queue in it, and what that queue adds.

mod callgrind;
mod traffic;

use std::time::Duration;

use crate::bar::{Figure, Problem, Rule, Setting, median};
use traffic::Relay;

/// Rate that one core is to move: bits of UDP payload per second.
const GBPS: f64 = 1.0;
/// Instructions that the queue may add, and microseconds that a packet may take.
const MAX_INSTRUCTIONS: f64 = 5.0;
const MAX_DELAY_US: f64 = 60.0;

pub(super) fn measure(setting: &Setting) -> Result<Vec<Figure>, Problem> {
    let span = Duration::from_secs(if setting.quick { 1 } else { 5 });
    let (mut moved, mut plain, mut lost) = (Vec::new(), Vec::new(), Vec::new());
    let (mut delays, mut plain_delays, mut direct) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..setting.rounds(5) {
        for (queue, moved) in [("octopus", &mut moved), ("droptail", &mut plain)] {
            let rate = Relay::start(queue, None)?.full_speed(GBPS * 1.02, span)?;
            moved.push(rate.gbps);
            if queue == "octopus" {
                lost.push(rate.lost);
            }
        }
        delays.push(Relay::start("octopus", None)?.delay_us(setting.quick)?);
        plain_delays.push(Relay::start("droptail", None)?.delay_us(setting.quick)?);
        direct.push(traffic::direct_us(setting.quick)?);
    }
    let direct = median(direct);
    let mut figures = vec![
        Figure {
            bar: "relay.rate".into(),
            ours: median(moved),
            peer: Some(median(plain)),
            unit: "Gbit/s",
            rule: Rule::AtLeast(GBPS),
            note: format!(
                "payload of packets of {} bytes with Octopus' header, messages of 4, offered at {:.2} Gbit/s \
                 in bursts of 32, the relay on one core, sender and viewer on the other; {:.4} % lost; the \
                 peer is the same relay with droptail; medians",
                traffic::PAYLOAD,
                GBPS * 1.02,
                median(lost) * 100.0,
            ),
        },
        Figure {
            bar: "relay.delay".into(),
            ours: median(delays) - direct,
            peer: Some(median(plain_delays) - direct),
            unit: "us",
            rule: Rule::AtMost(MAX_DELAY_US),
            note: format!(
                "median time from sender to viewer of packets a millisecond apart, less that of a datagram \
                 between two sockets, {direct:.0} us; the peer is the same relay with droptail"
            ),
        },
    ];
    figures.push(instructions(setting)?);
    Ok(figures)
}

/// Instructions of the relay's process per packet, with the queue and with droptail.
fn instructions(setting: &Setting) -> Result<Figure, Problem> {
    let (few, many) = (500, if setting.quick { 2_500 } else { 10_500 });
    let per_packet = |queue: &str| -> Result<f64, Problem> {
        let (few_cost, many_cost) = (callgrind::count(queue, few)?, callgrind::count(queue, many)?);
        Ok((many_cost as f64 - few_cost as f64) / (many - few) as f64)
    };
    let (ours, plain) = (per_packet("octopus")?, per_packet("droptail")?);
    Ok(Figure {
        bar: "relay.instructions".into(),
        ours: (ours / plain - 1.0) * 100.0,
        peer: None,
        unit: "%",
        rule: Rule::AtMost(MAX_INSTRUCTIONS),
        note: format!(
            "more than with droptail: {ours:.0} and {plain:.0} instructions per packet in user mode by \
             callgrind, packets a millisecond apart, what {few} packets cost taken off {many}"
        ),
    })
}
