//! What the forms of the value function cost and how far they are from the simulation.
//!
//! ```text
//! cargo run --release -p airlane-minerva --example value_table -- [DIR] [--abr NAME] [--videos N]
//!     [--points N]
//! ```
//! DIR holds content tables; without it the embedded corpus is used. Of its videos of at least 60
//! chunks, cut to 60, N spread evenly are tabled (3), and N points are drawn of each kind (100000).

#![allow(clippy::disallowed_methods, reason = "a benchmark reads the machine's clock")]

mod compare;

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use airlane_abr::{Abr, AbrKind, PlayerConfig, TitleModel};
use airlane_base::Seed;
use airlane_media::corpus::Corpus;
use airlane_media::{Metric, Perceptual};
use airlane_minerva::{Fitted, OnDemand, ValueTable};
use airlane_quality::QoeParams;

const CHUNKS: usize = 60;
const HORIZON: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let (mut dir, mut abr) = (None, AbrKind::default());
    let (mut videos, mut points) = (3, 100_000);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            "--abr" => abr = value()?.parse()?,
            "--videos" => videos = value()?.parse()?,
            "--points" => points = value()?.parse()?,
            _ => dir = Some(arg),
        }
    }
    let corpus = dir.map_or_else(Corpus::embedded, Corpus::load_dir)?;
    let long: Vec<_> = corpus.videos().filter(|v| v.chunks() >= CHUNKS).collect();
    let videos = long.len().clamp(1, videos);
    println!("{}: {videos} of {} videos, cut to {CHUNKS} chunks; {abr}", corpus.name, long.len());
    let mut titles = Vec::new();
    for i in 0..videos {
        let video = Arc::new(long[i * long.len() / videos].cut_to(CHUNKS));
        let view = Perceptual::new(video, Metric::Vmaf)?;
        let setting =
            Arc::new(TitleModel::new(view, QoeParams::default(), PlayerConfig::default())?);
        titles.push(tabled(setting, abr));
    }
    let seed = Seed(11);
    compare::on_the_grid(&titles, points, seed);
    compare::between(&titles, points, seed);
    compare::fits(&titles, points, seed);
    compare::sent(&titles, points, seed);
    compare::cost(&titles, points, seed);
    Ok(())
}

fn tabled(setting: Arc<TitleModel>, abr: AbrKind) -> compare::Title {
    let begin = Instant::now();
    let table = ValueTable::build(&setting, &abr, HORIZON);
    let built = begin.elapsed().as_secs_f64();
    let begin = Instant::now();
    let fitted = Fitted::of_table(&table, setting.mean_rate_bps()[0]);
    let fit = begin.elapsed().as_secs_f64();
    println!(
        "{}: {} rungs, {} rates, {} buffers: table {built:.1} s, {:.2} MB, {}; fits {fit:.1} s, \
         {:.2} MB",
        setting.video().name,
        setting.rungs(),
        table.rates_bps().len(),
        table.buffers_s().len(),
        table.bytes() as f64 / 1e6,
        if table.along_equal_bits() { "equal bits" } else { "equal buffers" },
        fitted.bytes() as f64 / 1e6,
    );
    let abr: Arc<dyn Abr> = Arc::new(abr);
    let direct = OnDemand::new(setting.clone(), abr, HORIZON);
    let plain = table.clone().read_along_equal_buffers();
    compare::Title { all: Fitted::of_table(&table, 0.0), setting, table, plain, fitted, direct }
}
