//! What shares the link with viewers, in real worlds: web traffic, viewers who come and go, players
//! that lie.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::Seed;
use airlane_lab::workloads::{vod, web};
use airlane_media::{Corpus, Video, synthetic};
use airlane_scenario::Scenario;
use airlane_sim::Common;
use airlane_sim::plan::{Plan, RunKey, Sources, TraceUse};
use airlane_sim::pool::{self, Job, StopFlag};
use airlane_sim::workload::Caches;
use airlane_sim::world::{self, Options, RunOutput};

/// A plan on made-up videos, each viewer with one of its own.
fn plan(text: &str, chunks: usize) -> Plan {
    let scenario = Scenario::from_bytes(
        airlane_lab::registry().scenarios(),
        text.as_bytes(),
        Path::new("x.toml"),
        &[],
    )
    .unwrap();
    let count = vod::Viewers::of(&scenario).viewers.len().max(1);
    let videos: Vec<Arc<Video>> = synthetic::corpus(count, chunks, Seed(5));
    let mut sources = Sources::new(TraceUse::Each);
    vod::draw_from(Corpus::from_videos("synthetic", videos).unwrap(), &mut sources);
    Plan::with(scenario, &Common::default(), &mut sources).unwrap()
}

fn run(plan: &Plan, scheme: usize, seed: u64) -> RunOutput {
    let caches = Caches::of_plan(plan).unwrap();
    let key = RunKey { case: 0, scheme, seed };
    let job = Job {
        label: plan.label(key),
        seed,
        command: String::new(),
        units: 1,
        work: Box::new(|ticket| world::run(plan, &caches, key, &Options::default(), ticket)),
    };
    let mut done = pool::run(vec![job], 1, "traffic", &StopFlag::default(), &());
    done.results.remove(0).unwrap_or_else(|| panic!("{:?}", done.error))
}

const HEAD: &str = "min_chunks = 1\n[link]\nrate_bps = 10e6\nrtt_s = 0.02\n\
                    queue = { kind = \"pie\" }\n[[scheme]]\nname = \"cubic\"\nweight = 2\n\
                    [[scheme]]\nname = \"minerva\"\nweight = 2\nminerva = {}\n";

#[test]
fn web_traffic_carries_what_is_offered_and_is_the_same_under_every_scheme() {
    let text = format!(
        "duration_s = 60\n{HEAD}[[web]]\nload_bps = 4e6\nservers = 12\nshape = 2.5\nleast_bytes = 20000\n"
    );
    let plan = plan(&text, 4);
    let out = run(&plan, 0, 1);
    let web = &web::Output::of(&out)[0];
    let offered = web.offered_bytes as f64 * 8.0 / 60.0;
    assert!((3e6..5e6).contains(&offered), "{offered} offered");
    assert!(web.received_bytes as f64 > 0.98 * web.offered_bytes as f64, "{web:?}");
    assert!(web.took_s.len() as u64 + 5 > web.started, "all but the last ones ended");
    assert!(
        web.took_s.iter().all(|s| *s > 0.04),
        "a handshake and a transfer take two round trips"
    );
    let other = run(&plan, 1, 1);
    assert_eq!(web::Output::of(&other)[0].offered_bytes, web.offered_bytes);
    assert_ne!(web::Output::of(&run(&plan, 0, 2))[0].offered_bytes, web.offered_bytes);
}

#[test]
fn a_run_ends_with_the_last_of_those_who_come_and_go() {
    let text = format!("duration_s = 5000\n{HEAD}[[viewer]]\ncount = 3\n[arrivals]\nat_once = 2\n");
    let out = run(&plan(&text, 6), 1, 1);
    assert!(
        vod::Output::of(&out).iter().all(|v| v.model.chunks().len() == 6 && v.failure.is_none())
    );
    let ended = out.ended.since_start();
    assert!((Duration::from_secs(10)..Duration::from_secs(60)).contains(&ended), "{ended:?}");
}

#[test]
fn a_liar_hardly_gets_more_than_an_honest_viewer() {
    let bytes = |reports: &str| {
        let films = synthetic::corpus(4, 40, Seed(5));
        let mut text = format!("duration_s = 120\n{HEAD}");
        for (film, reports) in films.iter().zip([reports, "truth", "truth", "truth"]) {
            let name = &film.name;
            text += &format!("[[viewer]]\nvideo = \"{name}\"\nreports = \"{reports}\"\n");
        }
        let out = run(&plan(&text, 40), 1, 1);
        vod::Output::of(&out)[0].samples.last().unwrap().acked_bytes as f64
    };
    let honest = bytes("truth");
    for lie in ["empty-buffer", "stalls"] {
        let share = bytes(lie) / honest;
        assert!(share < 1.15, "{lie}: {share:.3} of what it gets when it is honest");
    }
}
