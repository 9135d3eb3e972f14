//! Loss with distance.

use serde::Serialize;
use std::f64::consts::PI;

/// m/s.
pub(super) const LIGHT: f64 = 299_792_458.0;

/// Nearer than this, nothing is lost less, metres: the models hold in the far field only.
const NEAREST_M: f64 = 1.0;

/// Log-distance loss with two slopes: free space (Friis) up to 1 m, one exponent up to a breakpoint,
/// another beyond, and what walls take.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PathLoss {
    /// At 1 m, dB.
    reference_db: f64,
    /// Exponent up to the breakpoint.
    near_exponent: f64,
    /// Metres.
    breakpoint_m: f64,
    /// Beyond it.
    far_exponent: f64,
    /// Whatever the distance, dB.
    extra_db: f64,
}

impl PathLoss {
    /// A loss with one exponent at all distances: 2 is free space, 3 what ns-3 takes.
    pub fn log_distance(frequency_hz: f64, exponent: f64) -> Self {
        Self::two_slopes(frequency_hz, exponent, f64::INFINITY, exponent)
    }

    /// A loss with one exponent up to a breakpoint, and another from there on.
    pub fn two_slopes(
        frequency_hz: f64,
        near_exponent: f64,
        breakpoint_m: f64,
        far_exponent: f64,
    ) -> Self {
        Self {
            reference_db: friis_db(frequency_hz, NEAREST_M),
            near_exponent,
            breakpoint_m: breakpoint_m.max(NEAREST_M),
            far_exponent,
            extra_db: 0.0,
        }
    }

    /// TGn's model of this letter (11-03/940r4, table I): free space up to 5 m (A to C), 10 m (D), 20 m
    /// (E) or 30 m (F), exponent 3.5 beyond. `None` of other letters.
    pub fn tgn(letter: char, frequency_hz: f64) -> Option<Self> {
        let breakpoint_m = match letter.to_ascii_uppercase() {
            'A'..='C' => 5.0,
            'D' => 10.0,
            'E' => 20.0,
            'F' => 30.0,
            _ => return None,
        };
        Some(Self::two_slopes(frequency_hz, 2.0, breakpoint_m, 3.5))
    }

    /// TGax's residential scenario (11-14/0980, scenario 1): breakpoint at 5 m, 5 dB a wall and
    /// 18.3 n^((n + 2) / (n + 1) - 0.46) dB for n floors.
    pub fn residential(frequency_hz: f64, walls: u32, floors: u32) -> Self {
        let n = f64::from(floors);
        let floors_db = 18.3 * n.powf((n + 2.0) / (n + 1.0) - 0.46);
        Self::two_slopes(frequency_hz, 2.0, 5.0, 3.5).with_db(5.0 * f64::from(walls) + floors_db)
    }

    /// TGax's enterprise scenario (11-14/0980, scenario 2): breakpoint at 10 m and 7 dB a wall.
    pub fn enterprise(frequency_hz: f64, walls: u32) -> Self {
        Self::two_slopes(frequency_hz, 2.0, 10.0, 3.5).with_db(7.0 * f64::from(walls))
    }

    /// With so many dB more at all distances: walls, a body, a bad antenna.
    #[must_use]
    pub fn with_db(self, db: f64) -> Self {
        Self { extra_db: self.extra_db + db, ..self }
    }

    /// The loss over this distance in metres, dB.
    pub fn db(&self, distance_m: f64) -> f64 {
        let distance = distance_m.max(NEAREST_M);
        let near = distance.min(self.breakpoint_m);
        let mut db = self.reference_db + self.extra_db + 10.0 * self.near_exponent * near.log10();
        if distance > self.breakpoint_m {
            db += 10.0 * self.far_exponent * (distance / self.breakpoint_m).log10();
        }
        db
    }
}

/// Loss of free space, dB (Friis).
fn friis_db(frequency_hz: f64, distance_m: f64) -> f64 {
    20.0 * (4.0 * PI * distance_m * frequency_hz / LIGHT).log10()
}
