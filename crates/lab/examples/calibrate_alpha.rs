//! The alpha at which viewers under Minerva take half of a link that they share with as many
//! viewers of the same videos over Cubic.
//!
//! Scene: eight viewers on 20 Mbit/s (2.5 Mbit/s per video), PIE; the first four under Minerva,
//! the others of the same four videos over Cubic with the baseline's weight. The mixes come from
//! the stream `calibration` of the claims' seed, which no claim draws from.
//!
//! `cargo run --release -p airlane-lab --example calibrate_alpha -- [--metric METRIC] [CONTENT|-]
//! [MIXES] [ALPHA...]`; the metric of all viewers is VMAF unless another is given.

use std::path::{Path, PathBuf};
use std::time::Instant;

use airlane_base::Seed;
use airlane_judge::claims::{ClaimSet, Purpose};
use airlane_lab::workloads::vod::{ContentDraws, Output};
use airlane_quality::Bootstrap;
use airlane_quality::stats::mean;
use airlane_scenario::Scenario;
use airlane_sim::Common;
use airlane_sim::plan::Plan;
use airlane_sim::pool::{self, Job, StopFlag};
use airlane_sim::workload::Caches;
use airlane_sim::world::{self, Options, RunOutput};

/// Viewers of each kind.
const VIEWERS: usize = 4;
/// The factors that are tried unless others are given.
const ALPHAS: [f64; 5] = [1.4, 1.65, 1.9, 2.15, 2.4];
/// Plain connections that a flow of the baseline counts for.
const BASELINE: f64 = 2.0;

#[expect(clippy::disallowed_methods, reason = "a stopwatch")]
fn main() {
    let mut args = std::env::args().skip(1).peekable();
    let metric = args.next_if(|a| a == "--metric").and_then(|_| args.next());
    let metric = metric.unwrap_or_else(|| "vmaf".to_owned());
    let content = args.next().filter(|a| a != "-").map(PathBuf::from);
    let mixes: usize = args.next().map_or(8, |n| n.parse().expect("a number of mixes"));
    let given: Vec<f64> = args.map(|a| a.parse().expect("an alpha")).collect();
    let alphas = if given.is_empty() { ALPHAS.to_vec() } else { given };

    let set =
        ClaimSet::of_system(airlane_lab::registry(), "minerva").unwrap_or_else(|e| panic!("{e}"));
    let start = Instant::now();
    let stop = StopFlag::default();
    let common =
        Common { jobs: pool::available_cores(), content, stop: stop.clone(), ..Common::default() };
    // More than are wanted: those that a claim has are left out.
    let text =
        scenario(&alphas, &metric, 3 * mixes, Seed(set.seed).split("mixes").split("calibration"));
    let scenario = Scenario::from_bytes(
        airlane_lab::registry().scenarios(),
        text.as_bytes(),
        Path::new("calibration"),
        &[],
    )
    .unwrap_or_else(|e| panic!("{e}"));
    let plan = Plan::new(scenario, &common).unwrap_or_else(|e| panic!("{e}"));
    let cases = unclaimed(&plan, &set, &common, mixes);
    let caches = Caches::of_plan(&plan).unwrap_or_else(|e| panic!("{e}"));

    let keys: Vec<_> = plan.runs().filter(|key| cases.contains(&key.case)).collect();
    let jobs = keys
        .iter()
        .map(|&key| Job {
            label: plan.label(key),
            seed: key.seed,
            command: "calibrate_alpha".to_owned(),
            units: 1,
            work: Box::new({
                let (plan, caches) = (&plan, &caches);
                move |ticket| {
                    let out = world::run(plan, caches, key, &Options::default(), ticket)?;
                    let share = share(&out);
                    let name = &plan.scenario.schemes[key.scheme].name;
                    eprintln!(
                        "{:5.0} s  mix {}, {name}: {share:.3}",
                        start.elapsed().as_secs_f64(),
                        key.case + 1
                    );
                    Ok(share)
                }
            }),
        })
        .collect();
    let done = pool::run(jobs, common.jobs, "calibration", &stop, &());
    if let Some(e) = done.error {
        panic!("{e}");
    }

    println!("{} mixes from {}; share of Minerva's video bytes", cases.len(), name(&plan));
    println!("{:>6}  {:>6}  95 % interval", "alpha", "share");
    let mut curve = Vec::new();
    for (scheme, alpha) in alphas.iter().enumerate() {
        let shares: Vec<f64> = keys
            .iter()
            .zip(&done.results)
            .filter(|(key, _)| key.scheme == scheme)
            .filter_map(|(_, share)| *share)
            .collect();
        let Some(share) = mean(&shares) else { continue };
        let ci: Option<[f64; 2]> =
            Bootstrap::new(Seed(set.seed).split("calibrate").index(scheme as u64))
                .mean(&shares)
                .map(Into::into);
        let ci = ci.map_or_else(String::new, |[lo, hi]| format!("{lo:.3} - {hi:.3}"));
        println!("{alpha:6.2}  {share:6.3}  {ci}");
        curve.push((*alpha, share));
    }
    match crossing(&curve) {
        Some(alpha) => println!(
            "alpha at which the share is 0.50: {alpha:.2}, {:.3} per connection",
            alpha / BASELINE
        ),
        None => println!("the share is 0.50 at none of these alphas"),
    }
}

fn scenario(alphas: &[f64], metric: &str, mixes: usize, seed: Seed) -> String {
    let mut text = "name = \"calibration\"\nduration_s = 200\nmin_chunks = 50\n[link]\n\
                    rate_bps = 20e6\nrtt_s = 0.02\nuplink_rate_bps = 10e6\n\
                    queue = { kind = \"pie\", target_s = 0.015, limit_bdp = 1.5 }\n"
        .to_owned();
    for alpha in alphas {
        text += &format!(
            "[[scheme]]\nname = \"alpha-{alpha}\"\ncontroller = \"cubic\"\nweight = {BASELINE}\n\
             minerva = {{ alpha = {alpha} }}\n"
        );
    }
    text += &format!("[[viewer]]\nname = \"v\"\ncount = {VIEWERS}\nmetric = \"{metric}\"\n");
    // As many over plain connections, of the same videos.
    text += &format!(
        "[[viewer]]\nname = \"cross\"\ncount = {VIEWERS}\nsame_as = \"v\"\nmetric = \"{metric}\"\n\
         controller = \"cubic\"\nweight = {BASELINE}\n"
    );
    text += &format!("[cases]\ncount = {mixes}\nseed = {}\n", seed.0 >> 32);
    text
}

/// The first `mixes` cases whose mix no claim has, in whatever order of its viewers.
fn unclaimed(plan: &Plan, set: &ClaimSet, common: &Common<'_>, mixes: usize) -> Vec<usize> {
    let names = |plan: &Plan, case: usize| {
        let videos = ContentDraws::in_case(plan, case).map_or(&[][..], |watched| &watched.videos);
        let mut names: Vec<String> = videos.iter().map(|v| v.name.clone()).collect();
        names.sort_unstable();
        names
    };
    let mut claimed = Vec::new();
    for claim in &set.claims {
        // Without cells it is measured as it stands. Cells do not change what is drawn.
        let cell: Vec<_> =
            claim.cells.first().map(|name| &set.variants[name]).into_iter().collect();
        let stream = set.stream(claim, Purpose::Verdict).unwrap_or_else(|e| panic!("{e}"));
        let scenario = set
            .scenario(claim, claim.full, &stream, common.content.is_some(), &cell)
            .unwrap_or_else(|e| panic!("{e}"));
        let plan = Plan::new(scenario, common).unwrap_or_else(|e| panic!("{e}"));
        claimed.extend((0..plan.cases.len()).map(|case| names(&plan, case)));
    }
    // Every mix stands twice in a case: once for the viewers under Minerva, once for the others.
    let first = |case: usize| {
        let mut all: Vec<String> = names(plan, case);
        all.dedup();
        all
    };
    (0..plan.cases.len()).filter(|case| !claimed.contains(&first(*case))).take(mixes).collect()
}

/// The first viewers' part of what all servers had acknowledged at the end.
fn share(out: &RunOutput) -> f64 {
    let acked: Vec<f64> = Output::of(out)
        .iter()
        .map(|v| v.samples.last().map_or(0.0, |s| s.acked_bytes as f64))
        .collect();
    acked[..VIEWERS].iter().sum::<f64>() / acked.iter().sum::<f64>()
}

fn name(plan: &Plan) -> &str {
    ContentDraws::of(plan).and_then(|d| d.corpus.as_ref()).map_or("no content", |c| c.name.as_str())
}

/// Where the curve first passes one half, by a straight line between the neighbours.
fn crossing(curve: &[(f64, f64)]) -> Option<f64> {
    curve.windows(2).find_map(|pair| {
        let [(a0, s0), (a1, s1)] = [pair[0], pair[1]];
        let between = (s0 - 0.5) * (s1 - 0.5) <= 0.0 && s0 != s1;
        between.then(|| a0 + (0.5 - s0) / (s1 - s0) * (a1 - a0))
    })
}
