//! WiFis of scenarios: what their keys mean, and worlds on them.

use std::path::Path;
use std::time::Duration;

use airlane_lab::workloads::bulk;
use airlane_net::air::{Burst, Motion, RateControl, Signal, Source};
use airlane_scenario::{AccessKind, Scenario, Wifi};
use airlane_sim::Common;
use airlane_sim::plan::Plan;
use airlane_wifi::{Access, Position};

use crate::runs::run_one;

fn scenario(wifi: &str, rest: &str) -> Result<Scenario, String> {
    let text = format!(
        "name = \"air\"\nduration_s = 4\n[[access]]\nname = \"home\"\nkind = \"wifi\"\n\
         wifi = {{ {wifi} }}\n{rest}\n[[bulk]]\nat = \"home\"\n[[scheme]]\nname = \"cubic\"\n"
    );
    Scenario::from_bytes(
        airlane_lab::registry().scenarios(),
        text.as_bytes(),
        Path::new("s.toml"),
        &[],
    )
    .map_err(|e| e.to_string())
}

fn wifi(keys: &str) -> Wifi {
    let scenario = scenario(keys, "").unwrap();
    match &scenario.network.accesses[0].kind {
        AccessKind::Wifi(wifi) => Wifi::clone(wifi),
        other => panic!("{other:?}"),
    }
}

/// The MCS of a station behind a WiFi with three streams, and its spatial streams.
fn fixed(keys: &str) -> Option<(u8, u8)> {
    let rest = format!(
        "[[access]]\nname = \"far\"\nkind = \"station\"\nbehind = \"home\"\nstation = {{ {keys} }}\n"
    );
    let scenario = scenario("streams = 3, station = { mcs = 1 }", &rest).unwrap();
    let AccessKind::Wifi(wifi) = &scenario.network.accesses[0].kind else { unreachable!() };
    assert_eq!(wifi.station.mcs, Some((1, 3)));
    match &scenario.network.accesses[1].kind {
        AccessKind::Station { station, .. } => station.mcs,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_fixed_mcs_has_the_streams_of_its_access_point() {
    assert_eq!(fixed("mcs = 4"), Some((4, 3)));
    assert_eq!(fixed("mcs = 4, streams = 1"), Some((4, 1)));
    assert_eq!(fixed(""), None);
}

#[test]
fn stations_that_can_never_be_reached_are_warned_of() {
    let warnings = |wifi: &str| scenario(wifi, "").unwrap().network.warnings();
    let none: [String; 0] = [];
    // -92 dBm over 20 MHz is 2 dB of SNR; a preamble takes 4.
    assert_eq!(warnings("width_mhz = 20, station = { snr_db = 8 }"), none);
    assert_eq!(
        warnings("width_mhz = 20, station = { snr_db = 3 }"),
        [
            "Stations on \"home\" can never be reached: the SNR is at most 3.0 dB, and radios hear from \
          4.0 dB on over 20 MHz."
        ]
    );
    assert_eq!(
        warnings("width_mhz = 20, sensitivity_dbm = -82, station = { snr_db = 8 }"),
        [
            "Stations on \"home\" can never be reached: the SNR is at most 8.0 dB, and radios hear from \
          12.0 dB on over 20 MHz."
        ]
    );
    // Its access point does not hear it; nobody can read it; it comes nearer; it stands too far away.
    assert_eq!(warnings("station = { snr_db = 8, up_db = -6 }").len(), 1);
    assert_eq!(warnings("station = { snr_db = 8, mcs = 9 }").len(), 1);
    assert_eq!(warnings("station = { snr_trace = [[0, 1], [2, 30]] }"), none);
    assert_eq!(warnings("station = { distance_m = 1000 }").len(), 1);
    assert_eq!(warnings("shadowing_db = 5, station = { distance_m = 1000 }"), none);
}

#[test]
fn keys_of_places_and_of_what_lies_between_are_read() {
    let plain = wifi("");
    assert_eq!(plain.rate_control, RateControl::Ideal);
    assert_eq!(plain.station.signal, Signal::Fixed(50.0));
    assert_eq!((plain.shares, plain.position, plain.interferers.len()), (None, None, 0));
    let full = wifi(
        "rate_control = \"minstrel\", channel = \"36\", x_m = 3, power_dbm = 17, loss_exponent = 3, \
         loss_db = 5, shadowing_db = 4, fading = { k_db = 6 }, \
         interference = [{ power_dbm = -55, random = true }], \
         station = { distance_m = 12, walk = { within_m = 8, slowest_mps = 1 }, up_db = -5 }",
    );
    assert_eq!(full.rate_control, RateControl::Minstrel);
    assert_eq!((full.shares.as_deref(), full.power_dbm), (Some("36"), 17.0));
    assert_eq!(full.position, Some(Position::new(3.0, 0.0)));
    assert_eq!(full.channel.shadowing, Some((4.0, 5.0)));
    assert_eq!(full.channel.fading.and_then(|fading| fading.k_db), Some(6.0));
    assert_eq!(full.interferers[0].source, Source::Everywhere(-55.0));
    assert_eq!(full.interferers[0].on, Burst::Exponential(Duration::from_millis(8)));
    assert_eq!(full.station.up_db, -5.0);
    let Signal::Place(Motion::Walk { start, speed, .. }) = full.station.signal else {
        panic!("{:?}", full.station.signal)
    };
    assert_eq!((start, speed), (Position::new(12.0, 0.0), [1.0, 4.0]));
}

#[test]
fn access_points_and_stations_contend_as_is_said() {
    let plain = wifi("");
    assert_eq!((plain.contention, plain.station.contention), (None, None));
    let dcf = "contention = { aifsn = 2, cw_min = 15, cw_max = 1023, txop_s = 0 }";
    let of_both = wifi(&format!("{dcf}, station = {{ {dcf} }}"));
    assert_eq!(of_both.contention, Some(Access::DCF));
    assert_eq!(of_both.station.contention, Some(Access::DCF));
    let ahead = wifi("contention = { aifsn = 1 }");
    assert_eq!(ahead.contention, Some(Access { aifsn: 1, ..Access::BEST_EFFORT }));
    let error = scenario("station = { contention = { aifsn = 1 } }", "").unwrap_err();
    assert!(error.contains("aifsn"), "{error}");
    let error = scenario("contention = { cw_min = 63, cw_max = 31 }", "").unwrap_err();
    assert!(error.contains("expected at least `cw_min`"), "{error}");
}

#[test]
fn what_contradicts_itself_is_refused() {
    for (station, expected) in [
        ("snr_db = 20, distance_m = 5", "expected one of the two"),
        ("walk = { within_m = 5 }", "expected `distance_m` or `x_m` beside it"),
        ("waypoints = [[5, 0, 0], [1, 2, 2]]", "expected times that increase"),
        ("snr_trace = []", "expected at least one SNR"),
        ("distance_m = 5, walk = { slowest_mps = 5 }", "expected at least `slowest_mps`"),
    ] {
        let error = scenario(&format!("station = {{ {station} }}"), "").unwrap_err();
        assert!(error.contains(expected), "{station}: {error}");
    }
}

/// Mbit/s of each transfer of a scenario.
fn goodputs(text: &str) -> Vec<f64> {
    let scenario = Scenario::from_bytes(
        airlane_lab::registry().scenarios(),
        text.as_bytes(),
        Path::new("s.toml"),
        &[],
    )
    .unwrap();
    let plan = Plan::new(scenario, &Common::default()).unwrap();
    let output = run_one(&plan, plan.runs().next().unwrap());
    bulk::Output::of(&output).iter().map(|one| one.bytes as f64 * 8e-6 / 4.0).collect()
}

/// Transfers on one WiFi under a scheme.
fn at_home(scheme: &str, transfers: &str) -> Vec<f64> {
    goodputs(&format!(
        "name = \"air\"\nduration_s = 4\n[core]\nrtt_s = 0.01\n[[scheme]]\n{scheme}\n[[access]]\n\
         name = \"home\"\nkind = \"wifi\"\nwifi = {{ standard = \"ac\", width_mhz = 20, streams = 1, \
         station = {{ snr_db = 30 }} }}\n{transfers}"
    ))
}

#[test]
fn a_transfer_that_goes_both_ways_is_one_station() {
    let cubic = "name = \"cubic\"";
    let both = at_home(cubic, "[[bulk]]\nname = \"a\"\nat = \"home\"\nboth_ways = true\n");
    let one = at_home(cubic, "[[bulk]]\nname = \"a\"\nat = \"home\"\nupload = true\n");
    println!("both {both:.1?}, one {one:.1?}");
    // The sum of both ways is one figure, and about what one way alone carries.
    assert_eq!((both.len(), one.len()), (1, 1));
    assert!((0.75..1.15).contains(&(both[0] / one[0])), "{both:?} of {one:?}");
    let limited = "[[bulk]]\nname = \"a\"\nat = \"home\"\nboth_ways = true\nlimit_bps = 5e6\nup_limit_bps = 3e6\n";
    let sum = at_home(cubic, limited)[0];
    assert!((6.0..8.5).contains(&sum), "{sum}");
}

#[test]
fn a_constant_rate_is_sent_whatever_comes_of_it() {
    let udp = "name = \"udp\"\nbulk_transport = \"constant\"";
    let rate = |bps: &str| {
        at_home(
            udp,
            &format!("[[bulk]]\nname = \"a\"\nat = \"home\"\nupload = true\nlimit_bps = {bps}\n"),
        )[0]
    };
    let (little, much) = (rate("10e6"), rate("200e6"));
    // Payload alone counts, and at the end something is under way.
    assert!((9.4..10.0).contains(&little), "{little}");
    assert!((30.0..78.0).contains(&much), "{much}");
}

/// Two homes with a transfer each.
fn homes(one: &str, other: &str) -> Vec<f64> {
    let home = |name: &str, keys: &str| {
        format!(
            "[[access]]\nname = \"{name}\"\nkind = \"wifi\"\nwifi = {{ {keys} }}\n\
             [[bulk]]\nname = \"{name}\"\nat = \"{name}\"\n"
        )
    };
    goodputs(&format!(
        "name = \"air\"\nduration_s = 4\n[core]\nrtt_s = 0.01\n[[scheme]]\nname = \"cubic\"\n{}{}",
        home("a", one),
        home("b", other)
    ))
}

#[test]
fn homes_that_name_the_same_channel_share_it() {
    let slow = "standard = \"n\", width_mhz = 20, streams = 1";
    let apart = homes(slow, slow);
    let shared = format!("{slow}, channel = \"6\"");
    let together = homes(&shared, &shared);
    println!("apart {apart:.1?}, together {together:.1?}");
    let (all, half) = (apart[0] + apart[1], together[0] + together[1]);
    assert!((0.4..0.65).contains(&(half / all)), "{together:?} of {apart:?}");
}

#[test]
fn a_transfer_runs_on_everything_at_once() {
    let got = homes(
        "channel = \"6\", rate_control = \"minstrel\", fading = {}, shadowing_db = 3, beacons = true, \
         descriptors = 256, descriptors_shared = true, queue = { kind = \"fq-codel\", limit_packets = 1000 }, \
         interference = [{ power_dbm = -60, random = true, on_s = 0.001, off_s = 0.05 }], \
         station = { distance_m = 10, walk = { within_m = 5 }, sleep_after_s = 0.1 }",
        "channel = \"6\", station = { waypoints = [[0, 5, 0], [4, 30, 0]] }",
    );
    println!("{got:.1?}");
    assert!(got.iter().all(|mbps| *mbps > 5.0), "{got:?}");
}
