//! The same seed gives the same packets at the same times: twice in a process, in different
//! processes, and under both protections.

use std::process::Command;

use airlane_base::Seed;
use airlane_webrtc::Protection;

use crate::scene::{Scene, run};

/// Loss makes it ask for packets, which hangs on round-trip times from reports with dates in them.
fn scene(seed: u64) -> Scene {
    let scene = Scene::new().step(5, 1.0).step(8, 4.0).lasting(12);
    Scene { loss: 0.02, seed: Seed(seed), ..scene }
}

#[test]
fn packets_are_the_same_in_every_run_and_under_both_protections() {
    let first = run(&scene(1));
    let second = run(&scene(1));
    assert_eq!(first.packets, second.packets);
    assert_eq!(first.frames, second.frames);
    assert_eq!(first.hash, second.hash);
    let mut sealed = scene(1);
    sealed.config.protection = Protection::Sealed;
    assert_eq!(run(&sealed).packets, first.packets);
    assert_ne!(run(&scene(2)).packets, first.packets);
}

#[test]
fn other_worlds_on_the_thread_change_nothing() {
    let alone = run(&scene(3)).hash;
    let other = std::thread::spawn(|| {
        run(&scene(4));
        run(&scene(3)).hash
    });
    assert_eq!(other.join().unwrap(), alone);
}

/// What another process says to [`another_process_sends_the_same`].
const MARK: &str = "packet hash:";

#[test]
#[ignore = "it is what the test below starts"]
fn say_the_hash() {
    println!("{MARK}{}", run(&scene(5)).hash);
}

#[test]
fn another_process_sends_the_same() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "repeatable::say_the_hash", "--nocapture"])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (_, rest) = text.split_once(MARK).expect("the hash is said");
    let said: u64 = rest.lines().next().unwrap().parse().unwrap();
    assert_eq!(said, run(&scene(5)).hash);
}
