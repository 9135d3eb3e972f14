//! Generated traces: repeatable, within bounds, and like what `docs/reference/traces.md` says,
//! which holds for the recordings too.

use std::path::PathBuf;
use std::time::Duration;

use crate::common::shared_data;
use airlane_base::{Rate, Seed};
use airlane_net::trace::{BIN, Model, STEP};
use airlane_net::{Medium, Shape, Supply, Trace};
use proptest::prelude::*;

fn synthetic(medium: Medium, seed: u64, length_s: u64) -> Trace {
    Trace::synthetic(medium, Seed(seed), Duration::from_secs(length_s)).unwrap()
}

fn steps(trace: &Trace) -> Vec<(Duration, Rate)> {
    let Supply::Profile(p) = trace.supply() else { panic!("{} is no profile", trace.name()) };
    p.steps().collect()
}

#[test]
fn words_name_a_medium() {
    for medium in Medium::ALL {
        assert_eq!(medium.name().parse::<Medium>().unwrap(), medium);
        assert_eq!(medium.to_string(), medium.name());
    }
    let e = "umts".parse::<Medium>().unwrap_err().to_string();
    let names =
        "lte, 5g, wifi, wifi-restaurant, wifi-gaming, wifi-ac, wigig-los, wigig-nlos, wigig-mobile";
    assert_eq!(e, format!("medium: no medium is called \"umts\"; one of {names}"));
}

#[test]
fn a_seed_gives_one_trace() {
    for medium in Medium::ALL {
        let trace = synthetic(medium, 0x1234, 60);
        assert_eq!(trace.name(), format!("{}-0x1234", medium.name()));
        assert_eq!(trace, synthetic(medium, 0x1234, 60));
        let other = synthetic(medium, 0x1235, 60);
        let (a, b) = (steps(&trace), steps(&other));
        let same = a.iter().zip(&b).filter(|(a, b)| a.1 == b.1 && a.1 != Rate::ZERO).count();
        assert!(same < a.len() / 100, "{same} of {} steps are alike", a.len());
        assert_ne!(a, steps(&synthetic(other_than(medium), 0x1234, 60)));
    }
}

fn other_than(medium: Medium) -> Medium {
    Medium::ALL.into_iter().find(|m| *m != medium).unwrap()
}

#[test]
fn lengths_out_of_bounds_are_refused() {
    for length in [Duration::ZERO, Duration::from_millis(999), Duration::from_secs(86_401)] {
        let e = Trace::synthetic(Medium::Lte, Seed(1), length).unwrap_err().to_string();
        assert!(e.ends_with("expected a length from 1 s to 24 h"), "{e}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn steps_are_even_and_rates_within_the_model(
        medium in prop::sample::select(&Medium::ALL[..]),
        seed in any::<u64>(),
        millis in 31_000_u64..60_000,
        more in 0_u64..30_000,
    ) {
        let length = Duration::from_millis(millis);
        let trace = Trace::synthetic(medium, Seed(seed), length).unwrap();
        prop_assert_eq!(trace.length(), length);
        let steps = steps(&trace);
        prop_assert_eq!(steps.len() as u64, millis.div_ceil(20));
        prop_assert!(steps.iter().enumerate().all(|(i, (start, _))| *start == STEP * i as u32));
        // The model's range: its quantiles over a scale that stays within a factor of ten.
        let most = match medium.model() {
            Model::Capacity(m) => m.capacity.iter().copied().fold(0.0, f64::max) * m.scale_bps * 10.0,
            Model::Radio(m) => m.peak_bps,
        };
        prop_assert!(steps.iter().all(|(_, r)| r.as_f64() <= most));
        let stats = trace.stats();
        prop_assert!(stats.mean > Rate::ZERO && stats.mean.as_f64() < most);
        let longer = length + Duration::from_millis(more);
        let longer = self::steps(&Trace::synthetic(medium, Seed(seed), longer).unwrap());
        prop_assert_eq!(&longer[..steps.len()], &steps[..]);
    }
}

/// One figure of a shape, what it has to be, and how far it may be off.
#[track_caller]
fn all_within(of: &str, figures: &[(&str, f64, f64, f64)]) {
    let off = |(_, got, want, tolerance): &&(&str, f64, f64, f64)| (got - want).abs() > *tolerance;
    let bad: Vec<_> = figures.iter().filter(off).collect();
    assert!(bad.is_empty(), "{of}: (figure, got, want, tolerance): {bad:?}");
}

/// Generated traces of the recordings' lengths, from seeds that the documentation does not use.
fn pool(medium: Medium, lengths_s: &[u64], traces: u64) -> Shape {
    let length = |i: u64| lengths_s[(i % lengths_s.len() as u64) as usize];
    let bins: Vec<Vec<f64>> =
        (0..traces).map(|i| synthetic(medium, 1_000_000 + i, length(i)).means(BIN)).collect();
    Shape::of_bins(&bins)
}

/// What `docs/reference/traces.md` gives for generated traces of a medium.
struct Documented {
    means_cv: f64,
    cv_100ms: f64,
    cv_1s: f64,
    autocorrelation: [f64; 5],
    outage_share: f64,
    outage_median_s: f64,
    outage_mean_s: f64,
    percentiles: [f64; 3],
}

const LTE: Documented = Documented {
    means_cv: 0.47,
    cv_100ms: 0.848,
    cv_1s: 0.804,
    autocorrelation: [0.91, 0.87, 0.83, 0.64, 0.38],
    outage_share: 0.066,
    outage_median_s: 0.1,
    outage_mean_s: 0.59,
    percentiles: [0.01, 0.80, 2.62],
};

const WIFI: Documented = Documented {
    means_cv: 0.34,
    cv_100ms: 0.566,
    cv_1s: 0.528,
    autocorrelation: [0.96, 0.81, 0.74, 0.48, 0.17],
    outage_share: 0.047,
    outage_median_s: 0.3,
    outage_mean_s: 0.97,
    percentiles: [0.06, 1.02, 1.65],
};

/// Lengths of the recordings, seconds.
const RESTAURANT_S: [u64; 11] = [300, 300, 300, 300, 300, 300, 300, 300, 300, 300, 135];
const GAMING_S: [u64; 9] = [256, 447, 339, 361, 494, 243, 507, 238, 27];

const WIFI_RESTAURANT: Documented = Documented {
    means_cv: 0.40,
    cv_100ms: 0.625,
    cv_1s: 0.567,
    autocorrelation: [0.95, 0.74, 0.67, 0.38, 0.05],
    outage_share: 0.064,
    outage_median_s: 0.4,
    outage_mean_s: 1.04,
    percentiles: [0.02, 1.02, 1.73],
};

const WIFI_GAMING: Documented = Documented {
    means_cv: 0.53,
    cv_100ms: 0.293,
    cv_1s: 0.197,
    autocorrelation: [0.58, 0.33, 0.26, 0.04, -0.01],
    outage_share: 0.0,
    outage_median_s: 0.0,
    outage_mean_s: 0.0,
    percentiles: [0.57, 0.98, 1.52],
};

const FIVE_G: Documented = Documented {
    means_cv: 0.17,
    cv_100ms: 1.095,
    cv_1s: 1.065,
    autocorrelation: [1.00, 0.93, 0.80, 0.36, 0.18],
    outage_share: 0.152,
    outage_median_s: 1.5,
    outage_mean_s: 2.35,
    percentiles: [0.00, 0.54, 3.29],
};

/// Shares of the documented value, except for autocorrelations and percentiles, which may be off
/// by so much themselves; outages by a factor.
struct Tolerance {
    means_cv: f64,
    cv: f64,
    autocorrelation: f64,
    percentile: f64,
    outage_factor: f64,
}

#[track_caller]
fn as_documented(of: &str, got: &Shape, want: &Documented, tolerance: &Tolerance) {
    let mut figures = vec![
        ("means_cv", got.means_cv, want.means_cv, tolerance.means_cv * want.means_cv),
        ("cv_100ms", got.cv_100ms, want.cv_100ms, tolerance.cv * want.cv_100ms),
        ("cv_1s", got.cv_1s, want.cv_1s, tolerance.cv * want.cv_1s),
    ];
    for (got, want) in got.autocorrelation.into_iter().zip(want.autocorrelation) {
        figures.push(("autocorrelation", got, want, tolerance.autocorrelation));
    }
    for (got, want) in got.percentiles.into_iter().zip(want.percentiles) {
        figures.push(("percentile", got, want, tolerance.percentile));
    }
    all_within(of, &figures);
    for (what, got, want) in [
        ("outage_share", got.outage_share, want.outage_share),
        ("outage_median", got.outage_median.as_secs_f64(), want.outage_median_s),
        ("outage_mean", got.outage_mean.as_secs_f64(), want.outage_mean_s),
    ] {
        // Neither has any.
        let factor = if got == want { 1.0 } else { (got / want).max(want / got) };
        assert!(factor <= tolerance.outage_factor + 1e-9, "{of}: {what} {got}, not {want}");
    }
}

/// Other seeds than the documentation's give its figures, and the recordings' mean in Mbit/s and how far it may be
/// off. Each medium has a test of its own: they take long.
fn as_documented_from_other_seeds(
    medium: Medium,
    generated: &Shape,
    want: &Documented,
    [mean, tolerance]: [f64; 2],
) {
    let shape = Tolerance {
        means_cv: 0.15,
        cv: 0.08,
        autocorrelation: 0.05,
        percentile: 0.05,
        outage_factor: 1.2,
    };
    as_documented(medium.name(), generated, want, &shape);
    all_within("mean in Mbit/s", &[(medium.name(), generated.mean.mbps(), mean, tolerance)]);
}

#[test]
fn generated_traces_of_lte_are_as_documented() {
    let generated = pool(Medium::Lte, &[786, 1_363], 200);
    as_documented_from_other_seeds(Medium::Lte, &generated, &LTE, [8.05, 0.8]);
}

#[test]
fn generated_traces_of_wifi_are_as_documented() {
    let generated = pool(Medium::Wifi, &[300], 2_200);
    as_documented_from_other_seeds(Medium::Wifi, &generated, &WIFI, [23.66, 0.5]);
}

#[test]
fn generated_traces_of_5g_are_as_documented() {
    let generated = pool(Medium::FiveG, &[2_109, 3_307, 5_982], 180);
    as_documented_from_other_seeds(Medium::FiveG, &generated, &FIVE_G, [68.58, 3.0]);
}

#[test]
fn generated_traces_of_wifi_in_a_restaurant_are_as_documented() {
    let medium = Medium::WifiRestaurant;
    let generated = pool(medium, &RESTAURANT_S, 2_200);
    as_documented_from_other_seeds(medium, &generated, &WIFI_RESTAURANT, [20.96, 0.7]);
}

#[test]
fn generated_traces_of_wifi_for_games_are_as_documented() {
    let generated = pool(Medium::WifiGaming, &GAMING_S, 1_800);
    as_documented_from_other_seeds(Medium::WifiGaming, &generated, &WIFI_GAMING, [10.71, 0.4]);
}

/// The recordings are like what is generated, within what was asked of the generator.
#[test]
fn recordings_have_the_documented_shape() {
    let Some(root) = shared_data() else { return };
    let of = |folder: &str, start: &str| -> Vec<Trace> {
        let entries = std::fs::read_dir(root.join(folder)).unwrap().map(|e| e.unwrap().path());
        let is_wanted =
            |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with(start);
        entries.filter(is_wanted).map(|path| Trace::load(path).unwrap()).collect()
    };
    let restaurant = of("wifi/zhuge", "rest-wifi_");
    let gaming = of("wifi/cloud-gaming", "wifi_");
    assert_eq!((restaurant.len(), gaming.len()), (11, 9));
    let wifi = std::fs::read_dir(root.join("wifi/zhuge")).unwrap();
    let lte = ["ATT-LTE-driving.down.gz", "Verizon-LTE-driving.down.gz"];
    let load = |path| Trace::load(path).unwrap();
    let lte: Vec<Trace> = lte.iter().map(|f| load(root.join("cellular").join(f))).collect();
    let mut wifi: Vec<_> = wifi.map(|entry| entry.unwrap().path()).collect();
    wifi.sort();
    let wifi: Vec<Trace> = wifi.into_iter().map(load).collect();
    assert_eq!(wifi.len(), 22);
    let five_g = std::fs::read_dir(root.join("cellular5g/irish-ucc")).unwrap();
    let mut five_g: Vec<_> = five_g.map(|entry| entry.unwrap().path()).collect();
    five_g.retain(|path| path.to_string_lossy().contains("static_"));
    five_g.sort();
    let five_g: Vec<Trace> = five_g.into_iter().map(load).collect();
    assert_eq!(five_g.len(), 3);
    let tolerance = Tolerance {
        means_cv: 0.15,
        cv: 0.15,
        autocorrelation: 0.1,
        percentile: 0.1,
        outage_factor: 1.5,
    };
    as_documented("recorded lte", &Shape::of(&lte), &LTE, &tolerance);
    as_documented("recorded wifi", &Shape::of(&wifi), &WIFI, &tolerance);
    as_documented("recorded 5g", &Shape::of(&five_g), &FIVE_G, &tolerance);
    let restaurant = Shape::of(&restaurant);
    as_documented("recorded wifi-restaurant", &restaurant, &WIFI_RESTAURANT, &tolerance);
    // Nine means, one of them of half a minute, say little about their spread: sets that are generated have 0.31 to
    // 0.69.
    let tolerance = Tolerance { means_cv: 0.3, ..tolerance };
    as_documented("recorded wifi-gaming", &Shape::of(&gaming), &WIFI_GAMING, &tolerance);
}
