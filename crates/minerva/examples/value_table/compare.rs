//! Each form of V against the simulation, on points drawn at random.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use airlane_abr::{Fixed, TitleModel};
use airlane_base::{Rng, Seed};
use airlane_minerva::curve::sustaining_rate_bps;
use airlane_minerva::value::Ahead;
use airlane_minerva::{Fitted, OnDemand, Optimal, SentCurve, ValueFunction, ValueTable};
use airlane_quality::stats;
use rand::RngExt;

/// A video with V in its forms.
pub struct Title {
    pub setting: Arc<TitleModel>,
    pub table: ValueTable,
    /// The same, read along lines of equal buffers.
    pub plain: ValueTable,
    /// From the lowest rung's rate on.
    pub fitted: Fitted,
    /// Over all rates of the table.
    pub all: Fitted,
    pub direct: OnDemand,
}

/// The mean, 95th percentile and largest of absolute errors.
fn spread(mut errors: Vec<f64>) -> String {
    errors.iter_mut().for_each(|e| *e = e.abs());
    let at = |q| stats::quantile(&errors, q).unwrap_or(f64::NAN);
    let mean = stats::mean(&errors).unwrap_or(f64::NAN);
    format!(
        "mean {mean:.2}, 95 % {:.2}, largest {:.1} ({} points)",
        at(0.95),
        at(1.0),
        errors.len()
    )
}

fn draw<'a>(titles: &'a [Title], rng: &mut Rng) -> (&'a Title, Ahead, f64) {
    let t = &titles[rng.random_range(0..titles.len())];
    let (buffers, rates) = (t.table.buffers_s(), t.table.rates_bps());
    let at = Ahead {
        next_chunk: rng.random_range(1..t.setting.chunks()),
        last_rung: rng.random_range(0..t.setting.rungs()),
        buffer_s: rng.random_range(buffers[0]..=buffers[buffers.len() - 1]),
    };
    (t, at, rng.random_range(rates[0]..=rates[rates.len() - 1]))
}

pub fn on_the_grid(titles: &[Title], points: usize, seed: Seed) {
    let mut rng = seed.split("grid").rng();
    let (mut saturated, mut beyond) = (0, 0);
    let mut errors = Vec::new();
    for _ in 0..points {
        let (t, mut at, _) = draw(titles, &mut rng);
        let (buffers, rates) = (t.table.buffers_s(), t.table.rates_bps());
        at.buffer_s = buffers[rng.random_range(0..buffers.len())];
        let rate = rates[rng.random_range(0..rates.len())];
        let (Some(truth), Some(v)) = (t.direct.value(at, rate), t.table.value(at, rate)) else {
            continue;
        };
        if truth < t.table.least() {
            saturated += 1;
        } else {
            beyond += usize::from((v - truth).abs() > 0.5 * t.table.step() + 1e-9);
            errors.push(v - truth);
        }
    }
    println!(
        "on the grid: {}; {beyond} off by more than half a step; {saturated} saturated",
        spread(errors)
    );
}

pub fn between(titles: &[Title], points: usize, seed: Seed) {
    let mut rng = seed.split("between").rng();
    let (mut errors, mut plain) = (Vec::new(), Vec::new());
    for _ in 0..points {
        let (t, at, rate) = draw(titles, &mut rng);
        if let (Some(truth), Some(v)) = (t.direct.value(at, rate), t.table.value(at, rate))
            && truth >= t.table.least()
        {
            errors.push(v - truth);
            plain.push(t.plain.value(at, rate).unwrap_or(f64::NAN) - truth);
        }
    }
    println!("between its points: {}", spread(errors));
    println!("along lines of equal buffer: {}", spread(plain));
}

pub fn fits(titles: &[Title], points: usize, seed: Seed) {
    let mut rng = seed.split("fits").rng();
    let (mut errors, mut all, mut low) = (Vec::new(), Vec::new(), Vec::new());
    let mut gap = Vec::new();
    for _ in 0..points / 4 {
        let (t, at, rate) = draw(titles, &mut rng);
        let Some(truth) = t.direct.value(at, rate) else { continue };
        let (Some(v), Some(w)) = (t.fitted.value(at, rate), t.all.value(at, rate)) else {
            continue;
        };
        if rate >= t.setting.mean_rate_bps()[0] {
            errors.push(v - truth);
            all.push(w - truth);
            let best = Optimal::new(t.setting.clone(), 5).value(at, rate);
            gap.push(best.unwrap_or(f64::NAN) - truth);
        } else {
            low.push(v - truth);
        }
    }
    println!(
        "fit from the lowest rung's rate, there: {}; below it: {}",
        spread(errors),
        spread(low)
    );
    println!("fit over all rates, from the lowest rung's rate: {}", spread(all));
    println!("optimal over simulated: {}", spread(gap));
}

pub fn sent(titles: &[Title], points: usize, seed: Seed) {
    let mut rng = seed.split("sent").rng();
    let (mut errors, mut bytes, mut text, mut raised) = (Vec::new(), Vec::new(), Vec::new(), 0);
    let mut micros = Vec::new();
    for _ in 0..points / 100 {
        let t = &titles[rng.random_range(0..titles.len())];
        let s = &t.setting;
        let chunk = rng.random_range(0..s.chunks() - 1);
        let rung = rng.random_range(0..s.rungs());
        let cap = s.player().buffer_cap.as_secs_f64();
        let buffer_s = rng.random_range(0.0..cap);
        let begin = Instant::now();
        let Some(curve) = SentCurve::sample(s, &t.direct, chunk, rung, buffer_s) else { continue };
        let sent = curve.to_text();
        micros.push(begin.elapsed().as_secs_f64() * 1e6);
        bytes.push(curve.to_bytes().len() as f64);
        text.push(sent.len() as f64);
        let Ok(curve) = SentCurve::from_text(&sent) else { continue };
        let top = sustaining_rate_bps(s, s.rungs() - 1).min(8e6);
        let staying = |rung| OnDemand::new(s.clone(), Arc::new(Fixed(rung)), 5);
        let (lowest, same) = (staying(0), staying(rung));
        for _ in 0..100 {
            let most = (buffer_s + s.chunk_s()).min(cap);
            let buffer_s = rng.random_range(s.chunk_s()..=most.max(s.chunk_s()));
            let at = Ahead { next_chunk: chunk + 1, last_rung: rung, buffer_s };
            let rate = rng.random_range(1e5..top);
            if let (Some(truth), Some(v)) = (t.direct.value(at, rate), curve.value(at, rate)) {
                errors.push(v - truth);
                let under = |l: &OnDemand| l.value(at, rate).is_some_and(|l| l - 10.0 > v);
                raised += usize::from(under(&lowest) || under(&same));
            }
        }
    }
    let of = |x: &[f64]| {
        let most = x.iter().copied().fold(0.0, f64::max);
        format!("mean {:.0}, most {most:.0}", stats::mean(x).unwrap_or(f64::NAN))
    };
    println!(
        "sent curves: {}; bytes {}; characters {}; us to make {}; read higher by the server in {:.1} %",
        spread(errors.clone()),
        of(&bytes),
        of(&text),
        of(&micros),
        100.0 * raised as f64 / errors.len() as f64
    );
}

pub fn cost(titles: &[Title], points: usize, seed: Seed) {
    let mut rng = seed.split("cost").rng();
    let cases: Vec<_> = (0..points / 10).map(|_| draw(titles, &mut rng)).collect();
    let time = |name: &str, value: &dyn Fn(&Title, Ahead, f64) -> Option<f64>| {
        let begin = Instant::now();
        for (t, at, rate) in &cases {
            black_box(value(t, *at, *rate));
        }
        let each = begin.elapsed().as_secs_f64() / cases.len() as f64;
        println!("one {name}: {:.0} ns", each * 1e9);
    };
    time("simulation", &|t, at, r| t.direct.value(at, r));
    time("look-up", &|t, at, r| t.table.value(at, r));
    time("fit", &|t, at, r| t.fitted.value(at, r));
    time("best plan", &|t, at, r| Optimal::new(t.setting.clone(), 5).value(at, r));
}
