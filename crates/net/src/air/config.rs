//! What a channel, an access point and a station are.

use std::time::Duration;

use airlane_base::Rate;
use airlane_wifi::{
    Access, Area, Band, Format, Guard, Leg, NOISE_FIGURE_DB, PathLoss, Position, SnrTrace, Vector,
    Waypoints, Width,
};
use serde::{Serialize, Serializer};

use super::scene::typical_loss;
use crate::queue::{Capacity, QueueSpec};

/// A channel.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ChannelConfig {
    /// Its band.
    pub band: Band,
    /// Sensitivity of radios, dBm: the power below which they hear nothing of a PPDU, neither for carrier sense
    /// nor to receive it. `None`: [what receivers of their width have](airlane_wifi::sensitivity_dbm). ns-3
    /// detects no preamble below -82 dBm.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "number")]
    pub sensitivity_dbm: Option<f64>,
    /// A radio takes the channel for busy above this power, dBm, where it can make out no preamble.
    pub energy_dbm: f64,
    /// By how much a later PPDU has to be stronger than that which is being received to be received in
    /// its stead, dB.
    pub capture_db: f64,
    /// Noise figure of the receivers, dB.
    pub noise_figure_db: f64,
    /// Loss with distance between radios that stand somewhere.
    pub loss: PathLoss,
    /// Shadowing there: its standard deviation in dB, and over how many metres it forgets.
    pub shadowing: Option<(f64, f64)>,
    /// Fading between such a station and its access point.
    pub fading: Option<FadingConfig>,
}

/// Fading in time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FadingConfig {
    /// The Doppler shift, Hz: how fast it changes.
    pub doppler_hz: f64,
    /// Rician K factor, dB: power of the direct path over that of scattered ones; `None`: Rayleigh fading.
    pub k_db: Option<f64>,
    /// Delay spread (RMS), ns: the longer, the less a wide channel fades as one.
    pub delay_spread_ns: f64,
}

/// Writes a number that is there as one that always is.
fn number<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(value.unwrap_or_default())
}

impl Default for ChannelConfig {
    /// 5 GHz, with the threshold of the standard for energy (802.11-2020, 17.3.10.6) and common values.
    fn default() -> Self {
        Self {
            band: Band::Ghz5,
            sensitivity_dbm: None,
            energy_dbm: -62.0,
            capture_db: 10.0,
            noise_figure_db: NOISE_FIGURE_DB,
            loss: typical_loss(),
            shadowing: None,
            fading: None,
        }
    }
}

/// Frame exchanges that begin with RTS and CTS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Protection {
    /// None.
    Never,
    /// Those with a PSDU of at least so many bytes.
    From(u32),
}

/// Rate control: the rule that chooses the MCS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum RateControl {
    /// Always this MCS and so many streams.
    Fixed {
        /// The MCS.
        mcs: u8,
        /// Spatial streams.
        streams: u8,
    },
    /// The one with the highest expected rate at the receiver's SNR of the moment: an oracle's.
    Ideal,
    /// By the outcome of earlier frames: Minstrel-HT.
    Minstrel,
}

/// Scheduler of an access point: the rule that chooses the station to serve next.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub enum SchedulerKind {
    /// One transmit opportunity after the other.
    RoundRobin,
    /// The same number of bytes for each (deficit round robin).
    PacketDeficit,
    /// The same airtime for each; that of frames from the station counts as well where `both`.
    AirtimeDeficit {
        /// Count both directions.
        both: bool,
    },
    /// In the order in which packets came.
    Fifo,
    /// The station with most packets waiting, in whole aggregates.
    LongestQueue,
    /// A station with a full aggregate; others once no station has one, after their hold.
    FullAggregate {
        /// Time for which others are held, so that they may fill an aggregate.
        hold: Duration,
    },
    /// The station that would be served fastest, the overhead around its data counted.
    MaximumRate,
}

/// Limit on the packets that an access point has handed to its hardware: each holds a descriptor until it
/// is acknowledged or given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Descriptors {
    /// As many as there are: queues stand right in front of the air.
    Unlimited,
    /// So many of each station; its queue is in front of them.
    PerStation(usize),
    /// So many of all stations together; one queue is in front of them. Stations are told apart by the
    /// addresses that packets are for.
    Shared(usize),
}

/// An access point and what holds in its network.
#[derive(Clone, Debug, PartialEq)]
pub struct ApConfig {
    /// Format of data frames.
    pub format: Format,
    /// Width of data frames.
    pub width: Width,
    /// Guard interval of data frames.
    pub guard: Guard,
    /// Spatial streams at most.
    pub streams: u8,
    /// Frames in a block-ack window, and in an aggregate: 1 to 256. One is no aggregation.
    pub window: usize,
    /// A PPDU is in the air for at most so long.
    pub max_air: Duration,
    /// IP packets are put together to MSDUs of at most so many bytes; 0 of one packet each.
    pub max_amsdu: u32,
    /// Attempts for a frame after the first.
    pub retries: u8,
    /// RTS and CTS.
    pub protection: Protection,
    /// True if frames are encrypted, which makes them longer.
    pub is_encrypted: bool,
    /// True if the DSCP chooses the access category; otherwise all is best effort.
    pub has_categories: bool,
    /// EDCA parameters of its best effort frames, in place of [`Access::BEST_EFFORT`].
    pub contention: Option<Access>,
    /// Rule that chooses the station to serve next.
    pub scheduler: SchedulerKind,
    /// The queue of each station; with shared descriptors that of all of them.
    pub queue: QueueSpec,
    /// CoDel lets a delay of 50 ms stand for 300 ms in front of stations with a rate below this, as Linux
    /// does (Hoiland-Jorgensen et al., USENIX ATC 2017, section 3.1.1). `None`: it is the same for all.
    pub slow_below: Option<Rate>,
    /// Limit on the packets that it has handed to its hardware.
    pub descriptors: Descriptors,
    /// All queues of the access point together hold at most so much.
    pub pool: Capacity,
    /// Rule that chooses the MCS, both ways.
    pub rate_control: RateControl,
    /// True if it sends beacons, every 102.4 ms at the lowest rate. Without them, stations that sleep
    /// know when they would come.
    pub has_beacons: bool,
    /// Its position. `None`: the origin; `snr_to_others_db` then says how well radios of other networks hear it.
    pub position: Option<Position>,
    /// Transmit power, antenna gains of both ends included, dBm.
    pub power_dbm: f64,
    /// SNR between it and radios of other networks, where no places say it, dB; the lower of two counts.
    pub snr_to_others_db: f64,
}

/// Source of the SNR between a station and its access point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Signal {
    /// Always the same, over the whole width, dB.
    Fixed(f64),
    /// A recorded trace.
    Trace(SnrTrace),
    /// The position of the station: path loss, shadowing and fading.
    Place(Motion),
}

/// Position of a station over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Motion {
    /// It stands still.
    Still(Position),
    /// Random walk in a box.
    Walk {
        /// The box.
        area: Area,
        /// Position at first.
        start: Position,
        /// Least and greatest speed, m/s.
        #[serde(serialize_with = "<[f64]>::serialize")]
        speed: [f64; 2],
        /// Time or distance for which it keeps speed and direction.
        leg: Leg,
    },
    /// From place to place.
    Waypoints(Waypoints),
}

impl ApConfig {
    /// Transmission vector of data frames at an MCS, with so many spatial streams.
    pub fn vector(&self, mcs: u8, streams: u8) -> Vector {
        let (format, width, guard) = (self.format, self.width, self.guard);
        Vector { format, mcs, streams, width, guard }
    }
}

/// A station.
#[derive(Clone, Debug, PartialEq)]
pub struct StationConfig {
    /// Source of the SNR of the access point's frames at the station; the other way `up_db` is added.
    pub signal: Signal,
    /// The station sends with so much more power than the access point; less where negative, dB.
    pub up_db: f64,
    /// SNR between it and other stations, where no places say it, dB; the lower of two counts.
    pub snr_to_others_db: f64,
    /// It sleeps after so long without frames (dynamic power save). `None`: never.
    pub power_save: Option<Duration>,
    /// EDCA parameters of its best effort frames, in place of [`Access::BEST_EFFORT`].
    pub contention: Option<Access>,
    /// Its queue.
    pub queue: QueueSpec,
    /// Rule that chooses the MCS from and to it, in place of the access point's.
    pub rate_control: Option<RateControl>,
}
