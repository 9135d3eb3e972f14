//! How a call behaves over links that are as they are, or change.

use airlane_salsify::{Estimator, SproutConfig};

use crate::scene::{Scene, run};

/// `cargo test -p airlane-salsify -- --ignored --nocapture table`
#[test]
#[ignore = "it prints what docs/salsify.md tells"]
fn table() {
    for estimator in [Estimator::Own, Estimator::Sprout(SproutConfig::default())] {
        println!("{estimator:?}");
        println!("constant\n{}", run(&Scene::new(estimator)).table(30));
        println!("1 Mbit/s from 15 s on\n{}", run(&Scene::new(estimator).step(15, 1.0)).table(30));
        let outage = Scene::new(estimator).step(15, 0.0).step(17, 6.0).lasting(40);
        println!("nothing from 15 to 17 s\n{}", run(&outage).table(40));
        let lossy = Scene { loss: 0.02, ..Scene::new(estimator) };
        println!("2 % lost\n{}", run(&lossy).table(30));
    }
}
