//! The account of airtime: by the one definition, and what it makes of what was not heard.

use std::time::Duration;

use airlane_base::Time;
use airlane_capture::{AirSummary, Transmission, Writer};
use airlane_wifi::{Access, Band, FrameKind, Heard, PlannedExchange, Response, Timing, What, mac};

use crate::common::{Air, CONTENTION, account, he80, read, station};

/// A channel that stations 1 to `stations` and the access point saturate in turn.
fn saturated(stations: u16, mpdus: u16, is_protected: bool, attempts: u16) -> Air {
    let mut air = Air::new();
    for n in 0..attempts {
        air.pause(CONTENTION);
        let one = 1 + n % stations;
        let (from, to) = if n % 3 == 2 { (one, 0) } else { (0, one) };
        air.attempt(from, to, mpdus, is_protected);
    }
    air
}

/// What these attempts cost by the definition.
fn charge(mpdus: u16, is_protected: bool) -> Duration {
    let timing = Timing::of(Band::Ghz5);
    let bytes = mac::mpdu(1_500, true);
    let (bytes, response) = match mpdus {
        1 => (bytes, Response::Ack),
        2..=64 => (u32::from(mpdus) * mac::in_aggregate(bytes), Response::BlockAck64),
        _ => (u32::from(mpdus) * mac::in_aggregate(bytes), Response::BlockAck256),
    };
    PlannedExchange { vector: he80(), bytes, is_protected, response }
        .with_contention(&timing, &Access::BEST_EFFORT)
}

#[test]
fn a_saturated_channel_is_used_whole_whatever_the_aggregates() {
    for mpdus in [1, 4, 64, 200] {
        for is_protected in [false, true] {
            let summary = account(&saturated(1, mpdus, is_protected, 300).transmissions());
            assert!((0.97..=1.0).contains(&summary.utilisation), "{mpdus}: {summary:?}");
            assert_eq!(summary.air.with_contention(), 300 * charge(mpdus, is_protected), "{mpdus}");
            assert_eq!(summary.air.inferred(), Duration::ZERO);
            assert!(summary.utilisation_without_contention < summary.utilisation);
        }
    }
}

#[test]
fn each_station_is_charged_with_its_own_air_by_direction() {
    let summary = account(&saturated(4, 16, true, 240).transmissions());
    let one = charge(16, true);
    for n in 1..=4 {
        let of = summary.stations.iter().find(|s| s.address == station(n)).expect("it was heard");
        assert_eq!(
            of.down.air.with_contention(),
            u32::try_from(of.down.attempts).expect("few") * one
        );
        assert_eq!((of.down.attempts, of.up.attempts, of.other.attempts), (40, 20, 0));
        assert_eq!(of.up.air.with_contention(), 20 * one);
        assert_eq!(of.network, Some(station(0)));
        assert_eq!(of.down.rate_bps().map(f64::round), Some(he80().rate().as_f64().round()));
        assert_eq!(of.down.frames, 40 * 16);
    }
    assert_eq!((summary.max_active, summary.unattributed.attempts), (4, 0));
}

/// What is left of the air if some transmissions are not heard.
fn without(air: &Air, is_missed: impl Fn(&Heard, usize) -> bool) -> AirSummary {
    let left: Vec<Transmission> = air
        .heard
        .iter()
        .enumerate()
        .filter(|(n, heard)| !is_missed(heard, *n))
        .map(|(_, heard)| Transmission::exact(heard.clone()))
        .collect();
    account(&left)
}

fn kind(heard: &Heard) -> Option<FrameKind> {
    match &heard.what {
        What::Frames { frames, .. } => frames.first().map(|frame| frame.kind),
        _ => None,
    }
}

#[test]
fn data_that_were_not_heard_are_inferred_from_rts_cts_and_block_acks() {
    let air = saturated(2, 32, true, 200);
    let whole = account(&air.transmissions());
    let missed = without(&air, |heard, _| kind(heard) == Some(FrameKind::QosData));
    let (whole, missed) = (whole.air, missed.air);
    assert_eq!(missed.with_contention(), whole.with_contention());
    assert_eq!(missed.heard + missed.announced, whole.heard);
    assert!(missed.announced > whole.heard / 2);
}

#[test]
fn data_that_were_not_heard_are_inferred_from_block_acks_alone() {
    let air = saturated(1, 32, false, 200);
    let whole = account(&air.transmissions());
    // Every second one came, so that sizes and rates are known.
    let missed = without(&air, |heard, n| kind(heard) == Some(FrameKind::QosData) && n % 4 < 2);
    let ratio =
        missed.air.with_contention().as_secs_f64() / whole.air.with_contention().as_secs_f64();
    assert!((0.97..=1.03).contains(&ratio), "{ratio}");
    assert!(missed.air.answered > whole.air.heard / 3);
}

#[test]
fn answers_that_were_not_heard_are_waited_for() {
    let air = saturated(1, 8, false, 100);
    let whole = account(&air.transmissions());
    let missed = without(&air, |heard, _| kind(heard) == Some(FrameKind::BlockAck));
    assert_eq!(missed.air.with_contention(), whole.air.with_contention());
    let down: u64 = missed.stations.iter().map(|s| s.down.unanswered + s.up.unanswered).sum();
    assert_eq!(down, 100);
}

#[test]
fn with_a_third_of_it_missing_the_account_is_within_a_tenth() {
    // The data themselves, the longest part, are what a distant receiver misses first.
    let air = saturated(3, 24, true, 600);
    let whole = account(&air.transmissions()).utilisation;
    let missed = without(&air, |_, n| (n * 7_919) % 10 < 3).utilisation;
    assert!((missed / whole - 1.0).abs() < 0.1, "{missed} {whole}");
}

#[test]
fn two_hundred_stations_have_a_line_each() {
    let summary = account(&saturated(200, 2, false, 2_000).transmissions());
    let lines = summary.stations.iter().filter(|s| !s.is_access_point).count();
    assert_eq!((lines, summary.max_active), (200, 200));
    assert_eq!(summary.further.attempts, 0);
}

#[test]
fn bins_become_wider_when_there_are_many() {
    let mut air = Air::new();
    for _ in 0..100 {
        air.attempt(0, 1, 4, false);
        air.pause(Duration::from_secs(100));
    }
    let summary = account(&air.transmissions());
    assert!(
        summary.over_time.with_contention.values().len() <= 1_024
            && summary.bin >= Duration::from_secs(6)
    );
    let sum: f64 = summary.over_time.with_contention.values().iter().sum();
    assert!((sum - summary.air.with_contention().as_secs_f64()).abs() < 1e-6);
    let active = summary.active.iter().sum::<f64>() * summary.active_bin.as_secs_f64();
    assert!(summary.active.len() <= 1_024 && (active - 100.0).abs() < 1e-6, "{active}");
    let station = &summary.stations[0];
    assert!((station.over_time.values().iter().sum::<f64>() - sum).abs() < 1e-6);
}

#[test]
fn what_nobody_understands_is_charged_to_nobody() {
    let heard =
        Heard { at: Time::from_millis(1), duration: Duration::from_millis(3), what: What::Energy };
    let summary = account(&[Transmission::exact(heard)]);
    assert_eq!(summary.unattributed.air.heard, Duration::from_millis(3));
    assert_eq!(summary.unattributed.air.contention, CONTENTION);
    assert_eq!(summary.utilisation, 1.0);
}

#[test]
fn a_capture_as_others_write_it_gives_the_same_account() {
    let air = saturated(3, 24, true, 300);
    let mut writer = Writer::plain(Vec::new()).expect("memory takes it");
    air.heard.iter().for_each(|heard| writer.write(heard).expect("a sound record"));
    let whole = read(writer.finish().expect("memory takes it")).expect("a capture");
    let (plain, exact) = (account(&whole.transmissions), account(&air.transmissions()));
    assert_eq!((plain.air, plain.stations.len()), (exact.air, exact.stations.len()));
    assert_eq!((plain.span, plain.max_active), (exact.span, exact.max_active));
}
