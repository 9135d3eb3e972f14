//! QoE of one client as a function of its downlink rate (Table I).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::table::QoeTable;

/// Family of QoE functions. `M` is the maximum rate of the application, kbit/s.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Qoe {
    /// `d / M`.
    #[default]
    #[serde(rename = "lin")]
    Linear,
    /// `ln(d + 1) / ln(M + 1)`, with rates in kbit/s.
    #[serde(rename = "log")]
    Logarithmic,
    /// `alpha d^2 + (1/M - M alpha) d` with alpha in `[-1/M^2, 0)`.
    #[serde(rename = "sqrc")]
    ConcaveSquare {
        /// Coefficient per (kbit/s)^2; `-1/M^2` if absent.
        #[serde(default)]
        alpha: Option<f64>,
    },
    /// The same polynomial with alpha in `(0, 1/M^2]`. Table I allows slightly more, where QoE falls
    /// below 0 at low rates.
    #[serde(rename = "sqrcv")]
    ConvexSquare {
        /// Coefficient per (kbit/s)^2; `1/M^2` if absent.
        #[serde(default)]
        alpha: Option<f64>,
    },
    /// Measured points.
    Table(QoeTable),
}

/// Name that no QoE function has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no QoE function {name}; expected lin, log, sqrc or sqrcv")]
pub struct UnknownQoe {
    /// Name found.
    pub name: String,
}

impl Qoe {
    /// Name in configuration files, as in Table I.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Linear => "lin",
            Self::Logarithmic => "log",
            Self::ConcaveSquare { .. } => "sqrc",
            Self::ConvexSquare { .. } => "sqrcv",
            Self::Table(_) => "table",
        }
    }
}

impl FromStr for Qoe {
    type Err = UnknownQoe;

    fn from_str(name: &str) -> Result<Self, UnknownQoe> {
        match name {
            "lin" => Ok(Self::Linear),
            "log" => Ok(Self::Logarithmic),
            "sqrc" => Ok(Self::ConcaveSquare { alpha: None }),
            "sqrcv" => Ok(Self::ConvexSquare { alpha: None }),
            _ => Err(UnknownQoe { name: name.to_owned() }),
        }
    }
}

impl fmt::Display for Qoe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Reason why a QoE function does not suit a maximum rate.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum QoeError {
    /// A coefficient outside its interval.
    #[error("alpha is {alpha}; with a maximum rate of {max_rate} kbit/s it lies in {interval}")]
    Alpha {
        /// Coefficient found, per (kbit/s)^2.
        alpha: f64,
        /// Maximum rate, kbit/s.
        max_rate: f64,
        /// Interval, for people.
        interval: &'static str,
    },
    /// A table that reaches a QoE of 1 above the maximum rate.
    #[error("the QoE table ends at {rate} kbit/s, above the maximum rate of {max_rate} kbit/s")]
    Table {
        /// Last rate of the table, kbit/s.
        rate: f64,
        /// Maximum rate, kbit/s.
        max_rate: f64,
    },
}

/// QoE function for one maximum rate. Rates are in kbit/s, QoE is in 0 to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct QoeFunction {
    max_rate: f64,
    shape: Shape,
}

#[derive(Clone, Debug, PartialEq)]
enum Shape {
    Linear,
    /// With `ln(M + 1)`.
    Logarithmic(f64),
    /// With `alpha M^2`.
    Square(f64),
    Table(QoeTable),
}

impl QoeFunction {
    /// Function of a family for a maximum rate (kbit/s, finite and above 0).
    ///
    /// # Errors
    /// If a coefficient or a table does not suit the maximum rate.
    pub fn new(qoe: &Qoe, max_rate: f64) -> Result<Self, QoeError> {
        let square = |alpha: Option<f64>, sign: f64, interval| {
            let scaled = alpha.map_or(sign, |a| a * max_rate * max_rate);
            // Rounding of the limit itself is accepted.
            let is_within = scaled * sign > 0.0 && scaled.abs() <= 1.0 + 1e-12;
            let alpha = alpha.unwrap_or(f64::NAN);
            let error = QoeError::Alpha { alpha, max_rate, interval };
            if is_within { Ok(Shape::Square(scaled.clamp(-1.0, 1.0))) } else { Err(error) }
        };
        let shape = match qoe {
            Qoe::Linear => Shape::Linear,
            Qoe::Logarithmic => Shape::Logarithmic(max_rate.ln_1p()),
            Qoe::ConcaveSquare { alpha } => square(*alpha, -1.0, "[-1/M^2, 0)")?,
            Qoe::ConvexSquare { alpha } => square(*alpha, 1.0, "(0, 1/M^2]")?,
            Qoe::Table(table) => {
                let rate = table.points()[table.points().len() - 1].0;
                if rate > max_rate {
                    return Err(QoeError::Table { rate, max_rate });
                }
                Shape::Table(table.clone())
            }
        };
        Ok(Self { max_rate, shape })
    }

    /// Smallest rate with a QoE of 1, kbit/s: M, or less for a table.
    pub fn saturation(&self) -> f64 {
        match &self.shape {
            Shape::Table(table) => table.saturation(),
            _ => self.max_rate,
        }
    }

    /// QoE at a rate: 1 above M.
    pub fn value(&self, rate: f64) -> f64 {
        let x = rate / self.max_rate;
        if x >= 1.0 {
            return 1.0;
        }
        match &self.shape {
            Shape::Linear => x,
            Shape::Logarithmic(scale) => rate.ln_1p() / scale,
            Shape::Square(a) => (a * x + (1.0 - a)) * x,
            Shape::Table(table) => table.value(rate),
        }
    }

    /// Derivative of QoE, per kbit/s: from the left at M, from the right elsewhere, 0 above M.
    pub fn slope(&self, rate: f64) -> f64 {
        let x = rate / self.max_rate;
        if x > 1.0 {
            return 0.0;
        }
        match &self.shape {
            Shape::Linear => 1.0 / self.max_rate,
            Shape::Logarithmic(scale) => 1.0 / ((rate + 1.0) * scale),
            Shape::Square(a) => (2.0 * a * x + (1.0 - a)) / self.max_rate,
            Shape::Table(table) => table.slope(rate),
        }
    }

    /// Smallest rate with a QoE, kbit/s; 0 if every rate has more.
    pub fn rate(&self, qoe: f64) -> f64 {
        let qoe = qoe.clamp(0.0, 1.0);
        match &self.shape {
            Shape::Linear => qoe * self.max_rate,
            Shape::Logarithmic(scale) => (qoe * scale).exp_m1(),
            Shape::Square(a) => {
                let root = ((1.0 - a) * (1.0 - a) + 4.0 * a * qoe).max(0.0).sqrt();
                if qoe == 0.0 { 0.0 } else { 2.0 * qoe / ((1.0 - a) + root) * self.max_rate }
            }
            Shape::Table(table) => table.rate(qoe),
        }
    }

    /// True if QoE is concave in the rate up to M, so that the problem is convex.
    pub fn is_concave(&self) -> bool {
        match &self.shape {
            Shape::Linear | Shape::Logarithmic(_) => true,
            Shape::Square(a) => *a <= 0.0,
            Shape::Table(table) => table.is_concave(),
        }
    }

    /// True if QoE is the rate over M.
    pub fn is_linear(&self) -> bool {
        self.shape == Shape::Linear
    }
}
