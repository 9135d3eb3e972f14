//! The fitted models: what the example prints, with the recordings where `docs/reference/traces.md`
//! says, in this order:
//!
//! `cargo run --release -p airlane-net --example fit_traces -- fit:lte 1 {ATT,Verizon}-LTE-driving.down.gz`
//!
//! `cargo run --release -p airlane-net --example fit_traces -- fit:5g 1 static_B_*.csv.gz`
//!
//! `cargo run --release -p airlane-net --example fit_traces -- fit:wifi 1 *.txt`
//!
//! `cargo run --release -p airlane-net --example fit_traces -- fit:wifi-restaurant 1 $(ls -v rest-wifi_*.txt)`
//!
//! `cargo run --release -p airlane-net --example fit_traces -- fit:wifi-gaming 1 $(ls -v wifi_trace*.log.gz)`

use std::time::Duration;

use super::{CapacityModel, Component, Outages};

/// Fitted to two drives with a saturated downlink (AT&T and Verizon), together 36 minutes.
pub(super) const LTE: CapacityModel = CapacityModel {
    scale_bps: 7_630_000.0,
    scale_log_sd: 0.385,
    place: 0.0,
    slow: Component { share: 0.62, time_s: 46.8 },
    fast: Component { share: 0.118, time_s: 3.61 },
    knot: Duration::from_millis(20),
    capacity: [
        0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0618, 0.124, 0.185, 0.309, 0.432, 0.58, 0.741,
        0.988, 1.28, 1.61, 1.91, 2.28, 2.66, 3.15, 3.77, 4.32, 5.0, 5.74, 6.61, 8.39, 10.9,
    ],
    outages: Some(Outages { gap_s: 58.5, log_mean: -1.0, log_sd: 1.71, min_s: 0.45, max_s: 30.0 }),
};

/// Fitted to three recordings of 5G (non-standalone) by a phone that stood still, together 190 minutes by
/// the second.
pub(super) const FIVE_G: CapacityModel = CapacityModel {
    scale_bps: 70_000_000.0,
    scale_log_sd: 0.0,
    place: 0.0191,
    slow: Component { share: 0.339, time_s: 37.7 },
    fast: Component { share: 0.638, time_s: 2.38 },
    knot: Duration::from_secs(1),
    capacity: [
        0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.46e-5, 2.92e-5, 0.00166, 0.0337, 0.129, 0.233, 0.31,
        0.504, 0.786, 1.14, 1.76, 2.5, 2.91, 3.21, 3.44, 3.66, 3.93, 4.17, 4.38, 4.53, 4.69, 4.76,
    ],
    outages: None,
};

/// Fitted to 11 recordings in offices and 11 in a crowded restaurant, together 107 minutes in
/// windows of mostly five minutes.
pub(super) const WIFI: CapacityModel = CapacityModel {
    scale_bps: 23_700_000.0,
    scale_log_sd: 0.0,
    place: 0.588,
    slow: Component { share: 0.34, time_s: 23.8 },
    fast: Component { share: 0.0453, time_s: 1.49 },
    knot: Duration::from_millis(200),
    capacity: [
        4.94e-6, 4.94e-6, 9.3e-6, 3.73e-5, 5.81e-5, 0.000331, 0.00224, 0.00862, 0.0397, 0.203,
        0.477, 0.689, 0.883, 1.06, 1.2, 1.28, 1.31, 1.32, 1.33, 1.36, 1.41, 1.48, 1.57, 1.66, 1.77,
        1.96, 1.98, 1.98, 1.99,
    ],
    outages: None,
};

/// Fitted to 11 recordings in a crowded restaurant, together 52 minutes in windows of mostly five minutes: the part
/// of those of [`WIFI`] that is in no office.
pub(super) const WIFI_RESTAURANT: CapacityModel = CapacityModel {
    scale_bps: 21_000_000.0,
    scale_log_sd: 0.0,
    place: 0.593,
    slow: Component { share: 0.336, time_s: 11.9 },
    fast: Component { share: 0.0484, time_s: 1.01 },
    knot: Duration::from_millis(200),
    capacity: [
        5.58e-6, 5.58e-6, 9.07e-6, 1.24e-5, 4.36e-5, 6.56e-5, 0.00029, 0.0021, 0.00831, 0.122,
        0.426, 0.623, 0.789, 0.937, 1.07, 1.2, 1.31, 1.42, 1.52, 1.61, 1.69, 1.77, 1.84, 1.91,
        1.97, 2.03, 2.07, 2.11, 2.16,
    ],
    outages: None,
};

/// Fitted to 9 sessions of cloud gaming over WiFi, together 49 minutes at steps of 15 ms.
pub(super) const WIFI_GAMING: CapacityModel = CapacityModel {
    scale_bps: 10_900_000.0,
    scale_log_sd: 0.0,
    place: 0.765,
    slow: Component { share: 0.0728, time_s: 2.28 },
    fast: Component { share: 0.162, time_s: 0.0521 },
    knot: Duration::from_millis(20),
    capacity: [
        0.233, 0.233, 0.233, 0.233, 0.233, 0.233, 0.233, 0.233, 0.233, 0.233, 0.364, 0.408, 0.583,
        0.728, 0.874, 1.12, 1.18, 1.44, 1.69, 1.95, 2.27, 2.27, 2.27, 2.27, 2.27, 2.27, 2.27, 2.27,
        2.27,
    ],
    outages: None,
};
