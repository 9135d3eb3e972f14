//! Use of the air by station.

use std::collections::BTreeMap;
use std::time::Duration;

use airlane_wifi::{Address, Vector};

use super::attempt::{Airtime, Attempt};
use super::series::Series;

/// Ways of sending are told apart up to this number per station and direction.
const MAX_VECTORS: usize = 128;

/// Use of the air in one direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Use {
    /// Attempts to send.
    pub attempts: u64,
    /// Attempts whose answer was not heard, although one was due.
    pub unanswered: u64,
    /// Airtime of the attempts.
    pub air: Airtime,
    /// MPDUs heard.
    pub frames: u64,
    /// Of these, MPDUs that were sent again.
    pub retries: u64,
    /// Bytes of MPDUs heard.
    pub bytes: u64,
    /// Bytes of data that were inferred from air that was not heard.
    pub inferred_bytes: u64,
    /// Airtime of data by vector, of what was heard.
    pub vectors: BTreeMap<Vector, Duration>,
}

impl Use {
    pub(super) fn add(&mut self, attempt: &Attempt<'_>) {
        self.attempts += 1;
        self.unanswered += u64::from(attempt.is_unanswered);
        self.air += attempt.air;
        self.inferred_bytes = self.inferred_bytes.saturating_add(attempt.inferred_bytes);
        let Some(ppdu) = &attempt.exchange.ppdu else { return };
        self.frames += u64::from(ppdu.mpdus);
        self.retries += u64::from(ppdu.retries);
        self.bytes += ppdu.bytes;
        if let (true, Some(vector)) = (attempt.is_data, ppdu.vector)
            && (self.vectors.len() < MAX_VECTORS || self.vectors.contains_key(&vector))
        {
            *self.vectors.entry(vector).or_default() += attempt.ppdu;
        }
    }

    /// Mean PHY rate of data heard, weighted by air (the definition's C), bits per second.
    pub fn rate_bps(&self) -> Option<f64> {
        let whole: f64 = self.vectors.values().map(Duration::as_secs_f64).sum();
        let weighted =
            |(vector, air): (&Vector, &Duration)| vector.rate().as_f64() * air.as_secs_f64();
        (whole > 0.0).then(|| self.vectors.iter().map(weighted).sum::<f64>() / whole)
    }

    /// Vector of most of the data, by airtime.
    pub fn usual(&self) -> Option<Vector> {
        self.vectors.iter().max_by_key(|(_, air)| **air).map(|(vector, _)| *vector)
    }

    /// The share of the MPDUs heard that had been sent before.
    pub fn retry_share(&self) -> Option<f64> {
        (self.frames > 0).then(|| self.retries as f64 / self.frames as f64)
    }
}

/// Use of the air by one station; of an access point, what goes to everybody or cannot be told apart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StationUse {
    /// Address of the station.
    pub address: Address,
    /// True for an access point.
    pub is_access_point: bool,
    /// The access point that it exchanged frames with last.
    pub network: Option<Address>,
    /// Attempts from access points to it.
    pub down: Use,
    /// Attempts from it to access points.
    pub up: Use,
    /// Attempts from it to others: to everybody, to stations, or to an unknown receiver.
    pub other: Use,
    /// Frames of any kind heard from it; acknowledgements and CTS name no sender and are not in here.
    pub frames_sent: u64,
    /// Mean strength of the frames heard from it, dBm.
    pub signal_dbm: Option<f64>,
    /// Seconds of air charged per bin of time, all directions.
    pub over_time: Series,
    pub(super) signals: u64,
}

impl StationUse {
    pub(super) fn new(address: Address) -> Self {
        Self { address, ..Self::default() }
    }

    /// Airtime in all directions.
    pub fn air(&self) -> Airtime {
        let mut air = self.down.air;
        air += self.up.air;
        air += self.other.air;
        air
    }

    /// A frame was heard from it, so strong.
    pub(super) fn sent(&mut self, frames: u64, signal_dbm: Option<i8>) {
        self.frames_sent += frames;
        if let Some(signal) = signal_dbm {
            self.signals += 1;
            let mean = self.signal_dbm.get_or_insert(f64::from(signal));
            *mean += (f64::from(signal) - *mean) / self.signals as f64;
        }
    }
}
