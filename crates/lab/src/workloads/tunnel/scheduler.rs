//! Which access of a tunnel sends what.

use airlane_apps::multipath::{Options, SchedulerKind, Scheme};

use crate::scenario::{Word, words};

/// A way to share a stream among accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Scheduler {
    #[default]
    Fbdt,
    Mptcp(SchedulerKind),
}

words! {
    Scheduler: "fbdt" => Self::Fbdt,
        "min-rtt" => Self::Mptcp(SchedulerKind::MinRtt),
        "blest" => Self::Mptcp(SchedulerKind::Blest),
        "linux" => Self::Mptcp(SchedulerKind::Linux),
        "ecf" => Self::Mptcp(SchedulerKind::Ecf),
        "round-robin" => Self::Mptcp(SchedulerKind::RoundRobin),
        "redundant" => Self::Mptcp(SchedulerKind::Redundant),
        "musher" => Self::Mptcp(SchedulerKind::Musher);
}

impl Scheduler {
    pub(super) fn scheme(self) -> Scheme {
        match self {
            Self::Fbdt => Scheme::Fbdt,
            Self::Mptcp(kind) => Scheme::Mptcp(Options::of(kind)),
        }
    }

    /// As a reader of the report sees it.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Fbdt => "FBDT",
            Self::Mptcp(SchedulerKind::MinRtt) => "MPTCP, the lowest round trip first (minRTT)",
            Self::Mptcp(SchedulerKind::Blest) => "MPTCP with BLEST",
            Self::Mptcp(SchedulerKind::Linux) => "MPTCP as Linux 5.18 schedules it",
            Self::Mptcp(SchedulerKind::Ecf) => "MPTCP with ECF",
            Self::Mptcp(SchedulerKind::RoundRobin) => "MPTCP, radios in turn",
            Self::Mptcp(SchedulerKind::Redundant) => "MPTCP, everything on every radio",
            Self::Mptcp(SchedulerKind::Musher) => "MPTCP with MuSher",
        }
    }
}
