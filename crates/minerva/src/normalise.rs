//! The normalisation f of section 5.4: from utility back to a rate, the same for all viewers of
//! a provider, so that weights have no unit and average to alpha.

use airlane_quality::{CurveError, PiecewiseLinear};
use serde::{Deserialize, Serialize};

/// Points of the stored table.
const POINTS: usize = 400;
/// Utilities under this share of the table's highest read the value there: a viewer whose
/// utility is nothing or less asks for a large weight, not for an infinite one.
const FLOOR: f64 = 0.01;

/// Which curves f averages the inverses of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// `Q_i(r)`, the QoE of a session at a constant rate: for the client-aware utility.
    #[default]
    FixedRate,
    /// Equation 2 on each video's mean curve: for the basic utility.
    Equation2,
}

/// f as a table: `f(u) = (1/alpha) sum p_i U_i^-1(u)`, in bits per second over utility.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct Normalisation {
    form: Form,
    alpha: f64,
    table: PiecewiseLinear,
    floor: f64,
}

/// Why there is no normalisation.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NormaliseError {
    /// Popularities that are no distribution.
    #[error("popularities must be finite, not negative and not all zero, one per curve")]
    Popularity,
    /// alpha is not a finite number above zero.
    #[error("alpha is {0}; expected a finite number above 0")]
    Alpha(f64),
    /// No table can be made of the curves.
    #[error(transparent)]
    Curve(#[from] CurveError),
    /// A table whose values do not rise from above zero.
    #[error("the table of f must rise and stay above zero")]
    Table,
}

impl Normalisation {
    /// f over `curves` (utility over rate in bits per second), each with its popularity; the
    /// popularities need not sum to one.
    ///
    /// # Errors
    /// If there is no curve, or `alpha` or a popularity is out of range.
    pub fn new<'a>(
        form: Form,
        alpha: f64,
        curves: impl IntoIterator<Item = (&'a PiecewiseLinear, f64)>,
    ) -> Result<Self, NormaliseError> {
        let curves: Vec<_> = curves.into_iter().collect();
        let total: f64 = curves.iter().map(|c| c.1).sum();
        let valid = curves.iter().all(|c| c.1 >= 0.0) && total.is_finite();
        if !(valid && (total > 0.0 || curves.is_empty())) {
            return Err(NormaliseError::Popularity);
        }
        let top = curves.iter().map(|c| c.0.last().1).fold(0.0, f64::max);
        let floor = FLOOR * top;
        let points: Vec<(f64, f64)> = (0..if curves.is_empty() { 0 } else { POINTS })
            .map(|i| {
                let u = floor + (top - floor) * i as f64 / (POINTS - 1) as f64;
                let mean: f64 = curves.iter().map(|(c, p)| p * c.inverse(u).max(0.0)).sum();
                (u, mean / total)
            })
            .collect();
        Self::of_table(form, alpha, &points)
    }

    /// f over `curves` that are equally popular.
    ///
    /// # Errors
    /// As [`Normalisation::new`].
    pub fn uniform<'a>(
        form: Form,
        alpha: f64,
        curves: impl IntoIterator<Item = &'a PiecewiseLinear>,
    ) -> Result<Self, NormaliseError> {
        Self::new(form, alpha, curves.into_iter().map(|c| (c, 1.0)))
    }

    fn of_table(form: Form, alpha: f64, points: &[(f64, f64)]) -> Result<Self, NormaliseError> {
        if !(alpha.is_finite() && alpha > 0.0) {
            return Err(NormaliseError::Alpha(alpha));
        }
        let table = PiecewiseLinear::from_points(points)?;
        let (floor, least) = table.first();
        if !(floor > 0.0 && least > 0.0) {
            return Err(NormaliseError::Table);
        }
        Ok(Self { form, alpha, table, floor })
    }

    /// The same f with another alpha.
    ///
    /// # Errors
    /// If `alpha` is not a finite number above zero.
    pub fn with_alpha(&self, alpha: f64) -> Result<Self, NormaliseError> {
        if !(alpha.is_finite() && alpha > 0.0) {
            return Err(NormaliseError::Alpha(alpha));
        }
        Ok(Self { alpha, ..self.clone() })
    }

    /// f(u), bits per second, above zero. Utilities of nothing or less read f's minimum; beyond
    /// the table f goes on in proportion.
    pub fn eval(&self, utility: f64) -> f64 {
        self.table.eval(utility.max(self.floor)) / self.alpha
    }

    /// Which curves it was made of.
    pub fn form(&self) -> Form {
        self.form
    }

    /// Connections that the average flow counts as.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// The table: utility and the mean rate that reaches it, alpha not divided out.
    pub fn points(&self) -> impl ExactSizeIterator<Item = (f64, f64)> + '_ {
        self.table.points()
    }
}

/// The table as it is stored.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    form: Form,
    alpha: f64,
    /// Utility, bits per second.
    points: Vec<(f64, f64)>,
}

impl TryFrom<Stored> for Normalisation {
    type Error = NormaliseError;
    fn try_from(s: Stored) -> Result<Self, NormaliseError> {
        Self::of_table(s.form, s.alpha, &s.points)
    }
}

impl From<Normalisation> for Stored {
    fn from(n: Normalisation) -> Self {
        Self { form: n.form, alpha: n.alpha, points: n.points().collect() }
    }
}
