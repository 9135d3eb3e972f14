//! Generated traces of radios: outages of less than a second that leave seconds alone, and what
//! `docs/reference/traces.md` says of them by the second, which holds for the recordings too.

#[allow(dead_code, reason = "the example uses the rest of it")]
#[path = "../../examples/fit_traces/radio/seconds.rs"]
mod seconds;

use std::time::Duration;

use crate::common::shared_data;
use airlane_base::Seed;
use airlane_net::trace::{Model, RadioModel, STEP};
use airlane_net::{Medium, Trace};
use proptest::prelude::*;
use seconds::{LAGS, PERCENT, Seconds, by_second};

/// What `docs/reference/traces.md` gives for generated traces of a radio, and the recording.
struct Documented {
    medium: Medium,
    file: &'static str,
    length_s: u64,
    mean_mbps: f64,
    cv: f64,
    autocorrelation: [f64; LAGS.len()],
    outage_share: f64,
    quantiles: [f64; PERCENT.len()],
    /// Lags at which the recording is further off than was asked for, as the page says.
    lags_off: &'static [usize],
}

const RADIOS: [Documented; 4] = [
    Documented {
        medium: Medium::WifiAc,
        file: "iperf_LoS_WIFI.csv",
        length_s: 380,
        mean_mbps: 495.2,
        cv: 0.04,
        autocorrelation: [0.58, 0.4, 0.22, 0.14, 0.08, 0.03, 0.01, 0.01],
        outage_share: 0.0,
        quantiles: [0.84, 0.924, 0.957, 0.987, 1.009, 1.025, 1.036, 1.042, 1.051],
        lags_off: &[],
    },
    Documented {
        medium: Medium::WigigLos,
        file: "iperf_LoS_WIGI.csv",
        length_s: 366,
        mean_mbps: 1443.4,
        cv: 0.2857,
        autocorrelation: [0.97, 0.95, 0.87, 0.82, 0.75, 0.64, 0.54, 0.39],
        outage_share: 0.0243,
        quantiles: [0.037, 0.078, 0.541, 1.074, 1.102, 1.119, 1.13, 1.135, 1.143],
        lags_off: &[29],
    },
    Documented {
        medium: Medium::WigigNlos,
        file: "iperf_nLoS_WIGI.csv",
        length_s: 358,
        mean_mbps: 763.7,
        cv: 0.2511,
        autocorrelation: [0.5, 0.26, 0.11, 0.08, 0.07, 0.07, 0.06, 0.05],
        outage_share: 0.0124,
        quantiles: [0.0, 0.674, 0.745, 0.856, 0.985, 1.13, 1.298, 1.439, 1.689],
        lags_off: &[],
    },
    Documented {
        medium: Medium::WigigMobile,
        file: "iperf_moving_WIGI.csv",
        length_s: 305,
        mean_mbps: 1065.8,
        cv: 0.4145,
        autocorrelation: [0.66, 0.39, -0.36, -0.68, -0.25, 0.76, -0.45, 0.71],
        outage_share: 0.0,
        quantiles: [0.168, 0.269, 0.383, 0.67, 1.037, 1.408, 1.503, 1.523, 1.537],
        lags_off: &[],
    },
];

fn radio(medium: Medium) -> &'static RadioModel {
    let Model::Radio(model) = medium.model() else { panic!("{medium} is no radio") };
    model
}

fn steps(medium: Medium, outages: f64, seed: u64, length: Duration) -> Vec<f64> {
    Trace::synthetic_with(medium, outages, Seed(seed), length).unwrap().means(STEP)
}

#[track_caller]
fn as_documented(of: &str, got: &Seconds, want: &Documented, [mean, cv, r, quantile]: [f64; 4]) {
    let mut bad = Vec::new();
    let mut check = |what: String, got: f64, want: f64, tolerance: f64| {
        if (got - want).abs() > tolerance {
            bad.push((what, got, want, tolerance));
        }
    };
    check("mean".to_owned(), got.mean / 1e6, want.mean_mbps, mean * want.mean_mbps);
    check("cv".to_owned(), got.cv, want.cv, cv * want.cv);
    for ((got, want_r), lag) in got.autocorrelation.into_iter().zip(want.autocorrelation).zip(LAGS)
    {
        let lenient = of == "recorded" && want.lags_off.contains(&lag);
        check(format!("r {lag} s"), got, want_r, if lenient { 1.0 } else { r });
    }
    for ((got, want), percent) in got.quantiles.into_iter().zip(want.quantiles).zip(PERCENT) {
        check(format!("{percent} %"), got, want, quantile);
    }
    assert!(bad.is_empty(), "{of} {}: (figure, got, want, tolerance): {bad:?}", want.medium);
}

/// Other seeds than the documentation's give its figures.
#[test]
fn generated_traces_have_the_documented_seconds() {
    for want in &RADIOS {
        let length = Duration::from_secs(want.length_s + 1);
        let trace = |i: u64| {
            by_second(&steps(want.medium, 0.0, 1_000_000 + i, length), i as usize * 7 % 50)
        };
        let pool: Vec<Vec<f64>> = (0..200).map(trace).collect();
        as_documented("generated", &Seconds::of(&pool), want, [0.03, 0.1, 0.06, 0.06]);
    }
}

/// The recordings are like what is generated, within what was asked of the generator.
#[test]
fn recordings_have_the_documented_seconds() {
    let Some(root) = shared_data() else { return };
    for want in &RADIOS {
        let recorded = seconds::read(root.join("wigig/fbdt").join(want.file), want.medium).unwrap();
        let got = Seconds::of(&[recorded]);
        as_documented("recorded", &got, want, [0.05, 0.15, 0.1, 0.1]);
        if want.outage_share > 0.0 {
            let factor = got.outage_share / want.outage_share;
            assert!((1.0 / 1.5..=1.5).contains(&factor), "{}: {factor}", want.medium);
        }
    }
}

#[test]
fn only_radios_take_outages() {
    let make =
        |medium, share| Trace::synthetic_with(medium, share, Seed(1), Duration::from_secs(9));
    for medium in Medium::ALL {
        assert_eq!(
            make(medium, 0.0).unwrap(),
            Trace::synthetic(medium, Seed(1), Duration::from_secs(9)).unwrap()
        );
        assert_eq!(make(medium, 0.5).is_ok(), medium.takes_outages(), "{medium}");
        for share in [-0.1, 1.1, f64::NAN] {
            let e = make(medium, share).unwrap_err().to_string();
            assert!(e.contains("expected a share from 0 to"), "{e}");
        }
    }
}

/// The more outages, the more time without capacity: of what the mean lacks to the peak, the
/// share that was asked for.
#[test]
fn outages_have_their_share_of_what_is_lacking() {
    let length = Duration::from_secs(2_000);
    let medium = Medium::WigigMobile;
    let none = steps(medium, 0.0, 5, length);
    let lacking = 1.0 - none.iter().sum::<f64>() / none.len() as f64 / radio(medium).peak_bps;
    for share in [0.25, 0.5, 1.0] {
        let steps = steps(medium, share, 5, length);
        // Outages begin and end within steps, which then have a part of their rate.
        let dark = steps.iter().filter(|bps| **bps == 0.0).count() as f64 / steps.len() as f64;
        let want = share * lacking;
        assert!((0.6 * want..=want).contains(&dark), "{share}: {dark}, not {want}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn outages_leave_seconds_alone(
        medium in prop::sample::select(&Medium::ALL[5..]),
        seed in any::<u64>(),
        share in 0.0..=1.0_f64,
        seconds in 1_u64..60,
        more in 0_u64..30,
    ) {
        let model = radio(medium);
        let make = |share, seconds| model.steps_bps(Seed(seed), Duration::from_secs(seconds), share);
        let steps = make(share, seconds);
        let (with, without) = (by_second(&steps, 0), by_second(&make(0.0, seconds), 0));
        for (i, (with, without)) in with.iter().zip(&without).enumerate() {
            // An outage of the whole link may end within the second, after these were placed.
            let whole = model.outages.is_some();
            prop_assert!(whole || (with / without - 1.0).abs() < 1e-9, "{i}: {with} {without}");
        }
        let longer = make(share, seconds + more);
        prop_assert_eq!(&longer[..steps.len()], &steps[..]);
    }
}
