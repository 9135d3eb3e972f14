//! Hazards by SNR, made once in a process.

use std::sync::OnceLock;

use super::bicm::Channel;
use super::codes::LDPC_LOSS_DB;
use super::{Code, codes, dsss};

/// The SNRs of the tables, dB.
pub(super) const LOWEST_DB: f64 = -12.0;
pub(super) const HIGHEST_DB: f64 = 48.0;
/// Rows to a dB. What is between is interpolated, in the log of the hazard.
const ROWS_PER_DB: f64 = 4.0;
const ROWS: usize = ((HIGHEST_DB - LOWEST_DB) * ROWS_PER_DB) as usize + 1;

/// Logs of hazards, by SNR.
type Column = [f32; ROWS];

/// Below this, no frame of any length is ever lost.
const MIN_LOG: f64 = -80.0;

/// Coded bits of a subcarrier, of each modulation.
const MODULATIONS: [u32; 6] = [1, 2, 4, 6, 8, 10];
/// Code rates.
const RATES: [(u32, u32); 4] = [(1, 2), (2, 3), (3, 4), (5, 6)];

#[derive(Debug)]
pub(super) struct Tables {
    /// By code, modulation and code rate.
    coded: Vec<Column>,
    /// By place of the rate.
    dsss: [Column; 4],
}

fn log_of(hazard: f64) -> f32 {
    hazard.ln().max(MIN_LOG) as f32
}

fn snr_of(row: usize) -> f64 {
    LOWEST_DB + row as f64 / ROWS_PER_DB
}

fn times(db: f64) -> f64 {
    10_f64.powf(db / 10.0)
}

impl Tables {
    pub(super) fn get() -> &'static Self {
        static TABLES: OnceLock<Tables> = OnceLock::new();
        TABLES.get_or_init(Self::make)
    }

    fn make() -> Self {
        let mut coded = vec![[0.0; ROWS]; 2 * MODULATIONS.len() * RATES.len()];
        for (m, &bits) in MODULATIONS.iter().enumerate() {
            let channels = |less_db: f64| {
                (0..ROWS).map(move |row| Channel::of(bits, times(snr_of(row) - less_db)))
            };
            for (row, (channel, less)) in channels(0.0).zip(channels(LDPC_LOSS_DB)).enumerate() {
                for (r, &(num, den)) in RATES.iter().enumerate() {
                    let hazard = codes::convolutional(&channel, num, den);
                    coded[index(Code::Convolutional, m, r)][row] = log_of(hazard);
                    let hazard = codes::ldpc(&less, num, den);
                    coded[index(Code::Ldpc, m, r)][row] = log_of(hazard);
                }
            }
        }
        let mut plain = [[0.0; ROWS]; 4];
        for (place, column) in plain.iter_mut().enumerate() {
            for (row, cell) in column.iter_mut().enumerate() {
                *cell = log_of(dsss::hazard(place as u8, times(snr_of(row))));
            }
        }
        Self { coded, dsss: plain }
    }

    /// The hazard of a bit, of a modulation of `bits` with a code of rate `num / den`.
    pub(super) fn coded(&self, (bits, num, den): (u32, u32, u32), code: Code, snr_db: f64) -> f64 {
        let modulation = bits as usize / 2;
        // Rates 1/2, 2/3, 3/4 and 5/6 in order.
        let rate = match (num, den) {
            (2, 3) => 1,
            (3, 4) => 2,
            (5, 6) => 3,
            _ => 0,
        };
        at(&self.coded[index(code, modulation, rate)], snr_db)
    }

    /// The hazard of a bit of 802.11b.
    pub(super) fn dsss(&self, place: u8, snr_db: f64) -> f64 {
        at(&self.dsss[usize::from(place.min(3))], snr_db)
    }
}

fn index(code: Code, modulation: usize, rate: usize) -> usize {
    (code as usize * MODULATIONS.len() + modulation) * RATES.len() + rate
}

fn at(column: &Column, snr_db: f64) -> f64 {
    if snr_db.is_nan() {
        return f64::MAX;
    }
    let place = (snr_db.clamp(LOWEST_DB, HIGHEST_DB) - LOWEST_DB) * ROWS_PER_DB;
    let row = (place as usize).min(ROWS - 2);
    let (low, high) = (f64::from(column[row]), f64::from(column[row + 1]));
    (low + (high - low) * (place - row as f64)).exp()
}
