//! The network: accesses around an ideal core, what each carries, its queue, its loss.

use std::path::PathBuf;
use std::time::Duration;

use airlane_base::Rate;
use airlane_net::Direction;
use airlane_net::link::Handover;
use airlane_net::queue::CustomQueue;
use airlane_net::trace::Medium;
use serde::{Serialize, Serializer};

use super::wifi::{Station, Wifi};

/// An ideal core with the servers, and the accesses around it that clients are on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Network {
    /// Round trip of propagation in the core, split evenly over both directions, between a server
    /// and a client that say nothing else.
    pub rtt: Duration,
    /// The accesses: at least one, names distinct, none behind itself.
    pub accesses: Vec<Access>,
}

/// The last mile of some hosts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Access {
    /// Name, of rows and nodes.
    pub name: String,
    /// The number of the access that lies between this one and the core. `None`: it is at the core.
    pub behind: Option<usize>,
    /// Kind of the access.
    pub kind: AccessKind,
    /// True if the scenario has it as `[link]`: then its draws come from the network's seed and not
    /// from one of its name, and errors name `link.KEY`.
    #[serde(skip)]
    pub is_short_form: bool,
}

/// Kind of an access.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum AccessKind {
    /// A link whose directions share nothing.
    Link(Link),
    /// A cell: each host on it has such a link, with a queue of its own.
    Cell(Link),
    /// A half-duplex link: both directions take turns on the capacity of the way down.
    HalfDuplex {
        /// Its directions; the capacity of the way up is [`Capacity::Shared`].
        link: Link,
        /// Each host has such a link of its own; otherwise all hosts share one.
        per_host: bool,
    },
    /// An access point of 802.11, with hosts on it as stations.
    Wifi(Box<Wifi>),
    /// Stations of another kind of the access point that it lies behind.
    Station {
        /// Properties of the stations.
        station: Station,
        /// Queues: that at the access point is as there, that at the station is its own.
        link: Box<Link>,
    },
}

/// A link, each direction on its own.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Link {
    /// From the core to the hosts.
    pub down: Way,
    /// Back.
    pub up: Way,
}

/// One direction of a link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Way {
    /// Rate that it carries over time.
    pub capacity: Capacity,
    /// Constant time on the way, before loss, jitter and queue.
    pub delay: Duration,
    /// Loss in front of the queue.
    pub loss: Option<Loss>,
    /// Most that is added to the delay of a packet, uniform from zero; packets keep their order.
    pub jitter: Duration,
    /// The queue.
    pub queue: Queue,
    /// Handovers of its host, from cell to cell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handover: Option<Handover>,
}

impl Network {
    /// The way down of the only access. `None` if there are several, if it is air, where each station
    /// has ways of its own, or if it is half-duplex: there neither way alone is the bottleneck.
    pub fn bottleneck(&self) -> Option<&Way> {
        match self.accesses.as_slice() {
            [Access { kind: AccessKind::Wifi(_) | AccessKind::HalfDuplex { .. }, .. }] => None,
            [access] => Some(access.way(Direction::Down)),
            _ => None,
        }
    }

    /// True if some access is air.
    pub fn has_air(&self) -> bool {
        self.accesses.iter().any(Access::is_air)
    }

    /// True if some access is not air.
    pub fn has_links(&self) -> bool {
        !self.accesses.iter().all(Access::is_air)
    }

    /// Every direction of every access: its access's number, the access, the direction, the way;
    /// down before up.
    pub fn ways(&self) -> impl Iterator<Item = (usize, &Access, Direction, &Way)> {
        self.accesses.iter().enumerate().flat_map(|(i, access)| {
            Direction::BOTH.map(|direction| (i, access, direction, access.way(direction)))
        })
    }

    /// The access and those between it and the core, itself first.
    pub fn path(&self, access: usize) -> impl Iterator<Item = &Access> {
        let outwards = move |i: &usize| self.accesses[*i].behind;
        std::iter::successors(Some(access), outwards).map(|i| &self.accesses[i])
    }

    /// The round trip to a host on an access without queues: of the core, and the delays on the
    /// way.
    pub fn rtt_at(&self, access: usize) -> Duration {
        let delays = self.path(access).flat_map(|a| Direction::BOTH.map(|d| a.way(d).delay));
        self.rtt + delays.sum::<Duration>()
    }
}

impl Access {
    /// True if it is the air of a WiFi, whose capacity nobody knows beforehand.
    pub fn is_air(&self) -> bool {
        matches!(self.kind, AccessKind::Wifi(_) | AccessKind::Station { .. })
    }

    /// True if both directions share one capacity.
    pub fn is_half_duplex(&self) -> bool {
        matches!(self.kind, AccessKind::HalfDuplex { .. })
    }

    /// True if each of its hosts has a link of its own that both directions share.
    pub fn is_per_host(&self) -> bool {
        matches!(self.kind, AccessKind::HalfDuplex { per_host: true, .. })
    }

    /// One of its directions.
    pub fn way(&self, direction: Direction) -> &Way {
        let link = match &self.kind {
            AccessKind::Link(link)
            | AccessKind::Cell(link)
            | AccessKind::HalfDuplex { link, .. } => link,
            AccessKind::Wifi(wifi) => &wifi.link,
            AccessKind::Station { link, .. } => link,
        };
        match direction {
            Direction::Down => &link.down,
            Direction::Up => &link.up,
        }
    }

    /// One of its directions, to change it.
    pub fn way_mut(&mut self, direction: Direction) -> &mut Way {
        let link = match &mut self.kind {
            AccessKind::Link(link)
            | AccessKind::Cell(link)
            | AccessKind::HalfDuplex { link, .. } => link,
            AccessKind::Wifi(wifi) => &mut wifi.link,
            AccessKind::Station { link, .. } => link,
        };
        match direction {
            Direction::Down => &mut link.down,
            Direction::Up => &mut link.up,
        }
    }
}

/// Rate that a link carries over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Capacity {
    /// The same all the time.
    Constant(Rate),
    /// A trace, recorded or made.
    Trace(TraceSource),
    /// Constant between steps; the first is at time zero, times rise.
    Steps(Vec<RateStep>),
    /// Rate that the air of a WiFi leaves.
    Air,
    /// That of the way down: both directions of a half-duplex link share it.
    Shared,
}

/// From `at` on, the link carries `rate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RateStep {
    /// Time of the step.
    pub at: Duration,
    /// Rate from then on.
    pub rate: Rate,
}

/// A trace and how to use it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TraceSource {
    /// Origin of the trace.
    pub from: TraceFrom,
    /// The column of capacities: a name in the header, or a number from 1. `None`: the format's
    /// own.
    pub column: Option<String>,
    /// Factor on every capacity.
    pub scale: f64,
    /// The mean that the trace is scaled to, before that factor. `None`: its own.
    pub mean: Option<Rate>,
    /// Time in the trace at which the run starts. `None`: drawn from the run's seed.
    pub offset: Option<Duration>,
    /// Coefficient of variation of fading within each second; 0: none.
    pub fading: f64,
}

/// Origin of a trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum TraceFrom {
    /// A file, as the scenario names it; see [`Source::folder`](super::Source::folder).
    File(PathBuf),
    /// A generator, which makes another one for every case: see `docs/reference/traces.md`.
    Generator {
        /// Kind of link that the trace is like.
        medium: Medium,
        /// The share of what each second lacks to the peak that outages of less than a second
        /// have.
        outages: f64,
    },
}

/// A queueing discipline and how much it holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Queue {
    /// The discipline.
    pub discipline: Discipline,
    /// Limit on what it holds.
    pub limit: QueueLimit,
    /// The round trip that a limit in BDP counts with. `None`: [`Network::rtt_at`] its access.
    pub bdp_rtt: Option<Duration>,
    /// The rate that a limit in BDP counts with. `None`: the link's; of a trace or of steps the
    /// mean over time.
    pub bdp_rate: Option<Rate>,
    /// Each flow has such a queue of its own, all of them served in turn.
    #[serde(skip_serializing_if = "is_false")]
    pub per_flow: bool,
}

/// True of an option that is off: it leaves no trace in identities.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn is_false(option: &bool) -> bool {
    !option
}

/// A queueing discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Discipline {
    /// First come, first served; what does not fit is dropped.
    DropTail,
    /// PIE (RFC 8033).
    Pie {
        /// The delay that it aims at.
        target: Duration,
        /// It marks packets that allow it (ECN) instead of dropping them, while it would drop fewer
        /// than one of ten.
        ecn: bool,
    },
    /// CoDel (RFC 8289).
    Codel {
        /// The delay that may stand.
        target: Duration,
        /// It marks packets that allow it instead of dropping them.
        ecn: bool,
        /// Each flow has a queue of its own (FQ-CoDel, RFC 8290).
        flows: bool,
    },
    /// FIFO that makes room, if it must, by dropping waiting messages of lower priority.
    PriorityDrop,
    /// ABC: each packet is marked for senders under it.
    Abc {
        /// The delay that may stand.
        threshold: Duration,
    },
    /// FIFO that drops each packet once it has waited for a time.
    DiscardTimer {
        /// The time.
        timer: Duration,
    },
    /// DualPI2 (RFC 9332): two coupled queues, of which that of L4S hardly waits.
    DualPi2 {
        /// The delay that the queue of all others aims at.
        target: Duration,
        /// Time in the queue of L4S above which every packet is marked.
        step_threshold: Duration,
    },
    /// Octopus: whole messages are dropped as their application says.
    Octopus {
        /// A message is dropped only once it is whole in the queue and has waited for its slack.
        slack: bool,
        /// Packets of which the first of their message never came are dropped.
        headless: bool,
        /// Each packet is decided on its own.
        #[serde(skip_serializing_if = "is_false")]
        per_packet: bool,
        /// Identifier of the RTP header extension by which PDU Sets are marked; `None`: it is not looked for.
        #[serde(skip_serializing_if = "Option::is_none")]
        pdu_set_id: Option<u8>,
        /// Time that a PDU Set waits before it is dropped for a newer one.
        #[serde(skip_serializing_if = "Duration::is_zero")]
        pdu_set_slack: Duration,
    },
    /// One that another crate brings.
    #[serde(serialize_with = "by_name")]
    Custom(CustomQueue),
}

fn by_name<S: Serializer>(queue: &CustomQueue, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(queue.0.name())
}

/// Limit on what a queue holds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub enum QueueLimit {
    /// A multiple of rate times round trip, in IP bytes.
    Bdp(f64),
    /// IP bytes.
    Bytes(u64),
    /// Packets.
    Packets(u64),
}

/// Loss that has nothing to do with the queue; it comes before it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub enum Loss {
    /// Each packet with the same probability.
    Bernoulli {
        /// The probability.
        p: f64,
    },
    /// One of every so many packets of a flow.
    Periodic {
        /// Of so many packets one is lost.
        every: u64,
        /// So many packets pass before the first loss.
        first: u64,
    },
    /// Bursts: a chain of two states that steps once per packet.
    GilbertElliott {
        /// Probability of going from the good state to the bad one.
        good_to_bad: f64,
        /// Probability of going back.
        bad_to_good: f64,
        /// Probability of loss in the good state.
        good: f64,
        /// Probability of loss in the bad state.
        bad: f64,
    },
}
