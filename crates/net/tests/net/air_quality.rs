//! SNRs that come from places, recordings and what disturbs.

use std::time::Duration;

use airlane_base::{Seed, Time};
use airlane_net::Direction;
use airlane_net::air::{
    Air, ApConfig, Burst, ChannelConfig, FadingConfig, InterfererConfig, Motion, RateControl,
    Signal, Source, StationConfig,
};
use airlane_wifi::{Area, Leg, PathLoss, Position, SnrTrace, Waypoints, Width};

use crate::air::{ap, mbps, saturate, station};

const SPAN: Duration = Duration::from_secs(4);

fn with(signal: Signal) -> StationConfig {
    StationConfig { signal, ..station(0.0) }
}

/// Mbit/s of one saturated station.
fn goodput(channel: ChannelConfig, rate_control: RateControl, station: &StationConfig) -> f64 {
    goodput_amid(channel, rate_control, station, None)
}

fn goodput_amid(
    channel: ChannelConfig,
    rate_control: RateControl,
    station: &StationConfig,
    interferer: Option<InterfererConfig>,
) -> f64 {
    let mut air = Air::new(channel, Seed(1));
    let point = air.add_ap(ApConfig { rate_control, ..ap() });
    let one = air.add_station(point, station.clone());
    if let Some(interferer) = interferer {
        air.add_interferer(interferer);
    }
    mbps(saturate(&mut air, &[(one, Direction::Down)], 1_500, SPAN)[0], SPAN)
}

#[test]
fn a_place_gives_the_snr_that_its_distance_says() {
    let loss = PathLoss::log_distance(5.2e9, 3.0);
    let channel = ChannelConfig { loss, ..ChannelConfig::default() };
    for metres in [3.0, 10.0, 25.0, 60.0] {
        let place = with(Signal::Place(Motion::Still(Position::new(metres, 0.0))));
        let noise = airlane_wifi::noise_dbm(ap().width, channel.noise_figure_db);
        let snr = ap().power_dbm - loss.db(metres) - noise;
        let placed = goodput(channel, RateControl::Ideal, &place);
        let fixed = goodput(channel, RateControl::Ideal, &station(snr));
        println!("{metres} m, {snr:.1} dB: {placed:.1} Mbit/s");
        assert_eq!(placed, fixed);
    }
}

#[test]
fn minstrel_follows_what_changes() {
    // Down and up by 20 dB within two seconds, and a step.
    let at = Time::from_millis;
    let slope = vec![(at(0), 40.0), (at(1_000), 20.0), (at(2_000), 40.0), (at(3_000), 20.0)];
    let step = vec![
        (at(0), 40.0),
        (at(1_000), 40.0),
        (at(1_001), 15.0),
        (at(2_500), 15.0),
        (at(2_501), 40.0),
    ];
    for (name, points) in [("slope", slope), ("step", step)] {
        let station = with(Signal::Trace(SnrTrace::new(points).unwrap()));
        let channel = ChannelConfig::default();
        let ideal = goodput(channel, RateControl::Ideal, &station);
        let found = goodput(channel, RateControl::Minstrel, &station);
        println!("{name}: {found:.1} of {ideal:.1} Mbit/s ({:.3})", found / ideal);
        assert!(found > 0.7 * ideal, "{name}: {found} of {ideal} Mbit/s");
    }
}

#[test]
fn a_station_is_heard_down_to_the_sensitivity_of_radios() {
    let over_20 = |sensitivity_dbm, snr_db| {
        let channel = ChannelConfig { sensitivity_dbm, ..ChannelConfig::default() };
        let mut air = Air::new(channel, Seed(1));
        let narrow = ApConfig { width: Width::Mhz20, rate_control: RateControl::Ideal, ..ap() };
        let point = air.add_ap(narrow);
        let one = air.add_station(point, station(snr_db));
        mbps(saturate(&mut air, &[(one, Direction::Down)], 1_500, SPAN)[0], SPAN)
    };
    // Noise is at -94 dBm, and a preamble takes 4 dB.
    assert!(over_20(None, 8.0) > 10.0, "{}", over_20(None, 8.0));
    assert!(over_20(None, 4.5) > 3.0, "{}", over_20(None, 4.5));
    assert_eq!(over_20(None, 3.5), 0.0);
    // As in ns-3.
    assert_eq!(over_20(Some(-82.0), 11.5), 0.0);
    assert!(over_20(Some(-82.0), 12.5) > 20.0, "{}", over_20(Some(-82.0), 12.5));
}

#[test]
fn whoever_goes_away_gets_less_and_less() {
    let way = vec![
        (Time::ZERO, Position::new(2.0, 0.0)),
        (Time::from_millis(4_000), Position::new(80.0, 0.0)),
    ];
    let walker = with(Signal::Place(Motion::Waypoints(Waypoints::new(way).unwrap())));
    let still = |metres| with(Signal::Place(Motion::Still(Position::new(metres, 0.0))));
    let of =
        |station: &StationConfig| goodput(ChannelConfig::default(), RateControl::Ideal, station);
    let (near, gone, far) = (of(&still(2.0)), of(&walker), of(&still(80.0)));
    println!("near {near:.1}, going {gone:.1}, far {far:.1}");
    assert!(far < gone && gone < near);
}

#[test]
fn fading_shadowing_and_walks_repeat_and_cost() {
    let start = Position::new(20.0, 0.0);
    let area = Area::around(start, 10.0);
    let walk =
        with(Signal::Place(Motion::Walk { area, start, speed: [2.0, 4.0], leg: Leg::Metres(1.0) }));
    let calm = ChannelConfig::default();
    let fading = FadingConfig { doppler_hz: 6.0, k_db: None, delay_spread_ns: 10.0 };
    let rough = ChannelConfig { shadowing: Some((5.0, 5.0)), fading: Some(fading), ..calm };
    let first = goodput(rough, RateControl::Minstrel, &walk);
    assert_eq!(first, goodput(rough, RateControl::Minstrel, &walk), "it repeats");
    let still = with(Signal::Place(Motion::Still(start)));
    let faded = ChannelConfig { fading: Some(fading), ..calm };
    let (steady, fades) =
        (goodput(calm, RateControl::Ideal, &still), goodput(faded, RateControl::Ideal, &still));
    println!("steady {steady:.1}, fading {fades:.1}, walking in a rough place {first:.1}");
    assert!(fades < steady && fades > 0.4 * steady, "{fades} of {steady}");
}

#[test]
fn bursts_take_their_share_of_the_air() {
    let half = |dbm| InterfererConfig {
        source: Source::Everywhere(dbm),
        on: Burst::Constant(Duration::from_millis(10)),
        off: Burst::Constant(Duration::from_millis(10)),
        start: Duration::ZERO,
    };
    let of = |interferer| {
        goodput_amid(ChannelConfig::default(), RateControl::Ideal, &station(40.0), interferer)
    };
    let alone = of(None);
    // It is heard: all wait for it, and lose what it falls into.
    let heard = of(Some(half(-50.0)));
    // It is not, and nobody is disturbed.
    let faint = of(Some(half(-110.0)));
    println!("alone {alone:.1}, half of the time disturbed {heard:.1}, faintly {faint:.1}");
    assert!((0.25..0.5).contains(&(heard / alone)), "{heard} of {alone}");
    assert!(faint > 0.97 * alone, "{faint} of {alone}");
    let random = InterfererConfig {
        on: Burst::Exponential(Duration::from_millis(10)),
        off: Burst::Exponential(Duration::from_millis(10)),
        ..half(-50.0)
    };
    assert!((0.2..0.6).contains(&(of(Some(random)) / alone)));
}

#[test]
fn networks_on_one_channel_share_it_where_they_hear_each_other() {
    let total = |snr_to_others_db: f64| {
        let mut air = Air::new(ChannelConfig::default(), Seed(3));
        let ways: Vec<_> = (0..2)
            .map(|_| {
                let point = air.add_ap(ApConfig { snr_to_others_db, ..ap() });
                let one = StationConfig { snr_to_others_db, ..station(50.0) };
                (air.add_station(point, one), Direction::Down)
            })
            .collect();
        saturate(&mut air, &ways, 1_500, SPAN).iter().map(|b| mbps(*b, SPAN)).collect::<Vec<_>>()
    };
    let (near, apart) = (total(40.0), total(-60.0));
    println!("near {near:.1?}, apart {apart:.1?}");
    let share = near[0] / (near[0] + near[1]);
    assert!((0.45..0.55).contains(&share), "{near:?}");
    let reuse = (apart[0] + apart[1]) / (near[0] + near[1]);
    assert!((1.7..2.3).contains(&reuse), "{near:?} and {apart:?}");
}
