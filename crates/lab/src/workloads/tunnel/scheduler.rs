//! Which access of a tunnel sends what.

use airlane_apps::multipath::{FbdtOptions, MptcpOptions, SchedulerKind, Scheme};

use crate::scenario::{Word, words};

/// A way to share a stream among accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Scheduler {
    #[default]
    Fbdt,
    Mptcp(SchedulerKind),
}

/// A part of FBDT that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Without {
    Backward,
    Redundancy,
    Directions,
    Parts,
}

words! {
    Without: "backward" => Self::Backward,
        "redundancy" => Self::Redundancy,
        "directions" => Self::Directions,
        "parts" => Self::Parts;
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
    /// The scheme, with a part of FBDT left out.
    pub(super) fn scheme(self, without: Option<Without>) -> Scheme {
        let all = FbdtOptions::default();
        match self {
            Self::Fbdt => Scheme::Fbdt(match without {
                None => all,
                Some(Without::Backward) => FbdtOptions { is_two_way: false, ..all },
                Some(Without::Redundancy) => FbdtOptions { sends_again: false, ..all },
                Some(Without::Directions) => FbdtOptions { adapts_directions: false, ..all },
                Some(Without::Parts) => FbdtOptions { shares_memory: false, ..all },
            }),
            Self::Mptcp(kind) => Scheme::Mptcp(MptcpOptions::of(kind)),
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
