//! From a transmitter's power to an SNR: loss with distance, shadowing, fading, noise.

mod fading;
mod loss;
mod noise;
mod shadowing;
mod trace;

use airlane_base::Time;

use crate::position::Position;
use crate::vector::Width;

pub use fading::{Fading, doppler_hz};
pub use loss::PathLoss;
pub use noise::{NOISE_FIGURE_DB, noise_dbm, sensitivity_dbm, thermal_noise_dbm};
pub use shadowing::Shadowing;
pub use trace::{SnrTrace, TraceError};

/// Propagation of a signal from one place to another. All of it is the same in both directions.
#[derive(Clone, Debug)]
pub struct Propagation {
    /// Loss with distance.
    pub loss: PathLoss,
    /// Shadowing by place: one field for all links of a scene.
    pub shadowing: Option<Shadowing>,
    /// Multipath fading by time: each link's own.
    pub fading: Option<Fading>,
}

impl Propagation {
    /// Loss with distance alone.
    pub const fn of(loss: PathLoss) -> Self {
        Self { loss, shadowing: None, fading: None }
    }

    /// Loss on the way, dB.
    pub fn loss_db(&self, from: Position, to: Position, at: Time) -> f64 {
        let mut db = self.loss.db(from.distance(to));
        if let Some(shadowing) = &self.shadowing {
            db += shadowing.db(from, to);
        }
        if let Some(fading) = &self.fading {
            db -= fading.gain_db(at);
        }
        db
    }
}

/// Source of a receiver's SNR.
#[derive(Clone, Debug)]
pub enum Quality {
    /// Always the same, whatever the width, dB.
    Fixed(f64),
    /// A recorded trace, whatever the width.
    Trace(SnrTrace),
    /// Powers and places.
    Air {
        /// Transmit power, antenna gains of both ends included, dBm.
        power_dbm: f64,
        /// The way.
        propagation: Propagation,
        /// The receiver's noise figure, dB.
        noise_figure_db: f64,
    },
}

impl Quality {
    /// The SNR of a transmission of this width, between these places at this time, dB.
    pub fn snr_db(&self, from: Position, to: Position, at: Time, width: Width) -> f64 {
        match self {
            Self::Fixed(db) => *db,
            Self::Trace(trace) => trace.db(at),
            Self::Air { power_dbm, propagation, noise_figure_db } => {
                let received = power_dbm - propagation.loss_db(from, to, at);
                received - noise_dbm(width, *noise_figure_db)
            }
        }
    }
}
