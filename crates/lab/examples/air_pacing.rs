//! What pacing changes where stations share the air, in the scenes of `docs/design/air.md`, Closed loops:
//! `cargo run --release -p airlane-lab --example air_pacing`.

#[path = "../tests/lab/loops.rs"]
mod loops;
#[path = "../tests/lab/runs.rs"]
mod runs;

use crate::loops::{mean, ours, rows, total};

fn main() {
    for row in rows() {
        let runs = [false, true].map(|is_paced| ours(&row, is_paced));
        let [plain, paced] = &runs;
        println!(
            "{} down, {} up, {} far: {:.2} Mbit/s, paced {:.2}, ns-3 {:.2}; share of the first {:.3}, \
             paced {:.3}, ns-3 {:.3}",
            row.down,
            row.up,
            row.far,
            total(plain) / 1e6,
            total(paced) / 1e6,
            total(&row.theirs) / 1e6,
            mean(&row.shares(plain)),
            mean(&row.shares(paced)),
            mean(&row.shares(&row.theirs))
        );
    }
}
