//! The one trait of every congestion controller, and what it is told.

use std::any::Any;
use std::fmt::Debug;
use std::time::Duration;

use airlane_base::{Rate, Time};

/// What a controller knows about the round-trip time when a packet is acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct Rtt {
    /// Of the packet just acknowledged, acknowledgement delay included.
    pub latest: Duration,
    /// Smoothed (RFC 9002, section 5.3).
    pub smoothed: Duration,
    /// The least of the connection.
    pub min: Duration,
}

/// A sample of the delivery rate (draft-cheng-iccrg-delivery-rate-estimation).
#[derive(Clone, Copy, Debug)]
pub struct RateSample {
    /// Rate of delivery over the sampling interval.
    pub rate: Rate,
    /// Bytes delivered on the connection when the acknowledged packet was sent.
    pub prior_delivered: u64,
    /// Bytes delivered on the connection now.
    pub delivered: u64,
    /// Whether the application, not the network, limited the sample.
    pub app_limited: bool,
}

/// A packet left.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// When.
    pub now: Time,
    /// Its number; rising, never reused.
    pub pn: u64,
    /// Its size in bytes of UDP payload.
    pub bytes: u64,
    /// Bytes in flight, this packet included.
    pub in_flight: u64,
}

/// A packet was acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// When the acknowledgement arrived.
    pub now: Time,
    /// The packet's number.
    pub pn: u64,
    /// The packet's size in bytes.
    pub bytes: u64,
    /// When the packet had been sent.
    pub sent_at: Time,
    /// Bytes still in flight after this packet was taken off.
    pub in_flight: u64,
    /// Whether the application had nothing more to send: the window was not the limit.
    pub app_limited: bool,
    /// Round-trip times.
    pub rtt: Rtt,
    /// The delivery rate, where a sample could be taken.
    pub sample: Option<RateSample>,
}

/// A packet was declared lost.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// When it was declared lost.
    pub now: Time,
    /// Its number.
    pub pn: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// When it had been sent.
    pub sent_at: Time,
    /// Bytes still in flight after it was taken off.
    pub in_flight: u64,
}

/// A congestion controller: pure, told the time, asked for a window and a rate.
///
/// Call order: [`on_sent`](Self::on_sent) for each packet; for each acknowledgement frame
/// [`on_ack`](Self::on_ack) per packet that it newly acknowledges and then
/// [`on_ack_end`](Self::on_ack_end) once; [`on_loss`](Self::on_loss) per packet declared lost, in
/// the order of packet numbers. `now` never goes back.
pub trait Controller: Send + Sync + Debug {
    /// A packet left.
    fn on_sent(&mut self, sent: &Sent);
    /// A packet was acknowledged.
    fn on_ack(&mut self, ack: &Ack);
    /// All packets that one acknowledgement frame covers were reported.
    fn on_ack_end(&mut self, _now: Time, _in_flight: u64) {}
    /// A packet was lost. Several losses of one flight are one congestion event: the controller
    /// tells by the packet numbers.
    fn on_loss(&mut self, loss: &Loss);
    /// The losses span more than the persistent congestion period (RFC 9002, section 7.6).
    fn on_persistent_congestion(&mut self, _now: Time) {}
    /// Losses reported before turned out to be reordering: all of the packets arrived.
    fn on_spurious_loss(&mut self, _now: Time) {}
    /// The largest UDP payload of the path changed.
    fn on_mtu(&mut self, _now: Time, _bytes: u64) {}
    /// Bytes that may be in flight: a packet may leave while the bytes in flight before it plus
    /// its own size are at most this (noq's gate). Small windows rely on this form: a gate that
    /// asks only for less in flight than the window lets half a packet more out on average.
    fn window(&self) -> u64;
    /// The rate at which packets should leave. `None`: as fast as the window lets them.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }
    /// The slow-start threshold in bytes, for traces.
    fn ssthresh(&self) -> Option<u64> {
        None
    }
    /// Sets how many plain flows this one counts for. Controllers without weights ignore it.
    fn set_weight(&mut self, _now: Time, _weight: f64) {}
    /// How many plain flows this one counts for.
    fn weight(&self) -> f64 {
        1.0
    }
    /// The name in tables: `reno`, `cubic`, `bbr`, ...
    fn name(&self) -> &'static str;
    /// A copy of the state (the transport makes one when a path migrates).
    fn clone_box(&self) -> Box<dyn Controller>;
    /// Whether it looks at [`Ack::sample`]: transports need not measure what nobody reads.
    fn takes_samples(&self) -> bool {
        false
    }
    /// Whether [`on_sent`](Self::on_sent) may change its window or its rate: if not, transports need
    /// not ask for them after every packet.
    fn follows_sending(&self) -> bool {
        false
    }
    /// For settings that a single controller has, such as the rate of the explicit one.
    fn as_any_mut(&mut self) -> &mut dyn Any;
}
