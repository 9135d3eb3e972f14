//! Asks the error model as often as a busy medium would, so that `time` can say what a question costs:
//!
//!     cargo build --release -p airlane-wifi --example error_calls
//!     time target/release/examples/error_calls success 100000000
//!
//! `success`, `best`, `fading` (16 sinusoids in 5 branches) or `walk`; 0 questions cost what starting and
//! making the tables does.

use std::process::ExitCode;

use airlane_base::{Seed, Time};
use airlane_wifi::{Area, ErrorModel, Fading, Format, Guard, Position, Vector, Walk, Width};

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let what = words.next().unwrap_or_default();
    let Some(times) = words.next().and_then(|word| word.parse::<u64>().ok()) else {
        eprintln!("expected: success|best|fading|walk TIMES");
        return ExitCode::from(2);
    };
    let model = ErrorModel::new();
    let most = Vector {
        format: Format::He,
        mcs: 11,
        streams: 2,
        width: Width::Mhz80,
        guard: Guard::Ns800,
    };
    // SNRs from 0 to 40 dB in an order that no predictor knows.
    let snr = |i: u64| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as f64 * (40.0 / 16_777_216.0);
    let fading = Fading::rayleigh(Seed(1), 6.0, 5);
    let area = Area::around(Position::default(), 15.0);
    let mut walk = Walk::pedestrian(Seed(1), area, Position::default());
    let sum: f64 = match what.as_str() {
        "success" => (0..times)
            .map(|i| model.success(&Vector { mcs: (i % 12) as u8, ..most }, snr(i), 1_500))
            .sum(),
        "best" => (0..times).map(|i| f64::from(model.best(&most, snr(i), 1_500).mcs)).sum(),
        "fading" => (0..times).map(|i| fading.gain_db(Time::from_micros(100 * i))).sum(),
        "walk" => (0..times).map(|i| walk.position(Time::from_micros(100 * i)).x).sum(),
        other => {
            eprintln!("expected success, best, fading or walk, not {other}");
            return ExitCode::from(2);
        }
    };
    println!("{what}: {times} questions, mean {:.4}", sum / times.max(1) as f64);
    ExitCode::SUCCESS
}
