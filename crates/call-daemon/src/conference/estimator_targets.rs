//! Bitrates that a downlink's bandwidth estimator is told: how much to keep on the way by padding, and how much to
//! look for.
//!
//! An estimator that backs off falls to 0.85 of what has arrived of late (draft-ietf-rmcat-gcc-02, section 5.5). Where
//! less is sent than the channel carries, that is far below what it carries, and below what is sent: a layer is
//! dropped, less is sent, and the next burst of a key frame has it fall again.

use std::time::Duration;

use airlane_base::Time;

use super::shares::RateDivision;

/// Bitrate that is looked for relative to what there is to send, and at least.
const MARGIN: f64 = 1.15;
const MIN_BPS: f64 = 300e3;
/// Bitrate that is kept up relative to what is forwarded: after one back-off that still fits.
const KEPT: f64 = 1.0 / 0.85;
/// Time for which padding tries whether what the estimator has found is there, and the pause after a trial that did
/// not lead to a further layer.
const TRIAL_TIME: Duration = Duration::from_secs(10);
const TRIAL_PAUSE: Duration = Duration::from_secs(30);
/// Share by which a bitrate must differ from the last one before the estimator is told.
const CHANGE: f64 = 0.05;

/// Bitrates of packets for an estimator, bit/s.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Bitrates {
    /// Bitrate that padding keeps up.
    pub(super) least: f64,
    /// Bitrate that is looked for.
    pub(super) desired: f64,
}

/// Facts about a downlink. Rates are of packets, in bit/s.
#[derive(Clone, Copy, Debug)]
pub(super) struct Downlink {
    pub(super) estimate: f64,
    /// Rate that it is held to.
    pub(super) held: Option<f64>,
    /// Room that a hold of the uplink leaves it.
    pub(super) freed: Option<f64>,
    /// The most that it may take.
    pub(super) most: f64,
}

/// Choice of the bitrates that an estimator is told.
#[derive(Clone, Debug, Default)]
pub(super) struct EstimatorTargets {
    told: Bitrates,
    /// Rate that was forwarded, and the begin of the last trial.
    forwarded: f64,
    trial: Option<Time>,
}

impl EstimatorTargets {
    /// Bitrates for a division of the downlink, whose rates are of packets too; `None`: those that were told last.
    pub(super) fn update(
        &mut self,
        now: Time,
        division: &RateDivision,
        downlink: Downlink,
    ) -> Option<Bitrates> {
        let Downlink { estimate, held, freed, most } = downlink;
        let desired = (division.most * MARGIN).min(most).max(MIN_BPS);
        let desired = held.map_or(desired, |held| desired.min(held));
        let has_more = division.total > self.forwarded * (1.0 + CHANGE);
        self.forwarded = division.total;
        let since = self.trial.map(|begin| now.since(begin));
        if has_more || since.is_none_or(|since| since >= TRIAL_TIME + TRIAL_PAUSE) {
            self.trial = Some(now);
        }
        let is_trying = self.trial.is_some_and(|begin| now.since(begin) < TRIAL_TIME);
        // Everything is forwarded: there is nothing to look for.
        let least = division.next.map_or(0.0, |next| {
            let found = if is_trying { next.min(estimate) } else { 0.0 };
            let freed = freed.map_or(0.0, |room| next.min(room));
            found.max(freed).max(division.total * KEPT)
        });
        let bitrates = Bitrates { least: least.min(desired), desired };
        let is_near = |new: f64, old: f64| (new - old).abs() <= old * CHANGE;
        if is_near(bitrates.least, self.told.least) && is_near(desired, self.told.desired) {
            return None;
        }
        self.told = bitrates;
        Some(bitrates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AMPLE: Downlink = Downlink { estimate: 1e6, held: None, freed: None, most: 6e6 };

    fn division(total: f64, next: Option<f64>) -> RateDivision {
        RateDivision { targets: Vec::new(), total, next, most: 2e6 }
    }

    #[test]
    fn padding_tries_what_was_found_and_then_keeps_what_is_forwarded() {
        let mut aim = EstimatorTargets::default();
        let thinned = division(400e3, Some(900e3));
        let at = Time::from_millis;
        let first = aim.update(at(0), &thinned, AMPLE).unwrap();
        assert_eq!(first, Bitrates { least: 900e3, desired: 2.3e6 });
        assert_eq!(aim.update(at(9_900), &thinned, AMPLE), None);
        let after = aim.update(at(10_000), &thinned, AMPLE).unwrap();
        assert_eq!(after.least.round(), 470_588.0);
        // A further layer is a new trial; without one it takes a while.
        let more = division(700e3, Some(1.2e6));
        assert_eq!(aim.update(at(11_000), &more, AMPLE).unwrap().least, 1e6);
        assert!(aim.update(at(22_000), &more, AMPLE).unwrap().least < 900e3);
        assert_eq!(aim.update(at(50_900), &more, AMPLE), None);
        assert_eq!(aim.update(at(51_000), &more, AMPLE).unwrap().least, 1e6);
    }

    #[test]
    fn nothing_is_padded_where_everything_is_forwarded_and_no_more_than_a_hold_allows() {
        let all = division(2e6, None);
        assert_eq!(EstimatorTargets::default().update(Time::ZERO, &all, AMPLE).unwrap().least, 0.0);
        let held = Downlink { held: Some(500e3), ..AMPLE };
        let thinned = division(400e3, Some(900e3));
        let bitrates = EstimatorTargets::default().update(Time::ZERO, &thinned, held).unwrap();
        assert_eq!(bitrates, Bitrates { least: 500e3, desired: 500e3 });
        let freed = Downlink { estimate: 100e3, freed: Some(800e3), ..AMPLE };
        assert_eq!(
            EstimatorTargets::default().update(Time::ZERO, &thinned, freed).unwrap().least,
            800e3
        );
    }
}
