//! The estimator on exact records: utilisation, stations, delta; with frames missed; and what is hostile.

use std::time::Duration;

use airlane_base::{Rate, Time};
use airlane_cupid::{Change, Estimate, Estimator, EstimatorOptions, StationState};
use airlane_wifi::{Address, Heard, Vector, What};
use proptest::prelude::*;

use crate::air::{AP, Heards, Talker, channel, estimates, he, mean, station, thinned};

const SECOND: Time = Time::from_millis(1_000);

fn options() -> EstimatorOptions {
    EstimatorOptions { bssid: Some(AP), ..EstimatorOptions::new(station(1)) }
}

#[test]
fn a_channel_that_one_station_saturates_reads_one() {
    for vector in [he(11), he(0), Vector::ofdm(7)] {
        for frames in [64, 4, 1] {
            if vector.duration(u32::from(frames) * 1_560) > Duration::from_micros(5_484) {
                continue;
            }
            for is_protected in [false, true] {
                let mut talker = Talker::down(station(1), vector, frames);
                talker.is_protected = is_protected;
                let heard = channel(&mut [talker.clone()], SECOND, 1);
                let all = estimates(&heard.records, options(), Time::from_millis(120));
                let u = mean(all.iter().map(|e| e.utilisation));
                let (least, most) = all.iter().fold((1.0_f64, 0.0_f64), |(least, most), e| {
                    (least.min(e.utilisation), most.max(e.utilisation))
                });
                println!("{vector}, {frames} frames: {u:.4} ({least:.3}-{most:.3})");
                assert!(least >= 0.97 && most <= 1.0, "{vector}, {frames}: {least} {most}");
                let last = all.last().expect("estimates");
                assert!(
                    last.without_contention < last.utilisation && last.inferred < 0.01,
                    "{last:?}"
                );
                assert_eq!((last.stations, last.sharing), (1, 1));
                // Delta: payload over what was charged, exactly.
                let delta = talker.payload() * heard.exchanges[0];
                let delta = Rate::of(delta, heard.charged[0]).as_f64();
                let measured = last.delta.expect("measured").as_f64();
                assert!((measured / delta - 1.0).abs() < 0.02, "{measured} of {delta}");
                assert_eq!(last.phy, Some(vector.rate()));
            }
        }
    }
}

#[test]
fn with_a_third_of_the_records_missed_it_reads_the_same() {
    let saturated = |vector, frames, is_protected| {
        let mut down = Talker::down(station(1), vector, frames);
        down.is_protected = is_protected;
        vec![down]
    };
    let mut several: Vec<Talker> =
        (1..=4).map(|n| Talker::down(station(n), he(if n > 2 { 1 } else { 11 }), 16)).collect();
    several.push(Talker::up(station(5), he(5), 8));
    for (i, talker) in several.iter_mut().enumerate() {
        talker.every = Some(Duration::from_millis(9 + i as u64));
    }
    let mut singles: Vec<Talker> = (1..=5).map(|n| Talker::down(station(n), he(7), 1)).collect();
    singles.push(Talker::up(station(1), he(7), 1));
    for talker in &mut singles {
        talker.every = Some(Duration::from_millis(2));
    }
    let scenes = [
        ("64", saturated(he(11), 64, false)),
        ("4", saturated(he(11), 4, false)),
        ("1", saturated(he(11), 1, false)),
        ("64, RTS", saturated(he(11), 64, true)),
        ("1, RTS", saturated(he(3), 1, true)),
        ("several", several),
        ("singles", singles),
    ];
    for (name, talkers) in scenes {
        for seed in 1..=4 {
            let heard = channel(&mut talkers.clone(), Time::from_millis(3_000), seed);
            let from = Time::from_millis(400);
            let whole = estimates(&heard.records, options(), from);
            let part = estimates(&thinned(&heard.records, 0.3, seed), options(), from);
            let u = |all: &[Estimate]| mean(all.iter().map(|e| e.utilisation));
            let (all, some) = (u(&whole), u(&part));
            let worst = whole
                .iter()
                .zip(&part)
                .map(|(a, b)| (b.utilisation / a.utilisation - 1.0).abs())
                .fold(0.0, f64::max);
            let inferred = mean(part.iter().map(|e| e.inferred));
            println!("{name}: {all:.3} -> {some:.3}, worst {worst:.3}, inferred {inferred:.2}");
            assert!((some / all - 1.0).abs() < 0.05, "{name}: {all} {some}");
            for (a, b) in whole.iter().zip(&part) {
                assert_eq!((a.stations, a.sharing), (b.stations, b.sharing), "{name}");
                assert!(
                    b.utilisation <= 1.0 && b.utilisation_confidence < a.utilisation_confidence
                );
            }
            let delta = |all: &[Estimate]| mean(all.iter().filter_map(|e| Some(e.delta?.as_f64())));
            let off = delta(&part) / delta(&whole) - 1.0;
            assert!(off.abs() < 0.05, "{name}: delta {off:+.3}");
        }
    }
}

#[test]
fn transport_acknowledgements_are_charged_to_delta() {
    let mut talkers = [Talker::down(station(1), he(9), 32), Talker::up(station(1), he(9), 16)];
    talkers[1].bytes = 140;
    talkers[1].every = Some(Duration::from_millis(2));
    let payload = talkers[0].payload();
    let heard = channel(&mut talkers, SECOND, 3);
    let delta = Rate::of(payload * heard.exchanges[0], heard.charged[0] + heard.charged[1]);
    let all = estimates(&heard.records, options(), Time::from_millis(500));
    let measured = mean(all.iter().filter_map(|e| Some(e.delta?.as_f64())));
    assert!((measured / delta.as_f64() - 1.0).abs() < 0.02, "{measured} {delta}");
    assert_eq!(all[0].stations, 1);
}

#[test]
fn a_station_is_not_charged_for_what_its_frames_collided_with() {
    let mut talker = [Talker::up(station(1), he(11), 4)];
    talker[0].every = Some(Duration::from_millis(5));
    let alone = channel(&mut talker, SECOND, 4);
    // Each time somebody else sends as well, and goes on for 3 ms: the frames are known, the rest is energy.
    let is_data = |heard: &&Heard| matches!(&heard.what, What::Frames { frames, .. } if frames[0].bytes > 200);
    let mut records = Vec::new();
    for data in alone.records.iter().filter(is_data) {
        let other =
            Heard { duration: Duration::from_millis(3), what: What::Energy, ..data.clone() };
        records.extend([data.clone(), other]);
    }
    let all = estimates(&records, options(), Time::from_millis(500));
    let used = mean(all.iter().map(|e| e.utilisation));
    assert!((0.58..0.68).contains(&used), "{used}: 3 ms and contention of each 5 ms");
    let own = mean(all.iter().map(|e| e.shares[0].airtime));
    let one = alone.charged[0].as_secs_f64() / SECOND.as_secs_f64();
    assert!(own < 1.3 * one, "{own} of {one}");
}

#[test]
fn who_fills_its_aggregates_leaves_nothing_to_others() {
    // Two stations with small parts of the air: one sends few large aggregates, the other many small ones.
    let mut talkers = [Talker::down(station(1), he(11), 8), Talker::down(station(2), he(11), 64)];
    talkers[0].every = Some(Duration::from_millis(4));
    talkers[1].every = Some(Duration::from_millis(20));
    let heard = channel(&mut talkers, SECOND, 6);
    let all = estimates(&heard.records, options(), Time::from_millis(500));
    let last = all.last().expect("some");
    let backlogged: Vec<bool> = last.shares.iter().map(|share| share.is_backlogged).collect();
    assert_eq!(backlogged, [false, true], "{:?}", last.shares);
    assert_eq!(last.others(station(1), true), [1.0], "more is waiting for it");
    let left = last.others(station(2), true);
    assert!(left[0] < 0.1, "{left:?}: it is limited");
}

#[test]
fn before_the_first_sample_delta_comes_from_the_table() {
    // Another's frames only: nothing is known of the own rate.
    let mut heard = channel(&mut [Talker::down(station(2), he(11), 8)], SECOND, 1);
    let all = estimates(&heard.records, options(), Time::from_millis(500));
    assert!(all.iter().all(|e| e.delta.is_none() && e.phy.is_none() && e.sharing == 2));
    // Own frames that carry no payload the way that is asked for: a rate, but no sample.
    heard = channel(&mut [Talker::down(station(1), he(11), 8)], SECOND, 1);
    let last = estimates(&heard.records, options(), Time::from_millis(900)).pop().expect("one");
    assert!(last.is_measured);
    let table = options().aggregation.usual_delta(he(11).rate());
    let packed = last.packed_delta.expect("measured");
    assert!(packed > last.delta.expect("measured"));
    // Eight frames an aggregate, packed, come near what 64 would carry, less transport acknowledgements.
    assert!((0.9..1.4).contains(&(packed.as_f64() / table.as_f64())), "{packed} {table}");
}

#[test]
fn who_comes_goes_and_is_limited_is_told() {
    let mut talkers: Vec<Talker> = (1..=3).map(|n| Talker::down(station(n), he(7), 16)).collect();
    talkers[1].from_time = Time::from_millis(500);
    talkers[1].until = Time::from_millis(1_500);
    talkers[2].every = Some(Duration::from_millis(20));
    let heard = channel(&mut talkers, Time::from_millis(3_500), 1);
    let mut estimator = Estimator::new(options());
    let (mut next, mut events, mut counts) = (Time::ZERO, Vec::new(), Vec::new());
    for record in &heard.records {
        while record.at + record.duration > next {
            next += Duration::from_millis(40);
            counts.push((next, estimator.estimate(next)));
            events.extend(estimator.take_events());
        }
        estimator.hear(record);
    }
    let at = |change, n| {
        let found = events.iter().find(|e| e.change == change && e.address == station(n));
        found.unwrap_or_else(|| panic!("{change:?} {n}: {events:?}")).at.as_secs_f64()
    };
    assert!((0.5..0.55).contains(&at(Change::Arrived, 2)));
    assert!((1.5..1.7).contains(&at(Change::Silent, 2)));
    assert!((2.49..2.6).contains(&at(Change::Left, 2)));
    assert!(at(Change::Limited, 3) < 0.2);
    for (now, estimate) in counts {
        let now = now.as_secs_f64();
        let limited = estimate.shares.iter().find(|s| s.address == station(3));
        if (0.2..3.4).contains(&now) {
            assert_eq!(limited.map(|s| s.state), Some(StationState::Limited), "{now}");
        }
        match now {
            n if (0.2..0.5).contains(&n) => assert_eq!(estimate.stations, 2),
            n if (0.6..2.4).contains(&n) => assert_eq!(estimate.stations, 3, "{now}"),
            n if (2.6..3.4).contains(&n) => assert_eq!(estimate.stations, 2),
            _ => {}
        }
    }
}

#[test]
fn energy_foreign_networks_and_management_count() {
    let other = Address([2, 0, 0, 0, 0, 0xaa]);
    let mut foreign = Talker::down(station(9), he(5), 8);
    (foreign.from, foreign.bssid) = (other, other);
    let mut own = Talker::down(station(1), he(5), 8);
    for talker in [&mut foreign, &mut own] {
        talker.every = Some(Duration::from_millis(3));
    }
    let heard = channel(&mut [own, foreign], SECOND, 1);
    let last = |records: &[Heard], options| {
        estimates(records, options, Time::from_millis(900)).pop().expect("an estimate")
    };
    let all = last(&heard.records, options());
    assert!((all.foreign / all.utilisation - 0.5).abs() < 0.03, "{all:?}");
    assert_eq!(all.stations, 2);
    let only = EstimatorOptions { only_own_network: true, ..options() };
    assert_eq!(last(&heard.records, only).stations, 1);
    // The same, heard only as energy: as much of the air, and nobody's.
    let energy: Vec<Heard> =
        heard.records.iter().map(|h| Heard { what: What::Energy, ..h.clone() }).collect();
    let blind = last(&energy, options());
    assert!((blind.utilisation / all.utilisation - 1.0).abs() < 0.01, "{blind:?} {all:?}");
    assert_eq!((blind.stations, blind.sharing, blind.delta), (0, 1, None));
    // Data of which only the PHY header could be made out, and its responses: still a whole exchange.
    let mut header = heard.records.clone();
    for record in &mut header {
        if let What::Frames { vector, is_aggregate: true, .. } = record.what {
            record.what = What::Header(vector);
        }
    }
    let header = last(&header, options());
    assert!((header.utilisation / all.utilisation - 1.0).abs() < 0.01, "{header:?}");
}

#[test]
fn two_hundred_stations_are_counted() {
    let mut talkers: Vec<Talker> = (1..=200).map(|n| Talker::down(station(n), he(9), 4)).collect();
    for talker in &mut talkers {
        talker.every = Some(Duration::from_millis(150));
    }
    let heard = channel(&mut talkers, Time::from_millis(2_500), 1);
    for share in [0.0, 0.3] {
        let records = thinned(&heard.records, share, 5);
        for estimate in estimates(&records, options(), Time::from_millis(1_200)) {
            assert_eq!(estimate.stations, 200);
            assert!(estimate.stations_confidence > 0.5);
        }
    }
}

#[test]
fn clocks_that_run_backward_are_counted_and_bridged() {
    let heard = channel(&mut [Talker::down(station(1), he(9), 16)], SECOND, 1).records;
    let mut estimator = Estimator::new(options());
    for (i, record) in heard.iter().enumerate() {
        let mut record = record.clone();
        if i >= heard.len() / 2 {
            record.at = record.at - Duration::from_millis(400); // The clock was set.
        }
        if i % 50 == 49 {
            record.at = record.at - Duration::from_micros(700); // A stamp came out of order.
        }
        estimator.hear(&record);
    }
    let end = heard.last().map(|h| h.at + h.duration).expect("records");
    let estimate = estimator.estimate(end - Duration::from_millis(400));
    assert!((0.93..=1.0).contains(&estimate.utilisation), "{estimate:?}");
    let backward = estimator.counts().backward;
    assert!(backward > 5 && backward < heard.len() as u64 / 10, "{backward}");
}

#[test]
fn numbers_that_no_field_holds_are_borne() {
    let mut heard = channel(&mut [Talker::down(station(1), he(9), 16)], SECOND, 1).records;
    for (i, record) in heard.iter_mut().enumerate() {
        let What::Frames { frames, .. } = &mut record.what else { continue };
        for frame in frames {
            frame.sequence = u16::MAX - (i % 3) as u16;
            frame.remaining = Duration::from_secs(i as u64 % 2);
            frame.bytes = u32::MAX;
        }
    }
    for estimate in estimates(&heard, options(), Time::from_millis(40)) {
        assert!((0.0..=1.0).contains(&estimate.utilisation), "{estimate:?}");
    }
}

#[test]
fn one_wild_time_stamp_does_no_lasting_harm() {
    let heard = channel(&mut [Talker::down(station(1), he(9), 16)], SECOND, 1).records;
    let mut estimator = Estimator::new(options());
    for (i, record) in heard.iter().enumerate() {
        if i == heard.len() / 3 {
            estimator.hear(&Heard { at: Time::FAR_FUTURE, ..record.clone() });
        }
        estimator.hear(record);
    }
    let end = heard.last().map(|h| h.at + h.duration).expect("records");
    let estimate = estimator.estimate(end);
    assert!((0.97..=1.0).contains(&estimate.utilisation), "{estimate:?}");
    assert!(end.since(estimate.at) < Duration::from_millis(6), "on the clock of the records");
    assert_eq!(estimator.counts().backward, 1);
}

#[test]
fn nothing_heard_is_nothing_used() {
    let mut estimator = Estimator::new(options());
    let estimate = estimator.estimate(SECOND);
    assert_eq!((estimate.utilisation, estimate.stations, estimate.sharing), (0.0, 0, 1));
    assert_eq!((estimate.delta, estimate.utilisation_confidence), (None, 0.0));
    assert!(estimator.take_events().is_empty());
    // Silence after much: it is idle then.
    for record in channel(&mut [Talker::down(station(1), he(9), 16)], SECOND, 1).records {
        estimator.hear(&record);
    }
    let estimate = estimator.estimate(Time::from_millis(1_300));
    assert_eq!(estimate.utilisation, 0.0);
    assert!(estimate.utilisation_confidence > 0.99 && estimate.stations == 1);
    assert_eq!(estimator.estimate(Time::from_millis(2_300)).stations, 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn utilisation_is_never_above_one(
        frames in 1u16..64,
        mcs in 0u8..12,
        stations in 1u16..6,
        taken in 0.0f64..0.95,
        seed: u64,
    ) {
        let mut talkers: Vec<Talker> =
            (1..=stations).map(|n| Talker::down(station(n), he(mcs), frames)).collect();
        let heard: Heards = channel(&mut talkers, Time::from_millis(400), seed);
        for e in estimates(&thinned(&heard.records, taken, seed), options(), Time::from_millis(40)) {
            for share in [e.utilisation, e.without_contention, e.packed, e.foreign, e.inferred,
                e.utilisation_confidence, e.stations_confidence, e.own_confidence]
            {
                prop_assert!((0.0..=1.0).contains(&share), "{e:?}");
            }
            prop_assert!(e.stations <= u32::from(stations));
            prop_assert!(e.packed <= e.utilisation + 1e-9);
        }
    }
}
