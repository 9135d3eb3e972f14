//! The normalisation f of section 5.4: from utility back to a rate, the same for all viewers of
//! a provider, so that weights have no unit and average to alpha.

use std::borrow::Cow;

use airlane_abr::TitleModel;
use airlane_quality::{CurveError, PiecewiseLinear};
use serde::{Deserialize, Serialize};

use crate::exponential::Exponential;
use crate::proportional::{LogSlope, MIN_Q};

/// Points of the stored table.
const POINTS: usize = 400;
/// Utilities under this share of the table's highest read the value there: a viewer whose
/// utility is nothing or less asks for a large weight, not for an infinite one.
const FLOOR: f64 = 0.01;

/// Utility curves whose inverses f averages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// `Q_i(r)`, the QoE of a session at a constant rate: for the client-aware utility.
    #[default]
    FixedRate,
    /// Equation 2 on each video's mean curve: for the basic utility.
    Equation2,
    /// `Q_i(r)`, each replaced by its fit `A - B exp(-C r)` before it is inverted (appendix C).
    FixedRateFitted,
    /// None: `f(u) = k u`, with k chosen by least squares on the table of [`Form::FixedRate`]. Weights
    /// have their size, and no more is left of section 5.4; to show what it is for.
    Linear,
    /// `Z_i` of appendix D at `Q_i(r)`: for [`Fairness::Proportional`](crate::Fairness). Made by
    /// [`Normalisation::proportional`].
    Proportional,
}

/// f as a table: `f(u) = (1/alpha) sum p_i U_i^-1(u)`, in bits per second over utility.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct Normalisation {
    form: Form,
    alpha: f64,
    constant: Option<f64>,
    table: PiecewiseLinear,
    floor: f64,
}

/// Error of a normalisation that cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NormaliseError {
    /// Popularities that are no distribution.
    #[error("popularities must be finite, not negative and not all zero, one per curve")]
    Popularity,
    /// alpha is not a finite number above zero.
    #[error("alpha is {0}; expected a finite number above 0")]
    Alpha(f64),
    /// A form that is made, or stored, another way.
    #[error("an f of proportional fairness, and no other, has a constant")]
    Form,
    /// No table can be made of the curves.
    #[error(transparent)]
    Curve(#[from] CurveError),
    /// A table whose values do not rise from above zero.
    #[error("the table of f must rise and stay above zero")]
    Table,
}

impl Normalisation {
    /// f over `curves` (utility over rate in bits per second), each with its popularity; the
    /// popularities need not sum to one, and a curve of none has no influence.
    ///
    /// # Errors
    /// If there is no curve, or `alpha` or a popularity is out of range.
    pub fn new<'a>(
        form: Form,
        alpha: f64,
        curves: impl IntoIterator<Item = (&'a PiecewiseLinear, f64)>,
    ) -> Result<Self, NormaliseError> {
        let mut curves: Vec<(Cow<'_, PiecewiseLinear>, f64)> = curves
            .into_iter()
            .map(|(c, p)| {
                Ok((if form == Form::FixedRateFitted { fit(c)? } else { Cow::Borrowed(c) }, p))
            })
            .collect::<Result<_, CurveError>>()?;
        let total = total(curves.iter().map(|c| c.1))?;
        // What nobody watches has no say in how far the table goes either.
        curves.retain(|c| c.1 > 0.0);
        let top = curves.iter().map(|c| c.0.last().1).fold(0.0, f64::max);
        let floor = FLOOR * top;
        let mut points: Vec<(f64, f64)> = (0..if curves.is_empty() { 0 } else { POINTS })
            .map(|i| {
                let u = floor + (top - floor) * i as f64 / (POINTS - 1) as f64;
                let mean: f64 = curves.iter().map(|(c, p)| p * c.inverse(u).max(0.0)).sum();
                (u, mean / total)
            })
            .collect();
        if form == Form::Linear && !points.is_empty() {
            let (uf, uu) =
                points.iter().fold((0.0, 0.0), |s, p| (s.0 + p.0 * p.1, s.1 + p.0 * p.0));
            points = vec![(floor, floor * uf / uu), (top, top * uf / uu)];
        }
        Self::of_table(form, alpha, None, PiecewiseLinear::from_points(&points)?)
    }

    /// f over the Z of appendix D, of titles with their `Q_i(r)` and popularities.
    ///
    /// Its C makes Z a hundredth of C where a title's QoE is a hundredth of its best. Rates that a
    /// title has no use for count as the highest that it has.
    ///
    /// # Errors
    /// As [`Normalisation::new`].
    pub fn proportional<'a>(
        alpha: f64,
        titles: impl IntoIterator<Item = (&'a TitleModel, &'a PiecewiseLinear, f64)>,
    ) -> Result<Self, NormaliseError> {
        let mut titles: Vec<(LogSlope, &PiecewiseLinear, f64)> = titles
            .into_iter()
            .map(|(s, q, p)| Ok((LogSlope::of(s)?, q, p)))
            .collect::<Result<_, CurveError>>()?;
        let total = total(titles.iter().map(|t| t.2))?;
        titles.retain(|t| t.2 > 0.0);
        let steepest = titles.iter().map(|t| t.0.greatest()).fold(0.0, f64::max);
        let flattest = titles.iter().map(|t| t.0.at(t.1.last().1)).fold(steepest, f64::min);
        let constant = steepest / (1.0 - MIN_Q);
        // Even steps of the logarithm: flat and steep places are equally far from a point.
        let points: Vec<(f64, f64)> = (0..if titles.is_empty() { 0 } else { POINTS })
            .map(|i| {
                let slope = steepest * (flattest / steepest).powf(i as f64 / (POINTS - 1) as f64);
                let rate = |(s, q, p): &(LogSlope, &PiecewiseLinear, f64)| {
                    p * q.inverse(s.inverse(slope)).clamp(0.0, q.last().0)
                };
                (constant - slope, titles.iter().map(rate).sum::<f64>() / total)
            })
            .collect();
        let table = PiecewiseLinear::from_points(&points)?;
        Self::of_table(Form::Proportional, alpha, Some(constant), table)
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

    fn of_table(
        form: Form,
        alpha: f64,
        constant: Option<f64>,
        table: PiecewiseLinear,
    ) -> Result<Self, NormaliseError> {
        if (form == Form::Proportional) != constant.is_some_and(f64::is_finite) {
            return Err(NormaliseError::Form);
        }
        if !(alpha.is_finite() && alpha > 0.0) {
            return Err(NormaliseError::Alpha(alpha));
        }
        let (floor, least) = table.first();
        if !(floor > 0.0 && least > 0.0) {
            return Err(NormaliseError::Table);
        }
        Ok(Self { form, alpha, constant, table, floor })
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

    /// Form of the curves of which the normalisation was made.
    pub fn form(&self) -> Form {
        self.form
    }

    /// C of appendix D, per Mbit/s; `None` unless f belongs to proportional fairness.
    pub fn constant(&self) -> Option<f64> {
        self.constant
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

/// The sum of popularities.
fn total(popularities: impl Iterator<Item = f64>) -> Result<f64, NormaliseError> {
    let all: Vec<f64> = popularities.collect();
    let total: f64 = all.iter().sum();
    let valid = all.iter().all(|p| *p >= 0.0) && total.is_finite();
    let some = total > 0.0 || all.is_empty();
    (valid && some).then_some(total).ok_or(NormaliseError::Popularity)
}

/// The points of `curve` on its fit.
fn fit(curve: &PiecewiseLinear) -> Result<Cow<'_, PiecewiseLinear>, CurveError> {
    let mut points: Vec<(f64, f64)> = curve.points().collect();
    if let Some(fit) = Exponential::fit(&points) {
        points.iter_mut().for_each(|p| p.1 = fit.eval(p.0));
    }
    PiecewiseLinear::from_points(&points).map(Cow::Owned)
}

/// The table as it is stored.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    form: Form,
    alpha: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    constant: Option<f64>,
    /// Utility, bits per second.
    points: Vec<(f64, f64)>,
}

impl TryFrom<Stored> for Normalisation {
    type Error = NormaliseError;
    fn try_from(s: Stored) -> Result<Self, NormaliseError> {
        // As it was stored, bit for bit.
        let table = PiecewiseLinear::from_rising(&s.points)?;
        Self::of_table(s.form, s.alpha, s.constant, table)
    }
}

impl From<Normalisation> for Stored {
    fn from(n: Normalisation) -> Self {
        Self { form: n.form, alpha: n.alpha, constant: n.constant, points: n.points().collect() }
    }
}
