//! Answers of the reference window to marks and losses, and its growth.

use std::time::Duration;

use airlane_base::{Rate, Time};
use airlane_congestion::controller::LossCause;
use airlane_congestion::{Controller, Loss, Marked};

use super::fed::{Fed, MSS};

#[test]
fn alpha_becomes_the_share_of_marks() {
    let mut fed = Fed::new(40, 1_000_000);
    for i in 0..4_000 {
        fed.acknowledge();
        if i % 4 == 0 {
            fed.mark();
        }
    }
    assert!((fed.scream.alpha() - 0.25).abs() < 0.03, "{}", fed.scream.alpha());
    fed.acknowledge_for(Duration::from_secs(2));
    assert!(fed.scream.alpha() < 0.001, "{}", fed.scream.alpha());
}

#[test]
fn the_first_mark_for_long_takes_the_window_to_what_is_in_flight() {
    let mut fed = Fed::new(100, 1_000_000);
    fed.acknowledge_for(Duration::from_secs(8));
    assert!(fed.window() > 100_000.0, "{}", fed.window());
    fed.in_flight = 20 * MSS;
    fed.acknowledge_for(Duration::from_millis(300));
    fed.acknowledge();
    fed.mark();
    assert!((19_900.0..=20_000.0).contains(&fed.window()), "{}", fed.window());
}

#[test]
fn it_yields_at_most_once_per_25_ms_and_by_less_where_the_round_trip_is_longer() {
    let mut fed = Fed::new(100, 100 * MSS);
    fed.acknowledge_for(Duration::from_secs(20));
    fed.mark();
    // Nothing grows from here on.
    fed.in_flight = MSS;
    let mut reductions = 0;
    for i in 0..1_000 {
        let before = fed.window();
        fed.acknowledge();
        fed.mark();
        let taken = 1.0 - fed.window() / before;
        if taken > 0.0 && i >= 200 {
            reductions += 1;
            // A round trip of 100 ms sees four. Near the inflection point they are down to a quarter.
            let whole = fed.scream.alpha() / 2.0 / 4.0;
            assert!((0.249 * whole..1.001 * whole).contains(&taken), "{taken} {whole}");
        }
    }
    // 800 ms were looked at.
    assert!((30..=32).contains(&reductions), "{reductions}");
    // A mark that comes too early is answered in time.
    fed.wait();
    fed.mark();
    let reduced = fed.window();
    fed.acknowledge();
    fed.mark();
    assert_eq!(fed.window(), reduced);
    fed.wait();
    let answered = fed.window();
    assert!(answered < reduced, "{answered} {reduced}");
    fed.wait();
    assert_eq!(fed.window(), answered);
}

#[test]
fn it_grows_by_a_packet_per_round_and_by_a_quarter_near_the_inflection_point() {
    let round = Duration::from_millis(50);
    let mut fed = Fed::new(50, 200 * MSS);
    // The window becomes what 50 packets per round trip make of it.
    while fed.window() < 50.0 * MSS as f64 {
        fed.acknowledge();
    }
    let before = fed.window();
    fed.mark();
    assert!(fed.window() > 0.99 * before, "alpha is small");
    let before = fed.window();
    fed.acknowledge_for(round);
    let near = fed.window() - before;
    // Growth in proportion comes back over a hundred round trips.
    assert!((0.24..0.28).contains(&(near / MSS as f64)), "{near}");

    // Losses of more than 1 % of packets.
    for _ in 0..20 {
        fed.lose();
    }
    fed.acknowledge();
    let before = fed.window();
    assert!(before < 0.75 * 50.0 * MSS as f64, "{before}");
    fed.acknowledge_for(round);
    let far = fed.window() - before;
    let packets = 50.0 * MSS as f64 / before;
    assert!((0.95..1.1).contains(&(far / MSS as f64 / packets)), "{far}");
}

#[test]
fn the_inflection_point_stays_while_congestion_takes_the_window_down() {
    let mut fed = Fed::new(50, 200 * MSS);
    while fed.window() < 50.0 * MSS as f64 {
        fed.acknowledge();
    }
    let before = fed.window();
    for _ in 0..400 {
        fed.acknowledge();
        fed.mark();
    }
    // The last mark came a moment after a reduction, and is answered yet.
    fed.wait();
    let reduced = fed.window();
    assert!(reduced < 0.8 * before, "{reduced} {before}");
    fed.acknowledge_for(Duration::from_millis(50));
    // Had it moved to where the window is now, growth would be a quarter.
    let packets = (fed.window() - reduced) / MSS as f64 / (50.0 * MSS as f64 / reduced);
    assert!((0.9..1.1).contains(&packets), "{packets}");
}

#[test]
fn far_from_congestion_it_grows_in_proportion() {
    let mut fed = Fed::new(50, 10_000_000);
    fed.acknowledge_for(Duration::from_secs(10));
    let before = fed.window();
    fed.acknowledge_for(Duration::from_millis(50));
    // 50 packets are acknowledged per round trip, whatever the window.
    let share = (fed.window() - before) / (50.0 * MSS as f64);
    assert!((0.02..0.03).contains(&share), "{share}");
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let mut fed = Fed::new(50, 10 * MSS);
    fed.acknowledge_for(Duration::from_secs(20));
    let bound = (MSS + 15 * MSS) as f64;
    assert!(fed.window() <= bound && fed.window() > 0.9 * bound, "{}", fed.window());
}

#[test]
fn a_marked_packet_adds_nothing() {
    let mut fed = Fed::new(50, 1_000_000);
    fed.acknowledge_for(Duration::from_secs(1));
    fed.mark();
    let reduced = fed.window();
    // The window was reduced a moment ago, so that only growth can be seen.
    for _ in 0..20 {
        fed.acknowledge();
        fed.mark();
    }
    assert!((fed.window() - reduced).abs() < 1e-6, "{} {reduced}", fed.window());
}

#[test]
fn a_loss_leaves_seven_tenths_once_per_flight() {
    let mut fed = Fed::new(50, 1_000_000);
    fed.acknowledge_for(Duration::from_secs(5));
    // One in two hundred is what a link loses; the queue is empty.
    let before = fed.window();
    fed.lose();
    fed.acknowledge();
    assert!(fed.window() >= before, "{} {before}", fed.window());
    let mut before = fed.window();
    let mut losses = 0;
    while fed.window() >= before && losses < 100 {
        before = fed.window();
        fed.lose();
        losses += 1;
    }
    assert!((fed.window() / before - 0.7).abs() < 1e-9, "{} {before}", fed.window());
    let reduced = fed.window();
    for _ in 0..20 {
        fed.lose();
        fed.acknowledge();
    }
    fed.wait();
    assert!(fed.window() >= reduced, "those belong to the same flight");
    // They arrived after all.
    fed.scream.on_spurious_loss(fed.now);
    assert!(fed.window() >= before);
    let restored = fed.window();
    fed.scream.on_spurious_loss(fed.now);
    assert_eq!(fed.window(), restored);
}

#[test]
fn counts_and_times_of_a_liar_do_no_harm() {
    let mut fed = Fed::new(0, u64::MAX);
    fed.acknowledge_for(Duration::from_secs(1));
    let (now, in_flight) = (fed.now, u64::MAX);
    for packets in [0, 1, u64::MAX] {
        fed.acknowledge();
        fed.scream.on_marked(&Marked { now, pn: u64::MAX, sent_at: now, in_flight, packets });
        assert!((0.0..=1.0).contains(&fed.scream.alpha()));
    }
    fed.rtt = Duration::from_secs(10_000_000);
    fed.acknowledge_for(Duration::from_millis(100));
    fed.lose();
    fed.scream.on_loss(&Loss {
        now: Time::FAR_FUTURE,
        pn: u64::MAX,
        bytes: u64::MAX,
        sent_at: Time::ZERO,
        in_flight,
        cause: LossCause::Late,
    });
    fed.now = Time::FAR_FUTURE;
    fed.acknowledge();
    assert!(fed.window().is_finite() && fed.window() >= 3_000.0, "{}", fed.window());
    assert!(fed.scream.window() <= 1 << 40);
    assert!(fed.scream.pacing_rate().unwrap() > Rate::ZERO);
    assert!(fed.scream.target_delay() <= Duration::from_millis(400));
}
