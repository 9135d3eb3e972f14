//! Where stations are.

use std::time::Duration;

use airlane_base::{Seed, Time};
use airlane_wifi::{Area, Leg, Mobility, Position, Walk, WaypointError, Waypoints};
use proptest::prelude::*;

fn secs(secs: f64) -> Time {
    Time::from_secs_f64(secs)
}

#[test]
fn what_stands_stays() {
    let here = Position::new(3.0, 4.0);
    assert_eq!(Mobility::Static(here).position(secs(9.0)), here);
    assert_eq!(here.distance(Position::default()), 5.0);
}

#[test]
fn waypoints_are_reached_in_time() {
    let points = vec![(secs(1.0), Position::new(0.0, 0.0)), (secs(3.0), Position::new(10.0, -4.0))];
    let mut mobility = Mobility::Waypoints(Waypoints::new(points).expect("waypoints"));
    for (at, x, y) in
        [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (1.5, 2.5, -1.0), (3.0, 10.0, -4.0), (99.0, 10.0, -4.0)]
    {
        assert_eq!(mobility.position(secs(at)), Position::new(x, y), "{at}");
    }
    assert_eq!(Waypoints::new(Vec::new()), Err(WaypointError::Empty));
    let twice = vec![(secs(1.0), Position::default()); 2];
    let words = Waypoints::new(twice).expect_err("the same time twice").to_string();
    assert!(words.contains("place 1") && words.contains("expected"), "{words}");
    let nowhere = vec![(secs(0.0), Position::new(f64::NAN, 0.0))];
    assert!(matches!(Waypoints::new(nowhere), Err(WaypointError::Number { index: 0, .. })));
}

#[test]
fn walkers_come_everywhere_alike() {
    // Plum's table II: a square of 30 m.
    let centre = Position::new(100.0, -50.0);
    let area = Area::around(centre, 15.0);
    let mut quarters = [0_u32; 4];
    for walker in 0..400 {
        let mut walk = Walk::pedestrian(Seed(walker), area, centre);
        assert_eq!(walk.position(Time::ZERO), centre);
        for second in (0..1_200).step_by(10) {
            let here = walk.position(secs(f64::from(second)));
            assert!(area.contains(here));
            let quarter = usize::from(here.x > centre.x) + 2 * usize::from(here.y > centre.y);
            quarters[quarter] += 1;
        }
    }
    let mean = quarters.iter().sum::<u32>() / 4;
    assert!(quarters.iter().all(|q| q.abs_diff(mean) < mean / 6), "{quarters:?}");
}

#[test]
fn a_walk_ends_however_long_one_waits() {
    let area = Area::around(Position::default(), 15.0);
    let mut walk = Walk::pedestrian(Seed(1), area, Position::default());
    let end = walk.position(Time::FAR_FUTURE);
    assert!(area.contains(end));
    for speed in [[0.0, 0.0], [f64::NAN, 1.0], [1e300, 1e300]] {
        for leg in [Leg::Metres(1.0), Leg::Metres(f64::NAN), Leg::Time(Duration::from_secs(1))] {
            let mut walk = Walk::new(Seed(1), area, Position::new(99.0, 0.0), speed, leg);
            assert_eq!(walk.position(Time::ZERO).y, 0.0);
            let _ = walk.position(secs(100.0));
        }
    }
    // A box without room.
    let point = Area::around(Position::new(1.0, 2.0), 0.0);
    let mut walk = Walk::pedestrian(Seed(1), point, Position::default());
    assert_eq!(walk.position(secs(7.0)), Position::new(1.0, 2.0));
}

proptest! {
    #[test]
    fn a_walk_depends_on_seed_and_time_alone(
        seed in any::<u64>(), mut times in prop::collection::vec(0.0_f64..100.0, 1..20),
    ) {
        let area = Area::new(Position::new(-10.0, -2.0), Position::new(5.0, 30.0));
        let walk = || Walk::pedestrian(Seed(seed), area, Position::default());
        let mut one = walk();
        // Also back in time.
        for &time in &times {
            let there = one.position(secs(time));
            prop_assert!(area.contains(there));
            prop_assert_eq!(there, walk().position(secs(time)));
        }
        times.sort_by(f64::total_cmp);
        let mut other = walk();
        for pair in times.windows(2) {
            let (from, to) = (other.position(secs(pair[0])), other.position(secs(pair[1])));
            // Nobody is faster than 4 m/s.
            prop_assert!(from.distance(to) <= 4.0 * (pair[1] - pair[0]) + 1e-6);
        }
    }
}
