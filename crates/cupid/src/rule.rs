//! The rate rule: from utilisation, stations and delta to a rate (slides, "Cupid Rate Estimation").

use airlane_base::Rate;
use serde::Serialize;

use crate::isolation::{FULL, Isolation, StationAir};

/// The form of the rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum RuleKind {
    /// As published: each touch of eta throws the rate back to `eta * delta / N`.
    Paper,
    /// The decrease keeps the air that others leave unused, the increase takes it at once, and changes
    /// wait for utilisation to leave a band around eta.
    #[default]
    Default,
}

impl RuleKind {
    /// The name in scenarios and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Paper => "cupid-paper",
            Self::Default => "cupid",
        }
    }
}

/// Options of the rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RuleOptions {
    /// The form.
    pub kind: RuleKind,
    /// The utilisation that is aimed at, 0 to 1.
    pub eta: f64,
    /// Half of the band around eta in which the default form leaves a rate alone.
    pub hysteresis: f64,
}

impl Default for RuleOptions {
    fn default() -> Self {
        Self { kind: RuleKind::Default, eta: 0.8, hysteresis: 0.02 }
    }
}

/// Input of the rule at one report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Air {
    /// U: the share of the air in use, 0 to 1.
    pub utilisation: f64,
    /// N, the own station included: at least 1.
    pub stations: u32,
    /// Payload rate that the whole air would carry for this station.
    pub delta: Rate,
    /// Payload that this station received, over the time that the utilisation was measured over. The same
    /// time is what keeps the increase from overshooting: it adds the idle air to what was used beside it.
    pub goodput: Rate,
    /// The share that is left to this station by those who use less than theirs ([`left_share`]); `None`
    /// where others' shares are not known.
    pub left: Option<f64>,
    /// Share that is to be left to others than the stations that were counted, as foreign networks: taken from
    /// eta. 0 by the paper.
    pub reserved: f64,
    /// The station's own use of the air, from which the default form finds whether the access point divides the air
    /// by itself. `None` where it is not known, or no access point decides.
    pub own: Option<StationAir>,
}

/// The rule of one station.
#[derive(Clone, Debug)]
pub struct RateRule {
    options: RuleOptions,
    rate: Option<Rate>,
    isolation: Isolation,
    is_isolated: bool,
}

impl RateRule {
    /// A rule that has not granted anything yet.
    pub fn new(options: RuleOptions) -> Self {
        Self { options, rate: None, isolation: Isolation::default(), is_isolated: false }
    }

    /// True if the access point was found to divide the air among stations by itself.
    pub fn is_isolated(&self) -> bool {
        self.is_isolated
    }

    /// The rate granted last.
    pub fn rate(&self) -> Option<Rate> {
        self.rate
    }

    /// Forgets the last rate: the next report is a connection's first.
    pub fn restart(&mut self) {
        self.rate = None;
    }

    /// Eta after what is reserved.
    pub fn eta(&self, air: &Air) -> f64 {
        (self.options.eta - share(air.reserved)).max(0.0)
    }

    /// True if the air has room at this report: utilisation is below the band around eta.
    pub fn has_room(&self, air: &Air) -> bool {
        share(air.utilisation) < self.options.eta - self.options.hysteresis
    }

    /// The rate for the next report.
    pub fn update(&mut self, air: &Air) -> Rate {
        let own = air.own.filter(|_| self.options.kind == RuleKind::Default);
        self.is_isolated = own.is_some_and(|own| self.isolation.update(&own));
        let rate = match own.filter(|_| self.is_isolated) {
            // Nobody has more of the air for it, or less: what its own share carries in full aggregates. Its
            // sender sees to it that the queue stays short.
            Some(StationAir { share, full_delta, .. }) => {
                let least = full_delta.scale(share.clamp(0.0, 1.0));
                self.ruled(&Air { delta: full_delta, ..*air }).max(least)
            }
            None => self.ruled(air),
        };
        self.rate = Some(rate);
        rate
    }

    /// The rate by utilisation, stations and delta.
    fn ruled(&self, air: &Air) -> Rate {
        let (eta, delta) = (self.eta(air), air.delta.as_f64());
        let stations = f64::from(air.stations.max(1));
        let used = share(air.utilisation);
        // Utilisation has what is reserved in it, so it is held against the whole of eta.
        let idle = self.options.eta - used;
        let fair = eta * delta / stations;
        let increased = air.goodput.as_f64() + idle * delta / stations;
        let rate = match (self.rate, self.options.kind) {
            (None, _) => fair,
            (Some(_), RuleKind::Paper) if idle <= 0.0 => fair,
            (Some(_), RuleKind::Paper) => increased,
            // Where the air is full, who has little was given little: that it wants no more is not known.
            (Some(_), RuleKind::Default) if used >= FULL => fair,
            (Some(_), RuleKind::Default) if idle <= -self.options.hysteresis => {
                fair.max(self.kept(air, eta) * delta)
            }
            // By the increase alone one of N takes 1/N of the idle air per report, and N remembers who
            // left: what they leave is known, where shares are.
            (Some(_), RuleKind::Default) if idle >= self.options.hysteresis => {
                let left = air.left.map_or(0.0, |left| share(left).min(eta) * delta);
                fair.max(increased).max(left)
            }
            // In the band a rate stays; but no less than the fair one, as N and delta may have changed.
            (Some(last), RuleKind::Default) => {
                fair.max(last.as_f64().min(self.kept(air, eta).max(eta / stations) * delta))
            }
        };
        // The whole of the air is the most that anyone can be granted.
        Rate::from_bps_f64(rate.min(delta))
    }

    /// The share of the air that a decrease leaves.
    fn kept(&self, air: &Air, eta: f64) -> f64 {
        match air.left {
            Some(left) => share(left).min(eta),
            // What all others together do not use of eta.
            None if air.delta > Rate::ZERO => {
                let own = air.goodput.as_f64() / air.delta.as_f64();
                (self.options.eta - (share(air.utilisation) - own).max(0.0)).clamp(0.0, eta)
            }
            None => 0.0,
        }
    }
}

/// A share: 0 to 1, with NaN as 0.
fn share(value: f64) -> f64 {
    if value > 0.0 { value.min(1.0) } else { 0.0 }
}

/// The share of the air that max-min fairness leaves to one of `stations` that wants all it can get, when
/// the others use `others`: each that uses less than an equal part leaves the rest to those who use more.
/// At least `eta / stations`. Stations that are not in `others` use nothing.
pub fn left_share(eta: f64, stations: u32, others: &[f64]) -> f64 {
    let stations = stations.max(1);
    let mut used: Vec<f64> = others.iter().map(|&value| share(value)).collect();
    used.sort_by(f64::total_cmp);
    let silent = (stations as usize - 1).saturating_sub(used.len());
    let (mut left, mut who) = (eta, f64::from(stations) - silent as f64);
    for value in used.into_iter().take(stations as usize - 1) {
        if value >= left / who {
            break;
        }
        left -= value;
        who -= 1.0;
    }
    left / who.max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_leave_is_shared_by_those_who_want_more() {
        assert!((left_share(0.8, 1, &[]) - 0.8).abs() < 1e-12);
        assert!((left_share(0.8, 3, &[0.5, 0.5]) - 0.8 / 3.0).abs() < 1e-12);
        assert!((left_share(0.8, 3, &[0.1, 0.5]) - 0.35).abs() < 1e-12);
        assert!((left_share(0.8, 3, &[0.1, 0.1]) - 0.6).abs() < 1e-12);
        assert!((left_share(0.8, 3, &[]) - 0.8).abs() < 1e-12, "both are silent");
        assert!((left_share(0.8, 0, &[f64::NAN]) - 0.8).abs() < 1e-12);
    }

    #[test]
    fn what_others_were_not_given_is_not_taken_for_left() {
        let mut rule = RateRule::new(RuleOptions::default());
        let air = |utilisation| Air {
            utilisation,
            stations: 4,
            delta: Rate::from_mbps(400.0),
            goodput: Rate::from_mbps(150.0),
            // The others have 0.1, 0.1 and 0.4.
            left: Some(left_share(0.8, 4, &[0.1, 0.1, 0.4])),
            reserved: 0.0,
            own: None,
        };
        rule.update(&air(0.7));
        assert_eq!(
            rule.update(&air(0.85)),
            Rate::from_mbps(120.0),
            "the two use less than their part"
        );
        assert_eq!(rule.update(&air(0.99)), Rate::from_mbps(80.0), "or are kept from more");
    }

    #[test]
    fn the_published_equations() {
        let options = RuleOptions { kind: RuleKind::Paper, ..RuleOptions::default() };
        let mut rule = RateRule::new(options);
        let delta = Rate::from_mbps(300.0);
        let air = |utilisation, goodput| Air {
            utilisation,
            stations: 3,
            delta,
            goodput: Rate::from_mbps(goodput),
            left: None,
            reserved: 0.0,
            own: None,
        };
        assert_eq!(rule.update(&air(0.2, 0.0)), Rate::from_mbps(80.0), "the start");
        assert_eq!(rule.update(&air(0.5, 60.0)), Rate::from_mbps(90.0), "60 + 0.3 * 300 / 3");
        assert_eq!(rule.update(&air(0.9, 200.0)), Rate::from_mbps(80.0));
    }
}
