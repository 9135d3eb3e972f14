//! Frames that wait for an uplink, and are dropped by their age or by Octopus's rules.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::{Rate, Seed, Time};
use airlane_call::wire::Track;
use airlane_call::{
    AllocatorKind, Dropping, EncodedRecord, Encoder, EncoderConfig, LayeredFrame, LayeredQueue,
    QueueConfig, ServerConfig, Thinning,
};
use airlane_net::link::{RateProfile, Supply};
use airlane_net::queue::{Limit, QueueSpec};
use airlane_net::{Access, LinkAccess, Way};
use proptest::prelude::*;

use crate::world::{Client, Outcome, Setup, call, link};

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

fn frame(number: u32, temporal_layer: u8, reference_distance: u8) -> LayeredFrame {
    let is_key = number == 0;
    LayeredFrame { number, is_key, temporal_layer, reference_distance, bytes: 1000 }
}

/// The first frames of a video in three temporal layers.
fn layered(count: u32) -> impl Iterator<Item = LayeredFrame> {
    (0..count).map(|n| match n % 4 {
        0 => frame(n, 0, 4),
        2 => frame(n, 1, 2),
        _ => frame(n, 2, 1),
    })
}

fn queue() -> LayeredQueue<(), u32> {
    LayeredQueue::new(QueueConfig { dropping: Dropping::Octopus, ..QueueConfig::default() })
}

fn push(queue: &mut LayeredQueue<(), u32>, now: Time, frame: LayeredFrame) {
    queue.push(now, (), frame, frame.number);
}

fn drain(queue: &mut LayeredQueue<(), u32>, now: Time) -> Vec<u32> {
    std::iter::from_fn(|| queue.pop(now)).collect()
}

#[test]
fn newer_frames_take_the_place_of_those_that_none_needs() {
    let mut queue = queue();
    layered(8).for_each(|frame| push(&mut queue, at(0), frame));
    // Frame 6 drops frame 2 and all of the highest layer before it; frame 7 is the newest.
    assert_eq!(drain(&mut queue, at(0)), [0, 4, 6, 7]);
    assert_eq!((queue.dropped(), queue.bytes()), (4, 0));
    assert!(queue.take_wanted().is_empty());
}

#[test]
fn a_key_frame_takes_the_place_of_all() {
    let mut queue = queue();
    layered(5).for_each(|frame| push(&mut queue, at(0), frame));
    push(&mut queue, at(10), LayeredFrame { is_key: true, ..frame(5, 0, 1) });
    push(&mut queue, at(20), frame(6, 1, 1));
    assert_eq!(drain(&mut queue, at(20)), [5, 6]);
    assert!(queue.take_wanted().is_empty());
}

#[test]
fn what_waited_too_long_takes_what_needs_it_along() {
    let mut queue = queue();
    push(&mut queue, at(0), frame(0, 0, 1));
    assert_eq!(drain(&mut queue, at(0)), [0]);
    push(&mut queue, at(100), frame(4, 0, 4));
    push(&mut queue, at(500), frame(8, 0, 4));
    assert!(drain(&mut queue, at(601)).is_empty());
    assert_eq!(queue.take_wanted(), [()]);
    push(&mut queue, at(700), LayeredFrame { is_key: true, ..frame(9, 0, 1) });
    assert_eq!(drain(&mut queue, at(700)), [9]);
}

#[test]
fn videos_are_told_apart_and_forgotten() {
    let mut queue = LayeredQueue::new(QueueConfig::default());
    for video in [1, 2] {
        layered(4).for_each(|frame| queue.push(at(0), video, frame, (video, frame.number)));
    }
    queue.forget(|video| *video == 1);
    assert_eq!(queue.bytes(), 4000);
    let left: Vec<_> = std::iter::from_fn(|| queue.pop(at(0))).collect();
    assert_eq!(left, [(2, 0), (2, 2), (2, 3)]);
}

proptest! {
    /// All that leaves can be decoded, and the lowest layer is dropped for its age or a key frame alone.
    #[test]
    fn what_leaves_by_octopus_rules_can_be_decoded(
        temporal_layers in 1_u8..4,
        max_wait_ms in prop::sample::select(vec![100_u64, 300, 1_000_000]),
        max_bytes in prop::sample::select(vec![50_000_u64, 4 << 20]),
        steps in prop::collection::vec((0_u8..4, 0_u64..60, any::<bool>()), 1..300),
    ) {
        let config = EncoderConfig { temporal_layers, ..EncoderConfig::default() };
        let mut encoder = Encoder::new(config, Seed(1).rng());
        let max_wait = Duration::from_millis(max_wait_ms);
        let mut queue =
            LayeredQueue::new(QueueConfig { max_wait, max_bytes, dropping: Dropping::Octopus });
        let (mut now, mut left) = (0, BTreeSet::new());
        let mut lowest = Vec::new();
        for (kind, wait, is_key) in steps {
            now += wait;
            if kind == 3 {
                let Some(out) = queue.pop(at(now)) else { continue };
                let out: LayeredFrame = out;
                let reference = out.number.wrapping_sub(out.reference_distance.into());
                prop_assert!(out.is_key || left.contains(&reference), "{out:?}");
                prop_assert!(left.last().is_none_or(|last| *last < out.number));
                left.insert(out.number);
                continue;
            }
            if is_key && kind == 2 || !queue.take_wanted().is_empty() {
                encoder.request_key_frame();
            }
            let encoded = encoder.encode(at(now), Rate::from_mbps(4.0), u32::MAX);
            let frame = LayeredFrame {
                number: encoded.number,
                is_key: encoded.is_key,
                temporal_layer: encoded.temporal_layer,
                reference_distance: encoded.reference_distance,
                bytes: encoded.bytes,
            };
            if encoded.temporal_layer == 0 {
                lowest.push(frame);
            }
            queue.push(at(now), (), frame, frame);
            prop_assert!(queue.bytes() <= max_bytes);
        }
        if max_wait_ms == 1_000_000 && max_bytes > 1 << 20 {
            left.extend(std::iter::from_fn(|| queue.pop(at(now))).map(|frame| frame.number));
            let last_key = lowest.iter().rfind(|frame| frame.is_key).map_or(0, |key| key.number);
            for frame in lowest.iter().filter(|frame| frame.number >= last_key) {
                prop_assert!(left.contains(&frame.number), "{frame:?} of {left:?}");
            }
        }
    }
}

const S: Duration = Duration::from_secs(1);
/// Times at which the uplink falls to a fifth, and is back.
const FALL: [Duration; 2] = [Duration::from_secs(15), Duration::from_secs(18)];
const LENGTH: Duration = Duration::from_secs(30);

/// A call of two, the first behind an uplink that falls to a fifth for 3 s, in front of which a modem holds
/// `uplink_limit_bytes` or as much as it is given.
fn fall(setup: Setup, uplink_limit_bytes: Option<u64>) -> Outcome {
    let rate = |share: f64| Rate::from_mbps(3.0 * share);
    let steps = [(Duration::ZERO, rate(1.0)), (FALL[0], rate(0.2)), (FALL[1], rate(1.0))];
    let profile = RateProfile::new(&steps, None).unwrap();
    let queue = QueueSpec::DropTail(Limit::Bytes(400_000));
    let up = Way::new(Supply::Profile(Arc::new(profile)), queue.clone());
    let down = Way::new(Rate::from_mbps(20.0), queue);
    let behind =
        Client { setup, uplink_limit_bytes, ..Client::from(Access::Link(LinkAccess { down, up })) };
    let server = ServerConfig {
        thinning: Thinning::Layers(AllocatorKind::MaxMin),
        ..ServerConfig::default()
    };
    let outcome = call(vec![behind, link(50.0).into()], server, LENGTH);
    assert_eq!(outcome.ended, [None, None]);
    outcome
}

fn camera(config: &mut airlane_call::ParticipantConfig) {
    let (min_rate, max_rate) = (Rate::from_mbps(0.15), Rate::from_mbps(2.0));
    config.camera = Some(EncoderConfig { min_rate, max_rate, ..EncoderConfig::default() });
}

fn by_age(config: &mut airlane_call::ParticipantConfig) {
    camera(config);
}

fn by_octopus(config: &mut airlane_call::ParticipantConfig) {
    camera(config);
    config.queue.dropping = Dropping::Octopus;
}

/// Frames of the first participant's camera that the second one showed, with the time of capture and the delay.
fn seen(outcome: &Outcome) -> Vec<(u32, Duration, Duration)> {
    let of = |record: &airlane_call::ReceivedRecord| {
        let shown = record.shown?.since_start();
        let captured = record.header.captured;
        (record.header.track == Track::Camera)
            .then(|| (record.header.frame, captured, shown.saturating_sub(captured)))
    };
    outcome.shown[1].iter().filter_map(of).collect()
}

fn max_delay(seen: &[(u32, Duration, Duration)], from: Duration, to: Duration) -> Duration {
    let within = seen.iter().filter(|(_, captured, _)| (from..to).contains(captured));
    within.map(|(.., delay)| *delay).max().unwrap_or_default()
}

#[test]
fn a_fall_of_the_uplink_costs_layers_and_not_time() {
    let (free, aged) = (fall(by_age, None), fall(by_age, Some(6_000)));
    let outcome = fall(by_octopus, Some(6_000));
    let longest = |outcome| max_delay(&seen(outcome), S * 10, LENGTH);
    let [free, aged, octopus] = [&free, &aged, &outcome].map(longest);
    println!("longest delay {free:?}, {aged:?}, {octopus:?}");
    assert!(octopus < Duration::from_millis(650), "{octopus:?}");
    assert!(octopus < free / 2 && octopus < aged, "{octopus:?} {free:?} {aged:?}");
    // What was dropped is of the higher layers.
    let seen = seen(&outcome);
    let shown: BTreeSet<u32> = seen.iter().map(|(number, ..)| *number).collect();
    let encoded = outcome.encoded[0].iter().filter(|record| record.track == Track::Camera);
    let counted = encoded.filter(|record| record.at < Time::ZERO + LENGTH - S);
    let missing: Vec<_> = counted
        .filter(|record| record.at >= Time::ZERO + S * 10 && !shown.contains(&record.frame))
        .collect();
    for record in &missing {
        assert!(!record.is_key && record.frame % 4 != 0, "{record:?}");
    }
    // It is back at once: BBR alone, which leaves its path empty for a moment every 10 s, still costs a frame or two.
    let back = FALL[1] + Duration::from_millis(200);
    let in_fall = |at: Duration| (FALL[0] - S / 5..back).contains(&at);
    let (lost, probed): (Vec<&EncodedRecord>, Vec<&EncodedRecord>) =
        missing.into_iter().partition(|record| in_fall(record.at.since_start()));
    assert!((20..60).contains(&lost.len()), "{} frames", lost.len());
    assert!(probed.len() <= 6, "{probed:?}");
    let (before, after) = (max_delay(&seen, S * 10, FALL[0] - S), max_delay(&seen, back, LENGTH));
    assert!(after < before + Duration::from_millis(50), "{after:?}, {before:?}");
}
