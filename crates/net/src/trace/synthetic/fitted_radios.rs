//! The fitted models of radios: what the example prints, with the recordings where
//! `docs/reference/traces.md` says, in this order:
//!
//! `cargo run --release -p airlane-net --example fit_traces -- fit:wifi-ac 1 iperf_LoS_WIFI.csv`
//!
//! and so on with `wigig-los`, `wigig-nlos` and `wigig-mobile`.

use std::borrow::Cow;

use super::{Component, Outages, Phase, RadioModel};

/// Fitted to a laptop within sight of an access point of 802.11ac, six minutes.
pub(super) const WIFI_AC: RadioModel = RadioModel {
    peak_bps: 536e6,
    phases: Cow::Borrowed(&[
        Phase { level: 0.938, spread: 0.52, dwell_s: 69.6 },
        Phase { level: 0.839, spread: 0.538, dwell_s: 5.0 },
    ]),
    erlang: 1,
    slow: Component { share: 0.0857, time_s: 7.1 },
    fast_s: 0.344,
    outages: None,
};

/// Fitted to the same laptop within sight of an access point of 802.11ad, six minutes.
pub(super) const WIGIG_LOS: RadioModel = RadioModel {
    peak_bps: 1680e6,
    phases: Cow::Borrowed(&[
        Phase { level: 0.964, spread: 1.0, dwell_s: 322.0 },
        Phase { level: 0.453, spread: 0.333, dwell_s: 18.0 },
        Phase { level: 0.0357, spread: 1.04, dwell_s: 26.0 },
    ]),
    erlang: 1,
    slow: Component { share: 0.016, time_s: 8.51 },
    fast_s: 0.108,
    outages: None,
};

/// Fitted to the same with a person standing in between.
pub(super) const WIGIG_NLOS: RadioModel = RadioModel {
    peak_bps: 1650e6,
    phases: Cow::Borrowed(&[
        Phase { level: 0.438, spread: 0.44, dwell_s: 5.7 },
        Phase { level: 0.74, spread: 0.63, dwell_s: 0.655 },
    ]),
    erlang: 1,
    slow: Component { share: 0.111, time_s: 60.0 },
    fast_s: 0.378,
    outages: Some(Outages { gap_s: 353.0, log_mean: 1.61, log_sd: 0.3, min_s: 2.0, max_s: 20.0 }),
};

/// Fitted to the same on a robot that drives round a rectangle.
pub(super) const WIGIG_MOBILE: RadioModel = RadioModel {
    peak_bps: 1650e6,
    phases: Cow::Borrowed(&[
        Phase { level: 0.113, spread: 0.392, dwell_s: 0.977 },
        Phase { level: 0.393, spread: 0.985, dwell_s: 0.977 },
        Phase { level: 0.635, spread: 0.735, dwell_s: 0.977 },
        Phase { level: 0.526, spread: 0.798, dwell_s: 0.977 },
        Phase { level: 0.404, spread: 0.384, dwell_s: 0.977 },
        Phase { level: 0.926, spread: 1.36, dwell_s: 0.977 },
        Phase { level: 0.896, spread: 1.34, dwell_s: 0.977 },
        Phase { level: 0.992, spread: 0.368, dwell_s: 0.977 },
        Phase { level: 0.912, spread: 0.676, dwell_s: 0.977 },
        Phase { level: 0.991, spread: 0.869, dwell_s: 0.977 },
        Phase { level: 0.94, spread: 1.57, dwell_s: 0.977 },
        Phase { level: 0.49, spread: 0.625, dwell_s: 0.977 },
        Phase { level: 0.897, spread: 0.587, dwell_s: 0.977 },
        Phase { level: 0.432, spread: 0.633, dwell_s: 0.977 },
        Phase { level: 0.274, spread: 0.565, dwell_s: 0.977 },
    ]),
    erlang: 40,
    slow: Component { share: 0.00858, time_s: 2.5 },
    fast_s: 0.563,
    outages: None,
};
