//! Minerva's weight update with the value function on demand, on states drawn at random: video,
//! chunk, rung, buffer, rate; and what that comes to with many sessions.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use airlane_abr::{Abr, AbrKind, PlayerConfig, TitleModel};
use airlane_base::{Seed, Time};
use airlane_lab::workloads::vod::{Output, ViewerOutput};
use airlane_media::corpus::Corpus;
use airlane_media::{Metric, Perceptual};
use airlane_minerva::{Config, Form, Minerva, Normalisation, Progress, RateCurve, Request};
use airlane_quality::QoeParams;
use rand::RngExt;

use crate::bar::{Figure, Problem, Rule, Setting};
use crate::clock::Watch;
use crate::scene::{SESSIONS, Scene};

/// The real tables, in the shared data.
const COMYCO: &str = "video/comyco";
/// Videos with fewer chunks leave no room for the draws.
const MIN_CHUNKS: usize = 50;
/// The round trip of flows and sessions.
const RTT: Duration = Duration::from_millis(20);

pub(super) fn measure(setting: &Setting) -> Result<Vec<Figure>, Problem> {
    let broke = |e: airlane_base::InputError| Problem::Broke(e.to_string());
    let mut figures = of_corpus(setting, "embedded", &Corpus::embedded().map_err(broke)?)?;
    figures.extend(of_sessions(setting, figures[0].ours)?);
    let real = setting.data.join(COMYCO);
    if real.is_dir() {
        let corpus = Corpus::load_dir(&real).map_err(broke)?;
        figures.extend(of_corpus(setting, "comyco", &corpus)?);
    } else {
        figures[0].note.push_str("; left out: comyco (set AIRLANE_DATA)");
    }
    Ok(figures)
}

fn of_corpus(setting: &Setting, name: &str, corpus: &Corpus) -> Result<Vec<Figure>, Problem> {
    let flows = if setting.quick { 20 } else { 400 };
    let mut nanos = costs(corpus, flows, 100).map_err(|e| Problem::Broke(e.to_string()))?;
    nanos.sort_unstable();
    let at = |q: f64| nanos.get(((nanos.len() - 1) as f64 * q) as usize).copied();
    let (Some(middle), Some(high)) = (at(0.5), at(0.99)) else {
        return Err(Problem::Broke(format!("no update on {name}")));
    };
    let mean = nanos.iter().sum::<u64>() as f64 / nanos.len() as f64;
    let figure = |what: &str, nanos: f64, bound: f64, note: String| Figure {
        bar: format!("update.{name}.{what}"),
        ours: nanos / 1e3,
        peer: None,
        unit: "us",
        rule: Rule::AtMost(bound),
        note,
    };
    let note = format!(
        "{} updates on random states, RobustMPC simulated for the value function, wall time \
         each; median {:.2} us",
        nanos.len(),
        middle as f64 / 1e3
    );
    Ok(vec![figure("mean", mean, 10.0, note), figure("p99", high as f64, 50.0, String::new())])
}

/// Cost of the updates of a server of many sessions, if each takes `mean_us`: as many as the
/// sessions' world counts, and as many as there can be.
fn of_sessions(setting: &Setting, mean_us: f64) -> Result<[Figure; 2], Problem> {
    let short = setting.quick.then(|| "duration_s=8".to_owned());
    let scene = Scene::own(SESSIONS, &Vec::from_iter(short))?;
    let run = scene.run_seed(1)?;
    let viewers = Output::of(&run.output);
    if let Some(failed) = viewers.iter().find_map(|v| v.failure.as_ref()) {
        return Err(Problem::Broke(failed.clone()));
    }
    // The first half, in which buffers fill, is not how a server spends its day.
    let (half_s, half) = (scene.seconds() / 2.0, Time::from_secs_f64(scene.seconds() / 2.0));
    let updates = viewers.iter().flat_map(|v| &v.updates).filter(|u| u.at >= half).count();
    let per_s = updates as f64 / half_s;
    let late = |v: &ViewerOutput| -> Option<u64> {
        let from = v.samples.iter().find(|s| s.at >= half)?;
        Some(v.samples.last()?.acked_bytes - from.acked_bytes)
    };
    let rate =
        viewers.iter().filter_map(late).sum::<u64>() as f64 * 8.0 / half_s / viewers.len() as f64;
    let figure = |what: &str, per_s: f64, note: String| Figure {
        bar: format!("update.{what}"),
        ours: per_s * mean_us / 1e6 * 100.0,
        peer: None,
        unit: "% of a core",
        rule: Rule::AtMost(2.0),
        note: format!("{note}: {per_s:.0} updates/s, times the mean of update.embedded"),
    };
    let sessions = viewers.len();
    let counted = format!(
        "{sessions} sessions that share a link and get {:.2} Mbit/s each, in the world's count; \
         no update while a session waits",
        rate / 1e6
    );
    let interval = RTT * Config::default().interval_round_trips;
    let most = format!("{sessions} sessions that never wait, an update per {interval:?} each");
    let max_per_s = sessions as f64 / interval.as_secs_f64();
    Ok([figure("sessions", per_s, counted), figure("sessions_busy", max_per_s, most)])
}

/// Nanoseconds of each update.
fn costs(
    corpus: &Corpus,
    flows: usize,
    updates: usize,
) -> Result<Vec<u64>, Box<dyn std::error::Error>> {
    let abr: Arc<dyn Abr> = Arc::new(AbrKind::default());
    let mut films = Vec::new();
    for video in corpus.videos().filter(|v| v.chunks() >= MIN_CHUNKS) {
        let view = Perceptual::new(video.clone(), Metric::Vmaf)?;
        films.push(Arc::new(TitleModel::new(view, QoeParams::default(), PlayerConfig::default())?));
    }
    let curves: Vec<RateCurve> =
        films.iter().map(|s| RateCurve::simulate(s, &*abr, Duration::from_secs(200))).collect();
    let f =
        Arc::new(Normalisation::uniform(Form::FixedRate, 1.96, curves.iter().map(RateCurve::qoe))?);

    let mut rng = Seed(2).rng();
    let mut nanos = Vec::with_capacity(flows * updates);
    for film in films.iter().cycle().take(flows) {
        let mut minerva = Minerva::new(film.clone(), abr.clone(), f.clone(), Config::default());
        let mut now = Time::ZERO;
        let mut progress = Progress { min_rtt: RTT, ..Progress::default() };
        let request = |chunk, rung, buffer_s| Request {
            chunk,
            rung,
            buffer: Duration::from_secs_f64(buffer_s),
            stalled: Duration::ZERO,
            after_seek: false,
        };
        minerva.on_request(now, request(0, 0, 0.0), progress);
        for _ in 0..updates {
            // A request in the middle of nowhere, then an interval at some rate.
            let chunk = rng.random_range(1..film.chunks() - 6);
            let rung = rng.random_range(0..film.rungs());
            minerva.on_request(now, request(chunk, rung, rng.random_range(0.0..36.0)), progress);
            let rate = 10_f64.powf(rng.random_range(5.4..6.8));
            while let Some(at) = minerva.next_event() {
                let dt = at - now;
                now = at;
                progress.busy += dt;
                progress.acked_bytes += (rate * dt.as_secs_f64() / 8.0) as u64;
                let watch = Watch::start();
                let update = black_box(minerva.poll(now, progress));
                let took = watch.elapsed();
                if update.is_some() {
                    nanos.push(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
                    break;
                }
            }
        }
    }
    Ok(nanos)
}
