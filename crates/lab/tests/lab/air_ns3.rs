//! Transfers over the medium of 802.11 against TCP Cubic over ns-3's, in the scenes of a table.

use crate::loops::{Row, mean, ours, rows, total};

/// A scene as both measured it.
struct Pair {
    row: Row,
    ours: Vec<Vec<f64>>,
}

/// All scenes; ns-3's TCP is not paced.
fn pairs() -> Vec<Pair> {
    rows().into_iter().map(|row| Pair { ours: ours(&row, false), row }).collect()
}

/// How much of the air transfers took, where each is counted by what a station like it carries alone; on
/// average over runs.
fn occupied(row: &Row, runs: &[Vec<f64>], [near, far]: [f64; 2]) -> f64 {
    let alone = |i: usize| if row.is_far(i) { far } else { near };
    let of = |run: &Vec<f64>| run.iter().enumerate().map(|(i, rate)| rate / alone(i)).sum();
    mean(&runs.iter().map(of).collect::<Vec<f64>>())
}

#[test]
fn closed_loops_share_the_air_as_in_ns3() {
    let pairs = pairs();
    let mut misses = Vec::new();
    let alone = |far: usize| {
        pairs.iter().find(|p| (p.row.down, p.row.up, p.row.far) == (1, 0, far)).unwrap()
    };
    let alone = [alone(0), alone(1)];
    for Pair { row, ours } in &pairs {
        let (split, theirs) = (row.shares(ours), row.shares(&row.theirs));
        let least = theirs.iter().copied().fold(f64::INFINITY, f64::min);
        let most = theirs.iter().copied().fold(0.0, f64::max);
        let share = mean(&split);
        let (mine, peer) = (total(ours), total(&row.theirs));
        let name = format!("{} down, {} up, {} far", row.down, row.up, row.far);
        println!(
            "{name}: {:.2} beside {:.2} Mbit/s ({:+.1} %), share of the first {share:.3} beside {:.3} ({least:.3} \
             to {most:.3})",
            mine / 1e6,
            peer / 1e6,
            100.0 * (mine / peer - 1.0),
            mean(&theirs)
        );
        if row.far > 0 && row.stations() > 1 {
            // How much the air carries depends on who gets it: also what is left of it at any split is held.
            let mine = occupied(row, ours, alone.map(|p| total(&p.ours)));
            let peer = occupied(row, &row.theirs, alone.map(|p| total(&p.row.theirs)));
            println!("{name}: {mine:.3} beside {peer:.3} of the air");
            if (mine / peer - 1.0).abs() > 0.1 {
                misses.push(format!("{name}: {mine:.3} beside {peer:.3} of the air"));
            }
        }
        if (mine / peer - 1.0).abs() > 0.1 {
            misses.push(format!("{name}: {mine:.0} beside {peer:.0} bit/s"));
        }
        let is_split = (share - mean(&theirs)).abs() <= 0.05 || (least..=most).contains(&share);
        if !is_split {
            misses.push(format!("{name}: share {share:.3} beside {:.3}", mean(&theirs)));
        }
    }
    assert!(misses.is_empty(), "{}", misses.join("\n"));
}
