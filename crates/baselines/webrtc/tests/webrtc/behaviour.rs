//! How a call behaves over links that are as they are, or change.

use airlane_base::Seed;
use airlane_webrtc::Delivery;

use crate::scene::{Scene, run};

#[test]
fn alone_it_fills_a_constant_link() {
    let outcome = run(&Scene::new());
    let early = outcome.arrived(1, 10) / 6.0;
    let late = outcome.arrived(10, 30) / 6.0;
    assert!(early > 0.9 && late > 0.93, "{early} of the link before 10 s, {late} after");
    assert!(outcome.share() > 0.99, "{} of the frames", outcome.share());
    assert_eq!((outcome.sent.key_frames, outcome.received.key_requests), (1, 0));
    let rtt = outcome.sent.rtt.unwrap();
    assert!((60..150).contains(&rtt.as_millis()), "{rtt:?}");
    let sent = outcome.sent.sent;
    assert!(sent.repeats.bytes * 100 < sent.media.bytes, "{sent:?}");
    // Nothing that hosts sent is left out of the counts.
    let bytes: u64 = outcome.packets.iter().map(|(_, ip)| ip - 28).sum();
    assert_eq!(bytes, sent.total().bytes + outcome.received.sent.total().bytes);
}

#[test]
fn a_drop_of_capacity_lowers_the_target_within_two_seconds() {
    let outcome = run(&Scene::new().step(15, 1.0));
    let (before, after) = (outcome.target(15_000), outcome.target(17_000));
    assert!(before > 4.5 && after < 1.2, "from {before} to {after} Mbit/s");
    let late = outcome.decoded(24, 30);
    assert!(late > 0.8, "{late} of 1 Mbit/s");
}

#[test]
fn it_recovers_from_two_seconds_without_capacity() {
    let outcome = run(&Scene::new().step(15, 0.0).step(17, 6.0).lasting(40));
    let first = outcome.frames.iter().find(|f| f.at.as_secs_f64() > 17.0).unwrap();
    assert!(first.at.as_secs_f64() < 18.0, "the first frame came at {}", first.at);
    assert!(outcome.received.key_requests > 0);
    let late = outcome.decoded(30, 40);
    assert!(late > 5.0, "{late} Mbit/s ten seconds later");
}

/// Without a pause, what is lost in a minute is more than numbers of packets can tell apart.
#[test]
fn it_pauses_while_nothing_comes_back_and_goes_on_after_a_minute() {
    for secs in [10, 60] {
        let scene = Scene::new().step(5, 0.0).step(5 + secs, 6.0).lasting(secs + 20);
        let outcome = run(&scene);
        // 5 s and what is left of the last sign of life's round trip.
        let paused = outcome.packets.iter().filter(|(at, ip)| {
            let at = at.as_secs_f64();
            at > 12.5 && at < 5.0 + secs as f64 && *ip > 1_000
        });
        assert_eq!(paused.count(), 0);
        let soon = outcome.decoded(10 + secs, 15 + secs);
        assert!(soon > 5.0, "{soon} Mbit/s from 5 s after the outage on");
    }
}

#[test]
fn loss_costs_few_frames() {
    for seed in 1..4 {
        let scene = Scene { loss: 0.02, seed: Seed(seed), ..Scene::new() };
        let outcome = run(&scene);
        assert!(outcome.share() > 0.9, "{} of the frames", outcome.share());
        let arrived = outcome.arrived(10, 30);
        assert!(arrived > 5.4, "{arrived} Mbit/s");
        // Each lost packet is asked for about once.
        let sent = outcome.sent.sent;
        let repeated = sent.repeats.packets as f64 / sent.media.packets as f64;
        assert!((0.015..0.06).contains(&repeated), "{repeated} sent again");
    }
}

#[test]
fn the_sender_learns_which_packets_arrived() {
    let mut scene = Scene { loss: 0.02, ..Scene::new() }.lasting(15);
    scene.config.counts_delivered = true;
    let outcome = run(&scene);
    let delivered = outcome.sent.delivered;
    let arrived: u64 = outcome.arrivals.iter().map(|(_, ip)| ip - 28).sum();
    let arrived_packets = outcome.arrivals.len() as u64;
    // Reports and checks of the path come without feedback; the last feedback was under way at the end.
    let control = outcome.sent.sent.reports.packets + outcome.sent.sent.other.packets + 200;
    assert!(delivered.packets <= arrived_packets, "{delivered:?} of {arrived_packets}");
    assert!(delivered.packets + control >= arrived_packets, "{delivered:?} of {arrived_packets}");
    assert!(delivered.bytes <= arrived, "{delivered:?} of {arrived} bytes");
    let media = outcome.sent.sent.media.packets + outcome.sent.sent.repeats.packets;
    let lost = 1.0 - delivered.packets as f64 / media as f64;
    assert!((0.01..0.05).contains(&lost), "{lost} of the packets were lost");
    // All that the receiver sent and the path did not lose came to the sender, but for what was under way at the end.
    let under_way = outcome.received.sent.total().packets - outcome.sent.received.packets;
    assert!(under_way < 5, "{under_way} packets");
    assert_eq!(arrived_packets, outcome.received.received.packets);
    // It stays for 3 s after its last frame: all has left by then.
    assert_eq!(outcome.sent.pending_bytes, 0);
}

#[test]
fn messages_are_handed_on_without_those_before_them() {
    let mut scene = Scene { loss: 0.02, ..Scene::new() }.lasting(15);
    let in_order = run(&scene);
    scene.config.delivery = Delivery::Whole;
    let whole = run(&scene);
    assert!(whole.share() > 0.97, "{} of the messages", whole.share());
    assert!(whole.share() >= in_order.share(), "{} and {}", whole.share(), in_order.share());
    assert_eq!(whole.received.key_requests, 0);
    // One that had to be repeated is overtaken.
    assert!(whole.frames.windows(2).any(|w| w[0].number > w[1].number));
    let mean = |frames: &[airlane_webrtc::Delivered]| {
        let delay = frames.iter().map(|f| (f.at - f.captured).as_secs_f64());
        delay.sum::<f64>() / frames.len() as f64
    };
    assert!(mean(&whole.frames) < mean(&in_order.frames));
}
