//! Plum's optimiser: time of a solution by the number of participants, and utility beside SciPy's SLSQP.

use std::hint::black_box;
use std::process::Command;

use airlane_base::Seed;
use airlane_plum::{
    OptimiserConfig, Problem as Call, Qoe, Solver, Structured, solver_for, synthetic,
};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use crate::bar::{Figure, Problem, Rule, Setting, median};
use crate::clock::Watch;
use crate::process::Scratch;

/// Solves the same problems with SciPy.
const SCRIPT: &str = "scripts/bench/plum_scipy.py";
/// Folder in which the script keeps its environment.
const FOLDER: &str = "target/plum-scipy";
/// Starts of SciPy, of which the best counts.
const STARTS: usize = 20;

/// Participants, the largest time, its unit, and seconds in it.
const TIMES: [(usize, f64, &str, f64); 3] =
    [(20, 100.0, "us", 1e-6), (200, 5.0, "ms", 1e-3), (1000, 100.0, "ms", 1e-3)];

/// QoE functions, and the largest shortfall from SciPy's utility, in millionths: none where the problem is
/// not convex.
const QOE: [(&str, Option<f64>); 4] =
    [("lin", Some(100.0)), ("log", Some(100.0)), ("sqrc", Some(100.0)), ("sqrcv", None)];

/// Problem for the script.
#[derive(Serialize)]
struct Posed {
    capacities: Vec<f64>,
    max_rate: f64,
    max_uplink: f64,
    rho: f64,
    qoe: &'static str,
    starts: usize,
}

#[derive(Serialize)]
struct Problems<'a> {
    problems: &'a [Posed],
}

/// Solution of the script.
#[derive(Deserialize)]
struct Solved {
    best: Option<f64>,
    first: Option<f64>,
    kbps: Option<f64>,
    ms: f64,
}

#[derive(Deserialize)]
struct Answer {
    scipy: String,
    solves: Vec<Solved>,
    missing: Vec<String>,
}

pub(super) fn measure(setting: &Setting) -> Result<Vec<Figure>, Problem> {
    let mut figures = Vec::new();
    for (participants, limit, unit, second) in TIMES {
        figures.push(time(setting, participants, limit, unit, second)?);
    }
    for (qoe, limit) in QOE {
        figures.push(utility(setting, qoe, limit)?);
    }
    Ok(figures)
}

/// A call with so many participants, drawn from a seed.
fn pose(seed: Seed, participants: usize, qoe: &'static str) -> Result<(Call, Posed), Problem> {
    let broke = |e: &dyn std::fmt::Display| Problem::Broke(e.to_string());
    let mut rng = seed.split("rho").rng();
    let rho = rng.random_range(0.05..0.95);
    let config = OptimiserConfig {
        rho,
        qoe: qoe.parse::<Qoe>().map_err(|e| broke(&e))?,
        ..OptimiserConfig::default()
    };
    let capacities = synthetic::capacities(seed, participants);
    let call = Call::new(&capacities, &config).map_err(|e| broke(&e))?;
    let (max_rate, max_uplink) = (call.max_rate(), call.max_uplink());
    Ok((call, Posed { capacities, max_rate, max_uplink, rho, qoe, starts: STARTS }))
}

fn time(
    setting: &Setting,
    participants: usize,
    limit: f64,
    unit: &'static str,
    second: f64,
) -> Result<Figure, Problem> {
    let seed = Seed(1).split("time").index(participants as u64);
    let rounds = if setting.quick { 20 } else { 20_000 / participants };
    let mut seconds = Vec::new();
    let mut posed = Vec::new();
    for i in 0..rounds {
        let qoe = ["lin", "log", "sqrc"][i % 3];
        let (call, problem) = pose(seed.index(i as u64), participants, qoe)?;
        let watch = Watch::start();
        let solution = Structured::default().solve(black_box(&call), None);
        seconds.push(watch.elapsed().as_secs_f64());
        black_box(solution).map_err(|e| Problem::Broke(e.to_string()))?;
        posed.push(Posed { starts: 1, ..problem });
    }
    let (peer, note) = match participants {
        0..=20 => beside(setting, &posed[..rounds.min(60)])?,
        21..=200 => beside(setting, &posed[..rounds.min(3)])?,
        _ => (None, "SciPy is not asked: its time grows with the cube".to_owned()),
    };
    seconds.sort_by(f64::total_cmp);
    let at = |q: f64| seconds[((seconds.len() - 1) as f64 * q) as usize] / second;
    Ok(Figure {
        bar: format!("plum.{participants}"),
        ours: median(seconds.iter().copied()) / second,
        peer: peer.map(|ms| ms * 1e-3 / second),
        unit,
        rule: Rule::AtMost(limit),
        note: format!(
            "{rounds} random calls of {participants}, median; 99 % within {:.3} {unit}; {note}",
            at(0.99)
        ),
    })
}

/// Milliseconds of SciPy's first start, and a note.
fn beside(setting: &Setting, posed: &[Posed]) -> Result<(Option<f64>, String), Problem> {
    let answer = ask(setting, posed)?;
    if answer.solves.is_empty() {
        return Ok((None, format!("no SciPy: {}", answer.missing.join("; "))));
    }
    let ms = median(answer.solves.iter().map(|s| s.ms));
    let note = format!("SciPy {}: SLSQP from one start, {} calls", answer.scipy, posed.len());
    Ok((Some(ms), note))
}

fn utility(setting: &Setting, qoe: &'static str, limit: Option<f64>) -> Result<Figure, Problem> {
    let seed = Seed(1).split("utility").split(qoe);
    let count = if setting.quick { 20 } else { 750 };
    let mut ours = Vec::new();
    let mut posed = Vec::new();
    for i in 0..count {
        let (call, problem) = pose(seed.index(i), 2 + (i % 9) as usize, qoe)?;
        let solution = solver_for(&call).solve(&call, None);
        ours.push(solution.map_err(|e| Problem::Broke(e.to_string()))?.score.utility);
        posed.push(problem);
    }
    let answer = ask(setting, &posed)?;
    if answer.solves.len() != posed.len() {
        return Err(Problem::Skipped(format!("no SciPy: {}", answer.missing.join("; "))));
    }
    let shortfalls = |of: fn(&Solved) -> Option<f64>, sign: f64| -> Vec<f64> {
        let both = answer.solves.iter().zip(&ours);
        both.filter_map(|(s, ours)| of(s).map(|u| sign * (u - ours) / u.abs().max(0.01))).collect()
    };
    let worst = |of: Vec<f64>| of.into_iter().fold(0.0, f64::max);
    let mean = |of: Vec<f64>| of.iter().sum::<f64>() / of.len().max(1) as f64;
    let below = shortfalls(|s| s.best, 1.0).iter().filter(|x| **x > 1e-6).count();
    Ok(Figure {
        bar: format!("plum.{qoe}"),
        ours: worst(shortfalls(|s| s.best, 1.0)) * 1e6,
        peer: None,
        unit: "ppm",
        rule: limit.map_or(Rule::Reported, Rule::AtMost),
        note: format!(
            "largest relative shortfall of utility from the best of {STARTS} starts of SciPy {}, {count} calls of 2 to 10; \
             {below} short by over 1e-6; that best short by {:.2e} at worst, the authors' start alone by {:.2e} in \
             the mean, with variables in kbit/s by {:.2e}",
            answer.scipy,
            worst(shortfalls(|s| s.best, -1.0)),
            mean(shortfalls(|s| s.first, -1.0)),
            mean(shortfalls(|s| s.kbps, -1.0)),
        ),
    })
}

fn ask(setting: &Setting, problems: &[Posed]) -> Result<Answer, Problem> {
    if !setting.root.join(SCRIPT).exists() {
        let why = format!("{SCRIPT} is not here: run the bench in the project's folder");
        return Err(Problem::Skipped(why));
    }
    let broke = |e: &dyn std::fmt::Display| Problem::Broke(format!("{SCRIPT}: {e}"));
    let scratch = Scratch::new("plum")?;
    let file = scratch.path("problems.json");
    let json = serde_json::to_vec(&Problems { problems }).map_err(|e| broke(&e))?;
    std::fs::write(&file, json).map_err(|e| broke(&e))?;
    let mut python = Command::new("python3");
    python.arg(SCRIPT).arg(FOLDER).arg(&file).current_dir(&setting.root);
    let output = python.output().map_err(|e| Problem::Skipped(format!("python3: {e}")))?;
    serde_json::from_slice(&output.stdout)
        .map_err(|_| broke(&String::from_utf8_lossy(&output.stderr).trim()))
}
