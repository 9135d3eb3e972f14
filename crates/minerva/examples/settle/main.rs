//! How the weights of four flows settle when rates follow them late and are measured badly.
//!
//! ```text
//! cargo run --release -p airlane-minerva --example settle -- [DIR]
//! ```
//! Four titles spread over the corpus share 10 Mbit/s in proportion to their weights of some
//! updates ago; each measures its rate times `exp(noise * a normal deviate)`. They decide by the
//! product's controller with the basic utility, which has no state, so that nothing but the loop
//! is seen. Printed are, over 100 seeds, the updates until nine tenths of the way from the start
//! to where the mean logarithm of the weights ends are done for good, and the scatter of that
//! logarithm afterwards, each flow's about its own mean. `-`: not settled within 200 updates.

mod flows;

use std::error::Error;
use std::sync::Arc;

use airlane_abr::{PlayerConfig, TitleModel};
use airlane_base::Seed;
use airlane_media::corpus::Corpus;
use airlane_media::{Metric, Perceptual};
use airlane_minerva::{Config, Form, Normalisation, UtilityKind};
use airlane_quality::QoeParams;

use flows::Link;

const SEEDS: u64 = 100;
const UPDATES: usize = 400;
/// From here on all is settled.
const STEADY: usize = 200;

fn main() -> Result<(), Box<dyn Error>> {
    let corpus = std::env::args().nth(1).map_or_else(Corpus::embedded, Corpus::load_dir)?;
    let mut all = Vec::new();
    for video in corpus.videos().filter(|v| v.chunks() >= 50) {
        let view = Perceptual::new(video.clone(), Metric::Vmaf)?;
        all.push(Arc::new(TitleModel::new(view, QoeParams::default(), PlayerConfig::default())?));
    }
    let f = Normalisation::uniform(Form::Equation2, 2.0, all.iter().map(|s| s.view().curve()))?;
    let f = Arc::new(f);
    // By what they need for the same quality, from the easiest to the hardest.
    all.sort_by(|a, b| {
        let need = |s: &TitleModel| s.view().curve().inverse(70.0);
        need(a).total_cmp(&need(b))
    });
    let titles: Vec<Arc<TitleModel>> =
        (0..4).map(|i| all[i * (all.len() - 1) / 3].clone()).collect();
    for s in &titles {
        let (u, fu) = (s.view().curve(), |r: f64| f.eval(s.view().curve().eval(r)));
        let (own, normalised) = (elasticity(s, |r| u.eval(r)), elasticity(s, fu));
        println!(
            "{}: d ln U / d ln r from {:.2} to {:.2}, of f(U) from {:.2} to {:.2}",
            s.video().name,
            own.0,
            own.1,
            normalised.0,
            normalised.1
        );
    }
    println!("{}: settling updates / scatter of ln w, for delays of 0 to 5 updates", corpus.name);
    for (smoothed, conservative) in [(true, true), (true, false), (false, true), (false, false)] {
        let on = |on| if on { "with" } else { "without" };
        println!("{} averages, {} conservative rate", on(smoothed), on(conservative));
        let config =
            Config { utility: UtilityKind::Basic, smoothed, conservative, ..Config::default() };
        for noise in [0.0, 0.1, 0.2, 0.3, 0.4] {
            let cells = (0..=5).map(|delay| {
                let link = Link { capacity_bps: 1e7, delay, noise };
                let (settled, scatter) = measure(&titles, &f, config, link);
                let settled = settled.map_or("-".to_owned(), |n| n.to_string());
                format!("{settled:>3} / {scatter:.3}")
            });
            println!("  noise {:2.0} %: {}", 100.0 * noise, cells.collect::<Vec<_>>().join("   "));
        }
    }
    Ok(())
}

/// The least and the greatest slope of ln u over ln r between the lowest and the highest rung, by
/// steps of 2 %: alpha and 2 - beta of the convergence theorem.
fn elasticity(s: &TitleModel, u: impl Fn(f64) -> f64) -> (f64, f64) {
    let (lo, hi) = (s.view().curve().first().0, s.view().curve().last().0);
    let steps = ((hi / lo).ln() / 1.02_f64.ln()) as i32;
    (0..steps).map(|i| lo * 1.02_f64.powi(i)).fold((f64::INFINITY, 0.0), |m: (f64, f64), r| {
        let slope = (u(1.02 * r) / u(r)).ln() / 1.02_f64.ln();
        (m.0.min(slope), m.1.max(slope))
    })
}

fn measure(
    titles: &[Arc<TitleModel>],
    f: &Arc<Normalisation>,
    config: Config,
    link: Link,
) -> (Option<usize>, f64) {
    // By update, then flow: the sum over seeds of ln w, and of its square.
    let mut sums = vec![vec![(0.0, 0.0); titles.len()]; UPDATES];
    for i in 0..SEEDS {
        let runs = flows::run(titles, f, config, link, UPDATES, Seed(7).index(i));
        for (sums, weights) in sums.iter_mut().zip(&runs) {
            for (sum, w) in sums.iter_mut().zip(weights) {
                *sum = (sum.0 + w.ln(), sum.1 + w.ln().powi(2));
            }
        }
    }
    let n = SEEDS as f64;
    let steady = (UPDATES - STEADY) as f64;
    let end = |k: usize| sums[STEADY..].iter().map(|s| s[k].0).sum::<f64>() / n / steady;
    let off = |t: usize| {
        let squares = (0..titles.len()).map(|k| (sums[t][k].0 / n - end(k)).powi(2));
        squares.sum::<f64>().sqrt()
    };
    let start = (0..titles.len())
        .map(|k| (config.baseline_connections.ln() - end(k)).powi(2))
        .sum::<f64>()
        .sqrt();
    let settled = (0..UPDATES).rev().find(|&t| off(t) > 0.1 * start).map_or(0, |t| t + 1);
    let settled = (settled < STEADY).then_some(settled);
    let squares = |k: usize| sums[STEADY..].iter().map(|s| s[k].1).sum::<f64>() / n / steady;
    let variance: f64 = (0..titles.len()).map(|k| squares(k) - end(k).powi(2)).sum();
    (settled, (variance.max(0.0) / titles.len() as f64).sqrt())
}
