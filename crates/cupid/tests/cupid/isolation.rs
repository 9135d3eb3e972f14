//! Detection, by the rule, of access points that divide the air among stations by themselves.

use airlane_base::Rate;
use airlane_cupid::{Air, RateRule, RuleKind, RuleOptions, StationAir};

const DELTA: Rate = Rate::from_bps(450_000_000);

/// One of five stations in a full air, whose aggregates are emptier than those of the others.
const AMONG_FIVE: StationAir = StationAir {
    share: 0.2,
    equal: 0.2,
    down: 0.9,
    down_of_all: 0.9,
    utilisation: 1.0,
    fill: 0.6,
    fill_of_all: 0.75,
    full_delta: DELTA,
};

fn air(own: StationAir) -> Air {
    Air {
        utilisation: own.fill_of_all,
        stations: 5,
        delta: Rate::from_bps(350_000_000),
        goodput: Rate::from_bps(54_000_000),
        left: Some(0.16),
        reserved: 0.0,
        own: Some(own),
    }
}

fn after(rule: &mut RateRule, reports: u32, own: StationAir) -> Rate {
    for _ in 0..reports {
        rule.update(&air(own));
    }
    rule.update(&air(own))
}

/// True if a rule that gets a second of these reports finds it.
fn finds(own: StationAir) -> bool {
    let mut rule = RateRule::new(RuleOptions::default());
    after(&mut rule, 25, own);
    rule.is_isolated()
}

#[test]
fn equal_shares_of_stations_that_fill_theirs_differently_are_the_access_points_doing() {
    assert!(finds(AMONG_FIVE));
    assert!(finds(StationAir { fill: 1.0, ..AMONG_FIVE }), "one that has more waiting");
    // Who sends more has more, there is air left, or nothing tells the stations apart.
    assert!(!finds(StationAir { share: 0.26, ..AMONG_FIVE }));
    assert!(!finds(StationAir { share: 0.15, ..AMONG_FIVE }));
    assert!(!finds(StationAir { utilisation: 0.9, ..AMONG_FIVE }));
    assert!(!finds(StationAir { fill: 0.75, ..AMONG_FIVE }));
    // An access point that counts what it sends alone.
    assert!(finds(StationAir { share: 0.25, down: 0.72, ..AMONG_FIVE }));
    let nothing = StationAir { share: 0.0, equal: 0.0, fill: f64::NAN, ..AMONG_FIVE };
    assert!(!finds(nothing));
}

#[test]
fn a_station_is_then_granted_what_its_own_share_carries() {
    let mut rule = RateRule::new(RuleOptions::default());
    let before = after(&mut rule, 3, AMONG_FIVE);
    assert!(!rule.is_isolated() && before < Rate::from_mbps(70.0), "{before}");
    let granted = after(&mut rule, 20, AMONG_FIVE);
    assert_eq!(granted, DELTA.scale(0.2));
    // All have full aggregates then, and nothing tells them apart any more.
    let filled = StationAir { fill: 0.97, fill_of_all: 0.97, ..AMONG_FIVE };
    assert_eq!(after(&mut rule, 50, filled), granted);
    // Others leave, and the access point gives it more.
    let alone = StationAir { share: 0.5, equal: 0.5, ..filled };
    assert_eq!(after(&mut rule, 5, alone), DELTA.scale(0.5));
}

#[test]
fn shares_that_become_unequal_end_it_and_so_does_air_that_is_left() {
    for own in [
        StationAir { share: 0.1, ..AMONG_FIVE },
        StationAir { share: 0.3, ..AMONG_FIVE },
        StationAir { utilisation: 0.6, ..AMONG_FIVE },
    ] {
        let mut rule = RateRule::new(RuleOptions::default());
        after(&mut rule, 25, AMONG_FIVE);
        after(&mut rule, 1, own);
        assert!(rule.is_isolated(), "a report is no proof: {own:?}");
        after(&mut rule, 25, own);
        assert!(!rule.is_isolated(), "{own:?}");
    }
}

#[test]
fn the_published_rule_looks_for_nothing() {
    let paper = RuleOptions { kind: RuleKind::Paper, ..RuleOptions::default() };
    let mut rule = RateRule::new(paper);
    after(&mut rule, 50, AMONG_FIVE);
    assert!(!rule.is_isolated());
}
