//! The tables of SCReAM: alone behind DualPI2 and droptail, and beside Cubic and Prague.

use std::time::Duration;

use airlane_congestion::Algorithm;

use crate::harness::{AckPolicy, Discipline, Flow, Outcome, run};
use crate::links::{flow, jain, link};
use crate::tables::{header, mean};

/// Time between frames of the media.
const FRAME_INTERVAL: Duration = Duration::from_millis(20);

/// Time between the starts of flows, so that their frames do not come together.
const START_INTERVAL: Duration = Duration::from_millis(7);

/// Source of the data of a SCReAM flow.
#[derive(Clone, Copy, PartialEq)]
enum Source {
    /// Frames at the rate that it gives.
    Media,
    /// Always data.
    Bulk,
}

/// Bandwidth-delay products that a droptail queue holds.
const QUEUE_BDP: f64 = 2.0;

/// A link and its queue.
#[derive(Clone, Copy)]
struct Case {
    mbps: f64,
    rtt_ms: u64,
    has_dualpi2: bool,
}

impl Case {
    /// Each rate and round trip.
    fn all(has_dualpi2: bool) -> impl Iterator<Item = Self> {
        [4.0, 12.0, 40.0]
            .into_iter()
            .flat_map(move |mbps| [10, 20, 60].map(|rtt_ms| Self { mbps, rtt_ms, has_dualpi2 }))
    }

    /// Runs flows of these controllers, all with the same round trip.
    fn outcomes(self, algorithms: &[Algorithm], source: Source, seeds: u64) -> Vec<Outcome> {
        let run_once = |seed| {
            let (mut scene, rtt) = link(self.mbps, self.rtt_ms, QUEUE_BDP, 90.0, seed);
            if self.has_dualpi2 {
                scene.discipline = Discipline::DualPi2(1_000);
            }
            scene.warmup = Duration::from_secs(30);
            let flow = |(algorithm, i): (&Algorithm, u32)| {
                let mut flow = flow(*algorithm, rtt, seed);
                flow.acks = AckPolicy::EACH;
                flow.start += START_INTERVAL * i;
                if *algorithm != Algorithm::Cubic {
                    flow.burst = 1.0;
                }
                let is_media = *algorithm == Algorithm::Scream && source == Source::Media;
                Flow { frames: is_media.then_some(FRAME_INTERVAL), ..flow }
            };
            run(&scene, algorithms.iter().zip(0..).map(flow).collect())
        };
        (1..=seeds).map(run_once).collect()
    }

    /// Outcomes with media, and with data without end.
    fn both(self, algorithms: &[Algorithm], seeds: u64) -> Both {
        Both([Source::Media, Source::Bulk].map(|source| self.outcomes(algorithms, source, seeds)))
    }
}

/// Runs with media and with bulk.
struct Both([Vec<Outcome>; 2]);

impl Both {
    /// A figure of both, in one cell.
    fn cell(&self, figure: Figure, decimals: usize, unit: &str) -> String {
        let mean_of = |outs: &Vec<Outcome>| mean(&outs.iter().map(figure).collect::<Vec<_>>());
        let [media, bulk] = self.0.each_ref().map(mean_of);
        format!("{media:.decimals$}, {bulk:.decimals$}{unit}")
    }
}

type Figure = fn(&Outcome) -> f64;

fn lost_percent(out: &Outcome) -> f64 {
    let lost: u64 = out.flows.iter().map(|flow| flow.lost).sum();
    let packets: u64 = out.flows.iter().map(|flow| flow.packets).sum();
    100.0 * lost as f64 / (lost + packets) as f64
}

/// Part of the first of two flows.
fn share(out: &Outcome) -> f64 {
    let [first, second] = [0, 1].map(|i: usize| out.flows[i].packets as f64);
    first / (first + second)
}

fn alone(title: &str, has_dualpi2: bool, counts: &[usize], seeds: u64) {
    let columns =
        ["Mbit/s", "RTT", "flows", "utilisation", "median wait", "99 %", "lost", "Jain's index"];
    header(title, &columns.map(str::to_owned));
    for case in Case::all(has_dualpi2) {
        for &count in counts {
            let both = case.both(&vec![Algorithm::Scream; count], seeds);
            println!(
                "| {} | {} ms | {count} | {} | {} | {} | {} | {} |",
                case.mbps,
                case.rtt_ms,
                both.cell(|o| o.link.utilisation, 3, ""),
                both.cell(|o| o.flows[0].wait_ms(0.5), 1, " ms"),
                both.cell(|o| o.flows[0].wait_ms(0.99), 1, " ms"),
                both.cell(lost_percent, 2, " %"),
                both.cell(jain, 3, ""),
            );
        }
    }
}

fn beside(title: &str, other: Algorithm, has_dualpi2: bool, seeds: u64) {
    let columns = [
        "Mbit/s",
        "RTT",
        "SCReAM's share",
        "its 99 % wait",
        "the other's median wait",
        "utilisation",
    ];
    header(title, &columns.map(str::to_owned));
    for case in Case::all(has_dualpi2) {
        let both = case.both(&[Algorithm::Scream, other], seeds);
        println!(
            "| {} | {} ms | {} | {} | {} | {} |",
            case.mbps,
            case.rtt_ms,
            both.cell(share, 2, ""),
            both.cell(|o| o.flows[0].wait_ms(0.99), 1, " ms"),
            both.cell(|o| o.flows[1].wait_ms(0.5), 1, " ms"),
            both.cell(|o| o.link.utilisation, 3, ""),
        );
    }
}

/// SCReAM alone, and beside Cubic and Prague: each figure for media and for bulk.
pub fn scream(seeds: u64) {
    alone("SCReAM behind DualPI2 (media, bulk)", true, &[1, 4], seeds);
    alone("SCReAM, droptail of 2 BDP (media, bulk)", false, &[1], seeds);
    for (queue, has_dualpi2) in [("DualPI2", true), ("droptail of 2 BDP", false)] {
        let title = format!("one SCReAM (media, bulk) beside one Cubic, {queue}");
        beside(&title, Algorithm::Cubic, has_dualpi2, seeds);
    }
    let title = "one SCReAM (media, bulk) beside one Prague, DualPI2";
    beside(title, Algorithm::Prague, true, seeds);
}
