//! Transfers over the medium of 802.11 against TCP Cubic over ns-3's, in the scenes of a table.

use airlane_congestion::{ControllerConfig, CubicConfig};
use airlane_lab::workloads::bulk;
use airlane_sim::world::FlowSample;

use crate::networks::{plan, run_one};

/// What `scripts/ns3/medium loops` wrote.
const NS3: &str = include_str!("ns3-loops.csv");

/// A scene, and what ns-3 measured in it.
#[derive(Debug)]
struct Row {
    down: usize,
    up: usize,
    /// Of these, the last ones, at MCS 0.
    far: usize,
    /// What is measured, seconds from the start of the transfers.
    from: u32,
    until: u32,
    /// By seed: bits per second by station, those that are sent to first.
    theirs: Vec<Vec<f64>>,
}

impl Row {
    fn stations(&self) -> usize {
        self.down + self.up
    }

    fn is_far(&self, station: usize) -> bool {
        station + self.far >= self.stations()
    }

    /// How many stations are the first part of a split: those that are near, or those that are sent to.
    fn first(&self) -> usize {
        if self.far > 0 { self.stations() - self.far } else { self.down }
    }

    /// The share of the first part, by run.
    fn shares(&self, runs: &[Vec<f64>]) -> Vec<f64> {
        let share = |r: &Vec<f64>| r[..self.first()].iter().sum::<f64>() / r.iter().sum::<f64>();
        runs.iter().map(share).collect()
    }
}

fn rows() -> Vec<Row> {
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let count = |i: usize| cells[i].parse().unwrap();
        assert_eq!(cells[1..6], ["ax", "20", "7", "1", "64"], "scenes are of one kind");
        let [from, seconds] = [13, 14].map(|i| cells[i].parse::<u32>().unwrap());
        let rates = |cell: &&str| cell.split(' ').map(|rate| rate.parse().unwrap()).collect();
        let theirs = cells[15..].iter().map(rates).collect();
        Row { up: count(6), down: count(7), far: count(8), from, until: from + seconds, theirs }
    };
    let rows: Vec<Row> = NS3.lines().skip(2).map(row).collect();
    assert!(rows.len() >= 9, "{} rows", rows.len());
    rows
}

/// The same scene for ours: one FIFO of 1000 packets at the access point, as ns-3 has it.
fn scenario(row: &Row) -> String {
    // Near and far share out by chance for long: their means take more runs.
    let seeds = if row.far > 0 { "1, 2, 3, 4, 5, 6" } else { "1, 2, 3" };
    let mut text = format!(
        "name = \"loops\"\ntitle = \"x\"\nstory = \"x\"\nduration_s = {}\nseeds = [{seeds}]\n\
         [core]\nrtt_s = 0.02\n[[scheme]]\nname = \"cubic\"\n\
         [[access]]\nname = \"home\"\nkind = \"wifi\"\n\
         wifi = {{ width_mhz = 20, streams = 1, window = 64, sealed = false, scheduler = \"fifo\", \
         pool_packets = 1000 }}\n",
        row.until + 1
    );
    for i in 0..row.stations() {
        let (snr, mcs) = if row.is_far(i) { (15, 0) } else { (50, 7) };
        text.push_str(&format!(
            "[[access]]\nname = \"s{i}\"\nkind = \"station\"\nbehind = \"home\"\n\
             station = {{ snr_db = {snr}, mcs = {mcs}, queue = {{ limit_packets = 1000 }} }}\n\
             [[bulk]]\nname = \"b{i}\"\nat = \"s{i}\"\nupload = {}\n",
            i >= row.down
        ));
    }
    text
}

/// By seed: application bits per second by station.
fn ours(row: &Row, is_paced: bool) -> Vec<Vec<f64>> {
    let mut plan = plan(&scenario(row), &[]);
    let control = CubicConfig { is_paced, ..CubicConfig::default() };
    plan.scenario.schemes[0].control = ControllerConfig::Cubic(control);
    let one = |key| {
        let output = run_one(&plan, key);
        let rate = |transfer: &bulk::TransferOutput| {
            assert_eq!(transfer.failure, None);
            let acked = |s: u32| {
                let is_due = |x: &&FlowSample| x.at.as_secs_f64() >= s.into();
                transfer.samples.iter().find(is_due).map(|x| x.acked_bytes as f64).unwrap()
            };
            // Samples count packets; their share of the bodies is the same all along.
            let all = transfer.samples.last().map_or(1.0, |s| s.acked_bytes as f64);
            let share = (acked(row.until) - acked(row.from)) / all;
            transfer.bytes as f64 * share * 8.0 / f64::from(row.until - row.from)
        };
        bulk::Output::of(&output).iter().map(rate).collect()
    };
    plan.runs().map(one).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// What all stations have together, on average over runs.
fn total(runs: &[Vec<f64>]) -> f64 {
    mean(&runs.iter().map(|run| run.iter().sum()).collect::<Vec<f64>>())
}

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

#[test]
#[ignore = "prints what pacing changes"]
fn what_pacing_changes() {
    for row in rows() {
        let runs = ours(&row, true);
        println!(
            "{} down, {} up, {} far, paced: {:.2} Mbit/s, share of the first {:.3}",
            row.down,
            row.up,
            row.far,
            total(&runs) / 1e6,
            mean(&row.shares(&runs))
        );
    }
}
