//! The roles: a sender and a receiver per transfer, with a connection over every access that the
//! receiver is on.

use std::net::IpAddr;
use std::sync::Arc;

use airlane_base::Time;
use airlane_quic::{Connection, ControlHandle};
use airlane_runtime::RuntimeExt;
use airlane_traffic::bulk;
use tokio::sync::oneshot;

use super::{
    OneWay, Output, Transfer, TransferEnd, TransferOutput, Transfers, Transport, datagram,
};
use airlane_sim::LabError;
use airlane_sim::workload::{BoxFuture, Part, Running};
use airlane_sim::world::{Pair, RunContext, Tap, WifiStation};

/// Suffixes of the names of the connections of a transfer that goes both ways: `.down`, `.up`.
pub(super) const DOWN: &str = "down";
pub(super) const UP: &str = "up";

/// Result of a connection that ended.
pub(super) struct ConnectionResult {
    pub(super) bytes: u64,
    pub(super) end: Time,
    pub(super) failure: Option<String>,
}

/// A connection of a transfer, running.
struct RunningConnection {
    name: String,
    ended: oneshot::Receiver<ConnectionResult>,
    tap: Arc<Tap>,
}

/// A transfer, running: a connection over each access that its receiver is on.
struct RunningTransfer {
    name: String,
    start: Time,
    connections: Vec<RunningConnection>,
    air: Option<WifiStation>,
}

/// Transfers that run.
struct Roles(Vec<RunningTransfer>);

pub(super) fn start(
    traffic: &Transfers,
    context: &mut RunContext<'_>,
) -> Result<Box<dyn Running>, LabError> {
    let transport = Transport::of(context.scheme());
    let mut roles = Vec::new();
    for (transfer, name) in traffic.each() {
        let attached = context.attach()?;
        // The air is the station's, whichever way it goes.
        let air = attached.air.clone();
        let ways = transfer.ways();
        let mut connections = Vec::new();
        for way in &ways {
            let name = match (ways.len(), way.is_up) {
                (1, _) => name.clone(),
                (_, false) => format!("{name}.{DOWN}"),
                (_, true) => format!("{name}.{UP}"),
            };
            connections.extend(one_way((transfer, *way), &name, &attached, transport, context)?);
        }
        let start = Time::ZERO + transfer.start;
        roles.push(RunningTransfer { name, start, connections, air });
    }
    Ok(Box::new(Roles(roles)))
}

/// Starts one way of a transfer: a connection over each access that its receiver is on.
fn one_way(
    (transfer, way): (&Transfer, OneWay),
    name: &str,
    attached: &Pair,
    transport: Transport,
    context: &mut RunContext<'_>,
) -> Result<Vec<RunningConnection>, LabError> {
    let control = transfer.control.as_ref().unwrap_or(&context.scheme().control);
    let pair = match way.is_up {
        true => attached.turned(control.takes_reports()),
        false => attached.clone(),
    };
    if transport != Transport::Quic {
        let (ended, tap) = datagram::start(transport, (transfer, way), &pair, context)?;
        return Ok(vec![RunningConnection { name: name.to_owned(), ended, tap }]);
    }
    let taps: Vec<_> = pair.from.iter().map(|ip| (*ip, context.tap(&pair))).collect();
    let listen = context.server(&pair, bulk::sender(context.transport(control)))?;
    let seen: Vec<_> =
        taps.iter().map(|(ip, tap)| (*ip, context.sender_seen(&pair, tap))).collect();
    let connected = move |connection: &Connection, control: &ControlHandle| {
        let from = connection.remote_addr().map(|address| address.ip());
        if let Some((_, seen)) = seen.iter().find(|(ip, _)| Some(*ip) == from) {
            seen(control);
        }
    };
    let supply = bulk::Supply { limit: way.limit.map(|(from, rate)| (Time::ZERO + from, rate)) };
    pair.server.spawn("bulk server", bulk::serve(listen, supply, connected));
    let mut connections = Vec::new();
    for ((ip, tap), access) in taps.into_iter().zip(&transfer.at) {
        let name = match transfer.at.len() {
            1 => name.to_owned(),
            _ => format!("{name}.{}", context.scenario().network.accesses[*access].name),
        };
        let ended = fetch(transfer, context, &pair, ip)?;
        connections.push(RunningConnection { name, ended, tap });
    }
    Ok(connections)
}

/// Starts the receiver of a connection from `ip`, an address of the client.
fn fetch(
    transfer: &Transfer,
    context: &mut RunContext<'_>,
    pair: &Pair,
    ip: IpAddr,
) -> Result<oneshot::Receiver<ConnectionResult>, LabError> {
    let caller = context.client_at(pair, ip, bulk::receiver(context.client_transport()))?;
    let (done, ended) = oneshot::channel();
    let (begin, clock, end) = (Time::ZERO + transfer.start, pair.client.clone(), context.end);
    let (bytes, until) = match transfer.until {
        TransferEnd::Run => (0, end),
        TransferEnd::At(at) => (0, (Time::ZERO + at).min(end)),
        TransferEnd::Bytes(bytes) => (bytes, end),
    };
    let to = pair.address;
    pair.client.spawn("bulk receiver", async move {
        clock.sleep_until(begin).await;
        let received = Arc::new(bulk::Received::default());
        let result = bulk::fetch(&caller, to, bytes, Some(until), received.clone()).await;
        let failure = result.err().map(|e| e.to_string());
        // The receiver is gone if the world was stopped.
        drop(done.send(ConnectionResult { bytes: received.bytes(), end: clock.now(), failure }));
    });
    Ok(ended)
}

impl Running for Roles {
    fn end(self: Box<Self>) -> BoxFuture<Box<dyn Part>> {
        Box::pin(async {
            let mut outputs = Vec::new();
            for RunningTransfer { name, start, connections, air } in self.0 {
                let mut parts = Vec::new();
                for RunningConnection { name, ended, tap } in connections {
                    // Its task cannot be gone: a panic would have ended the world.
                    let Ok(ConnectionResult { bytes, end, failure }) = ended.await else {
                        continue;
                    };
                    let samples = tap.take();
                    parts.push(TransferOutput {
                        name,
                        start,
                        bytes,
                        end,
                        failure,
                        samples,
                        parts: Vec::new(),
                        air: None,
                    });
                }
                let air = air.map(|air| air.charged());
                outputs.push(TransferOutput { air, ..TransferOutput::of(name, start, parts) });
            }
            Box::new(Output(outputs)) as Box<dyn Part>
        })
    }
}
