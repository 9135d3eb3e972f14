//! A stream over several accesses at once: the ways to share it among them, and its two ends in a
//! world. What is sent on it belongs to a workload.

use std::net::IpAddr;
use std::sync::Arc;

use airlane_apps::multipath::{self, Dial, FbdtOptions, MptcpOptions, SchedulerKind, Scheme};
use airlane_base::Seed;
use airlane_quic::{Connection, ControlHandle, Endpoint};
use serde::Serialize;

use crate::error::LabError;
use crate::scenario::{ControllerConfig, Word, words};
use crate::world::{Pair, Stage, Tap};

/// A way to share a stream among accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) enum Scheduler {
    #[default]
    Fbdt,
    Mptcp(SchedulerKind),
}

/// A part of FBDT that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Without {
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
    pub(crate) fn scheme(self, without: Option<Without>) -> Scheme {
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
    pub(crate) fn sentence(self) -> &'static str {
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

/// Both ends of a stream, before it begins.
pub(crate) struct Ends {
    /// Their hosts.
    pub(crate) pair: Pair,
    /// Where the end that sends is connected to.
    pub(crate) listen: Endpoint,
    /// How the other end connects, radio by radio.
    pub(crate) dials: Vec<Dial>,
    /// The radios of all accesses that the client is on.
    pub(crate) radios: Vec<Radio>,
    seen: Vec<(IpAddr, Seen)>,
}

/// A radio of a stream.
pub(crate) struct Radio {
    /// The owner's name and the access's.
    pub(crate) name: String,
    /// Its number in the stream and what sees its connection; `None` if it is not used.
    pub(crate) used: Option<(u8, Arc<Tap>)>,
}

type Seen = Box<dyn Fn(&ControlHandle) + Send + Sync>;

impl Ends {
    /// The next pair of hosts of `stage`, with an endpoint at each radio of the accesses `at`, or of
    /// the one of them called `only`. `owner` has the radios, `server` is the server's name for TLS.
    ///
    /// # Errors
    /// If there is no pair, or an endpoint cannot be made: a fault of ours.
    pub(crate) fn new(
        stage: &mut Stage<'_>,
        (owner, server): (&str, &str),
        (at, only): (&[usize], Option<&str>),
        control: &ControllerConfig,
    ) -> Result<Self, LabError> {
        let pair = stage.attach()?;
        let listen = multipath::path_transport(stage.transport(control));
        let listen = stage.server(&pair, listen)?;
        let (mut radios, mut dials) = (Vec::new(), Vec::new());
        let mut seen: Vec<(IpAddr, Seen)> = Vec::new();
        for (access, ip) in at.iter().zip(&pair.from) {
            let access = &stage.scenario().network.accesses[*access].name;
            let name = format!("{owner}.{access}");
            if only.is_some_and(|only| only != access) {
                radios.push(Radio { name, used: None });
                continue;
            }
            let tap = stage.tap(&pair);
            seen.push((*ip, Box::new(stage.sender_seen(&pair, &tap))));
            radios.push(Radio { name, used: Some((dials.len() as u8, tap)) });
            let transport = multipath::path_transport(stage.client_transport());
            let endpoint = stage.client_at(&pair, *ip, transport)?;
            dials.push(Dial { endpoint, server: pair.address, name: server.to_owned() });
        }
        Ok(Self { pair, listen, dials, radios, seen })
    }

    /// What sees each connection as it comes to the end that is connected to; to be taken once.
    pub(crate) fn connected(&mut self) -> impl Fn(&Connection, &ControlHandle) + use<> {
        let seen = std::mem::take(&mut self.seen);
        move |connection: &Connection, control: &ControlHandle| {
            let from = connection.remote_addr().map(|address| address.ip());
            if let Some((_, seen)) = seen.iter().find(|(ip, _)| Some(*ip) == from) {
                seen(control);
            }
        }
    }
}

/// The id of a stream, which nobody can guess but from the seed.
pub(crate) fn stream_id(seed: Seed) -> multipath::StreamId {
    let bytes = seed.bytes();
    std::array::from_fn(|i| bytes[i])
}
