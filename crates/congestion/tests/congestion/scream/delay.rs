//! Answers to the queue delay, its target, and the rate of media.

use std::time::Duration;

use airlane_base::Time;
use airlane_congestion::{Controller, Prague};

use super::fed::{Fed, MSS};

#[test]
fn it_yields_by_less_while_a_longer_round_trip_has_lowered_the_rate_already() {
    let mut fed = Fed::new(50, 200 * MSS);
    while fed.window() < 60.0 * MSS as f64 {
        fed.acknowledge();
    }
    for i in 0..1_000 {
        fed.acknowledge();
        if i % 4 == 0 {
            fed.mark();
        }
    }
    // Part of the window that a mark takes, of what its share of marks asks for.
    let mut taken = |wait_ms| {
        fed.acknowledge_for(Duration::from_millis(wait_ms));
        fed.rtt = Duration::from_millis(70);
        fed.acknowledge();
        let before = fed.window();
        fed.mark();
        (1.0 - fed.window() / before) / (fed.scream.alpha() / 2.0 / (70.0 / 25.0))
    };
    let (at_once, later) = (taken(30), taken(200));
    assert!((0.2..0.35).contains(&at_once), "{at_once}");
    assert!((0.9..1.3).contains(&later), "{later}");
}

#[test]
fn a_queue_above_half_of_the_target_stands_for_marks() {
    let mut fed = Fed::new(50, 1_000_000);
    fed.acknowledge_for(Duration::from_secs(5));
    let before = fed.window();
    fed.rtt = Duration::from_millis(75);
    fed.acknowledge_for(Duration::from_millis(200));
    assert!(fed.window() > before, "25 ms are below");
    let before = fed.window();
    fed.rtt = Duration::from_millis(100);
    fed.acknowledge_for(Duration::from_millis(400));
    assert!(fed.window() < 0.8 * before, "{} {before}", fed.window());
    // The queue drains, and the average follows at once.
    fed.rtt = Duration::from_millis(55);
    fed.wait();
    assert!(fed.scream.queue_delay() <= Duration::from_millis(6));
    let before = fed.window();
    fed.acknowledge_for(Duration::from_millis(200));
    assert!(fed.window() > before);
}

#[test]
fn a_queue_that_drains_is_left_to_do_so() {
    let mut fed = Fed::new(50, 1_000_000);
    fed.acknowledge_for(Duration::from_secs(5));
    fed.rtt = Duration::from_millis(150);
    fed.acknowledge_for(Duration::from_millis(500));
    let before = fed.window();
    for _ in 0..20 {
        fed.rtt -= Duration::from_millis(2);
        fed.wait();
    }
    assert!(fed.scream.queue_delay() >= Duration::from_millis(60));
    assert!(fed.window() > before, "{} {before}", fed.window());
    let before = fed.window();
    fed.acknowledge_for(Duration::from_millis(500));
    assert!(fed.window() < 0.7 * before, "{} {before}: it stands", fed.window());
}

#[test]
fn a_path_that_has_become_longer_is_measured_anew() {
    let mut fed = Fed::new(40, 100 * MSS);
    fed.acknowledge_for(Duration::from_secs(10));
    let before = fed.window();
    fed.rtt = Duration::from_millis(120);
    fed.acknowledge_for(Duration::from_secs(3));
    assert!(fed.window() < before / 5.0, "{} {before}: a queue of 80 ms", fed.window());
    // The rate is halved once, so that the queue would drain if there were one.
    let mut halved = Duration::ZERO;
    for _ in 0..30_000 {
        fed.acknowledge();
        let full = 8.0 * fed.window() / 0.12 / 1.2 * 1_000.0 / 1_020.0;
        let is_halved = fed.scream.bandwidth().unwrap().as_f64() < 0.6 * full;
        halved += Duration::from_millis(is_halved.into());
    }
    // Five round trips.
    assert_eq!(halved, Duration::from_millis(600));
    assert_eq!(fed.scream.queue_delay(), Duration::ZERO);
    assert!(fed.window() > 0.9 * before, "{} {before}", fed.window());
}

#[test]
fn the_target_delay_rises_beside_a_queue_that_stands_and_falls_with_it() {
    let mut fed = Fed::new(40, 100 * MSS);
    fed.acknowledge_for(Duration::from_secs(1));
    assert_eq!(fed.scream.target_delay(), Duration::from_millis(60));
    fed.rtt = Duration::from_millis(90);
    fed.acknowledge_for(Duration::from_secs(3));
    let stable = fed.scream.target_delay();
    assert!((65..85).contains(&stable.as_millis()), "{stable:?}");
    // Losses say that others fill the queue.
    fed.lose();
    fed.acknowledge_for(Duration::from_secs(1));
    let lossy = fed.scream.target_delay();
    assert!(lossy > stable.mul_f64(1.3), "{lossy:?} {stable:?}");
    fed.rtt = Duration::from_secs(1);
    fed.acknowledge_for(Duration::from_secs(4));
    assert_eq!(fed.scream.target_delay(), Duration::from_millis(400));
    fed.rtt = Duration::from_millis(40);
    fed.acknowledge_for(Duration::from_secs(20));
    assert_eq!(fed.scream.target_delay(), Duration::from_millis(60));
}

#[test]
fn media_have_a_part_of_the_window_and_packets_are_paced_above_it() {
    let mut fed = Fed::new(50, 10_000_000);
    assert_eq!((fed.scream.bandwidth(), fed.scream.pacing_rate()), (None, None));
    fed.acknowledge_for(Duration::from_secs(20));
    let window = fed.window();
    assert!(window > 20.0 * MSS as f64);
    let bandwidth = fed.scream.bandwidth().unwrap().as_f64();
    // A packet of 1000 bytes has 20 of headers.
    let expected = 8.0 * window / 0.05 / 1.2 * 1_000.0 / 1_020.0;
    assert!((bandwidth / expected - 1.0).abs() < 1e-6, "{bandwidth} {expected}");
    assert!((fed.scream.pacing_rate().unwrap().as_f64() / bandwidth - 1.5).abs() < 1e-6);
    assert_eq!(fed.scream.window(), (3.0 * window) as u64);
    assert!(fed.scream.sets_media_rate() && fed.scream.is_scalable());
    assert!(!Prague::new(Time::ZERO, MSS).sets_media_rate());
    // Jumbo packets: two of them fit at any time.
    fed.scream.on_persistent_congestion(fed.now);
    fed.scream.on_mtu(fed.now, 9_000);
    assert_eq!((fed.window(), fed.scream.window()), (3_000.0, 18_000));
}
