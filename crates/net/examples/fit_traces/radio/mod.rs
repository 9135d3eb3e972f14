//! Radios: recordings of one value per second.

mod fit;
mod seconds;
mod table;

use std::time::Duration;

use airlane_base::Seed;
use airlane_net::trace::Model;
use airlane_net::{Medium, Trace};
use seconds::Seconds;

/// Shares of [`Trace::synthetic_with`] that are shown.
const OUTAGES: [f64; 4] = [0.0, 0.1, 0.25, 1.0];

/// Fits if that is asked for, and prints what was recorded and what is generated.
pub fn run(medium: Medium, fitting: bool, sets: usize, files: &[String]) {
    let recorded: Vec<Vec<f64>> =
        files.iter().map(|f| seconds::read(f, medium).unwrap_or_else(|e| panic!("{e}"))).collect();
    if fitting {
        let model = fit::fit(medium, &recorded);
        println!("{}", fit::source(&model));
        let shipped = matches!(medium.model(), Model::Radio(shipped) if *shipped == model);
        println!("the source has this model: {shipped}\n");
    }
    table::header();
    let real = Seconds::of(&recorded);
    table::row("recorded", &real);
    let mut ours = None;
    for outages in OUTAGES {
        let each: Vec<Seconds> = (0..sets).map(|i| set(medium, outages, &recorded, i)).collect();
        let pool: Vec<Vec<f64>> =
            (0..sets).flat_map(|i| traces(medium, outages, &recorded, i)).collect();
        let pool = Seconds::of(&pool);
        table::row(&format!("generated, outages {outages}"), &pool);
        if ours.is_none() {
            table::row("generated sets, 5 %", &table::percentile(&each, 0.05));
            table::row("generated sets, 95 %", &table::percentile(&each, 0.95));
            ours = Some(pool);
        }
    }
    println!();
    table::verdicts(&real, &ours.expect("outages of none are among them"));
}

fn set(medium: Medium, outages: f64, recorded: &[Vec<f64>], i: usize) -> Seconds {
    Seconds::of(&traces(medium, outages, recorded, i))
}

/// A trace for each recording, of its length, of seeds from 1 on.
fn traces(medium: Medium, outages: f64, recorded: &[Vec<f64>], set: usize) -> Vec<Vec<f64>> {
    let one = |(i, seconds): (usize, &Vec<f64>)| {
        let n = set * recorded.len() + i;
        let length = Duration::from_secs(seconds.len() as u64 + 1);
        let trace = Trace::synthetic_with(medium, outages, Seed(n as u64 + 1), length);
        let steps = trace.unwrap_or_else(|e| panic!("{e}")).means(airlane_net::trace::STEP);
        let mut out = seconds::by_second(&steps, n * 7 % 50);
        out.truncate(seconds.len());
        out
    };
    recorded.iter().enumerate().map(one).collect()
}
