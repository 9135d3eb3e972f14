//! Charts that are not over time: dots, curves with marks, cumulative distributions.

use serde::{Deserialize, Serialize};

/// An axis.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Axis {
    /// Quantity that the axis shows: `mean rate`.
    pub title: String,
    /// In which unit: `Mbit/s`; empty for none.
    pub unit: String,
    /// The range to show at least, if the data alone would mislead: `[0.0, 100.0]` for VMAF.
    pub range: Option<[f64; 2]>,
}

impl Axis {
    /// An axis whose range follows the data.
    pub fn new(title: impl Into<String>, unit: impl Into<String>) -> Self {
        Self { title: title.into(), unit: unit.into(), range: None }
    }

    /// Shows at least this range.
    pub fn range(mut self, low: f64, high: f64) -> Self {
        self.range = Some([low, high]);
        self
    }
}

/// A row of dots per scheme on one scale: who got what, at a glance.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DotChart {
    /// Heading.
    pub title: String,
    /// A sentence on how to read it.
    pub note: String,
    /// The scale.
    pub x: Axis,
    /// The rows, one per scheme.
    pub rows: Vec<DotRow>,
}

/// A row of a [`DotChart`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DotRow {
    /// The scheme's id.
    pub scheme: String,
    /// The dots, one per actor.
    pub dots: Vec<Dot>,
}

/// A dot of a [`DotRow`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dot {
    /// The actor's name, as in [`crate::model::Actor::name`]: the same name has the same colour
    /// all over the section.
    pub actor: String,
    /// Position of the dot, in the axis's unit.
    pub value: f64,
    /// Its 95 % interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci95: Option<[f64; 2]>,
}

/// Charts with common scales, side by side: one per actor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct XyGroup {
    /// Heading.
    pub title: String,
    /// A sentence on how to read it.
    pub note: String,
    /// The horizontal axis of all charts.
    pub x: Axis,
    /// The vertical axis of all charts.
    pub y: Axis,
    /// The charts.
    pub charts: Vec<XyChart>,
}

/// A chart of one quantity against another.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct XyChart {
    /// Heading: the actor's name. If an actor of that name exists, the line takes its colour.
    pub title: String,
    /// Description of the actor: the video and its character.
    pub subtitle: String,
    /// The lines; usually one.
    pub lines: Vec<XyLine>,
    /// A mark per scheme.
    pub marks: Vec<Mark>,
}

/// A line of an [`XyChart`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct XyLine {
    /// Name, shown where there are several.
    pub name: String,
    /// Horizontal positions of the points, rising, in the unit of the horizontal axis.
    pub x: Vec<f64>,
    /// Vertical positions, in the unit of the vertical axis; as many as `x`.
    pub y: Vec<f64>,
}

/// A mark in an [`XyChart`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// The scheme's id.
    pub scheme: String,
    /// Horizontal position, in the unit of the horizontal axis.
    pub x: f64,
    /// Vertical position, in the unit of the vertical axis; `None` puts the mark on the first line.
    #[serde(default)]
    pub y: Option<f64>,
}

/// Cumulative distributions, one line per scheme.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cdf {
    /// Heading.
    pub title: String,
    /// A sentence on how to read it.
    pub note: String,
    /// The quantity.
    pub x: Axis,
    /// The lines.
    pub lines: Vec<CdfLine>,
}

/// A line of a [`Cdf`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CdfLine {
    /// The scheme's id.
    pub scheme: String,
    /// The samples, in any order; the page sorts them.
    #[serde(with = "crate::model::run::gaps")]
    pub samples: Vec<f64>,
}

impl XyChart {
    /// The first line's value at `x`, by straight lines between its points and level beyond its
    /// ends; `None` without points.
    pub fn at(&self, x: f64) -> Option<f64> {
        let line = self.lines.first()?;
        let points: Vec<(f64, f64)> = line.x.iter().copied().zip(line.y.iter().copied()).collect();
        let after = points.iter().position(|p| p.0 >= x);
        match after {
            None => points.last().map(|p| p.1),
            Some(0) => points.first().map(|p| p.1),
            Some(i) => {
                let ((x0, y0), (x1, y1)) = (points[i - 1], points[i]);
                Some(if x1 > x0 { y0 + (y1 - y0) * (x - x0) / (x1 - x0) } else { y1 })
            }
        }
    }
}
