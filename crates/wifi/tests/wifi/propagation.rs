//! From powers and places to an SNR.

use airlane_base::{Seed, Time};
use airlane_wifi::{
    Fading, NOISE_FIGURE_DB, PathLoss, Position, Propagation, Quality, Shadowing, SnrTrace,
    TraceError, Width, doppler_hz, noise_dbm, sensitivity_dbm, thermal_noise_dbm,
};

fn close(a: f64, b: f64, within: f64) {
    assert!((a - b).abs() <= within, "{a} is not {b} within {within}");
}

#[test]
fn receivers_hear_two_decibels_above_noise_in_every_width() {
    let over = |mhz| sensitivity_dbm(Width::of_mhz(mhz).expect("a width"));
    close(over(20), -92.0, 1e-9);
    for mhz in [20, 40, 80, 160] {
        let noise = noise_dbm(Width::of_mhz(mhz).expect("a width"), NOISE_FIGURE_DB);
        close(over(mhz) - noise, 1.97, 0.01);
    }
}

#[test]
fn losses_are_those_of_the_models() {
    // 11-14/0980 prints 40.05 dB for 1 m at 2.4 GHz; ns-3's default is 46.6777 at 5.15 GHz.
    close(PathLoss::log_distance(2.4e9, 2.0).db(1.0), 40.05, 0.01);
    let ns3 = PathLoss::log_distance(5.15e9, 3.0);
    close(ns3.db(1.0), 46.677_7, 0.01);
    close(ns3.db(10.0), 76.677_7, 0.01);
    close(ns3.db(100.0) - ns3.db(10.0), 30.0, 1e-9);
    // Nearer than the models hold nothing changes.
    assert_eq!(ns3.db(0.0), ns3.db(1.0));
    // TGn D at 5.25 GHz and 20 m: free space to 10 m (66.85 dB), then 35 log10(2).
    let d = PathLoss::tgn('D', 5.25e9).expect("D");
    close(d.db(10.0), 66.85, 0.02);
    close(d.db(20.0), 66.85 + 10.54, 0.02);
    assert!(PathLoss::tgn('G', 5.25e9).is_none());
    for (letter, breakpoint) in [('a', 5.0), ('B', 5.0), ('C', 5.0), ('E', 20.0), ('F', 30.0)] {
        let loss = PathLoss::tgn(letter, 5.25e9).expect("a model");
        close(loss.db(breakpoint) - loss.db(1.0), 20.0 * breakpoint.log10(), 1e-9);
        close(loss.db(10.0 * breakpoint) - loss.db(breakpoint), 35.0, 1e-9);
    }
    // TGax: a wall of 5 dB and a floor of 18.3 in flats, 7 dB a wall in offices.
    let flat = PathLoss::residential(5.25e9, 0, 0);
    close(PathLoss::residential(5.25e9, 2, 0).db(7.0) - flat.db(7.0), 10.0, 1e-9);
    close(PathLoss::residential(5.25e9, 0, 1).db(7.0) - flat.db(7.0), 18.3, 1e-9);
    close(PathLoss::enterprise(5.25e9, 1).db(10.0), d.db(10.0) + 7.0, 1e-9);
}

#[test]
fn noise_is_kt_b_and_a_figure() {
    close(thermal_noise_dbm(Width::Mhz20), -100.97, 0.01);
    close(noise_dbm(Width::Mhz20, NOISE_FIGURE_DB), -93.97, 0.01);
    close(thermal_noise_dbm(Width::Mhz160) - thermal_noise_dbm(Width::Mhz20), 9.03, 0.01);
    close(doppler_hz(1.2, 5.2e9), 20.8, 0.1);
    close(doppler_hz(1.2 / 3.6, 5.25e9), 5.8, 0.1);
}

#[test]
fn an_snr_is_power_less_loss_less_noise() {
    let here = Position::default();
    let there = Position::new(10.0, 0.0);
    let air = Quality::Air {
        power_dbm: 16.0,
        propagation: Propagation::of(PathLoss::log_distance(5.15e9, 3.0)),
        noise_figure_db: 7.0,
    };
    let snr = |width| air.snr_db(here, there, Time::ZERO, width);
    close(snr(Width::Mhz20), 16.0 - 76.68 + 93.97, 0.02);
    close(snr(Width::Mhz20) - snr(Width::Mhz80), 6.02, 0.01);
    assert_eq!(Quality::Fixed(21.0).snr_db(here, there, Time::ZERO, Width::Mhz80), 21.0);
}

#[test]
fn traces_are_followed() {
    let secs = Time::from_secs_f64;
    let trace = SnrTrace::new(vec![(secs(1.0), 10.0), (secs(3.0), 30.0)]).expect("a trace");
    for (at, db) in [(0.0, 10.0), (1.0, 10.0), (2.0, 20.0), (3.0, 30.0), (9.0, 30.0)] {
        close(trace.db(secs(at)), db, 1e-9);
    }
    let place = Position::default();
    let quality = Quality::Trace(trace);
    close(quality.snr_db(place, place, secs(1.5), Width::Mhz20), 15.0, 1e-9);
    assert_eq!(SnrTrace::new(Vec::new()), Err(TraceError::Empty));
    let back = SnrTrace::new(vec![(secs(1.0), 0.0), (secs(0.5), 0.0)]).expect_err("back in time");
    assert!(back.to_string().contains("entry 1"), "{back}");
    let nan = SnrTrace::new(vec![(secs(1.0), f64::NAN)]);
    assert!(matches!(nan, Err(TraceError::Number { index: 0, .. })));
}

/// Mean and standard deviation.
fn moments(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt())
}

#[test]
fn shadows_have_their_deviation_and_their_reach() {
    let ap = Position::default();
    let fields: Vec<_> = (0..2_000).map(|seed| Shadowing::new(Seed(seed), 4.0, 6.0)).collect();
    let at = |place: Position| -> Vec<f64> { fields.iter().map(|f| f.db(ap, place)).collect() };
    for metres in [0.5, 5.0, 40.0] {
        let (mean, sigma) = moments(&at(Position::new(metres, 0.0)));
        close(mean, 0.0, 0.3);
        close(sigma, 4.0, 0.25);
    }
    // The same both ways.
    let far = Position::new(40.0, 3.0);
    assert!(fields.iter().take(10).all(|field| field.db(ap, far) == field.db(far, ap)));
    // Two stations far from the access point, at some metres from each other: half of the variance is the
    // access point's, and the rest forgets by exp(-d / 6).
    let one = at(Position::new(60.0, 0.0));
    for (metres, correlation) in [(0.5, 0.96), (6.0, 0.68), (60.0, 0.5)] {
        let other = at(Position::new(60.0, metres));
        let product: f64 = one.iter().zip(&other).map(|(a, b)| a * b).sum::<f64>() / 2_000.0;
        close(product / 16.0, correlation, 0.1);
    }
}

#[test]
fn fading_has_the_distribution_of_its_name() {
    let powers = |make: &dyn Fn(Seed) -> Fading| -> Vec<f64> {
        let seeds = (0..400).map(|seed| make(Seed(seed)));
        let all = seeds.flat_map(|fading| {
            (0..50).map(move |i| 10_f64.powf(fading.gain_db(Time::from_millis(i * 97)) / 10.0))
        });
        all.collect()
    };
    let rayleigh = powers(&|seed| Fading::rayleigh(seed, 20.0, 1));
    let (mean, sigma) = moments(&rayleigh);
    close(mean, 1.0, 0.03);
    // The power is exponential: as much deviation as mean, and 9.5 % of it 10 dB and more below.
    close(sigma, 1.0, 0.06);
    let share = |powers: &[f64], below: f64| {
        powers.iter().filter(|&&p| p < below).count() as f64 / powers.len() as f64
    };
    close(share(&rayleigh, 0.1), 1.0 - (-0.1_f64).exp(), 0.01);
    close(share(&rayleigh, 1.0), 1.0 - (-1.0_f64).exp(), 0.02);
    // Rician: variance (1 + 2 K) / (1 + K)^2.
    let (mean, sigma) = moments(&powers(&|seed| Fading::rician(seed, 20.0, 1, 6.0)));
    let k = 10_f64.powf(0.6);
    close(mean, 1.0, 0.03);
    close(sigma, (1.0 + 2.0 * k).sqrt() / (1.0 + k), 0.05);
    // Several branches are their mean.
    let (mean, sigma) = moments(&powers(&|seed| Fading::rayleigh(seed, 20.0, 4)));
    close(mean, 1.0, 0.03);
    close(sigma, 0.5, 0.04);
}

#[test]
fn fading_forgets_as_fast_as_doppler_says() {
    // The power's correlation under Clarke's spectrum is J0(2 pi f t)^2: 0.95 after a twentieth of a turn,
    // 0.22 after a quarter, nothing after 0.38. Of 16 sinusoids it is 1/16 less.
    let correlation = |turns: f64| {
        let later = Time::from_secs_f64(turns / 10.0);
        let pairs: Vec<(f64, f64)> = (0..20_000)
            .map(|seed| {
                let fading = Fading::rayleigh(Seed(seed), 10.0, 1);
                let power = |at| 10_f64.powf(fading.gain_db(at) / 10.0);
                (power(Time::ZERO), power(later))
            })
            .collect();
        pairs.iter().map(|(a, b)| (a - 1.0) * (b - 1.0)).sum::<f64>() / 20_000.0
    };
    for (turns, clarke) in [(0.05, 0.95), (0.25, 0.22), (0.38, 0.0)] {
        close(correlation(turns), clarke - 1.0 / 16.0, 0.05);
    }
}

#[test]
fn air_is_a_function_of_seed_and_time() {
    let make = |seed| Propagation {
        loss: PathLoss::tgn('D', 5.25e9).expect("D"),
        shadowing: Some(Shadowing::new(seed, 4.0, 6.0)),
        fading: Some(Fading::rician(seed, 6.0, 5, 3.0)),
    };
    let (here, there) = (Position::default(), Position::new(12.0, 5.0));
    let at = Time::from_millis(123_456_789);
    let loss = |seed| make(Seed(seed)).loss_db(here, there, at);
    assert_eq!(loss(7), loss(7));
    assert_ne!(loss(7), loss(8));
    assert!(make(Seed(7)).loss_db(here, there, Time::FAR_FUTURE).is_finite());
    // Standing still, nothing changes.
    let still = Fading::rayleigh(Seed(3), 0.0, 2);
    assert_eq!(still.gain_db(Time::ZERO), still.gain_db(at));
}
