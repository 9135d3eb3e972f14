//! Solutions, and what makes one valid.

use serde::Serialize;

use super::config::{ContentBound, Floors};
use super::problem::Problem;
use super::utility::Score;

/// Violation of a constraint that a valid solution may have, over M: the tolerance of SLSQP.
pub const TOLERANCE: f64 = 1e-6;

/// Distance from the optimum that a solver answers for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Optimality {
    /// Global optimum, with a computed bound that exceeds the utility by this gap.
    Certified {
        /// Upper bound of the utility minus the utility.
        gap: f64,
    },
    /// Global optimum up to rounding, as the problem is convex.
    Global,
    /// A good solution; a better one may exist.
    Local,
}

/// Target rates of all participants, kbit/s.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Solution {
    /// d_i.
    pub down: Vec<f64>,
    /// u_i, as large as d_i and M/V allow.
    pub up: Vec<f64>,
    /// Score of the downlink rates.
    pub score: Score,
    /// Sum of uplinks with which the solver met the content bound: where a warm start begins.
    pub uplink_total: f64,
    /// Distance from the optimum.
    pub optimality: Optimality,
}

/// Direction of a client's flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From the client to the server.
    Up,
    /// From the server to the client.
    Down,
}

/// Reason why a solution is not used.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum Invalid {
    /// Another number of rates than participants.
    #[error("{rates} rates for {participants} participants")]
    Length {
        /// Number of rates.
        rates: usize,
        /// Number of participants.
        participants: usize,
    },
    /// A rate or a utility that is not a number or infinite.
    #[error("a rate is not finite")]
    NotFinite,
    /// A violated constraint.
    #[error("a constraint is violated by {excess} kbit/s")]
    Infeasible {
        /// Largest violation, kbit/s.
        excess: f64,
    },
    /// A rate that does not exceed its floor.
    #[error(
        "participant {participant} has {rate} kbit/s in direction {direction:?}, not above {floor}"
    )]
    BelowFloor {
        /// Index of the participant.
        participant: usize,
        /// Direction of the rate.
        direction: Direction,
        /// Rate found, kbit/s.
        rate: f64,
        /// Floor, kbit/s.
        floor: f64,
    },
}

impl Solution {
    /// Solution with these downlink rates and the largest uplinks beside them.
    pub fn from_down(problem: &Problem, down: Vec<f64>, optimality: Optimality) -> Self {
        let up = problem.uplinks(&down);
        let score = problem.score(&down);
        let uplink_total = up.iter().sum();
        Self { down, up, score, uplink_total, optimality }
    }

    /// Largest violation of a constraint, kbit/s: 0 if there is none, infinite if a rate is not finite.
    pub fn violation(&self, problem: &Problem) -> f64 {
        let all = self.down.iter().chain(&self.up);
        if self.down.len() != problem.participants()
            || self.up.len() != problem.participants()
            || all.clone().any(|rate| !rate.is_finite())
        {
            return f64::INFINITY;
        }
        let total_up: f64 = self.up.iter().sum();
        let total_down: f64 = self.down.iter().sum();
        let mut worst: f64 = all.map(|rate| -rate).fold(0.0, f64::max);
        for ((b, d), u) in problem.capacities().iter().zip(&self.down).zip(&self.up) {
            worst = worst.max(d + u - b);
            if problem.content() == ContentBound::Written {
                worst = worst.max(u - problem.max_uplink()).max(d - (total_up - u));
            }
        }
        if problem.content() == ContentBound::Relaxed {
            worst = worst.max(total_down - problem.relaxed_total());
        }
        problem.server().map_or(worst, |server| worst.max(total_down - server))
    }

    /// True if the solution may be used.
    ///
    /// # Errors
    /// The first reason why it may not.
    pub fn validate(&self, problem: &Problem) -> Result<(), Invalid> {
        let participants = problem.participants();
        if let Some(rates) =
            [self.down.len(), self.up.len()].into_iter().find(|&rates| rates != participants)
        {
            return Err(Invalid::Length { rates, participants });
        }
        let excess = self.violation(problem);
        if !excess.is_finite() || !self.score.utility.is_finite() {
            return Err(Invalid::NotFinite);
        }
        if excess > TOLERANCE * problem.max_rate() {
            return Err(Invalid::Infeasible { excess });
        }
        let Some(Floors { min_down, min_up }) = problem.floors() else { return Ok(()) };
        for (direction, rates, floor) in
            [(Direction::Down, &self.down, min_down), (Direction::Up, &self.up, min_up)]
        {
            if let Some(participant) = rates.iter().position(|&rate| rate <= floor) {
                let rate = rates[participant];
                return Err(Invalid::BelowFloor { participant, direction, rate, floor });
            }
        }
        Ok(())
    }

    /// True if the solution may be used: finite, feasible and above the floors.
    pub fn is_valid(&self, problem: &Problem) -> bool {
        self.validate(problem).is_ok()
    }

    /// True if the rates are finite and feasible.
    pub(super) fn is_feasible(&self, problem: &Problem) -> bool {
        self.violation(problem) <= 1e-9 * problem.max_rate()
    }

    /// Scales the downlink rates down until no constraint is violated, if the violation is small.
    pub(super) fn repaired(self, problem: &Problem, max_excess: f64) -> Self {
        let excess = self.violation(problem);
        if excess == 0.0 || excess.is_nan() || excess > max_excess {
            return self;
        }
        let scaled = |factor: f64| {
            let limits = problem.capacities().iter().zip(&self.down);
            let down = limits.map(|(b, d)| (d * factor).clamp(0.0, *b)).collect();
            Self::from_down(problem, down, self.optimality)
        };
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if scaled(middle).violation(problem) <= 1e-12 * problem.max_rate() {
                low = middle;
            } else {
                high = middle;
            }
        }
        scaled(low)
    }
}
