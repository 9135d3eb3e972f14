//! Probability that a frame is decoded, by its vector, SNR and length.

mod bicm;
mod codes;
mod dsss;
mod tables;

use crate::vector::{Format, Vector};
use tables::Tables;

/// The code that data is sent with. Frames of 802.11a and g, and all PHY headers, have the convolutional
/// one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Code {
    /// The convolutional code (BCC).
    Convolutional,
    /// The low-density parity-check code (LDPC).
    Ldpc,
}

/// The SNR below which a receiver does not notice a preamble, dB: what ns-3 takes
/// (`ThresholdPreambleDetectionModel`).
pub const DETECTION_DB: f64 = 4.0;

/// Model of the probability that a frame is decoded: white noise, a receiver without other faults. The
/// equations, and how far they are from others' curves: `docs/design/wifi.md`.
///
/// An SNR here is that of the whole transmission: received power over the noise in its width. It is taken
/// as the SNR of each subcarrier. Spatial streams share the power, and a receiver with as many antennas
/// separates them by zero forcing: each has 10 log10(streams) dB less.
///
/// Errors are a hazard of so much per bit, so a frame whose SNR changes while it is sent comes through
/// with the product of its parts' [`success`](Self::success).
///
/// Copied freely: the tables are made once in a process, in some hundredths of a second.
#[derive(Clone, Copy, Debug)]
pub struct ErrorModel {
    tables: &'static Tables,
    /// Code of HT, VHT, HE.
    codes: [Code; 3],
}

impl Default for ErrorModel {
    fn default() -> Self {
        Self::new()
    }
}

impl ErrorModel {
    /// HE has LDPC, HT and VHT the convolutional code, as the durations of [`Vector`] have it.
    pub fn new() -> Self {
        let (old, new) = (Code::Convolutional, Code::Ldpc);
        Self { tables: Tables::get(), codes: [old, old, new] }
    }

    /// A model in which all three have this code.
    pub fn with_code(code: Code) -> Self {
        Self { tables: Tables::get(), codes: [code; 3] }
    }

    /// Probability that `bytes` of a frame with this vector are decoded. Without a number for an SNR, never.
    pub fn success(&self, vector: &Vector, snr_db: f64, bytes: u32) -> f64 {
        (-8.0 * f64::from(bytes) * self.hazard(vector, snr_db)).exp()
    }

    /// The rate at which errors begin, per bit: `n` bits come through with exp(-n hazard).
    pub fn hazard(&self, vector: &Vector, snr_db: f64) -> f64 {
        let code = match vector.format {
            Format::Dsss => return self.tables.dsss(vector.mcs, snr_db),
            Format::Ofdm => Code::Convolutional,
            Format::Ht => self.codes[0],
            Format::Vht => self.codes[1],
            Format::He => self.codes[2],
        };
        let snr_db = snr_db - STREAMS_DB[usize::from(vector.streams.clamp(1, 4)) - 1];
        self.tables.coded(vector.code(), code, snr_db)
    }

    /// True if a receiver notices that a preamble begins.
    pub fn detects(&self, snr_db: f64) -> bool {
        snr_db >= DETECTION_DB
    }

    /// Probability that the PHY header of a PPDU that was noticed is decoded, which tells its vector.
    /// Each of its fields is BPSK at rate 1/2 and repeated every 20 MHz; of DSSS it is 1 Mbit/s.
    pub fn header(&self, vector: &Vector, snr_db: f64) -> f64 {
        let (signal, bits) = match vector.format {
            Format::Dsss => (Vector::dsss(0), 48.0),
            Format::Ofdm => (Vector::ofdm(0), 24.0),
            // L-SIG and HT-SIG; and VHT-SIG-A and B, of 20 MHz; and HE-SIG-A (RL-SIG only helps).
            Format::Ht => (Vector::ofdm(0), 24.0 + 48.0),
            Format::Vht => (Vector::ofdm(0), 24.0 + 48.0 + 26.0),
            Format::He => (Vector::ofdm(0), 24.0 + 52.0),
        };
        (-bits * self.hazard(&signal, snr_db)).exp()
    }

    /// The lowest SNR, dB to a thousandth, at which no more than this share of frames of so many bytes is
    /// lost; within [`SNR_DB`](Self::SNR_DB).
    pub fn snr_for(&self, vector: &Vector, bytes: u32, loss: f64) -> f64 {
        let [mut low, mut high] = Self::SNR_DB;
        while high - low > 1e-3 {
            let middle = low.midpoint(high);
            if 1.0 - self.success(vector, middle, bytes) > loss {
                low = middle;
            } else {
                high = middle;
            }
        }
        high
    }

    /// The SNRs that are told apart, dB: beyond, frames are as likely as at the end.
    pub const SNR_DB: [f64; 2] = [tables::LOWEST_DB, tables::HIGHEST_DB];

    /// The ideal rate: of the format, width and guard interval of `most`, with at most its MCS and
    /// streams, the one that brings most bits per second in frames of so many bytes. Where nothing comes
    /// through, the most robust.
    pub fn best(&self, most: &Vector, snr_db: f64, bytes: u32) -> Vector {
        let goodput = |vector: &Vector| {
            let success = self.success(vector, snr_db, bytes);
            // Hopeless ones are not compared: whatever they bring does not count.
            if success < 1e-3 { 0.0 } else { success * vector.rate().as_f64() }
        };
        highest(most, goodput)
    }

    /// The fastest of those that lose no more than this share of frames of so many bytes, or the most
    /// robust.
    pub fn fastest(&self, most: &Vector, snr_db: f64, bytes: u32, loss: f64) -> Vector {
        highest(most, |vector| {
            let is_good = 1.0 - self.success(vector, snr_db, bytes) <= loss;
            if is_good { vector.rate().as_f64() } else { 0.0 }
        })
    }
}

/// 10 log10 of 1 to 4 streams.
const STREAMS_DB: [f64; 4] = [0.0, 3.010_3, 4.771_2, 6.020_6];

/// The one with the highest figure, of those up to `most`; the first of equals, so the lowest MCS of one
/// stream if all have none.
fn highest(most: &Vector, figure: impl Fn(&Vector) -> f64) -> Vector {
    let lowest = Vector { mcs: 0, streams: 1, ..*most };
    let mut best = (lowest, figure(&lowest));
    for streams in 1..=most.streams.clamp(1, 4) {
        for mcs in 0..=most.mcs.min(most.format.max_mcs()) {
            let vector = Vector { mcs, streams, ..*most };
            if !vector.is_valid() {
                continue;
            }
            let value = figure(&vector);
            if value > best.1 {
                best = (vector, value);
            }
        }
    }
    best.0
}
