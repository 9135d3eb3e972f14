//! The one trait of every congestion controller, and what it is told.

use std::fmt::Debug;
use std::time::Duration;

use airlane_base::{Rate, Time};

use crate::group::Group;
use crate::pacer::BURST_PACKETS;

/// Round-trip times that a controller knows when a packet is acknowledged.
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
    /// Bytes delivered on the path when the acknowledged packet was sent.
    pub prior_delivered: u64,
    /// Bytes delivered on the path now.
    pub delivered: u64,
    /// True if the application, not the network, limited the sample.
    pub app_limited: bool,
}

/// A packet left.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Time at which it left.
    pub now: Time,
    /// Its number; rising, never reused.
    pub pn: u64,
    /// Its size in bytes of UDP payload.
    pub bytes: u64,
    /// Bytes in flight, this packet included.
    pub in_flight: u64,
}

/// Limit that kept a sender from sending more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// There was nothing more to send.
    Application,
    /// The pacer.
    Pacing,
    /// The window.
    Window,
}

/// A packet was acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// Time at which the acknowledgement arrived.
    pub now: Time,
    /// The packet's number.
    pub pn: u64,
    /// The packet's size in bytes.
    pub bytes: u64,
    /// Time at which the packet had been sent.
    pub sent_at: Time,
    /// Bytes still in flight after this packet was taken off.
    pub in_flight: u64,
    /// Limit on sending since the packet was sent. [`Limit::Application`] only if nothing had to
    /// wait all the while: the window was then not tested (RFC 9002, section 7.8).
    pub limit: Limit,
    /// Round-trip times.
    pub rtt: Rtt,
    /// The delivery rate, where a sample could be taken.
    pub sample: Option<RateSample>,
}

impl Ack {
    /// True if the application had nothing more to send: the window was not the limit.
    pub fn app_limited(&self) -> bool {
        self.limit == Limit::Application
    }
}

/// Reason why a packet counts as lost (RFC 9002, section 6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossCause {
    /// Enough packets that were sent after it arrived.
    Reordering,
    /// A packet that was sent after it arrived, and it has had the time to.
    Late,
}

/// A packet was declared lost.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// Time at which it was declared lost.
    pub now: Time,
    /// Its number.
    pub pn: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// Time at which it had been sent.
    pub sent_at: Time,
    /// Bytes still in flight after it was taken off.
    pub in_flight: u64,
    /// Reason why it counts as lost.
    pub cause: LossCause,
}

/// The peer reported more packets marked as having met congestion (ECN-CE, RFC 9002, section 7.1).
#[derive(Clone, Copy, Debug)]
pub struct Marked {
    /// Time at which the report came.
    pub now: Time,
    /// The newest packet that the acknowledgement with the report covers.
    pub pn: u64,
    /// Time at which that packet had been sent.
    pub sent_at: Time,
    /// Bytes in flight.
    pub in_flight: u64,
    /// Number of marked packets among those that it newly acknowledges, as far as the transport is
    /// told: at least one.
    pub packets: u64,
}

/// A signal to a controller from outside of its connection: from Minerva, or from the application.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Signal {
    /// Count for so many plain flows, or take so many equal parts (Minerva's weight).
    Weight(f64),
    /// Send at this rate, in UDP payload.
    Rate(Rate),
    /// The receiver measured that this rate is to be sent (Cupid's report).
    Grant(Grant),
    /// A path of this connection before did not carry what the receiver granted.
    Refuted,
}

/// A rate that holds until the next report is missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Rate that is granted, counted in UDP payload.
    pub rate: Rate,
    /// Until the next report.
    pub interval: Duration,
    /// The air has room: if the path carries less, the bottleneck is elsewhere.
    pub has_room: bool,
    /// All of the air is in use: more is taken than is granted to all.
    pub is_full: bool,
    /// A queue that stands is the flow's own, and nobody else waits in it.
    pub is_isolated: bool,
}

/// The last signals that a controller took: what they set.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LastSignals {
    /// Number of plain flows that it counts for.
    pub weight: Option<f64>,
    /// The rate that it sends at.
    pub rate: Option<Rate>,
    /// Grant of its receiver.
    pub grant: Option<Grant>,
    /// True if the path did not carry what the receiver granted.
    pub is_refuted: bool,
}

impl LastSignals {
    /// As signals. What is known of the receiver's word comes before what it granted.
    pub fn signals(self) -> impl Iterator<Item = Signal> {
        let first = self.weight.map(Signal::Weight).into_iter().chain(self.rate.map(Signal::Rate));
        let refuted = self.is_refuted.then_some(Signal::Refuted);
        first.chain(refuted).chain(self.grant.map(Signal::Grant))
    }
}

/// A congestion controller: pure, told the time, asked for a window and a rate.
///
/// Call order: [`on_sent`](Self::on_sent) for each packet; for each acknowledgement frame
/// [`on_ack`](Self::on_ack) per packet that it newly acknowledges and then
/// [`on_ack_end`](Self::on_ack_end) once; [`on_loss`](Self::on_loss) per packet declared lost, in
/// the order of packet numbers; [`on_marked`](Self::on_marked) after them, once per acknowledgement
/// frame that reports marks. `now` never goes back.
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
    /// A queue in the network dropped a packet on purpose, as its sender allowed: no loss to answer with
    /// less, but the path carries no more than it does now.
    fn on_dropped(&mut self, _now: Time) {}
    /// Packets met congestion and arrived. Marks and losses of one flight are one congestion event.
    fn on_marked(&mut self, marked: &Marked);
    /// The losses span more than the persistent congestion period (RFC 9002, section 7.6).
    fn on_persistent_congestion(&mut self, _now: Time) {}
    /// Losses reported before turned out to be reordering: all of the packets arrived.
    fn on_spurious_loss(&mut self, _now: Time) {}
    /// The largest UDP payload of the path changed.
    fn on_mtu(&mut self, _now: Time, _bytes: u64) {}
    /// A signal from outside. False if this controller does not take signals of that kind.
    fn on_signal(&mut self, _now: Time, _signal: Signal) -> bool {
        false
    }
    /// The last signals, or what it began with instead; `None` for kinds of signals that it does
    /// not take.
    fn last_signals(&self) -> LastSignals {
        LastSignals::default()
    }
    /// Couples it with the other paths of a group. False if it goes alone in any case.
    fn couple(&mut self, _group: &Group) -> bool {
        false
    }
    /// The group that it is coupled with, which the controller of a new path joins too.
    fn group(&self) -> Option<&Group> {
        None
    }
    /// Bytes that may be in flight: a packet may leave while the bytes in flight before it plus
    /// its own size are at most this (noq's gate). Small windows rely on this form: a gate that
    /// asks only for less in flight than the window lets half a packet more out on average.
    fn window(&self) -> u64;
    /// The rate at which packets should leave. `None`: as fast as the window lets them.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }
    /// The rate that it estimates the path to carry, of UDP payload; `None` if it estimates none, or
    /// not yet.
    fn bandwidth(&self) -> Option<Rate> {
        None
    }
    /// True if [`bandwidth`](Self::bandwidth) is the rate that media are to have: with the headroom that
    /// their frames need already taken off, and rising without more being asked of the path.
    fn sets_media_rate(&self) -> bool {
        false
    }
    /// True if the path has been found to carry no more than [`bandwidth`](Self::bandwidth). Until then
    /// the bandwidth says what was asked of the path.
    fn has_filled_path(&self) -> bool {
        true
    }
    /// Packets that may leave at once after a pause, at least 1; asked when a path begins.
    fn burst_packets(&self) -> f64 {
        BURST_PACKETS
    }
    /// The slow-start threshold in bytes, for traces.
    fn ssthresh(&self) -> Option<u64> {
        None
    }
    /// The name in tables: `reno`, `cubic`, `bbr`, ...
    fn name(&self) -> &'static str;
    /// A copy of the state (the transport makes one when a path migrates).
    fn clone_box(&self) -> Box<dyn Controller>;
    /// True if it reads [`Ack::sample`]: else transports need not measure delivery rates.
    fn takes_samples(&self) -> bool {
        false
    }
    /// True if it answers each mark by a little (a Scalable congestion control, RFC 9331, section 4.3): its
    /// packets then carry ECT(1), and it has to be told of each mark.
    fn is_scalable(&self) -> bool {
        false
    }
    /// True if [`on_sent`](Self::on_sent) may change its window or its rate: if not, transports
    /// need not ask for them after every packet.
    fn follows_sending(&self) -> bool {
        false
    }
}

impl dyn Controller + '_ {
    /// Number of plain flows that it counts for.
    pub fn weight(&self) -> f64 {
        self.last_signals().weight.unwrap_or(1.0)
    }

    /// Sets how many plain flows it counts for; false if it has no weight.
    pub fn set_weight(&mut self, now: Time, weight: f64) -> bool {
        self.on_signal(now, Signal::Weight(weight))
    }

    /// Sets the rate that it sends at, in UDP payload; false if it decides that itself.
    pub fn set_rate(&mut self, now: Time, rate: Rate) -> bool {
        self.on_signal(now, Signal::Rate(rate))
    }
}
