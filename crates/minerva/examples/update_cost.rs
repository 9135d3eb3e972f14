//! What a full weight update costs with the value function on demand:
//! `cargo run --release -p airlane-minerva --example update_cost -- [DIR]`.
//!
//! The machine may be shared: beside the plain times it prints those of the least of three runs of
//! the same update, which leave out what other programs took.
//!
//! States are drawn at random: video, chunk, rung, buffer, rate. DIR holds content tables; without
//! it synthetic videos are used.

#![allow(clippy::disallowed_methods, reason = "a benchmark reads the machine's clock")]

use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use airlane_abr::{Abr, AbrKind, PlayerConfig, Setting};
use airlane_base::{Seed, Time};
use airlane_media::corpus::Corpus;
use airlane_media::{Metric, Perceptual, synthetic};
use airlane_minerva::{Config, Form, Minerva, Normalisation, Progress, RateCurve, Request};
use airlane_quality::QoeParams;
use rand::RngExt;

const FLOWS: usize = 400;
const UPDATES: usize = 100;

fn main() -> Result<(), Box<dyn Error>> {
    let corpus = match std::env::args().nth(1) {
        Some(dir) => Corpus::load_dir(dir)?,
        None => Corpus::from_videos("synthetic", synthetic::corpus(12, 75, Seed(1)))?,
    };
    let abr: Arc<dyn Abr> = Arc::new(AbrKind::default());
    let mut settings = Vec::new();
    for video in corpus.videos().filter(|v| v.chunks() >= 50) {
        let view = Perceptual::new(video.clone(), Metric::Vmaf)?;
        settings.push(Arc::new(Setting::new(view, QoeParams::default(), PlayerConfig::default())?));
    }
    let curves: Vec<RateCurve> =
        settings.iter().map(|s| RateCurve::simulate(s, &*abr, Duration::from_secs(200))).collect();
    let f =
        Arc::new(Normalisation::uniform(Form::FixedRate, 1.96, curves.iter().map(RateCurve::qoe))?);

    let mut rng = Seed(2).rng();
    let (mut plain, mut least) = (Vec::new(), Vec::new());
    for flow in 0..FLOWS {
        let setting = &settings[flow % settings.len()];
        let mut m = Minerva::new(setting.clone(), abr.clone(), f.clone(), Config::default());
        let mut now = Time::ZERO;
        let rtt = Duration::from_millis(20);
        let mut progress = Progress { min_rtt: rtt, ..Progress::default() };
        let request = |chunk, rung, buffer_s| Request {
            chunk,
            rung,
            buffer: Duration::from_secs_f64(buffer_s),
            stalled: Duration::ZERO,
        };
        m.on_request(now, request(0, 0, 0.0), progress);
        for _ in 0..UPDATES {
            // A request in the middle of nowhere, then an interval at some rate.
            let chunk = rng.random_range(1..setting.chunks() - 6);
            let rung = rng.random_range(0..setting.rungs());
            m.on_request(now, request(chunk, rung, rng.random_range(0.0..36.0)), progress);
            let rate = 10_f64.powf(rng.random_range(5.4..6.8));
            while let Some(at) = m.next_event() {
                let dt = at - now;
                now = at;
                progress.busy += dt;
                progress.acked_bytes += (rate * dt.as_secs_f64() / 8.0) as u64;
                let (a, b) = (m.clone(), m.clone());
                let (update, first) = timed(&mut m, now, progress);
                if update {
                    let again = [a, b].map(|mut copy| timed(&mut copy, now, progress).1);
                    plain.push(first);
                    least.push(again.into_iter().fold(first, u64::min));
                    break;
                }
            }
        }
    }
    print(&corpus.name, "as it came", plain);
    print(&corpus.name, "least of three", least);
    Ok(())
}

fn timed(m: &mut Minerva, now: Time, progress: Progress) -> (bool, u64) {
    let t = Instant::now();
    let update = black_box(m.poll(now, progress));
    (update.is_some(), u64::try_from(t.elapsed().as_nanos()).unwrap_or(u64::MAX))
}

fn print(corpus: &str, what: &str, mut ns: Vec<u64>) {
    ns.sort_unstable();
    let n = ns.len();
    let us = |q: f64| ns[((n - 1) as f64 * q) as usize] as f64 / 1e3;
    println!(
        "{corpus}, {what}: {n} updates: mean {:.2} us, median {:.2} us, p99 {:.2} us, max {:.2} us",
        ns.iter().sum::<u64>() as f64 / n as f64 / 1e3,
        us(0.5),
        us(0.99),
        us(1.0),
    );
}
