//! Encoders, queues, playout and the division of downlinks.

use std::time::Duration;

use airlane_base::{Rate, Seed, Time};
use airlane_call::wire::{MediaHeader, ParticipantId, Track};
use airlane_call::{
    Encoder, EncoderConfig, Frame, FrameQueue, LastN, LastNConfig, Playout, QueueConfig, max_min,
};
use bytes::Bytes;
use proptest::prelude::*;

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

fn frame(source: u16, track: Track, number: u32, is_key: bool, bytes: u32) -> Frame {
    let header = MediaHeader {
        track,
        is_key,
        temporal_layer: 0,
        reference_distance: 1,
        has_speech: false,
        source: ParticipantId(source),
        frame: number,
        captured: Duration::ZERO,
        payload_bytes: bytes,
    };
    Frame { header, payload: Bytes::from(vec![0; bytes as usize]) }
}

proptest! {
    #[test]
    fn an_encoder_keeps_to_its_bitrate(
        kbps in 1_000_u64..10_000,
        interval_s in prop::option::of(1_u64..10),
        seed: u64,
    ) {
        let config = EncoderConfig {
            key_frame_interval: interval_s.map(Duration::from_secs),
            ..EncoderConfig::default()
        };
        let mut encoder = Encoder::new(config, Seed(seed).rng());
        let rate = Rate::from_bps(kbps * 1000);
        let frames = 2000_u32;
        let encode = |n: u32| encoder.encode(at(u64::from(n) * 50), rate, u32::MAX);
        let frames_encoded: Vec<_> = (0..frames).map(encode).collect();
        prop_assert!(frames_encoded[0].is_key);
        let bytes: u64 = frames_encoded.iter().map(|frame| u64::from(frame.bytes)).sum();
        let mean = bytes as f64 * 8.0 / (f64::from(frames) / 20.0);
        prop_assert!((mean / rate.as_f64() - 1.0).abs() < 0.02, "{mean} at {rate}");
    }

    /// Shares add up to the budget or to all there is, none has more than its source, and whoever is cut has
    /// no less than anybody else.
    #[test]
    fn a_division_is_max_min_fair(
        budget in 0.0_f64..100.0,
        rates in prop::collection::vec(0.0_f64..20.0, 0..12),
    ) {
        let shares = max_min(budget, &rates);
        prop_assert_eq!(shares.len(), rates.len());
        let (sum, all): (f64, f64) = (shares.iter().sum(), rates.iter().sum());
        prop_assert!((sum - budget.min(all)).abs() < 1e-9, "{} of {} and {}", sum, budget, all);
        let largest = shares.iter().copied().fold(0.0, f64::max);
        for (share, rate) in shares.iter().zip(&rates) {
            prop_assert!(*share <= rate + 1e-12);
            prop_assert!(*share >= rate - 1e-12 || *share >= largest - 1e-9);
        }
    }

    /// The frames of a video that leave can be decoded, whichever of them waited too long.
    #[test]
    fn what_leaves_a_queue_can_be_decoded(
        steps in prop::collection::vec((0_u8..4, 0_u64..200, 1_u32..60_000), 1..300),
    ) {
        let config = QueueConfig {
            max_wait: Duration::from_millis(300),
            max_bytes: 400_000,
            ..QueueConfig::default()
        };
        let mut queue = FrameQueue::new(config);
        let (mut now, mut number, mut wants_key) = (0, 0, true);
        let mut last: Option<u32> = None;
        for (kind, wait, bytes) in steps {
            now += wait;
            if kind < 3 {
                queue.push(at(now), frame(1, Track::Camera, number, wants_key, bytes));
                wants_key = false;
                number += 1;
            } else if let Some(out) = queue.pop_video(at(now)) {
                let follows = last.is_some_and(|last| out.header.frame == last + 1);
                prop_assert!(out.header.is_key || follows, "{:?} after {last:?}", out.header);
                last = Some(out.header.frame);
            }
            prop_assert!(queue.bytes() <= config.max_bytes);
            wants_key |= !queue.take_wanted().is_empty();
        }
    }

    /// Frames in any order: each is shown once at most, in order, and after all since its key frame.
    #[test]
    fn frames_are_shown_in_order(
        order in Just((0_u32..60).collect::<Vec<_>>()).prop_shuffle(),
        keys in prop::collection::btree_set(0_u32..60, 1..6),
        lost in prop::collection::btree_set(0_u32..60, 0..10),
    ) {
        let mut playout = Playout::default();
        let mut shown: Vec<u32> = Vec::new();
        for number in order.into_iter().filter(|number| !lost.contains(number)) {
            let header = frame(1, Track::Camera, number, keys.contains(&number), 1).header;
            shown.extend(playout.on_frame(&header, number));
        }
        for pair in shown.windows(2) {
            prop_assert!(pair[1] > pair[0]);
            prop_assert!(pair[1] == pair[0] + 1 || keys.contains(&pair[1]), "{shown:?}");
        }
        prop_assert!(shown.first().is_none_or(|first| keys.contains(first)));
    }
}

#[test]
fn a_frame_is_cut_at_a_byte() {
    let mut whole = frame(1, Track::Camera, 0, true, 10);
    whole.payload = Bytes::from_static(b"0123456789");
    for bytes in 0..=10 {
        let cut = whole.cut(bytes);
        assert_eq!(cut.header.payload_bytes, bytes);
        assert_eq!(cut.payload, whole.payload[..bytes as usize]);
        // What is left does not keep much more in memory than it has.
        let is_shared = bytes > 0 && cut.payload.as_ptr() == whole.payload.as_ptr();
        assert_eq!(is_shared, bytes >= 5);
    }
    assert_eq!(whole.cut(11).payload, whole.payload);
}

#[test]
fn frames_without_a_payload_do_not_fill_the_memory() {
    for track in [Track::Audio, Track::Camera] {
        let mut queue =
            FrameQueue::new(QueueConfig { max_bytes: 10_000, ..QueueConfig::default() });
        for number in 0..1000 {
            queue.push(at(0), frame(1, track, number, true, 0));
        }
        assert!(queue.dropped() > 800, "{track:?}: {}", queue.dropped());
    }
}

#[test]
fn audio_does_not_wait_for_video_and_is_never_late() {
    let mut queue = FrameQueue::new(QueueConfig::default());
    queue.push(at(0), frame(1, Track::Camera, 0, true, 1000));
    queue.push(at(0), frame(1, Track::Audio, 0, true, 80));
    assert_eq!(queue.pop_audio().expect("audio").header.track, Track::Audio);
    assert!(queue.pop_video(at(10_000)).is_none());
    assert_eq!(queue.dropped(), 1);
    assert_eq!(queue.take_wanted(), vec![(ParticipantId(1), Track::Camera)]);
    assert_eq!(queue.take_wanted(), vec![]);
}

#[test]
fn frames_of_who_has_left_are_not_sent() {
    let mut queue = FrameQueue::new(QueueConfig::default());
    queue.push(at(0), frame(1, Track::Camera, 0, true, 1000));
    queue.push(at(0), frame(2, Track::Camera, 0, true, 500));
    queue.forget(ParticipantId(1));
    assert_eq!(queue.bytes(), 500);
    assert_eq!(queue.pop_video(at(0)).expect("the other's").header.source, ParticipantId(2));
    assert!(queue.pop_video(at(0)).is_none());
}

#[test]
fn the_last_speakers_are_forwarded() {
    let mut last = LastN::new(LastNConfig::new(2), Seed(1).rng(), at(0));
    for id in 0..4 {
        last.join(ParticipantId(id));
    }
    let forwarded = |last: &LastN| -> Vec<u16> {
        (0..4).filter(|id| last.is_forwarded(ParticipantId(*id))).collect()
    };
    assert_eq!(forwarded(&last), [2, 3]);
    assert!(!last.poll(at(999)));
    // Each of two paused ones speaks with a probability of 1/3: over many seconds everybody is seen for half of
    // the time.
    let mut seconds = [0; 4];
    for second in 1..=4000 {
        last.poll(at(second * 1000));
        let now = forwarded(&last);
        assert_eq!(now.len(), 2);
        now.iter().for_each(|id| seconds[usize::from(*id)] += 1);
    }
    assert!(seconds.iter().all(|n| (1850..2150).contains(n)), "{seconds:?}");
    last.leave(ParticipantId(forwarded(&last)[0]));
    assert_eq!(forwarded(&last).len(), 2);
}
