//! Minstrel finds the rate that an oracle knows.

use std::time::Duration;

use airlane_base::Seed;
use airlane_net::Direction;
use airlane_net::air::{Air, ApConfig, ChannelConfig, RateControl};

use crate::air::{ap, mbps, saturate, station};

/// Mbit/s of a saturated station at an SNR.
fn goodput(rate_control: RateControl, snr_db: f64, (window, seed): (usize, u64)) -> f64 {
    let span = Duration::from_secs(4);
    let mut air = Air::new(ChannelConfig::default(), Seed(seed));
    let point = air.add_ap(ApConfig { rate_control, window, ..ap() });
    let one = air.add_station(point, station(snr_db));
    let came = saturate(&mut air, &[(one, Direction::Down)], 1_500, span);
    mbps(came[0], span)
}

#[test]
fn it_comes_near_the_ideal_at_any_snr() {
    for window in [64, 256] {
        for snr in [8.0, 12.0, 16.0, 20.0, 25.0, 30.0, 35.0, 40.0, 50.0] {
            let ideal = goodput(RateControl::Ideal, snr, (window, 1));
            let found = goodput(RateControl::Minstrel, snr, (window, 1));
            let share = found / ideal;
            println!("{snr} dB, window {window}: {found:.1} of {ideal:.1} Mbit/s ({share:.3})");
            assert!(share > 0.85, "{snr} dB, window {window}: {found} of {ideal} Mbit/s");
            assert!(share < 1.03, "{snr} dB, window {window}: {found} of {ideal} Mbit/s");
        }
    }
}

#[test]
fn several_stations_each_find_their_own() {
    let span = Duration::from_secs(4);
    let total = |rate_control| {
        let mut air = Air::new(ChannelConfig::default(), Seed(2));
        let point = air.add_ap(ApConfig { rate_control, ..ap() });
        let ways = [50.0, 35.0, 20.0, 12.0]
            .map(|snr| (air.add_station(point, station(snr)), Direction::Down));
        saturate(&mut air, &ways, 1_500, span)
    };
    let (ideal, found) = (total(RateControl::Ideal), total(RateControl::Minstrel));
    for (ideal, found) in ideal.iter().zip(&found) {
        let share = *found as f64 / *ideal as f64;
        println!("{share:.3}");
        assert!((0.75..1.3).contains(&share), "{share}");
    }
}
