//! A trace scaled to another mean: the mean is met, and nothing but the scale changes.

use std::time::Duration;

use airlane_base::{Rate, Seed};
use airlane_net::{Medium, Shape, Supply, Trace};
use proptest::prelude::*;

/// Exact mean in bits per second, from the steps.
fn mean_bps(trace: &Trace) -> f64 {
    let Supply::Profile(p) = trace.supply() else { panic!("{} is no profile", trace.name()) };
    let steps: Vec<_> = p.steps().collect();
    let ends = steps.iter().skip(1).map(|s| s.0).chain([trace.length()]);
    let bits: f64 =
        steps.iter().zip(ends).map(|((s, r), e)| r.as_f64() * (e - *s).as_secs_f64()).sum();
    bits / trace.length().as_secs_f64()
}

#[track_caller]
fn meets(trace: &Trace, mean: Rate) -> Trace {
    let scaled = trace.scaled_to(mean).unwrap();
    let (got, want) = (mean_bps(&scaled), mean.as_f64());
    assert!((got - want).abs() <= 1e-3 * want, "{got} for {want}");
    assert_eq!(scaled.length(), trace.length());
    scaled
}

#[test]
fn a_profile_keeps_its_steps_and_its_name() {
    let trace = Trace::parse(b"0 8\n2 4\n3 0\n7 1\n", "dir/t.txt").unwrap();
    let scaled = meets(&trace, Rate::from_mbps(25.5));
    assert_eq!(scaled.name(), "dir/t.txt@25.5Mbps");
    let Supply::Profile(p) = scaled.supply() else { panic!("a profile") };
    // 8 Mbit/s for 2 s, 4 for 1 s, 0 for 4 s, 1 for the median step of 2 s: 22/9 Mbit/s.
    let factor: f64 = 25.5 / (22.0 / 9.0);
    let got: Vec<_> = p.steps().map(|(s, r)| (s.as_secs(), r.bps())).collect();
    let want = [(0, 8e6), (2, 4e6), (3, 0.0), (7, 1e6)];
    assert_eq!(got, want.map(|(s, bps)| (s, (bps * factor).round() as u64)));
}

#[test]
fn opportunities_become_milliseconds() {
    // Twice at 0 ms, of which one comes as the end of the period; one at 3; two at 4.
    let trace = Trace::parse(b"0\n3\n4\n4\n10\n", "t").unwrap();
    let mean = trace.stats().mean;
    let Supply::Profile(p) = meets(&trace, mean).supply() else { panic!("a profile") };
    let got: Vec<_> = p.steps().map(|(s, r)| (s.as_millis(), r.mbps())).collect();
    assert_eq!(got, [(0, 24.0), (1, 0.0), (3, 12.0), (4, 24.0), (5, 0.0)]);
    assert_eq!(p.period(), Some(Duration::from_millis(10)));
    // None at the start but the period's own; all in one millisecond.
    let Supply::Profile(p) =
        meets(&Trace::parse(b"1\n1\n2\n", "t").unwrap(), Rate::from_mbps(9.0)).supply()
    else {
        panic!("a profile")
    };
    let got: Vec<_> = p.steps().map(|(s, r)| (s.as_millis(), r.mbps())).collect();
    assert_eq!(got, [(0, 6.0), (1, 12.0)]);
}

#[test]
fn a_mean_that_whole_bits_cannot_meet_is_refused() {
    // 1.5 and 0.5 times the mean: half bits per second are rounded away.
    let trace = Trace::parse(b"0 6\n1 2\n", "t").unwrap();
    for bps in [0, 1, 3, 5] {
        let e = trace.scaled_to(Rate::from_bps(bps)).unwrap_err().to_string();
        assert!(e.starts_with("a mean of 0.000 Mbit/s; expected one that whole bits"), "{e}");
    }
    meets(&trace, Rate::from_bps(100_000));
}

#[test]
fn the_shape_stays() {
    for medium in Medium::ALL {
        let trace = Trace::synthetic(medium, Seed(3), Duration::from_secs(120)).unwrap();
        let scaled = meets(&trace, Rate::from_mbps(25.0));
        let (was, is) = (Shape::of(&[trace]), Shape::of(&[scaled]));
        assert!((was.cv_100ms - is.cv_100ms).abs() < 1e-6, "{was:?} {is:?}");
        assert_eq!((was.outages, was.outage_mean), (is.outages, is.outage_mean));
    }
}

proptest! {
    #[test]
    fn every_mean_is_met(
        millis in prop::collection::vec(0_u32..60, 1..40),
        rates in prop::collection::vec(0_u32..50_000, 1..40),
        mean in 1_000_000_u64..10_000_000_000,
    ) {
        let mut millis = millis;
        millis.sort_unstable();
        millis.push(61);
        let text: String = millis.iter().map(|ms| format!("{ms}\n")).collect();
        let of_ms = Trace::parse(text.as_bytes(), "t").unwrap();
        let scaled = meets(&of_ms, Rate::from_bps(mean));
        // The same opportunities, millisecond by millisecond; those at the period's end (61 ms)
        // are the next period's first.
        let ms = Duration::from_millis(1);
        let each = mean as f64 * 61.0 / millis.len() as f64;
        for (i, is) in scaled.means(ms).into_iter().enumerate() {
            let here = millis.iter().filter(|ms| **ms as usize % 61 == i).count() as f64;
            prop_assert!((here * each - is).abs() <= 1e-6 * each + 1.0, "{i}: {here} {is}");
        }
        let text: String =
            rates.iter().enumerate().map(|(i, kbps)| format!("{i} {}\n", f64::from(*kbps) / 1e3)).collect();
        let text = format!("{text}99 7\n100 0\n");
        meets(&Trace::parse(text.as_bytes(), "t").unwrap(), Rate::from_bps(mean));
    }
}
