//! Keys of what radios of a WiFi hear of each other: SNRs, places, what lies between, what disturbs.

use std::time::Duration;

use airlane_base::Time;
use airlane_net::air::{
    Burst, ChannelConfig, FadingConfig, InterfererConfig, Motion, Signal, Source,
};
use airlane_wifi::{Area, Leg, PathLoss, Position, SnrTrace, Waypoints};

use super::super::bounds::range;
use super::super::reader::{NONE, Reader};

/// SNR of a station of which nothing else is said, dB.
const SNR_DB: f64 = 50.0;
/// The carrier, Hz.
const FREQUENCY: f64 = 5.2e9;

pub(super) const POWER: &str =
    "What the access point sends with, antenna gains of both ends included, dBm.";
pub(super) const INTERFERENCE: &str = "Transmitters on the channel that are no 802.11.";

const FADING: &str = "Fading in time between stations that have a place and their access point.";
const WALK: &str = "A random walk in a square, from where the station stands.";

/// Keys of the channel, in the table `wifi`.
pub(super) fn channel(r: &mut Reader<'_>) -> ChannelConfig {
    let default = ChannelConfig::default();
    let sensitivity_dbm = r.number_or_none(
        "sensitivity_dbm",
        range(-120.0, 0.0, "-82"),
        "-92 over 20 MHz, -89 over 40, -86 over 80, -83 over 160",
        "Sensitivity of radios, dBm: below this power they hear nothing of a PPDU. ns-3 detects no preamble below -82.",
    );
    let exponent = r.number_or_none(
        "loss_exponent",
        range(1.0, 8.0, "3"),
        "2 up to 10 m, 3.5 beyond (TGn D)",
        "Exponent of the loss with distance, where a station has a place.",
    );
    let more_db = r.number(
        "loss_db",
        range(-60.0, 120.0, "5"),
        0.0,
        "Loss whatever the distance, beside that of free space at 1 m: walls.",
    );
    let loss = exponent.map_or(default.loss, |n| PathLoss::log_distance(FREQUENCY, n));
    let sigma_db = r.number(
        "shadowing_db",
        range(0.0, 20.0, "5"),
        0.0,
        "Standard deviation of shadowing, where a station has a place.",
    );
    let metres = r.number(
        "shadowing_m",
        range(0.1, 1e4, "5"),
        5.0,
        "Over so many metres shadowing becomes another.",
    );
    let fading = r.table("fading", NONE, FADING, |r| FadingConfig {
        doppler_hz: r.number(
            "doppler_hz",
            range(0.0, 1e4, "6"),
            6.0,
            "How fast it changes: the Doppler shift.",
        ),
        k_db: r.number_or_none(
            "k_db",
            range(-30.0, 60.0, "6"),
            "nothing goes straight (Rayleigh)",
            "How much more power goes straight than is scattered (Rician).",
        ),
        delay_spread_ns: r.number(
            "delay_spread_ns",
            range(0.1, 1e4, "50"),
            50.0,
            "Delay spread: the longer, the less a wide channel fades as one.",
        ),
    });
    ChannelConfig {
        sensitivity_dbm,
        loss: loss.with_db(more_db),
        shadowing: (sigma_db > 0.0).then_some((sigma_db, metres)),
        fading,
        ..default
    }
}

/// An entry of `interference`.
pub(super) fn interferer(r: &mut Reader<'_>) -> InterfererConfig {
    let dbm = r.number(
        "power_dbm",
        range(-150.0, 60.0, "-60"),
        -60.0,
        "Its power at every radio; where it stands somewhere, what it sends with.",
    );
    let place = place(r, "Where it stands, to the east.", "And to the north.");
    let is_random = r.flag_or_none(
        "random",
        "false",
        "Bursts and silences are drawn from exponential distributions; otherwise all are alike.",
    );
    let on = r.time("on_s", range(1e-6, 1e6, "0.008"), 0.008, "How long it sends.");
    let off =
        r.time("off_s", range(1e-6, 1e6, "0.012"), 0.012, "How long it is silent in between.");
    let start = r.time("start_s", range(0.0, 1e6, "1"), 0.0, "When it first sends.");
    let burst = |length: Duration| match is_random.unwrap_or(false) {
        true => Burst::Exponential(length),
        false => Burst::Constant(length),
    };
    let source = place.map_or(Source::Everywhere(dbm), |place| Source::At(place, dbm));
    InterfererConfig { source, on: burst(on), off: burst(off), start }
}

/// `x_m` and `y_m`.
pub(super) fn place(r: &mut Reader<'_>, east: &str, north: &str) -> Option<Position> {
    let metres = range(-1e5, 1e5, "10");
    let x = r.number_or_none("x_m", metres, NONE, east);
    let y = r.number_or_none("y_m", metres, "0 beside `x_m`", north);
    (x.is_some() || y.is_some()).then(|| Position::new(x.unwrap_or(0.0), y.unwrap_or(0.0)))
}

/// Reads the source of a station's SNR from the table `station`.
pub(super) fn signal(r: &mut Reader<'_>) -> Signal {
    let db = range(-40.0, 90.0, "30");
    let snr_db = r.number_or_none(
        "snr_db",
        db,
        "50, unless a place or a trace says it",
        "SNR between it and its access point, over the whole width. Below 4 dB, or `wifi.sensitivity_dbm`, nothing is heard.",
    );
    let time = ("t_s", range(0.0, 1e6, "10"));
    let trace = r.rows(
        "snr_trace",
        [time, ("snr_db", db)],
        "[[0, 40], [10, 20]]",
        "That SNR as it changes: on lines between these.",
    );
    let distance = r.number_or_none(
        "distance_m",
        range(0.0, 1e5, "10"),
        NONE,
        "It stands so far to the east of where places are counted from.",
    );
    let place = place(r, "It stands here, to the east.", "And to the north.");
    let metres = range(-1e5, 1e5, "10");
    let waypoints = r.rows(
        "waypoints",
        [time, ("x_m", metres), ("y_m", metres)],
        "[[0, 5, 0], [10, 40, 0]]",
        "It goes from place to place, steadily.",
    );
    let walk = r.table("walk", NONE, WALK, |r| {
        let side = r.number("within_m", range(0.1, 1e5, "10"), 10.0, "Half a side of the square.");
        let speed = range(0.0, 100.0, "1");
        let slow = r.number("slowest_mps", speed, 2.0, "Least speed, m/s.");
        let fast = r.number("fastest_mps", speed, 4.0, "Greatest speed, m/s.");
        if fast < slow {
            let found = format!("found {fast} m/s");
            r.fail("fastest_mps", found, format!("expected at least `slowest_mps`, {slow} m/s"));
        }
        let leg = r.number("leg_m", range(0.1, 1e4, "1"), 1.0, "It turns after so many metres.");
        (side, [slow, fast], leg)
    });
    let given = [
        ("snr_db", snr_db.is_some()),
        ("snr_trace", trace.is_some()),
        ("distance_m", distance.is_some()),
        ("x_m", place.is_some()),
        ("waypoints", waypoints.is_some()),
    ];
    let mut given = given.into_iter().filter(|(_, is_given)| *is_given).map(|(key, _)| key);
    // While keys are listed all are read as if they were there.
    if !r.is_listing()
        && let (Some(one), Some(other)) = (given.next(), given.next())
    {
        r.fail(other, format!("found beside `{one}`"), format!("expected one of the two: {ONE}"));
    }
    let start = distance.map(|x| Position::new(x, 0.0)).or(place);
    if let Some((side, speed, metres)) = walk.filter(|_| !r.is_listing()) {
        let Some(start) = start else {
            r.fail("walk", "found without a place", "expected `distance_m` or `x_m` beside it");
            return Signal::Fixed(SNR_DB);
        };
        let area = Area::around(start, side);
        return Signal::Place(Motion::Walk { area, start, speed, leg: Leg::Metres(metres) });
    }
    let at = |seconds: f64| Time::from_nanos((seconds * 1e9).round() as u64);
    if let Some(rows) = waypoints {
        let points = rows.iter().map(|[t, x, y]| (at(*t), Position::new(*x, *y))).collect();
        match Waypoints::new(points) {
            Ok(points) => return Signal::Place(Motion::Waypoints(points)),
            Err(error) => r.fail("waypoints", "found no way", error.to_string()),
        }
    }
    if let Some(rows) = trace {
        match SnrTrace::new(rows.iter().map(|[t, db]| (at(*t), *db)).collect()) {
            Ok(trace) => return Signal::Trace(trace),
            Err(error) => r.fail("snr_trace", "found no trace", error.to_string()),
        }
    }
    match start {
        Some(start) => Signal::Place(Motion::Still(start)),
        None => Signal::Fixed(snr_db.unwrap_or(SNR_DB)),
    }
}

const ONE: &str = "an SNR, a trace of it, a place or a way";
