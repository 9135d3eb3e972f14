//! Where the roles of a run are started: hosts for them, and endpoints on these hosts.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use airlane_base::{InputError, Seed, Time};
use airlane_cupid::{AgentOptions, EstimatorOptions, Feedback, RuleOptions};
use airlane_cupid_agent::AirAgent;
use airlane_net::air::{Air, StationId};
use airlane_net::{Direction, Network};
use airlane_quic::{
    AckPolicy, Cipher, ControlHandle, DebugFiles, Endpoint, PacketConfig, Reports, Timers,
    TransportConfig,
};
use airlane_runtime::virtual_time::World;
use airlane_runtime::{RuntimeExt, RuntimeHandle};

use super::Options;
use super::air_capture::{AirCapture, AirCaptures};
use super::network::Addresses;
use super::tap::Tap;
use crate::error::LabError;
use crate::pcap;
use crate::plan::{Plan, RunKey};
use crate::workload::Caches;
use airlane_scenario::{ControllerConfig, Cupid, Scenario, Scheme};

/// The port of every server.
const PORT: u16 = 443;

/// Clients send requests and acknowledgements only.
const CLIENT_CONTROL: ControllerConfig = ControllerConfig::Reno;

/// A server's host and its client's.
#[derive(Clone)]
pub struct Pair {
    /// The host that sends.
    pub server: RuntimeHandle,
    /// The host that receives.
    pub client: RuntimeHandle,
    /// Address at which the server listens.
    pub address: SocketAddr,
    /// The client's addresses: one per access that it is on, in the order of its place.
    pub from: Vec<IpAddr>,
    /// The air that the client is on by its first access, if that is a WiFi.
    pub air: Option<WifiStation>,
    /// The agents of Cupid of who is on the air, if there is one: for what it receives, and for what it
    /// sends.
    agents: Option<Agents>,
    /// The agent that grants the server its rates, where it is the server that is on the air.
    own: Option<AirAgent>,
}

/// The agents of Cupid on a host on the air. A radio listens once one of them is asked.
#[derive(Clone)]
struct Agents {
    down: AirAgent,
    up: AirAgent,
}

impl Pair {
    /// Cupid's reports of the air of the client, for payload that it receives and for what it sends; `None`: it is
    /// on no air.
    pub fn air_reports(
        &self,
    ) -> Option<[impl FnMut(Time) -> Option<Feedback> + Send + 'static; 2]> {
        self.agents.as_ref().map(|agents| [&agents.down, &agents.up].map(AirAgent::reports))
    }

    /// The same hosts the other way round: what is sent goes from the client, at its first access, to the
    /// server. No agent is on its receiver, which is on no air, but one may be on the sender.
    pub fn turned(&self, takes_reports: bool) -> Self {
        let own = self.from.first().copied().unwrap_or(self.address.ip());
        Self {
            server: self.client.clone(),
            client: self.server.clone(),
            address: SocketAddr::new(own, PORT),
            from: vec![self.address.ip()],
            air: None,
            agents: None,
            own: self.agents.as_ref().map(|agents| agents.up.clone()).filter(|_| takes_reports),
        }
    }
}

/// A host on the air of a WiFi.
#[derive(Clone, Debug)]
pub struct WifiStation {
    air: Air,
    station: StationId,
}

impl WifiStation {
    /// An agent of Cupid on the host, which hears what its radio hears from `now` on, for payload that goes
    /// one way.
    /// What it hears goes into a capture as well, and what it reports to a hook, if there are such.
    fn agent(
        &self,
        cupid: &Cupid,
        (direction, now): (airlane_cupid::Direction, Time),
        capture: Option<AirCapture>,
        told: Option<impl FnMut(Time, &Feedback) + Send + 'static>,
    ) -> AirAgent {
        let (own, bssid) = self.air.addresses(self.station);
        let estimator = EstimatorOptions {
            bssid: Some(bssid),
            memory: cupid.memory,
            eta: cupid.eta,
            direction,
            ..EstimatorOptions::new(own)
        };
        let defaults = AgentOptions::new(estimator);
        let options = AgentOptions {
            rule: RuleOptions { kind: cupid.rule, eta: cupid.eta, ..RuleOptions::default() },
            charging: cupid.charging,
            interval: cupid.interval,
            ..defaults
        };
        let (air, station, mut ears) = (self.air.clone(), self.station, None);
        // Its radio listens once somebody asks.
        let hear = move || {
            let heard = ears.get_or_insert_with(|| air.listen(station)).take();
            if let Some(capture) = &capture {
                heard.iter().for_each(|heard| capture.write(heard));
            }
            Some(heard)
        };
        let agent = AirAgent::new(options, now, hear);
        if let Some(told) = told {
            agent.tell(told);
        }
        agent
    }

    /// The air that its packets have been charged with until now, both ways.
    pub fn charged(&self) -> Duration {
        let airtime = self.air.airtime();
        let of = |direction| {
            airtime.get(usize::from(Air::port(self.station, direction).0)).map(|of| of.charged)
        };
        Direction::BOTH.into_iter().filter_map(of).sum()
    }
}

/// Limit of the IP bytes that a client has in its uplink towards a server.
struct UplinkLimit {
    from: IpAddr,
    to: IpAddr,
    max_ip_bytes: u64,
}

/// Context of a run that workloads need to start their roles.
pub struct RunContext<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// Data that its runs share.
    pub caches: &'a Caches,
    /// Key of the run.
    pub key: RunKey,
    /// The seed of the world.
    pub seed: Seed,
    /// End of the run.
    pub end: Time,
    options: &'a Options,
    tls: Cipher,
    qlog: Option<PathBuf>,
    pairs: VecDeque<Pair>,
    /// Senders reported to the hook so far.
    senders: usize,
    /// Limits of what clients have in the queues of their uplinks.
    uplink_limits: Vec<UplinkLimit>,
    /// The clients' endpoints: they live until all roles have ended.
    endpoints: Vec<Arc<Endpoint>>,
}

impl<'a> RunContext<'a> {
    /// The context of a run, with a server and a client in `world` for each entry of `hosts`.
    pub(super) fn new(
        (plan, caches, key, seed): (&'a Plan, &'a Caches, RunKey, Seed),
        options: &'a Options,
        world: &mut World,
        hosts: &[Addresses],
        mut captures: Option<&mut AirCaptures>,
    ) -> Result<Self, LabError> {
        let tls = match plan.scenario.transport.cipher {
            airlane_scenario::Cipher::Null => Cipher::Null,
            airlane_scenario::Cipher::Tls => {
                Cipher::lab_tls().map_err(|e| LabError::fault(e.to_string()))?
            }
        };
        let mut servers: BTreeMap<IpAddr, RuntimeHandle> = BTreeMap::new();
        let pairs = hosts.iter().enumerate().map(|(i, Addresses { server, client, air })| Pair {
            server: servers
                .entry(*server)
                .or_insert_with(|| world.host(&format!("server{i}"), *server))
                .clone(),
            client: world.host_with(&format!("client{i}"), client),
            address: SocketAddr::new(*server, PORT),
            from: client.clone(),
            air: air.clone().map(|(air, station)| WifiStation { air, station }),
            agents: None,
            own: None,
        });
        let with_agent = |(place, pair): (usize, Pair)| {
            let scheme = &plan.scenario.schemes[key.scheme];
            // Whether any sender goes by reports is known to the senders alone: reports are made for
            // those who take them.
            let agents = pair.air.as_ref().map(|air| {
                let capture = captures.as_mut().map(|c| c.heard_by(&format!("client{place}")));
                let agent = |direction| {
                    let hook = options.on_report.clone();
                    let told = hook.map(|hook| {
                        move |now: Time, report: &Feedback| hook.invoke(place, now, report)
                    });
                    air.agent(&scheme.cupid, (direction, Time::ZERO), capture.clone(), told)
                };
                Agents {
                    down: agent(airlane_cupid::Direction::Down),
                    up: agent(airlane_cupid::Direction::Up),
                }
            });
            Pair { agents, ..pair }
        };
        // The schemes of a case share their seeds, and so the names of their connections.
        let label = pcap::file_name(&plan.label(key));
        Ok(Self {
            plan,
            caches,
            key,
            seed,
            end: Time::ZERO + plan.scenario.duration,
            options,
            tls,
            qlog: options.captures.qlog.as_ref().map(|dir| dir.join(label)),
            pairs: pairs.enumerate().map(with_agent).collect(),
            senders: 0,
            uplink_limits: Vec::new(),
            endpoints: Vec::new(),
        })
    }

    /// A host of the world, to ask for the time.
    pub(super) fn clock(&self) -> Option<RuntimeHandle> {
        self.pairs.front().map(|pair| pair.client.clone())
    }

    /// The scenario.
    pub fn scenario(&self) -> &'a Scenario {
        &self.plan.scenario
    }

    /// The scheme of the run.
    pub fn scheme(&self) -> &'a Scheme {
        &self.plan.scenario.schemes[self.key.scheme]
    }

    /// The next pair of hosts, in the order of [`places`](crate::workload::Traffic::places).
    ///
    /// # Errors
    /// If there is none left: a fault of ours.
    pub fn attach(&mut self) -> Result<Pair, LabError> {
        self.pairs.pop_front().ok_or_else(|| LabError::fault("more roles than places"))
    }

    /// Samples of what `pair`'s server sends, from now on.
    pub fn tap(&self, pair: &Pair) -> Arc<Tap> {
        Tap::start(&pair.server)
    }

    /// A function to call with the sender's side of the next greedy flow's connection: it connects
    /// `tap`, sets the sender's own agent to work and calls the hook for senders, if there are such.
    pub fn sender_seen(
        &mut self,
        pair: &Pair,
        tap: &Arc<Tap>,
    ) -> impl Fn(&ControlHandle) + Send + Sync + use<> {
        let (tap, hook, host) = (tap.clone(), self.options.on_sender.clone(), pair.server.clone());
        let number = self.senders;
        self.senders += 1;
        let own = pair.own.clone();
        move |control| {
            tap.connect(control);
            if let Some(agent) = own.clone() {
                host.spawn("grants", agent.grant(control.clone(), host.clone()));
            }
            if let Some(hook) = &hook {
                hook.invoke(number, &host, control);
            }
        }
    }

    /// Transport configuration of connections of a sender under `control`.
    pub fn transport(&self, control: &ControllerConfig) -> TransportConfig {
        let scenario = self.scenario();
        TransportConfig {
            packets: PacketConfig {
                payload_bytes: u16::try_from(scenario.transport.payload_bytes).unwrap_or(u16::MAX),
                ecn: scenario.transport.ecn,
                empty_client_ids: true,
                ..PacketConfig::default()
            },
            acks: match scenario.transport.ack {
                airlane_scenario::AckPolicy::Every2 => AckPolicy::EverySecond,
                airlane_scenario::AckPolicy::Decimated => AckPolicy::chromium(scenario.network.rtt),
            },
            timers: Timers {
                // A trace may carry nothing for longer than a minute, and a connection survives it.
                idle_timeout: Some(Duration::from_secs(300)),
                ..Timers::default()
            },
            debug_files: DebugFiles {
                qlog_dir: self.qlog.clone(),
                keylog: self.options.captures.keylog.as_ref().map(|d| d.join("keys.log")),
            },
            clock_shift: self.options.clock_shift,
            reports: Reports {
                source: None,
                sink: control.takes_reports().then(airlane_cupid_agent::report_sink),
            },
            ..TransportConfig::laboratory(self.tls.clone(), *control)
        }
    }

    /// Transport configuration of connections of a client.
    pub fn client_transport(&self) -> TransportConfig {
        self.transport(&CLIENT_CONTROL)
    }

    /// A client's endpoint on the pair's client, at the address on its first access.
    ///
    /// # Errors
    /// If it cannot be made: a fault of ours.
    pub fn client(
        &mut self,
        pair: &Pair,
        config: TransportConfig,
    ) -> Result<Arc<Endpoint>, LabError> {
        self.client_at(pair, pair.from[0], config)
    }

    /// A client's endpoint on the pair's client, at one of its addresses.
    ///
    /// # Errors
    /// As [`Self::client`].
    pub fn client_at(
        &mut self,
        pair: &Pair,
        from: IpAddr,
        config: TransportConfig,
    ) -> Result<Arc<Endpoint>, LabError> {
        // An agent measures the air of the first access.
        let agents = pair.agents.as_ref().filter(|_| pair.from.first() == Some(&from));
        let source = agents.map(|agents| agents.down.report_source());
        let config = TransportConfig { reports: Reports { source, ..config.reports }, ..config };
        let endpoint = Endpoint::client(&pair.client, SocketAddr::new(from, 0), config);
        let endpoint = Arc::new(made(endpoint)?);
        self.endpoints.push(endpoint.clone());
        Ok(endpoint)
    }

    /// A function that is ready while the first link of the pair's client, at its first access, towards the server
    /// holds less than so many IP bytes, and else wakes the task once it does.
    ///
    /// # Errors
    /// As [`Self::client`].
    pub fn uplink_room(
        &mut self,
        pair: &Pair,
        max_ip_bytes: u64,
    ) -> Result<impl Fn(&mut Context<'_>) -> Poll<()> + Send + Sync + use<>, LabError> {
        let (from, to) = (pair.from[0], pair.address.ip());
        self.uplink_limits.push(UplinkLimit { from, to, max_ip_bytes });
        // A socket to ask on: nothing is sent by it.
        let socket = pair.client.bind_udp(SocketAddr::new(from, 0));
        let socket =
            socket.map_err(|e| LabError::fault(format!("a socket cannot be made: {e}")))?;
        Ok(move |cx: &mut Context<'_>| socket.poll_send_ready(cx, to))
    }

    /// Sets the limits of uplinks that roles have asked for.
    pub(super) fn limit_uplinks(&self, network: &mut Network) -> Result<(), InputError> {
        for limit in &self.uplink_limits {
            if !network.limit_backlog(limit.from, limit.to, limit.max_ip_bytes) {
                let expected = "expected one whose way up is a link";
                return Err(InputError::new("found an access without a queue to limit", expected));
            }
        }
        Ok(())
    }

    /// The clients' endpoints, to be dropped when all roles have ended.
    pub(super) fn into_endpoints(self) -> Vec<Arc<Endpoint>> {
        self.endpoints
    }

    /// A server's endpoint on the pair's server.
    ///
    /// # Errors
    /// As [`Self::client`].
    pub fn server(&self, pair: &Pair, config: TransportConfig) -> Result<Endpoint, LabError> {
        made(Endpoint::server(&pair.server, pair.address, config))
    }
}

fn made<E: std::fmt::Display>(endpoint: Result<Endpoint, E>) -> Result<Endpoint, LabError> {
    endpoint.map_err(|e| LabError::fault(format!("an endpoint cannot be made: {e}")))
}
