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

    /// What it does, in a sentence.
    pub(super) fn sentence(self) -> &'static str {
        match self {
            Self::Fbdt => {
                "A window goes out over one radio from its beginning, over the other from its end."
            }
            Self::Mptcp(SchedulerKind::MinRtt) => "The radio with the lowest round trip first.",
            Self::Mptcp(SchedulerKind::Blest) => {
                "A slower radio gets data only if the faster one could not fill memory meanwhile."
            }
            Self::Mptcp(SchedulerKind::Linux) => {
                "Each 64 KiB go to the radio that would be done first, as in kernel 5.18."
            }
            Self::Mptcp(SchedulerKind::Ecf) => {
                "A slower radio gets data only if it would be done before the faster one."
            }
            Self::Mptcp(SchedulerKind::RoundRobin) => "The radios in turn.",
            Self::Mptcp(SchedulerKind::Redundant) => "Everything over every radio.",
            Self::Mptcp(SchedulerKind::Musher) => {
                "Shares of every hundred segments, which are searched for."
            }
        }
    }
}
