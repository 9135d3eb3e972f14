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
        let truth = |i: usize| airtime[2 * i].charged.as_secs_f64() / span.as_secs_f64();
        let what = format!("station {i}: {estimate:?}");
        assert!((estimate.utilisation - 1.0).abs() < 0.03, "{what}");
        // Those far away make out no frame that goes to those near by: responses tell of them.
        assert_eq!(estimate.stations, 4, "{what}");
        for (j, station) in stations.iter().enumerate() {
            let address = air.addresses(*station).0;
            let share = estimate.shares.iter().find(|share| share.address == address);
            let off = share.map_or(1.0, |share| share.charged / truth(j) - 1.0);
            assert!(off.abs() < 0.1, "station {j} at {what}");
        }
        let payload = came[i] as f64 * 8.0 * (1_472.0 / 1_500.0);
        let delta = payload / airtime[2 * i].charged.as_secs_f64();
        let measured = estimate.delta.map_or(0.0, |delta| delta.as_f64());
        assert!((measured / delta - 1.0).abs() < 0.03, "{delta} at {what}");
    }
}
