//! How far Algorithm 1 is from the optimum over all orders and levels, on random GoPs.
//!
//! ```text
//! cargo run --release -p airlane-viewport --example decomposition [GOPS]
//! ```

use airlane_base::Seed;
use airlane_viewport::synthetic;
use airlane_viewport::{Joint, LossKind, Ows, Problem, Workspace, fix, optimum};

/// Excess of an expected mean squared error over the optimum's, in dB.
fn excess_db(mse: f64, least: f64) -> f64 {
    10.0 * (mse / least).log10()
}

fn main() {
    let gops: u64 = std::env::args().nth(1).map_or(500, |n| n.parse().expect("a number of GoPs"));
    println!("tiles levels scheme       mean-% median-%  max-%  mean-dB max-dB optimal");
    for (tiles, levels) in [(4, 3), (5, 4), (8, 4)] {
        let mut rows = ["literal", "descending", "fix", "corrected", "joint-starts", "joint"]
            .map(|name| (name, Vec::new()));
        for n in 0..gops {
            let gop = synthetic::gop(Seed(11).index(n), tiles, levels);
            let problem = Problem::new(
                &gop.curves,
                &gop.probabilities,
                &gop.deadlines_s,
                &gop.throughput,
                gop.capacity_bits,
            )
            .expect("it fits together");
            let mut workspace = Workspace::default();
            let least = optimum(&problem, LossKind::Corrected).expect("few tiles").expected_mse;
            let mut ows = |kind| Ows { kind, ..Ows::default() }.solve(&problem, &mut workspace);
            let [literal, descending, corrected] =
                [LossKind::Literal, LossKind::Descending, LossKind::Corrected].map(&mut ows);
            let found = [
                literal,
                descending,
                fix(&problem, &mut workspace),
                corrected,
                Joint { plans: 0, ..Joint::default() }.solve(&problem, &mut workspace),
                Joint::default().solve(&problem, &mut workspace),
            ];
            for ((_, excess), found) in rows.iter_mut().zip(found) {
                excess.push(found.expected_mse / least - 1.0);
            }
        }
        for (name, excess) in &mut rows {
            excess.sort_by(f64::total_cmp);
            let mean = excess.iter().sum::<f64>() / excess.len() as f64;
            let db: Vec<f64> = excess.iter().map(|e| excess_db(1.0 + e, 1.0)).collect();
            let optimal = excess.iter().filter(|e| **e < 1e-9).count() as f64 / gops as f64;
            println!(
                "{tiles:5} {levels:6} {name:12} {:6.2} {:8.2} {:6.1} {:8.3} {:6.2} {:6.1} %",
                100.0 * mean,
                100.0 * excess[excess.len() / 2],
                100.0 * excess[excess.len() - 1],
                db.iter().sum::<f64>() / db.len() as f64,
                db[db.len() - 1],
                100.0 * optimal,
            );
        }
    }
}
