//! Transfers over the medium of 802.11 in the scenes in which ns-3 ran TCP Cubic.

use airlane_congestion::{ControllerConfig, CubicConfig};
use airlane_lab::workloads::bulk;
use airlane_sim::world::FlowSample;

use crate::runs::{plan, run_one};

/// What `scripts/ns3/medium loops` wrote.
const NS3: &str = include_str!("ns3-loops.csv");

/// A scene, and what ns-3 measured in it.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) down: usize,
    pub(crate) up: usize,
    /// Of these, the last ones, at MCS 0.
    pub(crate) far: usize,
    /// What is measured, seconds from the start of the transfers.
    from: u32,
    until: u32,
    /// By seed: bits per second by station, those that are sent to first.
    pub(crate) theirs: Vec<Vec<f64>>,
}

impl Row {
    pub(crate) fn stations(&self) -> usize {
        self.down + self.up
    }

    pub(crate) fn is_far(&self, station: usize) -> bool {
        station + self.far >= self.stations()
    }

    /// How many stations are the first part of a split: those that are near, or those that are sent to.
    fn first(&self) -> usize {
        if self.far > 0 { self.stations() - self.far } else { self.down }
    }

    /// The share of the first part, by run.
    pub(crate) fn shares(&self, runs: &[Vec<f64>]) -> Vec<f64> {
        let share = |r: &Vec<f64>| r[..self.first()].iter().sum::<f64>() / r.iter().sum::<f64>();
        runs.iter().map(share).collect()
    }
}

pub(crate) fn rows() -> Vec<Row> {
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
         wifi = {{ sensitivity_dbm = -82, width_mhz = 20, streams = 1, window = 64, sealed = false, scheduler = \"fifo\", \
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
pub(crate) fn ours(row: &Row, is_paced: bool) -> Vec<Vec<f64>> {
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

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// What all stations have together, on average over runs.
pub(crate) fn total(runs: &[Vec<f64>]) -> f64 {
    mean(&runs.iter().map(|run| run.iter().sum()).collect::<Vec<f64>>())
}
