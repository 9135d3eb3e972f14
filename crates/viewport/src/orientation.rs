//! Where a head looks: a rotation, kept as a unit quaternion so that it turns without a seam.

/// A vector in the frame of the panorama: x to its middle (longitude and latitude 0), y to longitude
/// pi/2, which is on the right, z up.
pub type Vector = [f64; 3];

/// The scalar product.
pub(crate) fn dot(a: Vector, b: Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// The vector product.
pub(crate) fn cross(a: Vector, b: Vector) -> Vector {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// `a * x + b * y`.
pub(crate) fn combine(a: f64, x: Vector, b: f64, y: Vector) -> Vector {
    std::array::from_fn(|i| a * x[i] + b * y[i])
}

/// The unit vector of a longitude and a latitude in radians.
pub fn direction(longitude: f64, latitude: f64) -> Vector {
    let (sin, cos) = latitude.sin_cos();
    [cos * longitude.cos(), cos * longitude.sin(), sin]
}

/// The attitude of a head.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Orientation {
    w: f64,
    v: Vector,
}

impl Orientation {
    /// Looks at the middle of the panorama, upright.
    pub const FORWARD: Self = Self { w: 1.0, v: [0.0; 3] };

    /// From angles in degrees, of any size: yaw to the right, pitch up, roll towards the right
    /// shoulder. They are applied in this order, each about the axes that the one before left.
    pub fn from_degrees(yaw: f64, pitch: f64, roll: f64) -> Self {
        let about = |axis: usize, degrees: f64| {
            let (sin, cos) = (degrees.to_radians() / 2.0).sin_cos();
            let mut v = [0.0; 3];
            v[axis] = sin;
            Self { w: cos, v }
        };
        about(2, yaw).after(about(1, -pitch)).after(about(0, -roll))
    }

    /// The rotation `first`, and then this one: an attitude `first` that was told in the frame of
    /// this one, in the frame of the panorama.
    pub fn after(self, first: Self) -> Self {
        let turned = combine(self.w, first.v, first.w, self.v);
        Self {
            w: self.w * first.w - dot(self.v, first.v),
            v: combine(1.0, turned, 1.0, cross(self.v, first.v)),
        }
    }

    /// True if all angles that made the orientation were finite.
    pub(crate) fn is_finite(self) -> bool {
        self.w.is_finite() && self.v.iter().all(|x| x.is_finite())
    }

    /// A vector of the head's frame (x ahead, y right, z up) in that of the panorama.
    pub fn turn(self, x: Vector) -> Vector {
        let t = cross(self.v, x);
        let moved = combine(1.0, x, 2.0 * self.w, t);
        combine(1.0, moved, 2.0, cross(self.v, t))
    }

    /// The unit vector to the middle of the view.
    pub fn ahead(self) -> Vector {
        self.turn([1.0, 0.0, 0.0])
    }

    /// The unit vector to the right of the view.
    pub fn right(self) -> Vector {
        self.turn([0.0, 1.0, 0.0])
    }

    /// The unit vector to the top of the view.
    pub fn up(self) -> Vector {
        self.turn([0.0, 0.0, 1.0])
    }

    /// The angle of the rotation that leads to another attitude, 0 to pi.
    pub fn angle_to(self, other: Self) -> f64 {
        let inverse = Self { w: self.w, v: self.v.map(|x| -x) };
        let between = inverse.after(other);
        2.0 * dot(between.v, between.v).sqrt().atan2(between.w.abs())
    }

    /// The attitude at share `s` (0 to 1) of the way to another, on the shortest way and at constant
    /// speed (spherical linear interpolation; Shoemake, SIGGRAPH 1985).
    pub fn towards(self, other: Self, s: f64) -> Self {
        let cos = self.w * other.w + dot(self.v, other.v);
        // A quaternion and its negative are one rotation; the nearer of the two is the shorter way.
        let sign = if cos < 0.0 { -1.0 } else { 1.0 };
        let angle = cos.abs().min(1.0).acos();
        let sin = angle.sin();
        let (a, b) = if sin < 1e-9 {
            (1.0 - s, s)
        } else {
            (((1.0 - s) * angle).sin() / sin, (s * angle).sin() / sin)
        };
        let b = b * sign;
        let (w, v) = (a * self.w + b * other.w, combine(a, self.v, b, other.v));
        let length = (w * w + dot(v, v)).sqrt();
        Self { w: w / length, v: v.map(|x| x / length) }
    }
}
