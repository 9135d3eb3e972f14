//! A conference over time, as the report draws it.

use airlane_base::Rate;
use airlane_call::ChannelRecord;
use airlane_plum::State;
use airlane_report::model::{Draw, Panel, Series, Span};

use super::{Output, ParticipantOutput};
use airlane_sim::workload::OverTime;

pub(super) fn of(output: &Output) -> OverTime {
    if output.0.is_empty() {
        return OverTime::default();
    }
    let mut received = Panel::new("call-received", "Received", "Mbit/s", Draw::Step, 1)
        .help("Media from all others, by seconds.");
    let mut sent = Panel::new("call-sent", "Sent", "Mbit/s", Draw::Line, 1)
        .help("Video that came to the server from each participant, over the last second.");
    let mut capacity =
        Panel::new("call-capacity", "Capacity of the channel", "Mbit/s", Draw::Line, 1).help(
            "What the server takes both directions of a participant's channel to carry together.",
        );
    let mut allowed = Panel::new("call-downlink", "Downlink", "Mbit/s", Draw::Line, 1)
        .help("Media that the server lets go to each participant.");
    let mut target = Panel::new("call-target", "Target", "Mbit/s", Draw::Step, 1).help(
        "Rate that one end is held to: the participant's uplink in state II, the server's downlink \
         to it in state III. Nothing is drawn in state I.",
    );
    let mut spans = Vec::new();
    for participant in &output.0 {
        let name = &participant.name;
        let mut line = Series::new(name.clone());
        let from = participant.counted_from.as_secs_f64();
        for (second, bits) in participant.received_by_second().into_iter().enumerate() {
            line.push(from + second as f64, bits / 1e6);
        }
        received.series.push(line);
        let of = |value: fn(&ChannelRecord) -> Option<Rate>| {
            let mut line = Series::new(name.clone());
            // A record every 100 ms; half seconds are enough to see.
            for record in participant.channel.iter().step_by(5) {
                line.push(record.at.as_secs_f64(), value(record).map_or(f64::NAN, Rate::mbps));
            }
            line
        };
        sent.series.push(of(|record| Some(record.up_media)));
        capacity.series.push(of(|record| record.capacity));
        allowed.series.push(of(|record| Some(record.down_media)));
        target.series.push(of(|record| record.target));
        spans.extend(held(participant));
    }
    OverTime {
        panels: vec![received, sent, allowed, capacity, target],
        spans,
        ..OverTime::default()
    }
}

/// Times in which one end of a participant's channel was held.
fn held(participant: &ParticipantOutput) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    let mut before = State::Natural;
    for record in &participant.channel {
        let at_s = record.at.as_secs_f64();
        let kind = match record.state {
            State::Natural => None,
            State::ClientConstrained => Some("uplink held"),
            State::ServerConstrained => Some("downlink held"),
        };
        match (kind, spans.last_mut()) {
            (Some(_), Some(span)) if record.state == before => span.end_s = at_s,
            (Some(kind), _) => spans.push(Span {
                actor: participant.name.clone(),
                kind: kind.to_owned(),
                start_s: at_s,
                end_s: at_s,
            }),
            (None, _) => {}
        }
        before = record.state;
    }
    spans
}
