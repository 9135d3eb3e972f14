//! The three together on a host: what it hears and receives goes in, reports come out.

use std::time::Duration;

use airlane_base::{Rate, Time};
use airlane_wifi::{Address, Heard};
use serde::Serialize;

use crate::estimator::{Direction, Estimate, Estimator, EstimatorOptions};
use crate::feedback::Feedback;
use crate::isolation::{FULL, StationAir};
use crate::ring::Ring;
use crate::rule::{Air, RateRule, RuleOptions, left_share};

/// The charge of airtime in U, shares and delta.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Charging {
    /// As frames were sent.
    Literal,
    /// All stations together as if those that aggregate filled their aggregates, and each
    /// the part of it that it has of the literal charge. An access point that sends as soon as it can
    /// makes aggregates that are as small as load allows, so that the literal charge comes to 1 at a
    /// fraction of what the air carries (`docs/design/cupid.md`).
    #[default]
    Packed,
}

/// Options of an agent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AgentOptions {
    /// Options of the estimator.
    pub estimator: EstimatorOptions,
    /// Options of the rule. Its eta is the estimator's too.
    pub rule: RuleOptions,
    /// The charge of airtime.
    pub charging: Charging,
    /// Time between reports, 1 to 255 ms.
    pub interval: Duration,
    /// Take what foreign networks use from eta, and count own stations only; needs the own BSSID.
    pub subtract_foreign: bool,
}

impl AgentOptions {
    /// The options of an agent with this estimator: 25 reports per second, the rule's defaults.
    pub fn new(estimator: EstimatorOptions) -> Self {
        Self {
            estimator,
            rule: RuleOptions::default(),
            charging: Charging::default(),
            interval: Duration::from_millis(40),
            subtract_foreign: false,
        }
    }
}

/// Cupid on a receiving host.
#[derive(Clone, Debug)]
pub struct Agent {
    options: AgentOptions,
    estimator: Estimator,
    rule: RateRule,
    received: Ring<1>,
    /// True if the host tells what it received: else it is what was heard.
    is_told: bool,
    next: Time,
    sequence: u16,
}

impl Agent {
    /// An agent that reports from `now` on.
    pub fn new(options: AgentOptions, now: Time) -> Self {
        let options = options.bounded();
        let estimator = Estimator::new(options.estimator);
        let window = estimator.options().window;
        let span = window.as_nanos() as u64 + 50_000_000;
        Self {
            rule: RateRule::new(options.rule),
            received: Ring::new((span / 256).max(1_000_000), span),
            is_told: false,
            next: now + options.interval,
            sequence: 0,
            estimator,
            options,
        }
    }

    /// The estimator.
    pub fn estimator(&mut self) -> &mut Estimator {
        &mut self.estimator
    }

    /// Takes a transmission that was heard.
    pub fn hear(&mut self, heard: &Heard) {
        self.estimator.hear(heard);
    }

    /// Its flows received so many bytes of payload at `now`. Once told of some, the agent goes by these
    /// rather than by what it heard.
    pub fn on_received(&mut self, now: Time, bytes: u64) {
        self.is_told = true;
        let at = now.as_nanos();
        self.received.add(at, at.saturating_add(1), [8.0 * bytes as f64]);
    }

    /// A connection begins where none was: the next report is its first.
    pub fn restart(&mut self) {
        self.rule.restart();
    }

    /// Time at which the next report is due.
    pub fn next_report(&self) -> Time {
        self.next
    }

    /// The report that is due at `now`, for each of the station's `flows`, which share its rate equally;
    /// `None` if none is due, there are no flows, or nothing is known of the own rate yet.
    pub fn poll(&mut self, now: Time, flows: u32) -> Option<(Feedback, Estimate)> {
        if now < self.next {
            return None;
        }
        // No burst of reports after a pause.
        self.next = (self.next + self.options.interval).max(now);
        let estimate = self.estimator.estimate(now);
        let air = self.air(&estimate)?;
        let rate = self.rule.update(&air);
        if flows == 0 {
            return None;
        }
        let sequence = self.sequence;
        self.sequence = sequence.wrapping_add(1);
        let interval_ms = u8::try_from(self.options.interval.as_millis()).unwrap_or(u8::MAX);
        let feedback = Feedback {
            sequence,
            rate: Rate::from_bps(rate.bps() / u64::from(flows) / 1_000 * 1_000),
            utilisation: Feedback::part(air.utilisation),
            stations: u8::try_from(air.stations).unwrap_or(u8::MAX),
            interval_ms,
            confidence: Feedback::part(estimate.utilisation_confidence),
            // An air in which somebody sends at all times explains that a path carries less, however much
            // fuller its aggregates could be.
            has_room: self.rule.has_room(&air) && estimate.utilisation < FULL,
            is_isolated: self.rule.is_isolated(),
        };
        Some((feedback, estimate))
    }

    /// Input of the rule; `None` while the own rate is not known.
    fn air(&self, estimate: &Estimate) -> Option<Air> {
        let window = self.estimator.options().window;
        let goodput = if self.is_told {
            let until = estimate.at.as_nanos();
            let [bits] = self.received.sum(until.saturating_sub(window.as_nanos() as u64), until);
            Rate::from_bps_f64(bits / window.as_secs_f64())
        } else {
            estimate.goodput
        };
        Some(Air { goodput, ..self.options.air(estimate, self.options.estimator.own)? })
    }
}

impl AgentOptions {
    /// With what is out of range brought to its nearest bound, and what follows from other options.
    pub(crate) fn bounded(mut self) -> Self {
        let ms = Duration::from_millis;
        self.interval = self.interval.clamp(ms(1), ms(255));
        self.estimator.eta = self.rule.eta;
        self.estimator.only_own_network |= self.subtract_foreign;
        self
    }

    /// Input of a station's rule, with goodput as it was heard; `None` while its rate is not known.
    pub(crate) fn air(&self, estimate: &Estimate, own: Address) -> Option<Air> {
        let is_packed = self.charging == Charging::Packed;
        let (utilisation, delta) = match is_packed {
            true => (estimate.packed, estimate.packed_delta?),
            false => (estimate.utilisation, estimate.delta?),
        };
        let reserved = if self.subtract_foreign { estimate.foreign } else { 0.0 };
        let others = estimate.others(own, is_packed);
        // Air that is nobody's, as collisions and foreign networks, is not left to anyone either.
        let shares = estimate.shares.iter();
        let named: f64 = shares.map(|s| if is_packed { s.packed } else { s.airtime }).sum();
        let eta = (self.rule.eta - (utilisation - named).max(0.0)).max(0.0);
        Some(Air {
            utilisation,
            stations: estimate.sharing,
            delta,
            goodput: estimate.goodput,
            left: Some(left_share(eta, estimate.sharing, &others)),
            reserved,
            own: self.station_air(estimate, own).filter(|_| is_packed),
        })
    }

    /// A station's own use of the air; `None` if it is not known, nobody shares it, or the station itself
    /// sends.
    fn station_air(&self, estimate: &Estimate, own: Address) -> Option<StationAir> {
        if estimate.sharing < 2 || self.estimator.direction == Direction::Up {
            return None;
        }
        let others = estimate.others(own, false);
        Some(StationAir {
            share: estimate.own_share,
            equal: left_share(estimate.utilisation, estimate.sharing, &others),
            down: estimate.own_down,
            down_of_all: estimate.down,
            utilisation: estimate.utilisation,
            fill: estimate.own_fill,
            fill_of_all: estimate.fill,
            full_delta: estimate.full_delta?,
        })
    }
}
