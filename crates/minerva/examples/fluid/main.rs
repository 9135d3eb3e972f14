//! Minerva's cores on an ideal link: rates in proportion to weights, no packets. What to expect
//! of the laboratory, and a sign of a fault where it is far below.
//!
//! ```text
//! cargo run --release -p airlane-minerva --example fluid -- [DIR] [--imperfect] [--mpc]
//!     [--equation2 | --fitted | --linear] [--alpha A] [--proportional]
//!     [--value on-demand|table|fitted|optimal]
//! ```
//! DIR holds content tables; without it the embedded corpus is used. `--proportional` prints the
//! sum of the logarithms of QoE under both kinds of fairness instead.

mod fairness;
mod model;

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use airlane_abr::{Abr, AbrKind, PlayerConfig, TitleModel};
use airlane_base::{Seed, Time};
use airlane_media::corpus::Corpus;
use airlane_media::{Metric, Perceptual};
use airlane_minerva::{
    Blend, Config, Fitted, Form, Normalisation, Optimal, RateCurve, ValueFunction, ValueTable,
    fixed_rate_bound, fixed_rate_optimum,
};
use airlane_quality::{QoeParams, stats};
use rand::RngExt;

use model::{Link, Outcome, Viewer};

const WITHIN: Duration = Duration::from_secs(200);
const STEP: f64 = 7.65;

struct World {
    settings: Vec<Arc<TitleModel>>,
    curves: Vec<RateCurve>,
    f: Normalisation,
    abr: Arc<dyn Abr>,
    link: fn(f64) -> Link,
    /// Value functions of the titles, if they are not to be simulated on demand.
    values: Vec<Arc<dyn ValueFunction>>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1).peekable();
    let (mut dir, mut alpha) = (None, None);
    let (mut imperfect, mut mpc, mut proportional) = (false, false, false);
    let (mut form, mut value) = (Form::FixedRate, "on-demand".to_owned());
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--imperfect" => imperfect = true,
            "--mpc" => mpc = true,
            "--equation2" => form = Form::Equation2,
            "--fitted" => form = Form::FixedRateFitted,
            "--linear" => form = Form::Linear,
            "--proportional" => proportional = true,
            "--value" => value = args.next().ok_or("--value needs a name")?,
            "--alpha" => alpha = Some(args.next().ok_or("--alpha needs a number")?.parse()?),
            _ => dir = Some(arg),
        }
    }
    let corpus = dir.map_or_else(Corpus::embedded, Corpus::load_dir)?;
    let abr: Arc<dyn Abr> =
        Arc::new(if mpc { "mpc".parse::<AbrKind>()? } else { AbrKind::default() });
    let mut settings = Vec::new();
    for video in corpus.videos().filter(|v| v.chunks() >= 50) {
        let view = Perceptual::new(video.clone(), Metric::Vmaf)?;
        settings.push(Arc::new(TitleModel::new(
            view,
            QoeParams::default(),
            PlayerConfig::default(),
        )?));
    }
    let curves: Vec<RateCurve> =
        settings.iter().map(|s| RateCurve::simulate(s, &*abr, WITHIN)).collect();
    let f = if form == Form::Equation2 {
        Normalisation::uniform(form, 1.0, settings.iter().map(|s| s.view().curve()))?
    } else {
        Normalisation::uniform(form, 1.0, curves.iter().map(RateCurve::qoe))?
    };
    let link = if imperfect { Link::imperfect } else { Link::ideal };
    let values = values(&value, &settings, &abr)?;
    let mut world = World { settings, curves, f, abr, link, values };
    println!("{}: {} videos of at least 50 chunks", corpus.name, world.settings.len());
    if proportional {
        for mbps in [6.0, 10.0, 14.0] {
            fairness::compare(&world, mbps, alpha.unwrap_or(2.0))?;
        }
        return Ok(());
    }

    let alpha = match alpha {
        Some(a) => a,
        None => calibrate(&mut world)?,
    };
    world.f = world.f.with_alpha(alpha)?;
    println!("alpha {alpha:.3}");
    for mbps in [4.0, 7.0, 10.0, 13.0, 16.0] {
        figure9(&world, mbps);
    }
    // Figure 2 is about a first with a full buffer: which link gives it one depends on its rungs.
    for mbps in [4.0, 7.0, 11.0] {
        figure2(&world, mbps);
    }
    figure11(&world, 4);
    figure11(&world, 8);
    Ok(())
}

/// V of every title in one of its forms.
fn values(
    form: &str,
    settings: &[Arc<TitleModel>],
    abr: &Arc<dyn Abr>,
) -> Result<Vec<Arc<dyn ValueFunction>>, Box<dyn Error>> {
    let horizon = Blend::default().horizon;
    let table = |s: &TitleModel| ValueTable::build(s, &**abr, horizon);
    let of: &dyn Fn(&Arc<TitleModel>) -> Arc<dyn ValueFunction> = match form {
        "on-demand" => return Ok(Vec::new()),
        "table" => &|s| Arc::new(table(s)),
        "fitted" => &|s| Arc::new(Fitted::of_table(&table(s), s.mean_rate_bps()[0])),
        "optimal" => &|s| Arc::new(Optimal::new(s.clone(), horizon)),
        _ => return Err("--value is on-demand, table, fitted or optimal".into()),
    };
    Ok(settings.iter().map(of).collect())
}

fn mix(world: &World, k: usize, seed: Seed) -> Vec<usize> {
    let mut rng = seed.rng();
    let mut pool: Vec<usize> = (0..world.settings.len()).collect();
    (0..k).map(|_| pool.swap_remove(rng.random_range(0..pool.len()))).collect()
}

fn viewers(world: &World, mix: &[usize], minerva: bool) -> Vec<Viewer> {
    mix.iter()
        .map(|&i| Viewer {
            setting: world.settings[i].clone(),
            start_s: 0.0,
            weight: 2.0,
            value: world.values.get(i).cloned(),
            minerva: minerva.then(|| (Arc::new(world.f.clone()), Config::default())),
        })
        .collect()
}

fn worst(outcomes: &[Outcome]) -> f64 {
    outcomes.iter().filter_map(|o| o.player.session_qoe(WITHIN)).fold(f64::INFINITY, f64::min)
}

fn stalls(outcomes: &[Outcome]) -> f64 {
    outcomes.iter().map(|o| o.player.totals().rebuffer_s()).sum()
}

/// Four Minerva and four plain players of the same videos, 2.5 Mbit/s each: Minerva's share of
/// the bytes, mean over mixes.
fn share(world: &World, f: &Normalisation) -> f64 {
    let n = 20;
    let f = Arc::new(f.clone());
    let total: f64 = (0..n)
        .map(|i| {
            let seed = Seed(5).split("calibration").index(i);
            let mix = mix(world, 4, seed);
            let mut all = viewers(world, &mix, false);
            all.extend(
                viewers(world, &mix, true)
                    .into_iter()
                    .map(|v| Viewer { minerva: Some((f.clone(), Config::default())), ..v }),
            );
            let out = model::run((world.link)(20.0), all, &world.abr, 200.0, seed);
            let ours: f64 = out[4..].iter().map(|o| o.bytes).sum();
            ours / out.iter().map(|o| o.bytes).sum::<f64>()
        })
        .sum();
    total / n as f64
}

/// `k` Minerva and `k` plain players of the same videos, 2.5 Mbit/s each: the worst of the ones
/// over the worst of the others, in the same run.
fn figure11(world: &World, k: usize) {
    let (mut gains, mut shares) = (Vec::new(), Vec::new());
    for i in 0..44 {
        let seed = Seed(5).split("figure11").index(i);
        let mix = mix(world, k, seed);
        let mut all = viewers(world, &mix, false);
        all.extend(viewers(world, &mix, true));
        let link = (world.link)(5.0 * k as f64);
        let out = model::run(link, all, &world.abr, 210.0, seed);
        gains.push(worst(&out[k..]) - worst(&out[..k]));
        let ours: f64 = out[k..].iter().map(|o| o.bytes).sum();
        shares.push(ours / out.iter().map(|o| o.bytes).sum::<f64>());
    }
    println!(
        "fig11 {k} videos: gain median {:+.1}; +7.65 in {:.0} %; share {:.3}",
        stats::median(&gains).unwrap_or(f64::NAN),
        100.0 * gains.iter().filter(|g| **g >= STEP).count() as f64 / 44.0,
        stats::mean(&shares).unwrap_or(f64::NAN),
    );
}

fn calibrate(world: &mut World) -> Result<f64, Box<dyn Error>> {
    let (mut lo, mut hi) = (0.8_f64, 4.0_f64);
    for a in [1.2, 1.65, 2.0, 2.5] {
        println!("  alpha {a}: share {:.4}", share(world, &world.f.with_alpha(a)?));
    }
    for _ in 0..8 {
        let mid = (lo * hi).sqrt();
        if share(world, &world.f.with_alpha(mid)?) < 0.5 { lo = mid } else { hi = mid }
    }
    Ok((lo * hi).sqrt())
}

fn figure9(world: &World, mbps: f64) {
    let (mut gain, mut gain_opt, mut gain_bound) = (Vec::new(), Vec::new(), Vec::new());
    let (mut gap_opt, mut gap_bound) = ((0.0, 0.0), (0.0, 0.0));
    let (mut stall_c, mut stall_m) = (0.0, 0.0);
    let mut clamped = 0.0;
    let mut updates = 0.0;
    for i in 0..44 {
        let seed = Seed(5).split("figure9").index(i);
        let mix = mix(world, 4, seed);
        let link = (world.link)(mbps);
        let run =
            |minerva| model::run(link, viewers(world, &mix, minerva), &world.abr, 210.0, seed);
        let (c, m) = (run(false), run(true));
        let curves: Vec<&RateCurve> = mix.iter().map(|&i| &world.curves[i]).collect();
        let opt = fixed_rate_optimum(&curves, link.capacity_bps).worst_qoe;
        let bound = fixed_rate_bound(&curves, link.capacity_bps).worst_qoe;
        let (wc, wm) = (worst(&c), worst(&m));
        gain.push(wm - wc);
        gain_opt.push(opt - wc);
        gain_bound.push(bound - wc);
        if opt - wc >= 3.0 {
            gap_opt = (gap_opt.0 + opt - wm, gap_opt.1 + opt - wc);
            gap_bound = (gap_bound.0 + bound - wm, gap_bound.1 + bound - wc);
        }
        stall_c += stalls(&c);
        stall_m += stalls(&m);
        for u in m.iter().flat_map(|o| &o.updates) {
            updates += 1.0;
            clamped += f64::from(u.raw_weight <= 0.5 || u.raw_weight >= 20.0);
        }
    }
    let share = |g: &[f64]| 100.0 * g.iter().filter(|g| **g >= STEP).count() as f64 / 44.0;
    println!(
        "fig9 {mbps:>4} Mbit/s: gain mean {:+.1} median {:+.1}; +7.65 in {:.0} % (optimum {:.0} %, \
         bound {:.0} %); gap closed {:.0} % (bound {:.0} %); stalls {:.1} -> {:.1} s per mix; \
         clamped {:.1} %",
        stats::mean(&gain).unwrap_or(f64::NAN),
        stats::median(&gain).unwrap_or(f64::NAN),
        share(&gain),
        share(&gain_opt),
        share(&gain_bound),
        100.0 * (1.0 - gap_opt.0 / gap_opt.1),
        100.0 * (1.0 - gap_bound.0 / gap_bound.1),
        stall_c / 44.0,
        stall_m / 44.0,
        100.0 * clamped / updates,
    );
}

fn figure2(world: &World, mbps: f64) {
    let mut rows: Vec<[f64; 5]> = Vec::new();
    for i in 0..44 {
        let seed = Seed(5).split("figure2").index(i);
        let mix = mix(world, 2, seed);
        let (join, until) = (Time::from_millis(70_000), Time::from_millis(200_000));
        let run = |minerva| {
            let mut v = viewers(world, &mix, minerva);
            v[1].start_s = 70.0;
            // What the first holds at 130 s is what arrived by then.
            let out = model::run((world.link)(mbps), v, &world.abr, 210.0, seed);
            let at = Time::from_millis(130_000);
            let first = &out[0].player;
            let holds = |at| {
                let held = first.chunks().iter().rfind(|c| c.arrived <= at);
                held.map_or(Duration::ZERO, |c| (c.begins + first.setting().chunk()) - at)
                    .as_secs_f64()
            };
            let buffer = holds(at);
            let quality = |p: &airlane_abr::PlayerModel| p.mean_over(join, until, |c| c.quality);
            [
                quality(&out[1].player).unwrap_or(f64::NAN),
                buffer,
                quality(first).unwrap_or(f64::NAN),
                first.totals().rebuffer_s(),
                holds(join),
            ]
        };
        let (c, m) = (run(false), run(true));
        rows.push([m[0] - c[0], m[1] - c[1], m[2] - c[2], m[3] - c[3], c[4]]);
    }
    let mean = |k: usize| rows.iter().map(|r| r[k]).sum::<f64>() / rows.len() as f64;
    println!(
        "fig2   {mbps:2} Mbit/s: second's quality {:+.2}, first's buffer at 130 s {:+.2} s, first's quality {:+.2}, \
         first's stalls {:+.3} s (first's buffer at the join: {:.1} s)",
        mean(0),
        mean(1),
        mean(2),
        mean(3),
        mean(4)
    );
}
