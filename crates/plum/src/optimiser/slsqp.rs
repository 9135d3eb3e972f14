//! The paper's method: sequential least squares programming over the downlink rates.

use ::slsqp::{Func, StopTols, minimize};

use super::config::ContentBound;
use super::problem::Problem;
use super::solution::{Optimality, Solution};
use super::solver::{SolveError, Solver};
use super::utility::{Utility, moments};

/// Violation that rounding of the method explains and that is repaired, over M.
const MAX_EXCESS: f64 = 1e-3;

/// Unit of the variables. The first step has the length of the gradient. In kbit/s that step changes the
/// utility by less than the tolerance, and the search ends at the first feasible rates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// M.
    #[default]
    MaxRate,
    /// kbit/s, as in the authors' code.
    Kbps,
}

/// SLSQP with analytic gradients, by a translation of NLopt's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slsqp {
    /// Downlink rate of all clients at the start, kbit/s, unless there is a previous solution.
    pub start: f64,
    /// Change of the utility that ends the search.
    pub tolerance: f64,
    /// Number of evaluations that ends it, too.
    pub max_evaluations: usize,
    /// Unit of the variables.
    pub unit: Unit,
}

impl Default for Slsqp {
    /// The authors' start and the tolerance of SciPy.
    fn default() -> Self {
        Self { start: 30_000.0, tolerance: 1e-6, max_evaluations: 1000, unit: Unit::MaxRate }
    }
}

impl Slsqp {
    /// Largest number of participants. An iteration takes time that grows with the cube of the number: a
    /// call of 200 takes seconds.
    pub const MAX_PARTICIPANTS: usize = 256;

    /// Solution from these downlink rates (kbit/s) on.
    ///
    /// # Errors
    /// If there are too many participants or the method returns no numbers.
    pub fn solve_from(&self, problem: &Problem, start: &[f64]) -> Result<Solution, SolveError> {
        let found = problem.participants();
        if found > Self::MAX_PARTICIPANTS {
            let (solver, max) = (self.name(), Self::MAX_PARTICIPANTS);
            return Err(SolveError::TooManyParticipants { solver, max, found });
        }
        let unit = match self.unit {
            Unit::MaxRate => problem.max_rate(),
            Unit::Kbps => 1.0,
        };
        let limit = |b: &f64| b.min(problem.max_rate());
        let bounds: Vec<(f64, f64)> =
            problem.capacities().iter().map(|b| (0.0, limit(b) / unit)).collect();
        let start: Vec<f64> =
            start.iter().zip(&bounds).map(|(d, b)| (d / unit).clamp(b.0, b.1)).collect();
        let tolerances = StopTols { ftol_abs: self.tolerance, ..StopTols::default() };
        let rates = Rates { problem, unit };
        let objective =
            |x: &[f64], gradient: Option<&mut [f64]>, (): &mut ()| rates.loss(x, gradient);
        let owned = rates.constraints();
        let constraints: Vec<&dyn Func<()>> = owned.iter().map(|c| &**c as &dyn Func<()>).collect();
        let evaluations = self.max_evaluations;
        let x = match minimize(
            objective,
            &start,
            &bounds,
            &constraints,
            (),
            evaluations,
            Some(tolerances),
        ) {
            // A failed line search leaves the best rates so far.
            Ok((_, x, _)) | Err((_, x, _)) => x,
        };
        if x.iter().any(|x| !x.is_finite()) {
            return Err(SolveError::NoSolution { solver: self.name() });
        }
        let within = x.iter().zip(problem.capacities());
        let down = within.map(|(x, b)| (x * unit).clamp(0.0, limit(b))).collect();
        let solution = Solution::from_down(problem, down, Optimality::Local);
        Ok(solution.repaired(problem, MAX_EXCESS * problem.max_rate()))
    }
}

impl Solver for Slsqp {
    fn name(&self) -> &'static str {
        "slsqp"
    }

    fn solve(
        &self,
        problem: &Problem,
        previous: Option<&Solution>,
    ) -> Result<Solution, SolveError> {
        let n = problem.participants();
        match previous.filter(|s| s.down.len() == n && s.down.iter().all(|d| d.is_finite())) {
            Some(previous) => self.solve_from(problem, &previous.down),
            None => self.solve_from(problem, &vec![self.start; n]),
        }
    }
}

/// A constraint that is negative where it holds.
type Constraint<'a> = Box<dyn Func<()> + 'a>;

/// The problem in the unit of the variables.
#[derive(Clone, Copy)]
struct Rates<'a> {
    problem: &'a Problem,
    unit: f64,
}

impl<'a> Rates<'a> {
    /// Negative utility.
    fn loss(self, x: &[f64], gradient: Option<&mut [f64]>) -> f64 {
        let (function, rho) = (self.problem.qoe(), self.problem.rho());
        let n = x.len() as f64;
        let qoe: Vec<f64> = x.iter().map(|x| function.value(x * self.unit)).collect();
        if let Some(gradient) = gradient {
            let (mean, deviation) = moments(&qoe);
            for ((slope, x), q) in gradient.iter_mut().zip(x).zip(&qoe) {
                let fairness =
                    if deviation > 0.0 { 2.0 * (q - mean) / (n * deviation) } else { 0.0 };
                let by_qoe = (1.0 - rho) / n - rho * fairness;
                *slope = -by_qoe * function.slope(x * self.unit) * self.unit;
            }
        }
        -Utility::new(rho).score(&qoe).utility
    }

    fn constraints(self) -> Vec<Constraint<'a>> {
        let mut all: Vec<Constraint<'a>> = match self.problem.content() {
            ContentBound::Written => (0..self.problem.participants())
                .map(|i| {
                    let bound = move |x: &[f64], gradient: Option<&mut [f64]>, (): &mut ()| {
                        self.content(i, x, gradient)
                    };
                    Box::new(bound) as Constraint<'a>
                })
                .collect(),
            ContentBound::Relaxed => vec![self.total_below(self.problem.relaxed_total())],
        };
        all.extend(self.problem.server().map(|server| self.total_below(server)));
        all
    }

    /// Content source bound of one client: its downlink minus the others' uplinks.
    fn content(self, client: usize, x: &[f64], gradient: Option<&mut [f64]>) -> f64 {
        let max = self.problem.max_uplink() / self.unit;
        let room = |j: usize| self.problem.capacities()[j] / self.unit - x[j];
        if let Some(gradient) = gradient {
            for (j, slope) in gradient.iter_mut().enumerate() {
                *slope = if j == client || room(j) < max { 1.0 } else { 0.0 };
            }
        }
        let others = (0..x.len()).filter(|&j| j != client);
        x[client] - others.map(|j| room(j).min(max)).sum::<f64>()
    }

    /// Bound of the sum of all downlinks.
    fn total_below(self, limit: f64) -> Constraint<'a> {
        let limit = limit / self.unit;
        Box::new(move |x: &[f64], gradient: Option<&mut [f64]>, (): &mut ()| {
            if let Some(gradient) = gradient {
                gradient.fill(1.0);
            }
            x.iter().sum::<f64>() - limit
        })
    }
}
