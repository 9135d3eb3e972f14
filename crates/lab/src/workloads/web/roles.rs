//! The roles: servers, and a client that calls one of them for each transfer.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use airlane_base::{Rng, Time};
use airlane_quic::Endpoint;
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use airlane_traffic::bulk;
use parking_lot::Mutex;
use rand::RngExt;

use super::{Entry, EntryOutput, Output, WebTraffic};
use airlane_sim::LabError;
use airlane_sim::workload::{BoxFuture, Part, Running};
use airlane_sim::world::RunContext;

/// Counters of one entry's transfers.
#[derive(Debug, Default)]
struct TransferCounters {
    started: AtomicU64,
    offered_bytes: AtomicU64,
    received_bytes: AtomicU64,
    /// Seconds that each finished transfer took, its handshake included.
    took_s: Mutex<Vec<f64>>,
}

impl TransferCounters {
    fn output(&self, name: String) -> EntryOutput {
        let took_s = self.took_s.lock().clone();
        EntryOutput {
            name,
            started: self.started.load(Ordering::Relaxed),
            offered_bytes: self.offered_bytes.load(Ordering::Relaxed),
            received_bytes: self.received_bytes.load(Ordering::Relaxed),
            took_s,
        }
    }
}

/// Entries whose transfers run, by name.
struct Roles(Vec<(String, Arc<TransferCounters>)>);

impl Running for Roles {
    fn end(self: Box<Self>) -> BoxFuture<Box<dyn Part>> {
        let outputs = self.0.into_iter().map(|(name, counted)| counted.output(name)).collect();
        Box::pin(async { Box::new(Output(outputs)) as Box<dyn Part> })
    }
}

pub(super) fn start(
    traffic: &WebTraffic,
    context: &mut RunContext<'_>,
) -> Result<Box<dyn Running>, LabError> {
    let mut roles = Vec::new();
    for entry in &traffic.0 {
        let mut servers = Vec::new();
        for _ in 0..entry.servers {
            let pair = context.attach()?;
            let listen = context.server(&pair, bulk::sender(context.transport(&entry.control)))?;
            pair.server
                .spawn("web server", bulk::serve(listen, bulk::Supply::default(), |_, _| {}));
            // Several transfers from one server at once are told apart by their ids.
            let mut receiver = bulk::receiver(context.client_transport());
            receiver.packets.empty_client_ids = false;
            let caller = context.client(&pair, receiver)?;
            servers.push((pair.client, caller, pair.address));
        }
        let counted = Arc::new(TransferCounters::default());
        roles.push((entry.name.clone(), counted.clone()));
        let Some((clock, _, _)) = servers.first().cloned() else { continue };
        let rng = context.seed.split("web").split(&entry.name).rng();
        let offer = offer(entry.clone(), servers, clock.clone(), context.end, rng, counted);
        clock.spawn("web traffic", offer);
    }
    Ok(Box::new(Roles(roles)))
}

/// A client's host, its endpoint, and the address of its server.
type Server = (RuntimeHandle, Arc<Endpoint>, SocketAddr);

/// Starts transfers until `end`.
async fn offer(
    web: Entry,
    servers: Vec<Server>,
    clock: RuntimeHandle,
    end: Time,
    mut rng: Rng,
    traffic: Arc<TransferCounters>,
) {
    let gap_s = web.mean_bytes() * 8.0 / web.load.as_f64();
    let mut at = Time::ZERO;
    loop {
        at += Duration::from_secs_f64(-gap_s * (1.0 - rng.random::<f64>()).ln());
        let (host, caller, to) = servers[rng.random_range(0..servers.len())].clone();
        let bytes = web.draw_bytes(&mut rng);
        if at >= end {
            return;
        }
        clock.sleep_until(at).await;
        traffic.started.fetch_add(1, Ordering::Relaxed);
        traffic.offered_bytes.fetch_add(bytes, Ordering::Relaxed);
        let (seen, clock) = (traffic.clone(), host.clone());
        host.spawn("web client", async move {
            let received = Arc::new(bulk::Received::default());
            let result = bulk::fetch(&caller, to, bytes, Some(end), received.clone()).await;
            seen.received_bytes.fetch_add(received.bytes(), Ordering::Relaxed);
            if result.is_ok() && received.bytes() == bytes {
                let took = (clock.now() - at).as_secs_f64();
                seen.took_s.lock().push(took);
            }
        });
    }
}
