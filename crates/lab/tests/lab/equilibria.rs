//! Who gets what beside whom on real QUIC, in short. The tables of `docs/design/controllers.md` are
//! the long form: `cargo run --release -p airlane-lab --example quic_equilibria`.

#[path = "../../examples/quic_equilibria/scene.rs"]
#[allow(dead_code, reason = "the tables use more of it")]
mod scene;

use scene::{Flow, Outcome, Queue, Runs, Scene, run_all};

fn run(scene: Scene, seeds: u64) -> Runs {
    run_all(&[scene], seeds, 2, &()).remove(0)
}

/// Two flows of weight `w` and two plain ones at 10 packets of bandwidth-delay product per unit.
fn pair(w: f64, queue: Queue) -> Scene {
    Scene { seconds: 60.0, settle: 6.0, ..Scene::of_weights(&[w, w, 1.0, 1.0], 10.0, 20.0, queue) }
}

#[test]
fn a_weight_is_a_ratio() {
    // The textbook's rule gives 4 under droptail, the plain flow's 1.
    for queue in [Queue::Bdp(1.0), Queue::Pie] {
        let w = 3.0;
        let ratio = run(pair(w, queue), 2).mean(|o| o.ratio(2));
        assert!((ratio / w - 1.0).abs() <= 0.15, "{w} under {}: {ratio:.2}", queue.name());
    }
}

#[test]
fn weights_that_change_keep_their_share_and_act() {
    let weights = [0.5, 0.8, 1.2, 1.5, 1.0, 1.0, 1.0, 1.0];
    let scene = Scene {
        seconds: 30.0,
        settle: 5.0,
        shuffled: 4,
        ..Scene::of_weights(&weights, 10.0, 20.0, Queue::Pie)
    };
    let runs = run(scene, 2);
    let share = runs.mean(|o| o.share(4));
    assert!((0.47..=0.53).contains(&share), "{share:.3}");
    let slope = runs.mean(|o| o.slope.unwrap_or(0.0));
    assert!((0.8..=1.25).contains(&slope), "rates follow weights with a slope of {slope:.2}");
}

#[test]
fn bbr_alone_fills_the_link_and_not_the_queue() {
    for rtt_ms in [20.0, 50.0, 100.0] {
        let flows = vec![Flow::of("bbr")];
        let scene =
            Scene { seconds: 30.0, settle: 5.0, ..Scene::new(flows, 6e6, rtt_ms, Queue::Bdp(2.0)) };
        let Outcome { link, .. } = run(scene, 1).0.remove(0);
        assert!(link.utilisation >= 0.95, "{rtt_ms} ms: {:.3} of the link", link.utilisation);
        let (queue, share) =
            (link.mean_queue_packets, link.mean_sojourn.as_secs_f64() * 1e3 / rtt_ms);
        assert!(queue < 3.0 || share < 0.15, "{rtt_ms} ms: {queue:.1} packets, {share:.3} RTT");
    }
}

#[test]
fn pie_keeps_its_delay() {
    for kind in ["reno", "cubic"] {
        let flows = vec![Flow::of(kind); 20];
        let scene =
            Scene { seconds: 12.0, settle: 5.0, ..Scene::new(flows, 100e6, 50.0, Queue::Pie) };
        let Outcome { link, .. } = run(scene, 1).0.remove(0);
        let delay = link.mean_sojourn.as_secs_f64() * 1e3;
        assert!((delay - 15.0).abs() <= 5.0, "{kind}: {delay:.1} ms");
    }
}

#[test]
fn one_loss_in_a_thousand_packets_gives_the_windows_of_the_response_functions() {
    // RFC 9438, section 5.2: sqrt(1.5/p) for Reno; Cubic's curve at 200 ms.
    for (kind, rtt_ms, window) in [("reno", 100.0, 38.7), ("cubic", 200.0, 56.0)] {
        let cycle_s = 1_000.0 / window * rtt_ms / 1e3;
        let scene = Scene {
            seconds: 60.0 * cycle_s,
            settle: 44.0 * cycle_s,
            loss: Some((1_000, window as u64)),
            jitter: 0.0,
            ..Scene::new(vec![Flow::of(kind)], 10e9, rtt_ms, Queue::Endless)
        };
        let ratio = run(scene, 1).mean(|o| o.flows[0].window()) / window;
        assert!((0.9..=1.1).contains(&ratio), "{kind}: x{ratio:.3}");
    }
}
