//! A stream over several accesses at once: the ways to share it among them, and its two ends in a
//! world. What is sent on it belongs to a workload.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use airlane_base::Seed;
use airlane_mptcp::{MptcpEngines, Options as MptcpOptions, SchedulerKind};
use airlane_multipath::{
    ChannelKind, Connect, InterfaceConfig, Session, SessionId, SessionLimits, SessionServer,
    accept_quic_subflows, connect_quic,
};
use airlane_multipath::{
    FbdtOptions, FbdtRedundancy, MultipathError, MultipathStream, Scheme, StreamConfig,
    path_transport,
};
use airlane_quic::{Connection, ControlHandle, Endpoint};
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use serde::Serialize;

use airlane_scenario::{ControllerConfig, words};
use airlane_sim::LabError;
use airlane_sim::world::{Pair, RunContext, Tap};

/// A way to share a stream among accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) enum Scheduler {
    #[default]
    Fbdt,
    Mptcp(SchedulerKind),
    /// FBDT as its paper prints it.
    PublishedFbdt,
}

/// A part of FBDT that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum FbdtAblation {
    Backward,
    Redundancy,
    Directions,
    Parts,
    Pipelining,
    Estimates,
}

words! {
    FbdtAblation: "backward" => Self::Backward,
        "redundancy" => Self::Redundancy,
        "directions" => Self::Directions,
        "parts" => Self::Parts,
        "pipelining" => Self::Pipelining,
        "estimates" => Self::Estimates;
    Scheduler: "fbdt" => Self::Fbdt,
        "fbdt-paper" => Self::PublishedFbdt,
        "min-rtt" => Self::Mptcp(SchedulerKind::MinRtt),
        "blest" => Self::Mptcp(SchedulerKind::Blest),
        "linux" => Self::Mptcp(SchedulerKind::Linux),
        "linux-5.18" => Self::Mptcp(SchedulerKind::Linux518),
        "ecf" => Self::Mptcp(SchedulerKind::Ecf),
        "round-robin" => Self::Mptcp(SchedulerKind::RoundRobin),
        "redundant" => Self::Mptcp(SchedulerKind::Redundant),
        "musher" => Self::Mptcp(SchedulerKind::Musher);
}

impl FbdtAblation {
    /// The options without this part.
    fn left_out_of(self, all: FbdtOptions) -> FbdtOptions {
        match self {
            Self::Backward => FbdtOptions { is_two_way: false, ..all },
            Self::Redundancy => FbdtOptions { redundancy: FbdtRedundancy::Off, ..all },
            Self::Directions => FbdtOptions { adapts_directions: false, ..all },
            Self::Parts => FbdtOptions { shares_memory: false, ..all },
            Self::Pipelining => FbdtOptions { pipelines_windows: false, ..all },
            Self::Estimates => FbdtOptions { redundancy: FbdtRedundancy::Published, ..all },
        }
    }
}

impl Scheduler {
    /// The scheme, with these parts of FBDT left out.
    pub(crate) fn scheme(self, without: &[FbdtAblation]) -> Scheme {
        let options = match (self, StreamConfig::default().scheme) {
            (Self::Mptcp(kind), _) => {
                return Scheme::Other(Arc::new(MptcpEngines(MptcpOptions::of(kind))));
            }
            (Self::PublishedFbdt, _) => FbdtOptions::PUBLISHED,
            (Self::Fbdt, Scheme::Fbdt(all)) => all,
            (Self::Fbdt, shipped) => return shipped,
        };
        // What sends nothing again has no estimates of when to do so.
        let mut parts = without.to_vec();
        parts.sort_by_key(|part| *part == FbdtAblation::Redundancy);
        Scheme::Fbdt(parts.into_iter().fold(options, |options, part| part.left_out_of(options)))
    }

    /// Payload of a segment, bytes: for FBDT what the tunnel ships. MPTCP schedules packets, and larger
    /// segments would hold it back; the paper's segments are packets too (section 5).
    pub(crate) fn segment_bytes(self) -> u32 {
        match self {
            Self::Fbdt => StreamConfig::default().max_segment_bytes,
            Self::Mptcp(_) | Self::PublishedFbdt => 4 << 10,
        }
    }

    /// Description of the scheduler, in a sentence.
    pub(crate) fn sentence(self) -> &'static str {
        match self {
            Self::Fbdt => {
                "A window goes out over one radio from its beginning, over the other from its end."
            }
            Self::PublishedFbdt => {
                "One window at a time, from its beginning over one radio and from its end over the other."
            }
            Self::Mptcp(SchedulerKind::MinRtt) => "The radio with the lowest round trip first.",
            Self::Mptcp(SchedulerKind::Blest) => {
                "A slower radio gets data only if the faster one could not fill memory meanwhile."
            }
            Self::Mptcp(SchedulerKind::Linux) => {
                "Each 64 KiB go to the radio that would be done first, as in Linux 6.7 and later."
            }
            Self::Mptcp(SchedulerKind::Linux518) => {
                "Each 64 KiB go to the radio that would be done first, as in Linux 5.18."
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

/// Both ends of a session with one stream, before it begins.
pub(crate) struct Ends {
    /// Their hosts.
    pub(crate) pair: Pair,
    /// The radios of all accesses that the client is on.
    pub(crate) radios: Vec<Radio>,
    listen: Arc<Endpoint>,
    /// Connectors of the client, radio by radio.
    connects: Vec<Connect>,
    taps: Vec<(IpAddr, ControlTap)>,
    seed: Seed,
}

/// The ends' places in a scenario.
pub(crate) struct Sites<'a> {
    /// The name of the actor that has the radios.
    pub(crate) owner: &'a str,
    /// The name of the server for TLS.
    pub(crate) server: &'a str,
    /// The accesses that the client is on.
    pub(crate) at: &'a [usize],
    /// The name of the one that is used; `None`: all of them.
    pub(crate) only: Option<&'a str>,
    /// Seed of the session's name and of its subflows' nonces.
    pub(crate) seed: Seed,
}

/// A radio of a stream.
pub(crate) struct Radio {
    /// The owner's name and the access's.
    pub(crate) name: String,
    /// Its number in the stream and what sees its connection; `None` if it is not used.
    pub(crate) used: Option<(u8, Arc<Tap>)>,
}

/// Callback with the congestion control of a connection for bulk data at the server.
type ControlTap = Box<dyn Fn(&ControlHandle) + Send + Sync>;

/// A connection has said which channel it carries by then.
const PAIRING_TIMEOUT: Duration = Duration::from_secs(5);

impl Ends {
    /// The next pair of hosts of `context`, with an endpoint at each radio that is used.
    ///
    /// # Errors
    /// If there is no pair, or an endpoint cannot be made: a fault of ours.
    pub(crate) fn new(
        context: &mut RunContext<'_>,
        sites: &Sites<'_>,
        control: &ControllerConfig,
    ) -> Result<Self, LabError> {
        let pair = context.attach()?;
        let listen = path_transport(context.transport(control));
        let listen = Arc::new(context.server(&pair, listen)?);
        let (mut radios, mut connects) = (Vec::new(), Vec::new());
        let mut taps: Vec<(IpAddr, ControlTap)> = Vec::new();
        for (access, ip) in sites.at.iter().zip(&pair.from) {
            let access = &context.scenario().network.accesses[*access].name;
            let name = format!("{}.{access}", sites.owner);
            if sites.only.is_some_and(|only| only != access) {
                radios.push(Radio { name, used: None });
                continue;
            }
            let tap = context.tap(&pair);
            taps.push((*ip, Box::new(context.sender_seen(&pair, &tap))));
            let number = connects.len() as u8;
            radios.push(Radio { name, used: Some((number, tap)) });
            let transport = path_transport(context.client_transport());
            let endpoint = context.client_at(&pair, *ip, transport)?;
            let seed = sites.seed.split("subflow").index(number.into());
            connects.push(connect_quic(endpoint, pair.address, sites.server, seed));
        }
        Ok(Self { pair, radios, listen, connects, taps, seed: sites.seed })
    }

    /// Serves the session; `begun` gets its stream.
    pub(crate) fn serve(
        &mut self,
        stream: StreamConfig,
        begun: impl Fn(MultipathStream) + Send + Sync + 'static,
    ) {
        let server = &self.pair.server;
        let bounds = SessionLimits { stream, ..SessionLimits::default() };
        let acceptor =
            SessionServer::new(server.clone(), bounds, move |opened| begun(opened.stream));
        let taps = std::mem::take(&mut self.taps);
        let connected = move |connection: &Connection, role| {
            let from = connection.remote_addr().as_ref().map(SocketAddr::ip);
            if role == ChannelKind::Bulk
                && let Some((_, tap)) = taps.iter().find(|(ip, _)| Some(*ip) == from)
            {
                tap(connection.control());
            }
        };
        let on = server.clone();
        let opened = move |channels| {
            let acceptor = acceptor.clone();
            // Why a subflow ends its client tells.
            on.spawn("subflow", async move { drop(acceptor.serve(channels).await) });
        };
        let listen = self.listen.clone();
        server.spawn("multipath", accept_quic_subflows(listen, PAIRING_TIMEOUT, connected, opened));
    }

    /// Opener of the session and its stream at the client; to be taken once.
    pub(crate) fn opener(&mut self, stream: StreamConfig) -> Opener {
        Opener {
            runtime: self.pair.client.clone(),
            connects: std::mem::take(&mut self.connects),
            seed: self.seed,
            stream,
        }
    }
}

/// The client's end of a session, before it begins.
pub(crate) struct Opener {
    runtime: RuntimeHandle,
    connects: Vec<Connect>,
    seed: Seed,
    stream: StreamConfig,
}

impl Opener {
    /// Opens the session and its stream. Dropped, the session gives the stream up.
    ///
    /// # Errors
    /// If there is no memory for the stream.
    pub(crate) fn open(self) -> Result<(Session, Arc<MultipathStream>), MultipathError> {
        let bounds = SessionLimits { stream: self.stream, ..SessionLimits::default() };
        let radios = self.connects.into_iter().map(|connect| (connect, InterfaceConfig::default()));
        // Nobody can guess it but from the seed.
        let bytes = self.seed.bytes();
        let id: SessionId = std::array::from_fn(|i| bytes[i]);
        let trunk = Session::new(&self.runtime, id, radios.collect(), bounds);
        let stream = Arc::new(trunk.open(Default::default())?);
        Ok((trunk, stream))
    }
}
