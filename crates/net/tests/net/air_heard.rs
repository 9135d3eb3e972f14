//! What Cupid's estimator makes of what the radios of the medium hear.

use std::time::Duration;

use airlane_base::{Seed, Time};
use airlane_cupid::{Estimator, EstimatorOptions};
use airlane_net::Direction;
use airlane_net::air::{Air, ApConfig, ChannelConfig, RateControl};

use crate::air::{ap, saturate, station};

#[test]
fn a_saturated_channel_reads_as_used_and_shared() {
    let span = Duration::from_secs(1);
    let config = ApConfig { rate_control: RateControl::Ideal, ..ap() };
    let mut air = Air::new(ChannelConfig::default(), Seed(1));
    let point = air.add_ap(config);
    let stations: Vec<_> =
        [50.0, 50.0, 15.0, 15.0].map(|snr| air.add_station(point, station(snr))).into();
    let ears: Vec<_> = stations.iter().map(|s| air.listen(*s)).collect();
    let ways: Vec<_> = stations.iter().map(|s| (*s, Direction::Down)).collect();
    let came = saturate(&mut air, &ways, 1_500, span);
    let airtime = air.airtime();
    for (i, ears) in ears.iter().enumerate() {
        let (own, bssid) = air.addresses(stations[i]);
        let options = EstimatorOptions { bssid: Some(bssid), ..EstimatorOptions::new(own) };
        let mut estimator = Estimator::new(options);
        for heard in ears.take() {
            estimator.hear(&heard);
        }
        let estimate = estimator.estimate(Time::ZERO + span);
        let truth = airtime[2 * i].charged.as_secs_f64() / span.as_secs_f64();
        println!(
            "{i} got {} truth {truth:.3}: U {:.3} bare {:.3} packed {:.3} N {} {} delta {:?} goodput {:?} shares {:?}",
            came[i] * 8 / 1_000_000,
            estimate.utilisation,
            estimate.bare,
            estimate.packed,
            estimate.stations,
            estimate.sharing,
            estimate.delta,
            estimate.goodput,
            estimate.shares.iter().map(|s| (s.charged, s.state)).collect::<Vec<_>>()
        );
    }
}
