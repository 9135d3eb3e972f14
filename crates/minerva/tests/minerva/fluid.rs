//! The cores together on an ideal link: the worst-off viewer gains, and weights follow need.

use std::sync::Arc;

use crate::common::{WITHIN, abr, comyco, curves, normalisation, setting};
use airlane_abr::TitleModel;
use airlane_base::Seed;
use airlane_media::corpus::Corpus;
use airlane_media::synthetic;
use airlane_minerva::{Config, RateCurve, fixed_rate_bound, fixed_rate_optimum};

/// Mean over mixes of the worst viewer's gain over plain flows, and of the gain of the optimum.
fn gains(settings: &[Arc<TitleModel>], mixes: &[[usize; 4]], mbps: f64) -> (f64, f64) {
    let curves = curves(settings);
    let f = normalisation(settings, 2.0);
    let (mut ours, mut optimum) = (0.0, 0.0);
    for mix in mixes {
        let link = crate::model::Link::ideal(mbps);
        let worst = |minerva: bool| -> f64 {
            let viewers = mix.map(|i| crate::model::Viewer {
                setting: settings[i].clone(),
                start_s: 0.0,
                weight: 2.0,
                value: None,
                minerva: minerva.then(|| (f.clone(), Config::default())),
            });
            let out = crate::model::run(link, viewers.into(), &abr(), 210.0, Seed(1));
            let bytes: f64 = out.iter().map(|o| o.bytes).sum();
            assert!(bytes * 8.0 <= link.capacity_bps * 210.0 + 1.0, "what the link carries");
            let qoe = |o: &crate::model::Outcome| o.player.session_qoe(WITHIN).unwrap();
            out.iter().map(qoe).fold(f64::INFINITY, f64::min)
        };
        let (cubic, minerva) = (worst(false), worst(true));
        let mine: Vec<&RateCurve> = mix.iter().map(|&i| &curves[i]).collect();
        let bound = fixed_rate_bound(&mine, link.capacity_bps).worst_qoe;
        assert!(minerva <= bound + 3.0, "{minerva} beyond the bound {bound}");
        ours += minerva - cubic;
        optimum += fixed_rate_optimum(&mine, link.capacity_bps).worst_qoe - cubic;
    }
    let n = mixes.len() as f64;
    println!("gain {:.2}, of the optimum {:.2}", ours / n, optimum / n);
    (ours / n, optimum / n)
}

const MIXES: [[usize; 4]; 4] = [[0, 2, 5, 7], [1, 3, 4, 6], [0, 1, 6, 7], [2, 3, 4, 5]];

#[test]
fn the_worst_viewer_gains_on_synthetic_content() {
    let settings: Vec<_> = synthetic::corpus(8, 60, Seed(7)).into_iter().map(setting).collect();
    // These videos jump by more than real ones, and weights that follow scenes cost smoothness.
    let (ours, optimum) = gains(&settings, &MIXES, 6.0);
    assert!(ours > 2.0 && ours > 0.3 * optimum, "{ours} of {optimum}");
}

#[test]
fn on_real_tables_the_gap_to_the_optimum_closes() {
    let Some(dir) = comyco() else { return };
    let corpus = Corpus::load_dir(dir).unwrap();
    let settings: Vec<_> = corpus
        .videos()
        .filter(|v| v.chunks() >= 50)
        .step_by(4)
        .take(8)
        .cloned()
        .map(setting)
        .collect();
    let (ours, optimum) = gains(&settings, &MIXES, 7.0);
    assert!(ours > 4.0 && ours > 0.7 * optimum, "{ours} of {optimum}");
}

#[test]
fn the_harder_video_gets_the_larger_weight() {
    // Half quality at 0.2 and at 0.8 Mbit/s.
    let settings =
        [synthetic::flat("easy", 60, 0.2e6), synthetic::flat("hard", 60, 0.8e6)].map(setting);
    let f = normalisation(&settings, 2.0);
    let viewers = settings.clone().map(|setting| crate::model::Viewer {
        setting,
        start_s: 0.0,
        weight: 2.0,
        value: None,
        minerva: Some((f.clone(), Config::default())),
    });
    let out =
        crate::model::run(crate::model::Link::ideal(3.0), viewers.into(), &abr(), 200.0, Seed(1));
    let weight = |i: usize| out[i].updates.last().unwrap().weight;
    assert!(weight(1) > 1.5 * weight(0), "{} {}", weight(0), weight(1));
    assert!(weight(0) < 2.0 && weight(1) > 2.0, "around n_e: {} {}", weight(0), weight(1));
}
