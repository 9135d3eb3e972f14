//! Appendix D: the sum of the logarithms of QoE under equal rates, max-min and proportional
//! fairness.

use std::error::Error;
use std::sync::Arc;

use airlane_abr::TitleModel;
use airlane_base::Seed;
use airlane_minerva::curve::sustaining_rate_bps;
use airlane_minerva::proportional::LogSlope;
use airlane_minerva::{Config, Fairness, Normalisation, RateCurve, UtilityKind};
use airlane_quality::PiecewiseLinear;

use super::model::{self, Outcome, Viewer};
use super::{WITHIN, World, mix, viewers, worst};

const MIXES: u64 = 44;

type Scheme = Option<(Arc<Normalisation>, Config)>;

/// What came of one way of dividing the link.
#[derive(Default)]
struct Row {
    sums: Vec<f64>,
    worst: f64,
}

pub fn compare(world: &World, mbps: f64, alpha: f64) -> Result<(), Box<dyn Error>> {
    let max_min = (Arc::new(world.f.with_alpha(alpha)?), Config::default());
    let aware = proportional(world, alpha, UtilityKind::ClientAware, |c| Some(c.qoe()))?;
    let basic = proportional(world, alpha, UtilityKind::Basic, |_| None)?;
    let schemes: [(&str, Scheme); 5] = [
        ("equal weights", None),
        ("max-min", Some(max_min)),
        ("proportional, client-aware q", Some(aware)),
        ("proportional, basic q", Some(basic)),
        ("proportional, weights fixed at the mean curves' optimum", None),
    ];
    let mut rows: [Row; 5] = Default::default();
    for i in 0..MIXES {
        let seed = Seed(5).split("figure9").index(i);
        let mix = mix(world, 4, seed);
        let link = (world.link)(mbps);
        let settings: Vec<&TitleModel> = mix.iter().map(|&i| &*world.settings[i]).collect();
        let optimum = optimum(&settings, link.capacity_bps)?;
        for (k, (row, (_, minerva))) in rows.iter_mut().zip(&schemes).enumerate() {
            let plain = viewers(world, &mix, false).into_iter().zip(&optimum);
            let all = plain
                .map(|(v, w)| Viewer {
                    minerva: minerva.clone(),
                    weight: if k == 4 { *w } else { v.weight },
                    ..v
                })
                .collect();
            let out = model::run(link, all, &world.abr, 210.0, seed);
            row.sums.push(log_sum(&out));
            row.worst += worst(&out) / MIXES as f64;
        }
    }
    println!("{mbps} Mbit/s, {MIXES} mixes of four, sum of ln QoE:");
    for ((name, _), row) in schemes.iter().zip(&rows) {
        let beats = |other: &Row| row.sums.iter().zip(&other.sums).filter(|(a, b)| a > b).count();
        println!(
            "  {name}: mean {:.4}; above equal in {}, above max-min in {}; worst QoE {:.1}",
            row.sums.iter().sum::<f64>() / MIXES as f64,
            beats(&rows[0]),
            beats(&rows[1]),
            row.worst,
        );
    }
    Ok(())
}

/// f of Z and the setting that goes with it; `q` is a curve of QoE over rate, the mean curve if it
/// has none.
fn proportional(
    world: &World,
    alpha: f64,
    utility: UtilityKind,
    q: impl Fn(&RateCurve) -> Option<&PiecewiseLinear>,
) -> Result<(Arc<Normalisation>, Config), Box<dyn Error>> {
    let titles = world.settings.iter().zip(&world.curves);
    let titles = titles.map(|(s, c)| (&**s, q(c).unwrap_or_else(|| s.view().curve()), 1.0));
    let f = Normalisation::proportional(alpha, titles)?;
    let config = Config { fairness: Fairness::Proportional, utility, ..Config::default() };
    Ok((Arc::new(f), config))
}

/// A viewer without any QoE counts as one point.
fn log_sum(outcomes: &[Outcome]) -> f64 {
    outcomes.iter().filter_map(|o| o.player.session_qoe(WITHIN)).map(|q| q.max(1.0).ln()).sum()
}

/// The rates, Mbit/s, that sum to the link and at which P'/P of all mean curves is equal.
fn optimum(settings: &[&TitleModel], capacity_bps: f64) -> Result<Vec<f64>, Box<dyn Error>> {
    let slopes = settings.iter().map(|s| LogSlope::of(s)).collect::<Result<Vec<_>, _>>()?;
    let rates = |slope: f64| -> Vec<f64> {
        let titles = settings.iter().zip(&slopes);
        let rate = |(s, l): (&&TitleModel, &LogSlope)| {
            let top = sustaining_rate_bps(s, s.rungs() - 1);
            s.view().curve().inverse(l.inverse(slope)).min(top) / 1e6
        };
        titles.map(rate).collect()
    };
    let (mut flat, mut steep) = (1e-4_f64, 1e2_f64);
    for _ in 0..80 {
        let middle = (flat * steep).sqrt();
        let over = rates(middle).iter().sum::<f64>() > capacity_bps / 1e6;
        if over { flat = middle } else { steep = middle }
    }
    Ok(rates(steep))
}
