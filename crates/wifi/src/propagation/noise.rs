//! Noise of a receiver.

use crate::vector::Width;

/// Boltzmann's constant, J/K.
const BOLTZMANN: f64 = 1.380_649e-23;
/// The temperature that noise figures are given for, K.
const KELVIN: f64 = 290.0;

/// The noise figure of receivers if nothing else is known, dB: what ns-3 takes, and TGax's
/// scenarios (11-14/0980).
pub const NOISE_FIGURE_DB: f64 = 7.0;

/// Sensitivity of a receiver over 20 MHz, dBm: noise at this figure, and the 2 dB that its most robust rate
/// takes. The standard only asks for -82.
const SENSITIVITY_DBM: f64 = -92.0;

/// Power below which a receiver makes out nothing of a PPDU in a channel of this width, dBm: -92 over
/// 20 MHz, and as much more over wider ones as these have more noise.
pub fn sensitivity_dbm(width: Width) -> f64 {
    SENSITIVITY_DBM + 10.0 * (f64::from(width.mhz()) / 20.0).log10()
}

/// Thermal noise in a channel of this width, dBm: -100.98 in 20 MHz.
pub fn thermal_noise_dbm(width: Width) -> f64 {
    let watts = BOLTZMANN * KELVIN * f64::from(width.mhz()) * 1e6;
    10.0 * (watts * 1e3).log10()
}

/// Noise of a receiver in a channel of this width, dBm.
pub fn noise_dbm(width: Width, figure_db: f64) -> f64 {
    thermal_noise_dbm(width) + figure_db
}
