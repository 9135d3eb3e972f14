//! The roles of a run: an origin and a player per viewer, a sender and a receiver per transfer.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use airlane_apps::bulk;
use airlane_apps::vod::{Origin, Player, Policy, Session};
use airlane_base::Time;
use airlane_congestion::{Algorithm, ControllerConfig, WeightRule};
use airlane_quic::{AckPolicy, Cipher, Endpoint, NewController, TransportConfig};
use airlane_runtime::virtual_time::World;
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use tokio::sync::oneshot;

use super::Options;
use super::output::{BulkOutput, ViewerOutput};
use super::provider::{Content, abr_kind};
use super::tap::{Tap, TapEvents};
use crate::error::LabError;
use crate::pcap;
use crate::plan::{Plan, RunKey};
use crate::scenario::{self, BulkEnd, Control, Scenario};

/// The port of every server.
const PORT: u16 = 443;

/// The roles of a run, running.
pub(super) struct Flows {
    /// A host to ask for the time.
    pub(super) clock: RuntimeHandle,
    viewers: Vec<(String, oneshot::Receiver<Session>, Arc<Tap>)>,
    bulk: Vec<(String, Time, oneshot::Receiver<Transfer>, Arc<Tap>)>,
    endpoints: Vec<Arc<Endpoint>>,
}

struct Transfer {
    bytes: u64,
    end: Time,
    failure: Option<String>,
}

impl Flows {
    /// Waits for all of them, which end with the run.
    pub(super) async fn collect(self) -> (Vec<ViewerOutput>, Vec<BulkOutput>) {
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
        drop(self.endpoints);
        (viewers, bulk)
    }
}

/// Starts the roles of a run on their hosts.
pub(super) fn spawn(
    plan: &Plan,
    content: &Content,
    key: RunKey,
    options: &Options,
    world: &mut World,
    addresses: &[(IpAddr, IpAddr)],
) -> Result<Flows, LabError> {
    let scenario = &plan.scenario;
    let scheme = &scenario.schemes[key.scheme];
    let end = Time::ZERO + scenario.duration;
    let tls = match scenario.transport.cipher {
        scenario::Cipher::Null => Cipher::Null,
        scenario::Cipher::Tls => Cipher::lab_tls().map_err(|e| LabError::fault(e.to_string()))?,
    };
    // The schemes of a case share their seeds, and so the names of their connections.
    let label = pcap::file_name(&plan.label(key));
    let qlog = options.captures.qlog.as_ref().map(|dir| dir.join(label));
    let transport =
        |control: &Control| transport(scenario, control, &tls, options, qlog.as_deref());
    let mut pairs = addresses
        .iter()
        .enumerate()
        .map(|(i, (server, client))| {
            (
                world.host(&format!("server{i}"), *server),
                world.host(&format!("client{i}"), *client),
                *server,
            )
        })
        .collect::<Vec<_>>()
        .into_iter();
    let Some((_, clock, _)) = pairs.as_slice().first().cloned() else {
        return Err(LabError::fault("a world without hosts"));
    };
    let mut flows = Flows { clock, viewers: Vec::new(), bulk: Vec::new(), endpoints: Vec::new() };

    let videos = &plan.cases[key.case].videos;
    for ((i, viewer), video) in scenario.viewers.iter().enumerate().zip(videos) {
        let Some((server, client, ip)) = pairs.next() else { break };
        let tap = Tap::start(&server);
        let policy = match content.provider(key.scheme) {
            Some(p) if viewer.control.is_none() => Policy::Minerva(p.clone()),
            _ => Policy::Plain,
        };
        let origin = Origin {
            library: content.library.clone(),
            policy,
            events: Arc::new(TapEvents(tap.clone())),
        };
        let control = viewer.control.as_ref().unwrap_or(&scheme.control);
        let listen = endpoint(&server, Some(PORT), transport(control))?;
        server.spawn("origin", origin.serve(listen));
        let abr = abr_kind(viewer.abr.unwrap_or(scenario.player.abr), scenario.player.horizon);
        let Some(setting) = content.settings.get(&video.name) else {
            return Err(LabError::fault(format!("no setting for {}", video.name)));
        };
        let player = Player {
            server: SocketAddr::new(ip, PORT),
            host: "video.airlane".to_owned(),
            setting: setting.clone(),
            abr_name: abr.to_string(),
            abr: Arc::new(abr),
            session_id: format!("{:08x}-{i}", key.seed),
            until: Some(end),
        };
        let caller = Arc::new(endpoint(&client, None, transport(&CLIENT_CONTROL))?);
        flows.endpoints.push(caller.clone());
        let (done, session) = oneshot::channel();
        let (start, clock) = (Time::ZERO + viewer.start, client.clone());
        client.spawn("player", async move {
            clock.sleep_until(start).await;
            // Nobody waits for it any more if the world was stopped.
            drop(done.send(player.watch(&caller, |_| {}).await));
        });
        flows.viewers.push((viewer.name.clone(), session, tap));
    }

    for transfer in &scenario.bulk {
        for n in 0..transfer.count {
            let Some((server, client, ip)) = pairs.next() else { break };
            let tap = Tap::start(&server);
            let control = transfer.control.as_ref().unwrap_or(&scheme.control);
            let sender = TransportConfig {
                send_window_bytes: bulk::SEND_WINDOW_BYTES,
                max_streams: bulk::MAX_REQUESTS,
                ..transport(control)
            };
            let listen = endpoint(&server, Some(PORT), sender)?;
            let (seen, hook, host) = (tap.clone(), options.on_bulk.clone(), server.clone());
            let number = flows.bulk.len();
            server.spawn(
                "bulk server",
                bulk::serve(listen, move |_, control| {
                    seen.connect(control);
                    if let Some(hook) = &hook {
                        hook.call(number, &host, control);
                    }
                }),
            );
            let receiver = TransportConfig {
                receive_window_bytes: bulk::RECEIVE_WINDOW_BYTES,
                max_streams: bulk::MAX_STREAMS,
                ..transport(&CLIENT_CONTROL)
            };
            let caller = Arc::new(endpoint(&client, None, receiver)?);
            flows.endpoints.push(caller.clone());
            let (done, result) = oneshot::channel();
            let (start, clock) = (Time::ZERO + transfer.start, client.clone());
            let (bytes, until) = match transfer.until {
                BulkEnd::Run => (0, end),
                BulkEnd::At(at) => (0, (Time::ZERO + at).min(end)),
                BulkEnd::Bytes(bytes) => (bytes, end),
            };
            client.spawn("bulk receiver", async move {
                clock.sleep_until(start).await;
                let received = Arc::new(bulk::Received::default());
                let to = SocketAddr::new(ip, PORT);
                let result = bulk::fetch(&caller, to, bytes, Some(until), received.clone()).await;
                let failure = result.err().map(|e| e.to_string());
                drop(done.send(Transfer { bytes: received.bytes(), end: clock.now(), failure }));
            });
            let name = match transfer.count {
                1 => transfer.name.clone(),
                _ => format!("{}.{}", transfer.name, n + 1),
            };
            flows.bulk.push((name, start, result, tap));
        }
    }
    Ok(flows)
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

fn transport(
    scenario: &Scenario,
    control: &Control,
    cipher: &Cipher,
    options: &Options,
    qlog: Option<&Path>,
) -> TransportConfig {
    let controller = controller(control);
    TransportConfig {
        payload_bytes: u16::try_from(scenario.transport.payload_bytes).unwrap_or(u16::MAX),
        acks: match scenario.transport.ack {
            scenario::AckPolicy::Every2 => AckPolicy::EverySecond,
            scenario::AckPolicy::Decimated => AckPolicy::chromium(scenario.link.rtt),
        },
        // A trace may carry nothing for longer than a minute, and a connection survives it.
        idle_timeout: Some(Duration::from_secs(300)),
        cipher: cipher.clone(),
        empty_client_ids: true,
        qlog_dir: qlog.map(Path::to_owned),
        keylog: options.captures.keylog.as_ref().map(|d| d.join("keys.log")),
        clock_shift: options.clock_shift,
        ..TransportConfig::new(move |n: NewController| {
            controller.build(n.now, n.payload_bytes, n.seed)
        })
    }
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
