//! The fitted models of radios: what the example prints, with the recordings where
//! `docs/traces.md` says, in this order:
//!
//! `cargo run --release -p airlane-net --example fit_traces -- fit:wifi-ac 1 iperf_LoS_WIFI.csv`
//!
//! and so on with `wigig-los`, `wigig-nlos` and `wigig-mobile`.

use std::borrow::Cow;

use super::{Component, Outages, Phase, RadioModel};

/// Fitted to a laptop within sight of an access point of 802.11ac, six minutes.
pub(super) const WIFI_AC: RadioModel = RadioModel {
    peak_bps: 525e6,
    phases: Cow::Borrowed(&[
        Phase { level: 0.954, spread: 0.53, dwell_s: 170.0 },
        Phase { level: 0.83, spread: 0.4, dwell_s: 8.0 },
    ]),
    erlang: 1,
    slow: Component { share: 0.1, time_s: 20.0 },
    fast_s: 0.4,
    outages: None,
};

/// Fitted to the same laptop within sight of an access point of 802.11ad, six minutes.
pub(super) const WIGIG_LOS: RadioModel = RadioModel {
    peak_bps: 1680e6,
    phases: Cow::Borrowed(&[
        Phase { level: 0.955, spread: 0.6, dwell_s: 326.0 },
        Phase { level: 0.46, spread: 0.6, dwell_s: 18.0 },
        Phase { level: 0.047, spread: 0.5, dwell_s: 29.0 },
    ]),
    erlang: 1,
    slow: Component { share: 0.1, time_s: 20.0 },
    fast_s: 0.4,
    outages: None,
};

/// Fitted to the same with a person standing in between.
pub(super) const WIGIG_NLOS: RadioModel = RadioModel {
    peak_bps: 1680e6,
    phases: Cow::Borrowed(&[
        Phase { level: 0.44, spread: 0.44, dwell_s: 15.0 },
        Phase { level: 0.7, spread: 0.44, dwell_s: 1.5 },
    ]),
    erlang: 1,
    slow: Component { share: 0.1, time_s: 20.0 },
    fast_s: 0.57,
    outages: Some(Outages { gap_s: 354.0, log_mean: 1.79, log_sd: 0.5, least_s: 1.0, most_s: 20.0 }),
};

/// Fitted to the same on a robot that drives round a rectangle.
pub(super) const WIGIG_MOBILE: RadioModel = RadioModel {
    peak_bps: 1680e6,
    phases: Cow::Borrowed(&[Phase { level: 0.6, spread: 0.5, dwell_s: 1.0 }]),
    erlang: 20,
    slow: Component { share: 0.1, time_s: 20.0 },
    fast_s: 0.57,
    outages: None,
};
