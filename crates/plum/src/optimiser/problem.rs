//! Problem of section III-C for one set of capacities.

use super::config::{ContentBound, Floors, OptimiserConfig};
use super::qoe::{QoeError, QoeFunction};
use super::utility::{Score, Utility};

/// Largest rate that is taken, kbit/s: arithmetic with it neither overflows nor drowns other rates.
const MAX_KBPS: f64 = 1e12;

/// Reason why a problem cannot be posed.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum ProblemError {
    /// No participants.
    #[error("a call needs a participant")]
    NoParticipants,
    /// A capacity that is negative, above 1e12 kbit/s or not a number.
    #[error("participant {participant} has the capacity {rate} kbit/s; it is in 0 to 1e12")]
    Capacity {
        /// Index of the participant.
        participant: usize,
        /// Capacity found, kbit/s.
        rate: f64,
    },
    /// A setting outside its interval.
    #[error("{name} is {value}; it {rule}")]
    Setting {
        /// Name of the setting.
        name: &'static str,
        /// Value found.
        value: f64,
        /// Rule that it breaks, for people.
        rule: &'static str,
    },
    /// Two limits that no solution keeps together.
    #[error("{name} is {value} kbit/s, but {limit_name} is {limit} kbit/s")]
    Contradiction {
        /// Name of the setting.
        name: &'static str,
        /// Its value, kbit/s.
        value: f64,
        /// Name of the limit.
        limit_name: &'static str,
        /// Its value, kbit/s.
        limit: f64,
    },
    /// A QoE function that does not suit the maximum rate.
    #[error(transparent)]
    Qoe(#[from] QoeError),
}

/// Capacities with the settings that apply to them, all checked. Rates are in kbit/s.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    capacities: Vec<f64>,
    max_rate: f64,
    views: f64,
    rho: f64,
    qoe: QoeFunction,
    content: ContentBound,
    server: Option<f64>,
    floors: Option<Floors>,
}

impl Problem {
    /// Problem of participants with half-duplex capacities B_i (kbit/s; 0 is valid).
    ///
    /// # Errors
    /// If a number is outside its interval, or two limits contradict each other.
    pub fn new(capacities: &[f64], config: &OptimiserConfig) -> Result<Self, ProblemError> {
        let n = capacities.len();
        if n == 0 {
            return Err(ProblemError::NoParticipants);
        }
        let is_rate = |rate: f64| (0.0..=MAX_KBPS).contains(&rate);
        if let Some(participant) = capacities.iter().position(|&b| !is_rate(b)) {
            let rate = capacities[participant];
            return Err(ProblemError::Capacity { participant, rate });
        }
        let views = config.views.number(n);
        let rate = "is in 0 to 1e12 kbit/s";
        let floors = config.floors.unwrap_or(Floors { min_down: 0.0, min_up: 0.0 });
        let server = config.server.unwrap_or(0.0);
        for (name, value, interval, rule) in [
            ("max_rate", config.max_rate, 1e-3..=MAX_KBPS, "is in 0.001 to 1e12 kbit/s"),
            ("views", views, 1e-6..=1e9, "is in 1e-6 to 1e9"),
            ("rho", config.rho, 0.0..=1.0, "is in 0 to 1"),
            ("server", server, 0.0..=MAX_KBPS, rate),
            ("min_down", floors.min_down, 0.0..=MAX_KBPS, rate),
            ("min_up", floors.min_up, 0.0..=MAX_KBPS, rate),
        ] {
            if !interval.contains(&value) {
                return Err(ProblemError::Setting { name, value, rule });
            }
        }
        let problem = Self {
            capacities: capacities.to_vec(),
            max_rate: config.max_rate,
            views,
            rho: config.rho,
            qoe: QoeFunction::new(&config.qoe, config.max_rate)?,
            content: config.content,
            server: config.server,
            floors: config.floors,
        };
        problem.check_floors()?;
        Ok(problem)
    }

    fn check_floors(&self) -> Result<(), ProblemError> {
        let Some(Floors { min_down, min_up }) = self.floors else { return Ok(()) };
        let of_server = self.server.map(|s| s / self.capacities.len() as f64);
        let of_uplink = (self.content == ContentBound::Written).then_some(self.max_uplink());
        for (name, value, limit_name, limit) in [
            ("min_down", min_down, "max_rate", Some(self.max_rate)),
            ("min_down", min_down, "server per participant", of_server),
            ("min_up", min_up, "max_rate / views", of_uplink),
        ] {
            // A valid rate exceeds its floor.
            if let Some(limit) = limit.filter(|&limit| value >= limit) {
                return Err(ProblemError::Contradiction { name, value, limit_name, limit });
            }
        }
        Ok(())
    }

    /// B_i of each participant.
    pub fn capacities(&self) -> &[f64] {
        &self.capacities
    }

    /// Number of participants.
    pub fn participants(&self) -> usize {
        self.capacities.len()
    }

    /// M.
    pub fn max_rate(&self) -> f64 {
        self.max_rate
    }

    /// M/V, the maximum rate of one uplink as written.
    pub fn max_uplink(&self) -> f64 {
        self.max_rate / self.views
    }

    /// Weight of fairness.
    pub fn rho(&self) -> f64 {
        self.rho
    }

    /// QoE function of every client.
    pub fn qoe(&self) -> &QoeFunction {
        &self.qoe
    }

    /// Content source bound.
    pub fn content(&self) -> ContentBound {
        self.content
    }

    /// Limit of the sum of all downlinks.
    pub fn server(&self) -> Option<f64> {
        self.server
    }

    /// Floors of a valid solution.
    pub fn floors(&self) -> Option<Floors> {
        self.floors
    }

    /// S of equation 3: the sum of all capacities but the largest.
    pub fn relaxed_total(&self) -> f64 {
        let largest = self.capacities.iter().copied().fold(0.0, f64::max);
        let at = self.capacities.iter().position(|&b| b == largest);
        let others = self.capacities.iter().enumerate().filter(|&(i, _)| Some(i) != at);
        others.map(|(_, b)| b).sum()
    }

    /// Largest uplink rates beside these downlink rates: `min(B_j - d_j, M/V)`, and `B_j - d_j` with
    /// equation 3.
    pub fn uplinks(&self, down: &[f64]) -> Vec<f64> {
        let max = match self.content {
            ContentBound::Written => self.max_uplink(),
            ContentBound::Relaxed => f64::INFINITY,
        };
        self.capacities.iter().zip(down).map(|(b, d)| (b - d).min(max).max(0.0)).collect()
    }

    /// Score of downlink rates.
    pub fn score(&self, down: &[f64]) -> Score {
        let qoe: Vec<f64> = down.iter().map(|&d| self.qoe.value(d)).collect();
        Utility::new(self.rho).score(&qoe)
    }

    /// The same problem with another weight of fairness, which is in 0 to 1.
    pub(super) fn with_rho(&self, rho: f64) -> Self {
        Self { rho, ..self.clone() }
    }

    /// The same problem with linear QoE.
    pub(super) fn with_linear_qoe(&self) -> Self {
        let qoe = QoeFunction::new(&super::qoe::Qoe::Linear, self.max_rate);
        Self { qoe: qoe.expect("linear QoE suits every rate"), ..self.clone() }
    }
}
