//! Which path takes the next segment.

mod blest;
mod ecf;
pub(crate) mod linux;
mod min_rtt;
mod musher;
mod round_robin;

use std::time::Duration;

use airlane_base::Time;
use serde::Serialize;

pub(crate) use min_rtt::lowest_rtt;

use blest::Blest;
use ecf::Ecf;
use linux::Linux;
use musher::Musher;
use round_robin::RoundRobin;

/// A scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum SchedulerKind {
    /// The path with the lowest round trip of those whose window has room: default of out-of-tree
    /// Linux (mptcp v0.9x).
    MinRtt,
    /// The same, but a slower path takes nothing that would block the window (Ferlin et al., 2016).
    Blest,
    /// The path that empties its send buffer first, 64 KiB at a time: upstream Linux, which calls this
    /// BLEST, from 6.7 on.
    Linux,
    /// Upstream Linux until 6.6, which gives the stream less memory: 5.18 is the kernel of the FBDT paper.
    Linux518,
    /// A slower path takes a segment only if waiting for the faster one would end later (Lim et
    /// al., 2017).
    Ecf,
    /// One after the other, as long as their windows have room.
    RoundRobin,
    /// Every segment on every path.
    Redundant,
    /// A share of every hundred segments for each of two paths, which is searched for (Saha et al.,
    /// 2019; Aggarwal et al., 2022). One path, and three or more, are served as by
    /// [`SchedulerKind::MinRtt`].
    Musher,
}

impl SchedulerKind {
    /// True for upstream Linux.
    pub(crate) fn is_linux(self) -> bool {
        matches!(self, Self::Linux | Self::Linux518)
    }
}

/// A path as schedulers see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    /// Its number.
    pub(crate) path: usize,
    /// True if data is sent on it at all: it has not fallen silent.
    pub(crate) is_usable: bool,
    /// True if it takes another segment, and its congestion window allows that.
    pub(crate) has_room: bool,
    pub(crate) cwnd: u64,
    /// Bytes written to it or queued for it, and not acknowledged to it.
    pub(crate) in_flight: u64,
    pub(crate) srtt: Duration,
    pub(crate) rttvar: Duration,
    pub(crate) min_rtt: Duration,
    pub(crate) pacing_bps: f64,
    pub(crate) mss: u64,
}

/// The stream as schedulers see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meta {
    pub(crate) now: Time,
    /// From the first byte that is not acknowledged to the window's right edge.
    pub(crate) window: u64,
    /// From the first byte that was not handed over to the window's right edge.
    pub(crate) window_left: u64,
    /// Bytes that were not handed over.
    pub(crate) waiting: u64,
    /// Bytes of the segment that is to be handed over.
    pub(crate) next_bytes: u64,
    /// Bytes that were acknowledged.
    pub(crate) acknowledged: u64,
    /// Segments that were sent again so far.
    pub(crate) retransmissions: u64,
}

/// The state of a scheduler.
#[derive(Clone, Debug)]
pub(crate) enum Scheduler {
    MinRtt,
    Blest(Blest),
    Linux(Linux),
    Ecf(Ecf),
    RoundRobin(RoundRobin),
    Redundant,
    Musher(Musher),
}

impl Scheduler {
    pub(crate) fn new(kind: SchedulerKind) -> Self {
        match kind {
            SchedulerKind::MinRtt => Self::MinRtt,
            SchedulerKind::Blest => Self::Blest(Blest::default()),
            SchedulerKind::Linux | SchedulerKind::Linux518 => Self::Linux(Linux::default()),
            SchedulerKind::Ecf => Self::Ecf(Ecf::default()),
            SchedulerKind::RoundRobin => Self::RoundRobin(RoundRobin::default()),
            SchedulerKind::Redundant => Self::Redundant,
            SchedulerKind::Musher => Self::Musher(Musher::default()),
        }
    }

    /// The path that takes the next segment; `None` if it waits. Of `paths` in ascending order.
    /// Asked as often as the sender likes before a path takes it.
    pub(crate) fn pick(&mut self, meta: &Meta, paths: &[View]) -> Option<usize> {
        match self {
            Self::MinRtt | Self::Redundant => lowest_rtt(paths, |p| p.has_room).map(|p| p.path),
            Self::Blest(blest) => blest.pick(meta, paths),
            Self::Linux(linux) => linux.pick(paths),
            Self::Ecf(ecf) => ecf.pick(meta, paths),
            Self::RoundRobin(robin) => robin.pick(paths),
            Self::Musher(musher) => musher.pick(paths),
        }
    }

    /// The path that was picked takes it.
    pub(crate) fn on_taken(&mut self, meta: &Meta, path: &View) {
        match self {
            Self::Linux(linux) => linux.on_taken(meta, path),
            Self::RoundRobin(robin) => robin.on_taken(path.path),
            Self::Musher(musher) => musher.on_taken(path.path),
            Self::MinRtt | Self::Blest(_) | Self::Ecf(_) | Self::Redundant => {}
        }
    }

    /// Time has passed, or an acknowledgement came.
    pub(crate) fn observe(&mut self, meta: &Meta) {
        if let Self::Musher(musher) = self {
            musher.observe(meta);
        }
    }

    /// A path joined with this number, or ended.
    pub(crate) fn forget(&mut self, path: usize) {
        if let Self::Linux(linux) = self {
            linux.forget(path);
        }
    }
}
