//! Figures over several participants together, for claims.

use airlane_call::wire::ParticipantId;
use airlane_plum::State;
use airlane_quality::stats;

use super::ParticipantOutput;
use super::psnr::psnr_db;

/// Bitrate of a source that the paper counts seconds above (figure 12).
const GOOD_SOURCE_BPS: f64 = 5e6;
/// Bitrate of a downlink that the paper counts seconds above (figure 16d).
const GOOD_BPS: f64 = 10e6;
/// M of the paper: bitrate of a downlink at which its quality is 1.
const FULL_BPS: f64 = 30e6;

/// One for each value that `is_one`, else zero.
pub(super) fn shares(values: &[f64], is_one: impl Fn(f64) -> bool) -> Vec<f64> {
    values.iter().map(|value| if is_one(*value) { 1.0 } else { 0.0 }).collect()
}

/// Metrics of the seconds of a group's members together; others of a group are means over its members.
pub(super) const OF_GROUP: [&str; 2] = ["received_p01_bps", "good_share"];

/// A figure of [`OF_GROUP`].
pub(super) fn of_group(metric: &str, members: &[&ParticipantOutput]) -> Option<f64> {
    let seconds: Vec<f64> = members.iter().flat_map(|p| p.received_by_second()).collect();
    match metric {
        "received_p01_bps" => stats::quantile(&seconds, 0.01),
        _ => stats::mean(&shares(&seconds, |bits| bits > GOOD_BPS)),
    }
}

/// A figure of all participants, of whom those `on_channels` have a half-duplex channel to themselves.
pub(super) fn of_all(
    metric: &str,
    all: &[ParticipantOutput],
    on_channels: &[ParticipantId],
) -> Option<f64> {
    let pooled =
        |of: fn(&ParticipantOutput) -> Vec<f64>| -> Vec<f64> { all.iter().flat_map(of).collect() };
    let received = || pooled(ParticipantOutput::received_by_second);
    let best = || pooled(ParticipantOutput::best_by_second);
    // A client's quality as the paper has it, of all that it received.
    let qualities = || -> Option<Vec<f64>> {
        let means = all.iter().map(|p| stats::mean(&p.received_by_second()));
        means.map(|mean| Some((mean? / FULL_BPS).min(1.0))).collect()
    };
    match metric {
        "received_median_bps" => stats::median(&received()),
        "received_pooled_p90_bps" => stats::quantile(&received(), 0.9),
        "received_pooled_p10_bps" => stats::quantile(&received(), 0.1),
        "through_bps" => through_bps(all, on_channels),
        "psnr_db" => psnr(all),
        "response_p50_s" => stats::quantile(&responses_s(all), 0.5),
        "response_p95_s" => stats::quantile(&responses_s(all), 0.95),
        "best_source_pooled_p90_bps" => stats::quantile(&best(), 0.9),
        "best_source_good_share" => stats::mean(&shares(&best(), |bits| bits > GOOD_SOURCE_BPS)),
        "frame_delay_pooled_p95_s" => stats::quantile(&pooled(ParticipantOutput::delays_s), 0.95),
        "performance_term" => stats::mean(&qualities()?),
        "fairness_term" => Some(1.0 - 2.0 * stats::population_sd(&qualities()?)?),
        _ => {
            let held = |p: &ParticipantOutput| {
                let up = p.share_in(State::ClientConstrained)?;
                Some(up + p.share_in(State::ServerConstrained)?)
            };
            stats::mean(&all.iter().map(held).collect::<Option<Vec<_>>>()?)
        }
    }
}

/// Media that crossed a half-duplex channel, bit/s, mean over participants: of one on such a channel all that it
/// received, of another what it received from those on one.
fn through_bps(all: &[ParticipantOutput], on_channels: &[ParticipantId]) -> Option<f64> {
    if on_channels.is_empty() {
        return None;
    }
    let through = |participant: &ParticipantOutput| {
        let is_on = participant.id.is_some_and(|id| on_channels.contains(&id));
        if is_on {
            return stats::mean(&participant.received_by_second());
        }
        let by_source = participant.by_second();
        let crossed = by_source.iter().filter(|(source, _)| on_channels.contains(source));
        Some(crossed.filter_map(|(_, seconds)| stats::mean(seconds)).sum())
    };
    stats::mean(&all.iter().map(through).collect::<Option<Vec<_>>>()?)
}

/// PSNR of the bitrate of each source in each second, its audio included, dB: mean over participants and sources.
fn psnr(all: &[ParticipantOutput]) -> Option<f64> {
    let of_one = |participant: &ParticipantOutput| {
        let by_source = participant.by_second();
        let sources =
            all.iter().filter_map(|other| other.id.filter(|id| Some(*id) != participant.id));
        let of_source = |source: ParticipantId| {
            let seconds = by_source.get(&source)?;
            let db: Option<Vec<f64>> = seconds.iter().map(|bits| psnr_db(*bits)).collect();
            stats::mean(&db?)
        };
        // A source of which nothing came has no bitrate.
        let db: Option<Vec<f64>> =
            sources.map(|source| of_source(source).or_else(|| psnr_db(0.0))).collect();
        stats::mean(&db?)
    };
    stats::mean(&all.iter().map(of_one).collect::<Option<Vec<_>>>()?)
}

/// Response times of a call of two, seconds: from the capture of each frame of the first participant to the time at
/// which it is shown the first frame that the second one captured after it had shown that frame.
fn responses_s(all: &[ParticipantOutput]) -> Vec<f64> {
    let [asks, answers] = all else { return Vec::new() };
    // Frames are shown in the order of their captures.
    let answered: Vec<(f64, f64)> = (asks.shown.iter())
        .filter_map(|r| Some((r.header.captured.as_secs_f64(), r.shown?.as_secs_f64())))
        .collect();
    let asked = answers.shown.iter().filter(|record| record.arrived >= answers.counted_from);
    let response = |record: &airlane_call::ReceivedRecord| {
        let at = record.shown?.as_secs_f64();
        let answer = answered.partition_point(|(captured, _)| *captured < at);
        Some(answered.get(answer)?.1 - record.header.captured.as_secs_f64())
    };
    asked.filter_map(response).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use airlane_base::Time;
    use airlane_call::ReceivedRecord;
    use airlane_call::wire::{MediaHeader, Track};

    use super::*;

    /// A frame of a source: captured, shown, in milliseconds, and its bytes.
    fn frame(source: u16, captured: u64, shown: u64, payload_bytes: u32) -> ReceivedRecord {
        let header = MediaHeader {
            track: Track::Camera,
            is_key: false,
            temporal_layer: 0,
            reference_distance: 1,
            has_speech: false,
            source: ParticipantId(source),
            frame: 0,
            captured: Duration::from_millis(captured),
            payload_bytes,
        };
        let shown = Time::from_millis(shown);
        ReceivedRecord { arrived: shown, shown: Some(shown), header }
    }

    fn participant(id: u16, received: Vec<ReceivedRecord>) -> ParticipantOutput {
        ParticipantOutput {
            id: Some(ParticipantId(id)),
            name: id.to_string(),
            group: id.to_string(),
            counted_from: Time::ZERO,
            end: Time::from_millis(1000),
            failure: None,
            encoded: Vec::new(),
            shown: received.clone(),
            received,
            sends: Vec::new(),
            channel: Vec::new(),
        }
    }

    #[test]
    fn an_answer_is_captured_after_the_command_was_shown() {
        let user =
            participant(0, vec![frame(1, 50, 80, 1), frame(1, 100, 130, 1), frame(1, 150, 190, 1)]);
        let desktop = participant(1, vec![frame(0, 10, 90, 1), frame(0, 60, 151, 1)]);
        let responses = responses_s(&[user, desktop]);
        assert_eq!(responses.len(), 1, "the second command was not answered: {responses:?}");
        assert!((responses[0] - 0.12).abs() < 1e-9);
    }

    #[test]
    fn what_crosses_a_channel_counts_at_both_of_its_sides() {
        let on = participant(0, vec![frame(1, 0, 100, 1000), frame(2, 0, 100, 2000)]);
        let off = [1, 2]
            .map(|id| participant(id, vec![frame(0, 0, 100, 500), frame(3 - id, 0, 100, 9000)]));
        let all = [vec![on], off.to_vec()].concat();
        let through = of_all("through_bps", &all, &[ParticipantId(0)]);
        assert_eq!(through, Some(8.0 * (3000.0 + 500.0 + 500.0) / 3.0));
        assert_eq!(of_all("through_bps", &all, &[]), None);
    }

    #[test]
    fn a_source_that_is_not_seen_lowers_psnr() {
        let both = |bytes| {
            [
                participant(0, vec![frame(1, 0, 100, bytes)]),
                participant(1, vec![frame(0, 0, 100, 250_000)]),
            ]
        };
        let psnr = |bytes| of_all("psnr_db", &both(bytes), &[]).expect("a PSNR");
        assert!(psnr(250_000) > psnr(125_000) && psnr(125_000) > psnr(10_000));
        let nothing = [participant(0, Vec::new()), participant(1, vec![frame(0, 0, 100, 250_000)])];
        assert!(of_all("psnr_db", &nothing, &[]).expect("a PSNR") < psnr(10_000));
    }

    #[test]
    fn a_group_counts_the_seconds_of_all_of_its_members() {
        let [poor, rich] =
            [125_000, 2_500_000].map(|bytes| participant(0, vec![frame(1, 0, 100, bytes)]));
        let members = [&poor, &rich];
        assert_eq!(of_group("good_share", &members), Some(0.5));
        assert!(of_group("received_p01_bps", &members).is_some_and(|p01| p01 < 2e6));
        assert!(!OF_GROUP.contains(&"shown_fps"), "a mean over members");
    }
}
