//! Key-frame requests.

use std::time::Duration;

use airlane_base::Time;
use airlane_sfu::{DEFAULT_KEY_FRAME_INTERVAL, KeyFrameThrottle};

#[test]
fn one_request_in_an_interval_is_allowed_for_each_encoding() {
    let mut throttle = KeyFrameThrottle::default();
    let begin = Time::from_millis(10);
    let end = begin + DEFAULT_KEY_FRAME_INTERVAL;
    assert!(throttle.is_allowed(0, begin));
    assert!(!throttle.is_allowed(0, begin));
    assert!(throttle.is_allowed(1, begin));
    assert!(!throttle.is_allowed(0, end - Duration::from_nanos(1)));
    assert!(throttle.is_allowed(0, end));
    assert!(!throttle.is_allowed(0, end + Duration::from_millis(499)));
}

#[test]
fn an_encoding_that_cannot_be_is_never_asked_for() {
    let mut throttle = KeyFrameThrottle::new(Duration::ZERO);
    assert!(throttle.is_allowed(3, Time::ZERO) && throttle.is_allowed(3, Time::ZERO));
    assert!(!throttle.is_allowed(4, Time::ZERO));
}
