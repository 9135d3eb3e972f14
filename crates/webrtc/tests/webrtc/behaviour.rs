//! How a call behaves over links that are as they are, or change.

use crate::scene::{Scene, run};
use airlane_base::Rate;
use airlane_net::queue::Limit;
use airlane_webrtc::Target;
use std::time::Duration;

#[test]
fn table() {
    println!("constant\n{}", run(&Scene::new()).table(30));
    println!("drop to 1 at 15\n{}", run(&Scene::new().step(15, 1.0)).table(30));
    println!("outage at 15 for 2\n{}", run(&Scene::new().step(15, 0.0).step(17, 6.0).lasting(40)).table(40));
    let mut s = Scene::new();
    s.loss = 0.02;
    println!("loss\n{}", run(&s).table(30));
}

#[test]
fn grid() {
    for pace in [None, Some(1.1), Some(1.5), Some(2.0), Some(2.5)] {
        for target in [Target::Current, Target::Smoothed] {
            let mut line = format!("{pace:?} {target:?}:");
            for (mbps, rtt, drop, loss) in [(6.0, 60, None, 0.0), (2.0, 60, None, 0.0), (12.0, 60, None, 0.0), (6.0, 20, None, 0.0), (6.0, 120, None, 0.0), (6.0, 60, Some(1.0), 0.0), (6.0, 60, Some(3.0), 0.0), (6.0, 60, None, 0.01), (6.0, 60, None, 0.02), (6.0, 60, Some(0.0), 0.0)] {
                let mut s = Scene::new();
                s.steps = vec![(Duration::ZERO, Rate::from_mbps(mbps))];
                if let Some(to) = drop { s = s.step(15, to).step(17, mbps); }
                s.rtt = Duration::from_millis(rtt);
                s.loss = loss;
                s.queue = Limit::Packets(100);
                s.config.pace = pace;
                s.config.target = target;
                let o = run(&s);
                line += &format!(" {:.2}/{:.2} {}", o.arrived(5, 30), o.decoded(5, 30), o.frames.len());
            }
            println!("{line}");
        }
    }
}
