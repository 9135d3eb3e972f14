//! Several connections of a transfer as one.

use std::time::Duration;

use airlane_base::Time;

use super::TransferOutput;
use airlane_sim::world::FlowSample;

/// The samples of several connections together, which are taken at the same times. Round trips do
/// not add up.
pub(super) fn of(parts: &[TransferOutput]) -> Vec<FlowSample> {
    let mut at: Vec<Time> = parts.iter().flat_map(|p| p.samples.iter().map(|s| s.at)).collect();
    at.sort();
    at.dedup();
    let latest = |part: &TransferOutput, at: Time| {
        let known = part.samples.partition_point(|s| s.at <= at);
        known.checked_sub(1).map(|last| part.samples[last])
    };
    let total = |at: Time| {
        let none = FlowSample {
            at,
            acked_bytes: 0,
            sent_bytes: 0,
            lost_bytes: 0,
            window_bytes: 0,
            rtt_s: None,
            weight: 0.0,
            busy: Duration::ZERO,
        };
        parts.iter().filter_map(|p| latest(p, at)).fold(none, |sum, s| FlowSample {
            acked_bytes: sum.acked_bytes + s.acked_bytes,
            sent_bytes: sum.sent_bytes + s.sent_bytes,
            lost_bytes: sum.lost_bytes + s.lost_bytes,
            window_bytes: sum.window_bytes + s.window_bytes,
            weight: sum.weight + s.weight,
            busy: sum.busy.max(s.busy),
            ..sum
        })
    };
    at.into_iter().map(total).collect()
}
