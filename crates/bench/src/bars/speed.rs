//! Speed: packets per second of one Cubic flow, beside the fastest ns-3 that can be had.

use airlane_lab::scenario::Cipher;

use crate::bar::{Figure, Problem, Rule, Setting, median};
use crate::ns3::{Build, Builds};
use crate::output::figure;
use crate::scene::{ONE_FLOW, Scene};

/// A build of the peer, what one run of it hands over, and how fast it did.
struct Peer<'a> {
    build: &'a Build,
    packets: f64,
    rates: Vec<f64>,
}

pub(super) fn measure(setting: &Setting) -> Result<Vec<Figure>, Problem> {
    // Without a peer ours is shown all the same.
    let (builds, missing) = match Builds::make(setting) {
        Ok(builds) => (builds.all().to_vec(), builds.missing()),
        Err(problem) => (Vec::new(), problem.to_string()),
    };
    let null = Scene::own(ONE_FLOW, &[])?;
    let tls = Scene::own(ONE_FLOW, &[])?.sealed_with(Cipher::Tls);
    let mut peers = Vec::new();
    for build in &builds {
        // Counting costs time, and a run repeats to the packet: count once, then time.
        let counted = build.run(&null.plan.scenario, &["--count=1"])?;
        let packets = counted.counts.map_or(f64::NAN, |c| c.packets() as f64);
        peers.push(Peer { build, packets, rates: Vec::new() });
    }
    let (mut with_null, mut with_tls) = (Vec::new(), Vec::new());
    for _ in 0..setting.rounds(5) {
        with_null.push(null.run_seed(1)?.packets_per_s());
        for peer in &mut peers {
            let run = peer.build.run(&null.plan.scenario, &[])?;
            peer.rates.push(peer.packets / run.wall_s);
        }
        with_tls.push(tls.run_seed(1)?.packets_per_s());
    }
    let peers: Vec<(f64, String)> =
        peers.iter().map(|p| (median(p.rates.iter().copied()), p.build.name())).collect();
    let fastest = peers.iter().map(|p| p.0).max_by(f64::total_cmp);
    let mut note = String::from(
        "IP packets handed over, data and acknowledgements, over the wall time of the run alone; \
         ours and ns-3 in turn, medians;",
    );
    for (rate, name) in &peers {
        note.push_str(&format!(" {name} {};", figure(*rate)));
    }
    note.push_str(match (missing.is_empty(), fastest) {
        (true, _) => " the fastest is the peer",
        (false, Some(_)) => " the fastest is the peer; left out: ",
        (false, None) => " no peer: ",
    });
    note.push_str(&missing);
    let one = |cipher: &str, ours: Vec<f64>, times: f64| Figure {
        bar: format!("speed.{cipher}"),
        ours: median(ours),
        peer: fastest,
        unit: "packets/s",
        rule: Rule::TimesPeer(times),
        note: note.clone(),
    };
    let mut figures = vec![one("tls", with_tls, 3.0), one("null", with_null, 4.5)];
    figures[1].note = "as speed.tls, with the null cipher; the aim is 5.5 x".into();
    Ok(figures)
}
