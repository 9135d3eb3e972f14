//! Transfers over the medium of 802.11 against TCP Cubic over ns-3's, in the scenes of a table.

use airlane_lab::workloads::bulk;

use crate::networks::{plan, run_one};

/// What `scripts/ns3/medium loops` wrote.
const NS3: &str = include_str!("ns3-loops.csv");

/// What is measured of a run, seconds.
const FROM: f64 = 4.0;
const UNTIL: f64 = 24.0;

/// A scene, and what ns-3 measured in it.
#[derive(Debug)]
struct Row {
    down: usize,
    up: usize,
    /// Of these, the last ones, at MCS 0.
    far: usize,
    /// By seed: bits per second by station, those that are sent to first.
    theirs: Vec<Vec<f64>>,
}

fn rows() -> Vec<Row> {
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let count = |i: usize| cells[i].parse().unwrap();
        assert_eq!(cells[1..6], ["ax", "20", "7", "1", "64"], "scenes are of one kind");
        let rates = |cell: &&str| cell.split(' ').map(|rate| rate.parse().unwrap()).collect();
        let theirs = cells[12..].iter().map(rates).collect();
        Row { up: count(6), down: count(7), far: count(8), theirs }
    };
    let rows: Vec<Row> = NS3.lines().skip(2).map(row).collect();
    assert!(rows.len() >= 8, "{} rows", rows.len());
    rows
}

/// The same scene for ours: one FIFO of 1000 packets at the access point, as ns-3 has it.
fn scenario(row: &Row) -> String {
    let mut text = "name = \"loops\"\ntitle = \"x\"\nstory = \"x\"\nduration_s = 25\nseeds = [1, 2, 3]\n\
        [core]\nrtt_s = 0.02\n[[scheme]]\nname = \"cubic\"\n\
        [[access]]\nname = \"home\"\nkind = \"wifi\"\n\
        wifi = { width_mhz = 20, streams = 1, window = 64, sealed = false, scheduler = \"fifo\", pool_packets = 1000 }\n"
        .to_owned();
    let number = row.down + row.up;
    for i in 0..number {
        let (snr, mcs) = if i + row.far >= number { (15, 0) } else { (50, 7) };
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
fn ours(row: &Row) -> Vec<Vec<f64>> {
    let plan = plan(&scenario(row), &[]);
    let one = |key| {
        let output = run_one(&plan, key);
        let rate = |transfer: &bulk::TransferOutput| {
            assert_eq!(transfer.failure, None);
            let acked = |s: f64| {
                let sample = transfer.samples.iter().find(|x| x.at.as_secs_f64() >= s);
                sample.map(|x| x.acked_bytes as f64).unwrap()
            };
            // Samples count packets; their share of the bodies is the same all along.
            let all = transfer.samples.last().map_or(1.0, |s| s.acked_bytes as f64);
            let share = (acked(UNTIL) - acked(FROM)) / all;
            transfer.bytes as f64 * share * 8.0 / (UNTIL - FROM)
        };
        bulk::Output::of(&output).iter().map(rate).collect()
    };
    plan.runs().map(one).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn closed_loops_share_the_air_as_in_ns3() {
    let mut misses = Vec::new();
    for row in rows() {
        let mine = ours(&row);
        let totals =
            |runs: &[Vec<f64>]| mean(&runs.iter().map(|r| r.iter().sum()).collect::<Vec<f64>>());
        let (total, theirs) = (totals(&mine), totals(&row.theirs));
        // Those that are sent to, or that are near, are the first.
        let first = match (row.far, row.up) {
            (0, _) => row.down,
            (far, up) => row.down + up - far,
        };
        let shares = |runs: &[Vec<f64>]| -> Vec<f64> {
            let share = |r: &Vec<f64>| r[..first].iter().sum::<f64>() / r.iter().sum::<f64>();
            runs.iter().map(share).collect()
        };
        let (split, split_theirs) = (shares(&mine), shares(&row.theirs));
        let off = total / theirs - 1.0;
        let least = split_theirs.iter().copied().fold(f64::INFINITY, f64::min);
        let most = split_theirs.iter().copied().fold(0.0, f64::max);
        let share = mean(&split);
        let line = format!(
            "{} down, {} up, {} far: {:.2} beside {:.2} Mbit/s ({:+.1} %), share of the first {share:.3} beside \
             {:.3} ({least:.3} to {most:.3})",
            row.down,
            row.up,
            row.far,
            total / 1e6,
            theirs / 1e6,
            100.0 * off,
            mean(&split_theirs)
        );
        println!("{line}");
        let is_split =
            (share - mean(&split_theirs)).abs() <= 0.05 || (least..=most).contains(&share);
        if off.abs() > 0.1 || !is_split {
            misses.push(line);
        }
    }
    assert!(misses.is_empty(), "{}", misses.join("\n"));
}
