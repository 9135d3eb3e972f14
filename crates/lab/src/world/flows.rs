//! The roles of a run: an origin and a player per viewer, a sender and a receiver per transfer,
//! servers and a client of web traffic.

mod bulk;
mod viewers;
mod web;

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use airlane_apps::vod::Session;
use airlane_base::{Seed, Time};
use airlane_congestion::{Algorithm, ControllerConfig, WeightRule};
use airlane_quic::{AckPolicy, Cipher, Endpoint, NewController, TransportConfig};
use airlane_runtime::RuntimeHandle;
use airlane_runtime::virtual_time::World;
use tokio::sync::oneshot;

use super::Options;
use super::output::{BulkOutput, ViewerOutput, WebOutput};
use super::provider::Content;
use super::tap::Tap;
use crate::error::LabError;
use crate::pcap;
use crate::plan::{Plan, RunKey};
use crate::scenario::{self, Control, Scenario};
use bulk::Transfer;
use web::Traffic;

/// The port of every server.
const PORT: u16 = 443;

/// The roles of a run, running.
pub(super) struct Flows {
    /// A host to ask for the time.
    pub(super) clock: RuntimeHandle,
    viewers: Vec<(String, oneshot::Receiver<Session>, Arc<Tap>)>,
    bulk: Vec<(String, Time, oneshot::Receiver<Transfer>, Arc<Tap>)>,
    web: Vec<(String, Arc<Traffic>)>,
    endpoints: Vec<Arc<Endpoint>>,
    /// Viewers whose session has not ended.
    watching: Arc<AtomicUsize>,
}

/// What came of the roles.
pub(super) struct Collected {
    pub(super) viewers: Vec<ViewerOutput>,
    pub(super) bulk: Vec<BulkOutput>,
    pub(super) web: Vec<WebOutput>,
}

impl Flows {
    /// Whether every viewer's session has ended.
    pub(super) fn all_watched(&self) -> bool {
        self.watching.load(Ordering::Relaxed) == 0
    }

    /// Waits for all of them, which end with the run.
    pub(super) async fn collect(self) -> Collected {
        let (mut viewers, mut bulk) = (Vec::new(), Vec::new());
        for (name, session, tap) in self.viewers {
            // Its task cannot be gone: a panic would have ended the world.
            let Ok(session) = session.await else { continue };
            let (updates, samples) = tap.take();
            let failure = session.failure.map(|e| e.to_string());
            viewers.push(ViewerOutput { name, model: session.model, failure, updates, samples });
        }
        for (name, start, transfer, tap) in self.bulk {
            let Ok(Transfer { bytes, end, failure }) = transfer.await else { continue };
            let (_, samples) = tap.take();
            bulk.push(BulkOutput { name, start, bytes, end, failure, samples });
        }
        let web = self.web.into_iter().map(|(name, traffic)| traffic.output(name)).collect();
        drop(self.endpoints);
        Collected { viewers, bulk, web }
    }
}

/// A server's host, its client's, and the server's address.
type Pair = (RuntimeHandle, RuntimeHandle, IpAddr);

/// What starting roles takes.
struct Start<'a> {
    plan: &'a Plan,
    content: &'a Content,
    key: RunKey,
    options: &'a Options,
    tls: Cipher,
    qlog: Option<PathBuf>,
    seed: Seed,
    end: Time,
}

/// Starts the roles of a run on their hosts.
pub(super) fn spawn(
    plan: &Plan,
    content: &Content,
    key: RunKey,
    options: &Options,
    world: &mut World,
    (addresses, seed): (&[(IpAddr, IpAddr)], Seed),
) -> Result<Flows, LabError> {
    let scenario = &plan.scenario;
    let tls = match scenario.transport.cipher {
        scenario::Cipher::Null => Cipher::Null,
        scenario::Cipher::Tls => Cipher::lab_tls().map_err(|e| LabError::fault(e.to_string()))?,
    };
    // The schemes of a case share their seeds, and so the names of their connections.
    let label = pcap::file_name(&plan.label(key));
    let start = Start {
        plan,
        content,
        key,
        options,
        tls,
        qlog: options.captures.qlog.as_ref().map(|dir| dir.join(label)),
        seed,
        end: Time::ZERO + scenario.duration,
    };
    let pairs = addresses.iter().enumerate().map(|(i, (server, client))| {
        let host = |world: &mut World, name: String, ip| world.host(&name, ip);
        (
            host(world, format!("server{i}"), *server),
            host(world, format!("client{i}"), *client),
            *server,
        )
    });
    let pairs: Vec<Pair> = pairs.collect();
    let Some((_, clock, _)) = pairs.first().cloned() else {
        return Err(LabError::fault("a world without hosts"));
    };
    let mut flows = Flows {
        clock,
        viewers: Vec::new(),
        bulk: Vec::new(),
        web: Vec::new(),
        endpoints: Vec::new(),
        watching: Arc::new(AtomicUsize::new(scenario.viewers.len())),
    };
    let mut pairs = pairs.into_iter();
    viewers::spawn(&start, &mut pairs, &mut flows)?;
    bulk::spawn(&start, &mut pairs, &mut flows)?;
    web::spawn(&start, &mut pairs, &mut flows)?;
    Ok(flows)
}

impl Start<'_> {
    fn scenario(&self) -> &Scenario {
        &self.plan.scenario
    }

    /// Chunks that the value function looks ahead which a viewer sends, if the scheme wants it to.
    fn value_sent(&self, viewer: &scenario::Viewer) -> Option<usize> {
        let minerva = self.scenario().schemes[self.key.scheme].minerva.as_ref()?;
        let sent = minerva.value == Some(scenario::Value::Sent) && viewer.control.is_none();
        sent.then(|| minerva.horizon.unwrap_or_else(|| airlane_minerva::Blend::default().horizon))
    }

    fn transport(&self, control: &Control) -> TransportConfig {
        let scenario = self.scenario();
        let controller = controller(control);
        TransportConfig {
            payload_bytes: u16::try_from(scenario.transport.payload_bytes).unwrap_or(u16::MAX),
            acks: match scenario.transport.ack {
                scenario::AckPolicy::Every2 => AckPolicy::EverySecond,
                scenario::AckPolicy::Decimated => AckPolicy::chromium(scenario.link.rtt),
            },
            // A trace may carry nothing for longer than a minute, and a connection survives it.
            idle_timeout: Some(Duration::from_secs(300)),
            cipher: self.tls.clone(),
            empty_client_ids: true,
            qlog_dir: self.qlog.clone(),
            keylog: self.options.captures.keylog.as_ref().map(|d| d.join("keys.log")),
            clock_shift: self.options.clock_shift,
            ..TransportConfig::new(move |n: NewController| {
                controller.build(n.now, n.payload_bytes, n.seed)
            })
        }
    }

    fn client(&self, host: &RuntimeHandle, config: TransportConfig) -> Result<Endpoint, LabError> {
        endpoint(host, None, config)
    }

    fn server(&self, host: &RuntimeHandle, config: TransportConfig) -> Result<Endpoint, LabError> {
        endpoint(host, Some(PORT), config)
    }
}

/// Clients send requests and acknowledgements only.
const CLIENT_CONTROL: Control = Control::Reno;

fn endpoint(
    host: &RuntimeHandle,
    listen: Option<u16>,
    config: TransportConfig,
) -> Result<Endpoint, LabError> {
    let any = |port| SocketAddr::from(([0, 0, 0, 0], port));
    match listen {
        Some(port) => Endpoint::server(host, any(port), config),
        None => Endpoint::client(host, any(0), config),
    }
    .map_err(|e| LabError::fault(format!("an endpoint cannot be made: {e}")))
}

fn controller(control: &Control) -> ControllerConfig {
    match *control {
        Control::Reno => ControllerConfig::new(Algorithm::Reno),
        Control::Bbr => ControllerConfig::new(Algorithm::Bbr),
        Control::Fast { weight } => {
            ControllerConfig { weight: Some(weight), ..ControllerConfig::new(Algorithm::Fast) }
        }
        Control::Explicit(rate) => ControllerConfig {
            rate_bps: Some(rate.bps()),
            ..ControllerConfig::new(Algorithm::Explicit)
        },
        Control::Cubic { weight, rule } => ControllerConfig {
            weight_rule: Some(match rule {
                scenario::WeightRule::Synchronised => WeightRule::Synchronised,
                scenario::WeightRule::Textbook => WeightRule::Textbook,
            }),
            ..ControllerConfig::cubic(weight)
        },
    }
}
