//! Fading within seconds: their means stay, what is within them varies as asked for.

use std::time::Duration;

use airlane_base::Seed;
use airlane_net::trace::STEP;
use airlane_net::{Medium, Trace};

const SECOND: Duration = Duration::from_secs(1);
/// Ten seconds of 100 Mbit/s, ten of 20.
const TEXT: &str = "0 100\n10 20\n20 20\n";

fn of(variation: f64, seed: u64) -> Trace {
    Trace::parse(TEXT.as_bytes(), "two").unwrap().fading(variation, Seed(seed)).unwrap()
}

#[test]
fn seconds_keep_their_means() {
    let plain = Trace::parse(TEXT.as_bytes(), "two").unwrap();
    let faded = of(0.5, 1);
    assert_eq!((faded.name(), faded.length()), ("two~0.5", plain.length()));
    for (a, b) in plain.means(SECOND).iter().zip(faded.means(SECOND)) {
        assert!((a / b - 1.0).abs() < 1e-4, "{a} {b}");
    }
    for (a, b) in plain.means(STEP).iter().zip(of(0.0, 1).means(STEP)) {
        assert!((a / b - 1.0).abs() < 1e-4, "{a} {b}");
    }
    // Recordings of delivery opportunities take it too, and generated traces.
    let opportunities = Trace::parse(b"10\n20\n1500\n2000\n", "few").unwrap();
    assert!(opportunities.fading(0.5, Seed(1)).is_ok());
    let made = Trace::synthetic(Medium::FiveG, Seed(3), Duration::from_secs(60)).unwrap();
    let (own, faded) = (made.stats().mean, made.fading(0.47, Seed(4)).unwrap().stats().mean);
    assert!((own.as_f64() / faded.as_f64() - 1.0).abs() < 1e-3);
}

#[test]
fn steps_vary_as_asked_for_and_as_the_seed_says() {
    assert_eq!(of(0.5, 1), of(0.5, 1));
    assert_ne!(of(0.5, 1), of(0.5, 2));
    let mut squares = Vec::new();
    for seed in 0..200 {
        let steps = of(0.5, seed).means(STEP);
        squares.extend(steps[..500].iter().map(|bps| (bps / 100e6 - 1.0).powi(2)));
    }
    // A second's mean has some of the variation: what is left is a little less.
    let variation = (squares.iter().sum::<f64>() / squares.len() as f64).sqrt();
    assert!((0.40..0.52).contains(&variation), "{variation}");
}

#[test]
fn strange_variations_are_refused() {
    for variation in [-0.1, 2.1, f64::NAN] {
        let trace = Trace::parse(TEXT.as_bytes(), "two").unwrap();
        let error = trace.fading(variation, Seed(1)).unwrap_err().to_string();
        assert!(error.contains("expected 0 to 2"), "{error}");
    }
}
