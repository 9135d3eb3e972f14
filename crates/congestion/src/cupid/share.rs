//! How many equal parts of the air a sender takes.
//!
//! A weight multiplies what is granted. Nobody knows the weights of all, so that their sum may be more than
//! the air has: then what weights above 1 have beyond an equal part shrinks, for all senders alike, until the
//! air is no longer full. What else fills the air takes nothing below an equal part from anybody.

use airlane_base::Rate;

use crate::cubic::usable_weight;

/// By what part the excess shrinks with a report of a full air.
const SHRINK: f64 = 0.1;
/// Part of the excess that comes back with a report of an air that is not full.
const GROW: f64 = 0.02;

#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    weight: f64,
    /// Part of the excess above 1 that is left, 0 to 1.
    excess: f64,
}

impl Share {
    pub fn new(weight: f64) -> Self {
        Self { weight: usable_weight(weight), excess: 1.0 }
    }

    pub fn weight(&self) -> f64 {
        self.weight
    }

    pub fn set_weight(&mut self, weight: f64) {
        self.weight = usable_weight(weight);
    }

    /// A report came.
    pub fn on_report(&mut self, is_full: bool) {
        self.excess = match is_full {
            true => self.excess * (1.0 - SHRINK),
            false => (self.excess + GROW).min(1.0),
        };
    }

    /// Rate to send at, where so much is granted.
    pub fn of(&self, granted: Rate) -> Rate {
        let beyond = (self.weight - 1.0).max(0.0);
        Rate::from_bps_f64(granted.as_f64() * (self.weight.min(1.0) + self.excess * beyond))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_air_takes_what_is_beyond_an_equal_part_and_gives_it_back() {
        let granted = Rate::from_mbps(10.0);
        let mut heavy = Share::new(3.0);
        let mut light = Share::new(0.5);
        assert_eq!(heavy.of(granted), Rate::from_mbps(30.0));
        for _ in 0..200 {
            heavy.on_report(true);
            light.on_report(true);
        }
        assert!((heavy.of(granted).as_f64() / 10e6 - 1.0).abs() < 1e-6);
        assert_eq!(light.of(granted), Rate::from_mbps(5.0));
        for _ in 0..50 {
            heavy.on_report(false);
        }
        assert_eq!(heavy.of(granted), Rate::from_mbps(30.0));
        heavy.set_weight(f64::NAN);
        assert_eq!(heavy.of(granted), granted);
    }
}
