//! Division of the bottleneck by a fixed share.

use airlane_plum::fixed_share;

#[test]
fn the_smallest_channel_is_divided_and_the_others_are_ample() {
    let ample = (f64::INFINITY, f64::INFINITY);
    let divided = fixed_share(&[50_000.0, 10_000.0, 10_000.0], 0.75);
    assert_eq!(divided, [ample, (7_500.0, 2_500.0), ample]);
    assert_eq!(fixed_share(&[], 0.5), []);
    assert_eq!(fixed_share(&[-1.0], 2.0), [(0.0, 0.0)]);
}
