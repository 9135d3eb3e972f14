//! Capacity of a client's half-duplex channel (Plum, section III-D, "Capacity detection").
//!
//! ```text
//! ChannelSample --> Delivered | Peak --> measured capacity, or else the sum of both controllers' estimates
//! ```

mod change;
mod delivered;
mod peak;
mod peak_rate;

use std::time::Duration;

use airlane_base::{Rate, Time};

pub use self::change::ChangeDetector;
use self::delivered::Delivered;
pub use self::delivered::DeliveredConfig;
use self::peak::Peak;

/// Method by which the capacity is found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CapacityMethod {
    /// Bytes that both directions delivered while packets queued, over that time. While nothing queues the last
    /// value is kept; before the first queue it is the sum of the controllers' estimates.
    ///
    /// It wants samples every 20 ms in which news of a queue is as late as news of the bytes.
    Delivered(DeliveredConfig),
    /// Highest rate that both directions delivered of late, once packets have queued; while packets queue without a
    /// break, what is delivered meanwhile. While a direction is held the value is kept, or grows if the hold is for
    /// nothing. Without a bottleneck it is the sum of the controllers' estimates, or `ample` if that is more.
    ///
    /// It is for counts of the sender alone, in which news of a queue comes later than news of the bytes.
    Peak {
        /// Least capacity that a channel without a bottleneck is taken to have.
        ample: Rate,
    },
    /// Sum of the bandwidths that the controllers of both directions estimate, as the paper has it.
    Estimates,
}

impl Default for CapacityMethod {
    fn default() -> Self {
        Self::Delivered(DeliveredConfig::default())
    }
}

/// State of a client's channel at one time, as both ends of it know it. Bytes are IP bytes since the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ChannelSample {
    /// Bytes from the client that have arrived.
    pub up_bytes: u64,
    /// Bytes to the client that have arrived.
    pub down_bytes: u64,
    /// Excess of the last round trip over the least one.
    pub queueing: Duration,
    /// Bandwidth that the client's controller estimates.
    pub up_estimate: Option<Rate>,
    /// Bandwidth that the server's controller estimates.
    pub down_estimate: Option<Rate>,
    /// True if one direction is held to a bitrate.
    pub is_constrained: bool,
    /// True if the client gets less than there is to get.
    pub is_thinned: bool,
}

impl ChannelSample {
    /// Bytes of both directions that have arrived.
    fn bytes(&self) -> u64 {
        self.up_bytes.saturating_add(self.down_bytes)
    }

    /// Sum of both estimates; `None` unless both are known.
    fn sum_of_estimates(&self) -> Option<Rate> {
        let (up, down) = self.up_estimate.zip(self.down_estimate)?;
        Some(Rate::from_bps(up.bps().saturating_add(down.bps())))
    }
}

/// Capacity of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapacityEstimate {
    /// Rate of IP bytes, both directions together.
    pub rate: Rate,
    /// Time of the last measurement; the value is kept since.
    pub at: Time,
    /// True if packets queued when it was measured: else the channel may carry more.
    pub is_measured: bool,
}

/// Estimator of the capacity of one client's channel.
///
/// While one direction is constrained, its controller learns nothing of the channel: the estimate of BBR
/// stands still, that of GCC decays, and the sum of both with the other direction's grows or shrinks without
/// any change of the channel. Bytes delivered while packets queue do not depend on who is constrained: the
/// channel is work-conserving, so all of it was in use.
#[derive(Clone, Debug)]
pub struct CapacityEstimator {
    meter: Meter,
    estimate: Option<CapacityEstimate>,
}

/// State of a method.
#[derive(Clone, Debug)]
enum Meter {
    Delivered(Delivered),
    Peak { peak: Peak, ample: Rate },
    Estimates,
}

impl CapacityEstimator {
    /// An estimator that has seen nothing.
    pub fn new(method: CapacityMethod) -> Self {
        let meter = match method {
            CapacityMethod::Delivered(config) => Meter::Delivered(Delivered::new(config)),
            CapacityMethod::Peak { ample } => Meter::Peak { peak: Peak::default(), ample },
            CapacityMethod::Estimates => Meter::Estimates,
        };
        Self { meter, estimate: None }
    }

    /// Takes a sample. Samples are best every 20 to 100 ms; their number within some seconds bounds the memory.
    pub fn on_sample(&mut self, now: Time, sample: ChannelSample) {
        let (measured, min) = match &mut self.meter {
            Meter::Delivered(delivered) => (delivered.on_sample(now, &sample), Rate::ZERO),
            Meter::Peak { peak, ample } => (peak.on_sample(now, &sample), *ample),
            Meter::Estimates => (None, Rate::ZERO),
        };
        let measured = measured.map(|(at, rate)| CapacityEstimate { rate, at, is_measured: true });
        let assumed = || {
            let rate = sample.sum_of_estimates()?.max(min);
            Some(CapacityEstimate { rate, at: now, is_measured: false })
        };
        let before = self.estimate.filter(|estimate| !estimate.is_measured);
        self.estimate = measured.or_else(assumed).or(before);
    }

    /// Capacity; `None` before the first measurement.
    pub fn estimate(&self) -> Option<CapacityEstimate> {
        self.estimate
    }
}
