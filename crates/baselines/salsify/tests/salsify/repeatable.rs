//! The same scene gives the same packets at the same times.

use airlane_base::Seed;
use airlane_salsify::{Estimator, SproutConfig};

use crate::scene::{Scene, run};

fn scene(estimator: Estimator, seed: u64) -> Scene {
    let scene = Scene::new(estimator).step(5, 1.0).step(8, 4.0).lasting(12);
    Scene { loss: 0.02, seed: Seed(seed), ..scene }
}

#[test]
fn packets_are_the_same_in_every_run() {
    for estimator in [Estimator::Own, Estimator::Sprout(SproutConfig::default())] {
        let first = run(&scene(estimator, 1));
        let second = run(&scene(estimator, 1));
        assert_eq!(first.packets, second.packets);
        assert_eq!(first.frames, second.frames);
        assert_eq!(first.hash, second.hash);
        assert_ne!(run(&scene(estimator, 2)).packets, first.packets);
        let other = std::thread::spawn(move || run(&scene(estimator, 1)).hash);
        assert_eq!(other.join().unwrap(), first.hash);
    }
}
