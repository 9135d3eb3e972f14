//! The statistics of traces against values that can be worked out by hand.

use std::time::Duration;

use airlane_base::Rate;
use airlane_net::{Shape, Trace};

fn near(got: f64, want: f64) -> bool {
    (got - want).abs() < 1e-9
}

#[test]
fn a_trace_that_alternates() {
    let bins: Vec<f64> = (0..1_000).map(|i| if i % 2 == 0 { 1e6 } else { 3e6 }).collect();
    let s = Shape::of_bins(&[bins]);
    assert_eq!((s.traces, s.length, s.mean), (1, Duration::from_secs(100), Rate::from_mbps(2.0)));
    assert!(near(s.cv_100ms, 0.5) && near(s.cv_1s, 0.0), "{s:?}");
    // Lags of 1, 5, 10, 50 and 200 bins.
    assert!(s.autocorrelation.iter().zip([-1.0, -1.0, 1.0, 1.0, 1.0]).all(|(a, b)| near(*a, b)));
    assert_eq!(s.percentiles, [0.5, 0.5, 1.5]);
    assert_eq!((s.outages, s.outage_share, s.outage_mean), (0, 0.0, Duration::ZERO));
    assert!(near(s.means_cv, 0.0));
}

#[test]
fn outages_of_known_length() {
    // 6 bins in 100 below 5 % of the mean: runs of 1, 3 and 2.
    let mut bins = vec![1e6; 100];
    bins[10] = 0.0;
    bins[40..43].fill(2e4);
    bins[98..].fill(0.0);
    let s = Shape::of_bins(&[bins.clone()]);
    let ms = Duration::from_millis;
    assert_eq!((s.outages, s.outage_median, s.outage_p90), (3, ms(200), ms(300)));
    assert!(near(s.outage_share, 0.06) && near(s.outage_mean.as_secs_f64(), 0.2), "{s:?}");
    // In a pool each trace is over its own mean, and an outage ends with its trace.
    let louder = bins.iter().rev().map(|b| b * 10.0).collect();
    let pool = Shape::of_bins(&[bins, louder]);
    assert_eq!((pool.outages, pool.traces), (6, 2));
    assert!(near(pool.cv_100ms, s.cv_100ms) && near(pool.outage_share, 0.06), "{pool:?}");
    // 1 and 10: standard deviation 6.36 over 5.5.
    assert!(near(pool.means_cv, 40.5_f64.sqrt() / 5.5), "{pool:?}");
}

#[test]
fn a_recording_is_read_in_bins() {
    // 12 Mbit/s in the first half of each 200 ms.
    let lines: String = (0..100).map(|ms| format!("{ms}\n")).collect();
    let trace = Trace::parse(format!("{lines}200\n").as_bytes(), "t").unwrap();
    let means = trace.means(Duration::from_millis(100));
    assert_eq!(means, [12e6, 0.0]);
    // The opportunity at the period's end is the next period's.
    assert_eq!(trace.means(Duration::from_millis(150)).len(), 1);
    assert_eq!(trace.means(Duration::from_secs(1)), Vec::<f64>::new());
    assert_eq!(trace.means(Duration::ZERO), Vec::<f64>::new());
    let s = Shape::of(&[trace]);
    assert!(near(s.cv_100ms, 1.0) && near(s.outage_share, 0.5) && s.outages == 1, "{s:?}");
}

#[test]
fn nothing_gives_zeros() {
    assert_eq!(Shape::of(&[]), Shape::default());
    assert_eq!(Shape::of_bins(&[vec![], vec![0.0; 5]]), Shape::default());
    let flat = Shape::of_bins(&[vec![5.0; 3]]);
    assert_eq!((flat.cv_100ms, flat.autocorrelation), (0.0, [0.0; 5]));
}
