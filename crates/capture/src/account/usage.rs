//! What one station used.

use std::collections::BTreeMap;
use std::time::Duration;

use airlane_wifi::{Address, Vector};

use super::attempt::{Air, Attempt};
use super::series::Series;

/// Ways of sending are told apart up to this number per station and direction.
const MAX_VECTORS: usize = 128;

/// What was used in one direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Use {
    /// Attempts to send.
    pub attempts: u64,
    /// Attempts of which no answer was heard, although one was due.
    pub unanswered: u64,
    /// What they cost.
    pub air: Air,
    /// MPDUs heard.
    pub frames: u64,
    /// Of these, sent again.
    pub retries: u64,
    /// Bytes of MPDUs heard.
    pub bytes: u64,
    /// Bytes of data that were inferred from air that was not heard.
    pub inferred_bytes: u64,
    /// How long data were in the air by the way they were sent, of what was heard.
    pub vectors: BTreeMap<Vector, Duration>,
}

impl Use {
    pub(super) fn add(&mut self, attempt: &Attempt) {
        self.attempts += 1;
        self.unanswered += u64::from(attempt.is_unanswered);
        self.air += attempt.air;
        self.inferred_bytes = self.inferred_bytes.saturating_add(attempt.inferred_bytes);
        let Some(ppdu) = attempt.exchange.ppdu else { return };
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

    /// How data were sent most of the time.
    pub fn usual(&self) -> Option<Vector> {
        self.vectors.iter().max_by_key(|(_, air)| **air).map(|(vector, _)| *vector)
    }

    /// The share of the MPDUs heard that had been sent before.
    pub fn retry_share(&self) -> Option<f64> {
        (self.frames > 0).then(|| self.retries as f64 / self.frames as f64)
    }
}

/// What one station used; of an access point, what goes to everybody or cannot be told apart.
#[derive(Clone, Debug, PartialEq)]
pub struct StationUse {
    /// Who.
    pub address: Address,
    /// Whether it is an access point.
    pub is_access_point: bool,
    /// The access point that it exchanged frames with last.
    pub network: Option<Address>,
    /// From access points to it.
    pub down: Use,
    /// From it to access points.
    pub up: Use,
    /// From it to others: to everybody, to stations of its like, or to who knows whom.
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
        Self {
            address,
            is_access_point: false,
            network: None,
            down: Use::default(),
            up: Use::default(),
            other: Use::default(),
            frames_sent: 0,
            signal_dbm: None,
            over_time: Series::default(),
            signals: 0,
        }
    }

    /// What it used in all directions.
    pub fn air(&self) -> Air {
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
