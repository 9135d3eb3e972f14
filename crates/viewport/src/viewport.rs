//! Which tiles a viewport shows, and how much of it each fills: exactly, on the sphere.
//!
//! A viewport is what a flat display of a given field of view shows (rectilinear projection), so
//! four planes through the eye bound it. On a meridian such a plane leaves all latitudes above or
//! below `tan(latitude) = -a(longitude) / n_z`, where `a = n_x cos + n_y sin` for the plane's unit
//! normal `n`; and the integral of `sin(latitude)` over longitude along it has the closed form
//! `-sign(n_z) * asin(k sin(longitude - alpha))` with `k = hypot(n_x, n_y)`, `alpha = atan2(n_y,
//! n_x)`. The longitudes are cut wherever the planes that bound the viewport or the row that a bound
//! lies in can change; in between the solid angle in each tile is a sum of these closed forms.
//! Neither poles nor the seam are special.

use std::f64::consts::{PI, TAU};

use crate::orientation::{Orientation, Vector, combine, cross, dot};
use crate::tiling::Tiling;

/// A field of view that no flat display has.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("a field of view is above 0 and below 180 degrees, not {horizontal}x{vertical}")]
pub struct FieldOfViewError {
    /// Degrees across that were asked for.
    pub horizontal: f64,
    /// Degrees from top to bottom that were asked for.
    pub vertical: f64,
}

/// The angles between opposite edges of a viewport, through its middle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FieldOfView {
    /// Halves, in radians.
    horizontal: f64,
    vertical: f64,
}

impl FieldOfView {
    /// From whole angles in degrees.
    ///
    /// # Errors
    /// If an angle is not above 0 and below 180.
    pub fn from_degrees(horizontal: f64, vertical: f64) -> Result<Self, FieldOfViewError> {
        let is_flat = |x: f64| x > 0.0 && x < 180.0;
        if !is_flat(horizontal) || !is_flat(vertical) {
            return Err(FieldOfViewError { horizontal, vertical });
        }
        let half = |x: f64| x.to_radians() / 2.0;
        Ok(Self { horizontal: half(horizontal), vertical: half(vertical) })
    }

    /// Solid angle of the viewport in steradians.
    pub fn solid_angle(self) -> f64 {
        4.0 * (self.horizontal.sin() * self.vertical.sin()).asin()
    }
}

/// Region of a sphere that an eye sees at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Viewport {
    /// Direction of the eye.
    pub orientation: Orientation,
    /// Angles of the view, across and from top to bottom.
    pub field: FieldOfView,
}

/// A plane whose normal rises by less is vertical; small, and the tangents stay finite.
const VERTICAL: f64 = 1e-200;

/// One of the planes that bound a viewport: what it shows has `normal . x >= 0`.
#[derive(Clone, Copy, Debug)]
struct Plane {
    normal: Vector,
    /// `hypot(n_x, n_y)` and `atan2(n_y, n_x)`.
    k: f64,
    alpha: f64,
}

impl Plane {
    fn new(normal: Vector) -> Self {
        let [x, y, _] = normal;
        Self { normal, k: x.hypot(y).min(1.0), alpha: y.atan2(x) }
    }

    /// True if the plane bounds latitudes from below. A vertical plane, whose bound is one pole
    /// or the other, may count as either.
    fn is_lower(self) -> bool {
        self.normal[2] > -VERTICAL
    }

    /// The tangent of the latitude at which it cuts a meridian.
    fn tangent(self, longitude: f64) -> f64 {
        let slope = -self.k * (longitude - self.alpha).cos();
        let n_z = self.normal[2];
        slope / if n_z.abs() < VERTICAL { VERTICAL } else { n_z }
    }

    /// The integral of `sin(latitude)` along it between two longitudes.
    fn integral(self, from: f64, to: f64) -> f64 {
        // The arcsine as an arctangent, which keeps its digits where the plane is nearly vertical.
        let antiderivative = |longitude: f64| {
            let (sin, cos) = (longitude - self.alpha).sin_cos();
            (self.k * sin).atan2(self.normal[2].hypot(self.k * cos))
        };
        let value = antiderivative(to) - antiderivative(from);
        if self.is_lower() { -value } else { value }
    }
}

impl Viewport {
    fn normals(&self) -> [Vector; 4] {
        let (ahead, right, up) =
            (self.orientation.ahead(), self.orientation.right(), self.orientation.up());
        let side = |half: f64, axis: Vector, sign: f64| {
            combine(half.sin(), ahead, sign * half.cos(), axis)
        };
        let FieldOfView { horizontal, vertical } = self.field;
        [
            side(horizontal, right, 1.0),
            side(horizontal, right, -1.0),
            side(vertical, up, 1.0),
            side(vertical, up, -1.0),
        ]
    }

    /// True if the viewport shows the direction of a vector.
    pub fn shows(&self, x: Vector) -> bool {
        self.normals().iter().all(|&normal| dot(normal, x) >= 0.0)
    }

    /// The solid angle of the viewport in each tile, in steradians, by number of the tile. They sum
    /// to that of the field of view; a tile that the viewport does not show has 0.
    pub fn solid_angles(&self, tiling: Tiling) -> Vec<f64> {
        let planes = self.normals().map(Plane::new);
        let rows = tiling.rows();
        let edges: Vec<f64> = (0..=rows).map(|row| tiling.top_edge(row)).collect();
        let sines: Vec<f64> = edges.iter().map(|edge| edge.sin()).collect();
        // Of the edges between rows: the poles have none.
        let tangents: Vec<f64> = edges[1..rows].iter().map(|edge| edge.tan()).collect();
        let row_of = |tangent: f64| tangents.partition_point(|&edge| edge > tangent);
        let mut angles = vec![0.0; tiling.tiles()];
        let cuts = cuts(&planes, &tangents, tiling);
        for cut in cuts.windows(2) {
            let (from, to) = (cut[0], cut[1]);
            let (middle, width) = ((from + to) / 2.0, to - from);
            if width < 1e-15 {
                continue;
            }
            let mut lower: Option<(f64, Plane)> = None;
            let mut upper: Option<(f64, Plane)> = None;
            for plane in planes {
                let tangent = plane.tangent(middle);
                if plane.is_lower() {
                    if lower.is_none_or(|(t, _)| tangent > t) {
                        lower = Some((tangent, plane));
                    }
                } else if upper.is_none_or(|(t, _)| tangent < t) {
                    upper = Some((tangent, plane));
                }
            }
            if let (Some((low, _)), Some((high, _))) = (lower, upper)
                && low >= high
            {
                continue;
            }
            let integral =
                |bound: Option<(f64, Plane)>| bound.map(|(t, p)| (row_of(t), p.integral(from, to)));
            let (bottom, top) = (integral(lower), integral(upper));
            let column = (((middle + PI) / TAU * tiling.columns() as f64) as usize)
                .min(tiling.columns() - 1);
            let first = top.map_or(0, |(row, _)| row);
            let last = bottom.map_or(rows - 1, |(row, _)| row);
            for row in first..=last {
                let above = match top {
                    Some((cut_row, value)) if cut_row == row => value,
                    _ => sines[row] * width,
                };
                let below = match bottom {
                    Some((cut_row, value)) if cut_row == row => value,
                    _ => sines[row + 1] * width,
                };
                // Rounding can leave a sliver below 0.
                angles[row * tiling.columns() + column] += (above - below).max(0.0);
            }
        }
        angles
    }

    /// Each tile's share of the viewport's solid angle; they sum to 1.
    pub fn shares(&self, tiling: Tiling) -> Vec<f64> {
        let mut angles = self.solid_angles(tiling);
        let total: f64 = angles.iter().sum();
        angles.iter_mut().for_each(|angle| *angle /= total);
        angles
    }
}

/// The longitudes, rising from -pi to pi, between which neither the planes that bound the viewport
/// nor the rows that the bounds lie in change.
fn cuts(planes: &[Plane; 4], tangents: &[f64], tiling: Tiling) -> Vec<f64> {
    let mut cuts: Vec<f64> =
        (0..=tiling.columns()).map(|column| tiling.left_edge(column)).collect();
    let mut add = |longitude: f64| {
        // To -pi..pi, where an attitude that is not finite would have no place.
        let inside = (longitude + PI).rem_euclid(TAU) - PI;
        if inside.is_finite() {
            cuts.push(inside);
        }
    };
    for (number, plane) in planes.iter().enumerate() {
        // A vertical plane's bound jumps from pole to pole here.
        add(plane.alpha + PI / 2.0);
        add(plane.alpha - PI / 2.0);
        for tangent in tangents {
            let cos = -plane.normal[2] * tangent / plane.k;
            if cos.abs() <= 1.0 {
                add(plane.alpha + cos.acos());
                add(plane.alpha - cos.acos());
            }
        }
        for other in &planes[..number] {
            let [x, y, _] = cross(plane.normal, other.normal);
            add(y.atan2(x));
            add((-y).atan2(-x));
        }
    }
    cuts.sort_by(f64::total_cmp);
    cuts
}
