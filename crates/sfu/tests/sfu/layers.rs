//! Bitrates of layers, and the choice by a bitrate.

use airlane_base::{Rate, Time};
use airlane_sfu::{Codec, LayerIndex, LayerStep, LayerTable, METER_WINDOW, RTP_HEADER_BYTES};

use crate::common::av1::{Mode, Publisher};
use crate::common::vp8;
use crate::common::{Rtp, Track};

fn table() -> LayerTable {
    let step = |(spatial, temporal, kbps): (u8, u8, u64)| LayerStep {
        layer: LayerIndex::new(spatial, temporal),
        rate: Rate::from_bps(1000 * kbps),
    };
    let steps =
        [(1, 2, 600), (0, 0, 80), (0, 1, 110), (0, 2, 150), (1, 0, 300), (1, 1, 450)].map(step);
    LayerTable::new(steps.to_vec())
}

fn kbps(kbps: u64) -> Rate {
    Rate::from_bps(1000 * kbps)
}

#[test]
fn the_best_step_that_fits_is_chosen() {
    let choose = |rate| table().choose(kbps(rate), None);
    assert_eq!(choose(600), LayerIndex::new(1, 2));
    assert_eq!(choose(599), LayerIndex::new(1, 1));
    assert_eq!(choose(299), LayerIndex::new(0, 2));
    assert_eq!(choose(80), LayerIndex::new(0, 0));
    // Less than the lowest is still the lowest: to pause is for who sets targets.
    assert_eq!(choose(10), LayerIndex::new(0, 0));
}

#[test]
fn a_higher_step_needs_a_margin_and_the_current_one_none() {
    let current = Some(LayerIndex::new(0, 2));
    let choose = |rate| table().choose(kbps(rate), current);
    assert_eq!(choose(150), LayerIndex::new(0, 2));
    assert_eq!(choose(149), LayerIndex::new(0, 1));
    assert_eq!(choose(329), LayerIndex::new(0, 2));
    assert_eq!(choose(330), LayerIndex::new(1, 0));
    assert_eq!(choose(660), LayerIndex::new(1, 2));
    let highest = Some(LayerIndex::new(1, 2));
    assert_eq!(table().choose(kbps(600), highest), LayerIndex::new(1, 2));
}

#[test]
fn a_table_tells_the_next_step_and_each_bitrate() {
    let above = table().step_above(LayerIndex::new(0, 2)).expect("a step");
    assert_eq!((above.layer, above.rate), (LayerIndex::new(1, 0), kbps(300)));
    assert_eq!(table().step_above(LayerIndex::new(1, 2)), None);
    assert_eq!(table().rate(LayerIndex::new(0, 1)), Some(kbps(110)));
    assert_eq!(table().rate(LayerIndex::new(2, 0)), None);
}

#[test]
fn nothing_is_known_of_an_empty_table() {
    let empty = LayerTable::default();
    assert_eq!(empty.choose(kbps(500), None), LayerIndex::LOWEST);
    let current = LayerIndex::new(1, 2);
    assert_eq!(empty.choose(kbps(1), Some(current)), current);
}

#[test]
fn bitrates_are_cumulative_over_the_last_second() {
    let mut track = Track::new(Codec::Vp8, 1);
    let mut publisher = vp8::Publisher::new(Rtp::new(0, 1, 1), 1, 1);
    let packets = publisher.frames(120);
    let bytes = packets[0].payload.len() + RTP_HEADER_BYTES;
    track.pass_all(&packets);
    let now = packets[packets.len() - 1].arrived;
    let table = track.source.layers(now);
    let layers: Vec<LayerIndex> = table.steps().iter().map(|step| step.layer).collect();
    assert_eq!(layers, [0, 1, 2].map(|temporal| LayerIndex::new(0, temporal)));
    // Two packets a frame, a frame every 33 ms; a quarter is T0, a half T0 and T1.
    let whole = 8.0 * 2.0 * bytes as f64 / 0.033;
    for (step, share) in table.steps().iter().zip([0.25, 0.5, 1.0]) {
        let ratio = step.rate.as_f64() / (whole * share);
        assert!((0.85..1.15).contains(&ratio), "{step:?}: {ratio}");
    }
    assert!(track.source.layers(now + 2 * METER_WINDOW).steps().is_empty());
}

#[test]
fn the_rate_of_k_svc_has_lower_layers_key_frames_alone() {
    let mut rates = Vec::new();
    for mode in [Mode::L2T3, Mode::L2T3Key] {
        let mut track = Track::new(Codec::Av1, 1);
        let mut publisher = Publisher::new(Rtp::new(0, 1, 1), mode);
        let packets = publisher.pictures(120);
        track.pass_all(&packets);
        let table = track.source.layers(packets[packets.len() - 1].arrived);
        assert_eq!(table.steps().len(), 6);
        let rate = |spatial| table.rate(LayerIndex::new(spatial, 2)).expect("a layer").as_f64();
        rates.push(rate(1) / rate(0));
    }
    // All frames are of one size here: with both layers it is twice that of one.
    assert!((1.9..2.1).contains(&rates[0]), "{rates:?}");
    assert!((0.9..1.1).contains(&rates[1]), "{rates:?}");
}

#[test]
fn a_bitrate_sets_the_target_and_zero_pauses() {
    let mut track = Track::new(Codec::Av1, 1);
    let mut publisher = Publisher::new(Rtp::new(0, 1, 1), Mode::L2T3);
    let packets = publisher.pictures(60);
    track.pass_all(&packets);
    let table = track.source.layers(packets[packets.len() - 1].arrived);
    let low = table.rate(LayerIndex::new(1, 1)).expect("a layer");
    let target = track.receiver.set_bitrate(low, &table);
    assert_eq!(target, Some(LayerIndex::new(1, 1)));
    assert_eq!(track.receiver.target(), target);
    assert!(!track.pass_all(&publisher.picture(false)).is_empty());
    assert_eq!(track.receiver.layer(), target);
    assert_eq!(track.receiver.set_bitrate(Rate::ZERO, &table), None);
    assert!(track.pass_all(&publisher.picture(true)).is_empty());
    assert_eq!(track.receiver.layer(), None);
}

#[test]
fn time_that_stands_still_or_jumps_does_no_harm() {
    let mut track = Track::new(Codec::Vp8, 1);
    let mut publisher = vp8::Publisher::new(Rtp::new(0, 1, 1), 1, 1);
    let mut packets = publisher.frames(8);
    for (packet, now) in packets.iter_mut().zip([5, 5, 0, u64::MAX, 3, u64::MAX / 2]) {
        packet.arrived = Time::from_nanos(now);
    }
    track.pass_all(&packets);
    assert!(!track.source.layers(Time::FAR_FUTURE).steps().is_empty());
    assert!(!track.source.layers(Time::ZERO).steps().is_empty());
}
