//! What Cupid's estimator makes of what the radios of the medium hear.

use std::sync::Arc;
use std::time::Duration;

use airlane_base::{Seed, Time};
use airlane_cupid::{Estimator, EstimatorOptions};
use airlane_net::air::{Air, ApConfig, ChannelConfig, RateControl};
use airlane_net::{Direction, Node};
use airlane_wifi::{FrameKind, Heard, What};
use parking_lot::Mutex;

use crate::air::{ap, saturate, station};

#[test]
fn a_saturated_channel_reads_as_used_and_shared() {
    let span = Duration::from_secs(1);
    let config = ApConfig { rate_control: RateControl::Ideal, ..ap() };
    let mut air = Air::new(ChannelConfig::default(), Seed(1));
    let point = air.add_ap(config);
    let stations: Vec<_> =
        [50.0, 50.0, 15.0, 15.0].map(|snr| air.add_station(point, station(snr))).into();
    let logs: Vec<_> = stations.iter().map(|s| air.listen(*s)).collect();
    let ways: Vec<_> = stations.iter().map(|s| (*s, Direction::Down)).collect();
    let came = saturate(&mut air, &ways, 1_500, span);
    let airtime = air.airtime();
    for (i, log) in logs.iter().enumerate() {
        let (own, bssid) = air.addresses(stations[i]);
        let options = EstimatorOptions { bssid: Some(bssid), ..EstimatorOptions::new(own) };
        let mut estimator = Estimator::new(options);
        for heard in log.take() {
            estimator.hear(&heard);
        }
        let estimate = estimator.estimate(Time::ZERO + span);
        let truth = |i: usize| airtime[2 * i].charged.as_secs_f64() / span.as_secs_f64();
        let what = format!("station {i}: {estimate:?}");
        assert!((estimate.utilisation - 1.0).abs() < 0.03, "{what}");
        // Those far away make out no frame that goes to those near by: responses tell of them.
        assert_eq!(estimate.stations, 4, "{what}");
        for (j, station) in stations.iter().enumerate() {
            let address = air.addresses(*station).0;
            let share = estimate.shares.iter().find(|share| share.address == address);
            let off = share.map_or(1.0, |share| share.airtime / truth(j) - 1.0);
            assert!(off.abs() < 0.1, "station {j} at {what}");
        }
        let payload = came[i] as f64 * 8.0 * (1_472.0 / 1_500.0);
        let delta = payload / airtime[2 * i].charged.as_secs_f64();
        let measured = estimate.delta.map_or(0.0, |delta| delta.as_f64());
        assert!((measured / delta - 1.0).abs() < 0.03, "{delta} at {what}");
    }
}

#[test]
fn a_monitor_misses_nothing_and_changes_nothing() {
    let span = Duration::from_millis(300);
    let run = |has_monitor: bool| {
        let mut air = Air::new(ChannelConfig::default(), Seed(1));
        let point = air.add_ap(ap());
        let stations: Vec<_> =
            [50.0, 0.0, 12.0].map(|snr| air.add_station(point, station(snr))).into();
        let heard: Arc<Mutex<Vec<Heard>>> = Arc::default();
        if has_monitor {
            let sink = heard.clone();
            air.monitor(move |record| sink.lock().push(record.clone()));
        }
        let ways: Vec<_> =
            stations.iter().flat_map(|s| Direction::BOTH.map(|way| (*s, way))).collect();
        let came = saturate(&mut air, &ways, 1_500, span);
        let heard = heard.lock().clone();
        (came, air.airtime(), heard)
    };
    let (with, without) = (run(true), run(false));
    assert_eq!((&with.0, &with.1), (&without.0, &without.1));
    assert!(without.2.is_empty());
    let records = with.2;
    assert!(
        records
            .iter()
            .all(|r| matches!(&r.what, What::Frames { frames, .. } if !frames.is_empty()))
    );
    let ends: Vec<Time> = records.iter().map(|r| r.at + r.duration).collect();
    assert!(ends.is_sorted());
    let is_data = |r: &&Heard| matches!(&r.what, What::Frames { frames, .. } if frames[0].kind == FrameKind::QosData);
    let frames = records.iter().filter(is_data).map(|r| match &r.what {
        What::Frames { frames, .. } => frames.len() as u64,
        _ => 0,
    });
    let counted: u64 = with.1.iter().map(|airtime| airtime.frames).sum();
    // One exchange may not be over at the end.
    let heard: u64 = frames.sum();
    assert!(heard >= counted && heard <= counted + 64, "{heard} heard, {counted} counted");
}

#[test]
fn of_a_station_that_leaves_while_it_sends_a_monitor_hears_that_the_air_was_busy() {
    let mut air = Air::new(ChannelConfig::default(), Seed(1));
    let point = air.add_ap(ap());
    let leaver = air.add_station(point, station(50.0));
    let heard: Arc<Mutex<Vec<Heard>>> = Arc::default();
    let sink = heard.clone();
    air.monitor(move |record| sink.lock().push(record.clone()));
    let span = Duration::from_millis(50);
    saturate(&mut air, &[(leaver, Direction::Up)], 1_500, span);
    let own = air.addresses(leaver).0;
    let is_own = |record: &Heard| match &record.what {
        What::Frames { frames, .. } => frames[0].transmitter == Some(own),
        _ => false,
    };
    assert!(heard.lock().iter().any(is_own));
    heard.lock().clear();
    air.leave(leaver, &mut Vec::new());
    while let Some(at) = air.next_event() {
        air.poll(at, &mut Vec::new());
    }
    let rest = heard.lock();
    assert!(!rest.iter().any(is_own), "{rest:?}");
    // Of what it was sending, that the air was busy; and an answer to what it had sent before.
    let is_answer = |record: &Heard| match &record.what {
        What::Frames { frames, .. } => frames[0].receiver == own,
        what => *what == What::Energy,
    };
    assert!(rest.len() <= 2 && rest.iter().all(is_answer), "{rest:?}");
}

#[test]
fn everybody_who_listens_to_a_radio_hears_all_of_it() {
    let mut air = Air::new(ChannelConfig::default(), Seed(1));
    let point = air.add_ap(ap());
    let station = air.add_station(point, station(50.0));
    let (first, second) = (air.listen(station), air.listen(station));
    saturate(&mut air, &[(station, Direction::Down)], 1_500, Duration::from_millis(50));
    let heard = first.take();
    assert!(heard.len() > 10, "{}", heard.len());
    assert_eq!(heard, second.take());
    assert!(first.take().is_empty());
}
