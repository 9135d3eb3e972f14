//! The authors' fixed rules.

use airlane_plum::{VideoBounds, fixed_rules};
use proptest::prelude::*;

#[test]
fn each_rule_has_its_case() {
    let divided = |capacities: &[f64]| fixed_rules(capacities, VideoBounds::AUTHORS);
    // Four clients: 3 Mbit/s are the least for three others' videos, 40 Mbit/s are ample.
    let ample = divided(&[50_000.0, 12_000.0, 2_000.0, 3_500.0]);
    assert_eq!(ample[0], (12_000.0, 38_000.0));
    assert_eq!(ample[1], (9_000.0, 3_000.0));
    assert_eq!(ample[2], (1_000.0, 1_000.0));
    assert_eq!(ample[3], (500.0, 3_000.0));
    let scarce = divided(&[20_000.0, 12_000.0, 2_000.0, 3_500.0]);
    assert_eq!(
        scarce,
        [(5_000.0, 15_000.0), (3_000.0, 9_000.0), (1_000.0, 1_000.0), (1_000.0, 2_500.0)]
    );
    assert_eq!(divided(&[]), []);
    assert_eq!(divided(&[8_000.0]), [(8_000.0, 0.0)]);
}

proptest! {
    #[test]
    fn a_channel_is_divided_and_no_more(capacities in prop::collection::vec(0.0_f64..1e6, 0..30)) {
        let divided = fixed_rules(&capacities, VideoBounds::AUTHORS);
        prop_assert_eq!(divided.len(), capacities.len());
        for ((up, down), total) in divided.iter().zip(&capacities) {
            prop_assert!(*up >= 0.0 && *down >= -1e-9);
            prop_assert!((up + down - total).abs() < 1e-6);
        }
    }
}
