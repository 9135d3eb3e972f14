//! Tables of weighted Cubic.

use crate::scene::{Queue, Runs, Scene, mean, spread};
use crate::{Bench, header};

const RTTS: [f64; 2] = [20.0, 100.0];

/// Weights, packets of bandwidth-delay product per unit of weight, round trip.
fn of(weights: &[f64], unit: f64, rtt_ms: f64, queue: Queue) -> Scene {
    // Epochs last by round trips: fewer seconds hold as many of the short one. Cubic takes some
    // twenty of them to forget who came first.
    let seconds = match rtt_ms {
        ..30.0 => 75.0,
        ..100.0 => 200.0,
        _ => 300.0,
    };
    Scene { seconds, settle: seconds / 5.0, ..Scene::of_weights(weights, unit, rtt_ms, queue) }
}

/// Two flows of weight w and two plain ones.
fn pair(w: f64, unit: f64, rtt_ms: f64, queue: Queue) -> Scene {
    of(&[w, w, 1.0, 1.0], unit, rtt_ms, queue)
}

fn columns(first: &str, rtts: &[f64]) -> Vec<String> {
    let mut columns = vec![first.to_owned()];
    for rtt in rtts {
        columns.extend(Queue::ALL.map(|q| format!("{}, {rtt} ms", q.name())));
    }
    columns
}

fn list(units: &[f64]) -> String {
    units.iter().map(f64::to_string).collect::<Vec<_>>().join("/")
}

/// Prints a row per entry of `rows`, a column per round trip and queue; a cell has a figure per
/// unit.
fn grid<R>(
    bench: &Bench,
    own_rtts: &[f64],
    units: &[f64],
    rows: &[(String, R)],
    scene: impl Fn(&R, f64, f64, Queue) -> Scene,
    figure: impl Fn(&R, &Runs) -> String,
) {
    let queues = Queue::ALL;
    let places: Vec<(f64, Queue)> =
        bench.rtts(own_rtts).iter().flat_map(|&rtt| queues.map(|queue| (rtt, queue))).collect();
    for (name, row) in rows {
        let scenes: Vec<Scene> = places
            .iter()
            .flat_map(|&(rtt, queue)| units.iter().map(move |&unit| (unit, rtt, queue)))
            .map(|(unit, rtt, queue)| scene(row, unit, rtt, queue))
            .collect();
        let figures: Vec<String> = bench.run(&scenes).iter().map(|r| figure(row, r)).collect();
        let cells: Vec<String> = figures.chunks(units.len()).map(|c| c.join("/")).collect();
        println!("| {name} | {} |", cells.join(" | "));
    }
}

fn wanted(bench: &Bench) -> Vec<(String, f64)> {
    let weights = bench.weights.as_deref().unwrap_or(&[1.0, 2.0, 3.0, 5.0, 0.5]);
    weights.iter().map(|&w| (w.to_string(), w)).collect()
}

pub fn ratios(bench: &Bench) {
    let units = bench.units(&[4.0, 10.0, 40.0]);
    let title = format!("two flows of weight w over two plain ones, {} packets", list(&units));
    header(&title, &columns("wanted", &bench.rtts(&RTTS)));
    let figure = |_: &f64, runs: &Runs| format!("{:.2}", runs.mean(|o| o.ratio(2)));
    grid(bench, &RTTS, &units, &wanted(bench), |&w, unit, rtt, q| pair(w, unit, rtt, q), figure);
}

/// One flow of weight w beside a plain one, at windows of hundreds of packets.
pub fn long(bench: &Bench) {
    header(
        "one flow of weight w over a plain one, 400 packets per unit",
        &columns("wanted", &bench.rtts(&RTTS)),
    );
    let scene = |&w: &f64, unit, rtt, queue| {
        // Cubic forgets its start within some thirty epochs, and these last five to ten seconds.
        let (seconds, settle) = if rtt < 100.0 { (480.0, 240.0) } else { (640.0, 320.0) };
        Scene { seconds, settle, ..of(&[w, 1.0], unit, rtt, queue) }
    };
    let figure = |_: &f64, runs: &Runs| format!("{:.2}", runs.mean(|o| o.ratio(1)));
    grid(bench, &RTTS, &[400.0], &wanted(bench), scene, figure);
}

/// Weighted flows and how many plain ones beside them.
type Crowd = (Vec<f64>, usize);

fn crowds(sets: &[(&[f64], usize)]) -> Vec<(String, Crowd)> {
    let row = |(set, plain): &(&[f64], usize)| {
        (format!("{set:?} beside {plain}"), (set.to_vec(), *plain))
    };
    sets.iter().map(row).collect()
}

fn beside((set, plain): &Crowd, unit: f64, rtt_ms: f64, queue: Queue) -> Scene {
    let mut weights = set.clone();
    weights.resize(set.len() + plain, 1.0);
    of(&weights, unit, rtt_ms, queue)
}

/// Weighted flows beside plain ones of the same sum.
pub fn crowd(bench: &Bench) {
    let units = bench.units(&[10.0, 40.0]);
    let title = format!("share of weighted flows beside plain ones, {} packets", list(&units));
    header(&title, &columns("weights beside plain", &bench.rtts(&RTTS)));
    let rows = crowds(&[(&[0.5, 0.8, 1.2, 1.5], 4), (&[1.0, 3.0], 4)]);
    let figure = |row: &Crowd, runs: &Runs| format!("{:.3}", runs.mean(|o| o.share(row.0.len())));
    grid(bench, &RTTS, &units, &rows, beside, figure);
}

/// Weights that change every half second.
pub fn changing(bench: &Bench) {
    let units = bench.units(&[10.0, 40.0]);
    let title = format!(
        "weights shuffled every 0.5 s, {} packets: share (slope of rate over weight)",
        list(&units)
    );
    header(&title, &columns("weights beside plain", &bench.rtts(&RTTS)));
    let rows = crowds(&[(&[0.5, 0.8, 1.2, 1.5], 4)]);
    let scene = |row: &Crowd, unit, rtt, queue| Scene {
        shuffled: row.0.len(),
        ..beside(row, unit, rtt, queue)
    };
    let figure = |row: &Crowd, runs: &Runs| {
        let slopes: Vec<f64> = runs.0.iter().filter_map(|o| o.slope).collect();
        format!("{:.3} ({:.2})", runs.mean(|o| o.share(row.0.len())), mean(&slopes))
    };
    grid(bench, &RTTS, &units, &rows, scene, figure);
}

/// Windows under two packets.
pub fn small(bench: &Bench) {
    header(
        "two light flows over two plain ones, 1/1.5/2 packets of BDP per light flow: ratio (mean \
         packets in flight of a light flow, share of the link in use)",
        &columns("wanted", &bench.rtts(&RTTS)),
    );
    let figure = |_: &f64, runs: &Runs| {
        format!(
            "{:.2} ({:.1}, {:.3})",
            runs.mean(|o| o.ratio(2)),
            runs.mean(|o| (o.flows[0].window() + o.flows[1].window()) / 2.0),
            runs.mean(|o| o.link.utilisation)
        )
    };
    let rows = [0.5, 0.25].map(|w| (w.to_string(), w));
    let scene = |&w: &f64, bdp, rtt, queue| pair(w, bdp / w, rtt, queue);
    grid(bench, &RTTS, &[1.0, 1.5, 2.0], &rows, scene, figure);
}

/// Decimated acknowledgements, mixed round trips.
pub fn variations(bench: &Bench) {
    let mut rows = Vec::new();
    let kinds = [("as above", false, 1.0), ("acknowledgements of ten", true, 1.0)];
    for (name, decimated, factor) in
        kinds.into_iter().chain([("round trips 1:2", false, 2.0), ("both", true, 2.0)])
    {
        rows.extend([1.0, 3.0, 0.5].map(|w| (format!("{name} | {w}"), (w, decimated, factor))));
    }
    let rtts = [40.0];
    let mut columns = columns("variation", &bench.rtts(&rtts));
    columns.insert(1, "wanted".to_owned());
    let units = bench.units(&[10.0, 40.0]);
    let title = format!(
        "two flows of weight w over two plain ones, {} packets: mean (least-most)",
        list(&units)
    );
    header(&title, &columns);
    let scene = |&(w, decimated, factor): &(f64, bool, f64), unit, rtt, queue| {
        let mut scene = Scene { decimated, ..pair(w, unit, rtt, queue) };
        for i in [1, 3] {
            scene.flows[i].rtt_factor = factor;
        }
        scene
    };
    let figure = |_: &(f64, bool, f64), runs: &Runs| spread(&runs.each(|o| o.ratio(2)));
    grid(bench, &rtts, &units, &rows, scene, figure);
}
