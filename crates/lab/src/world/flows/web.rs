//! Web traffic: transfers that begin as a Poisson process, each from a server drawn at random, on
//! a connection of its own. The sizes follow a bounded Pareto distribution (`docs/traffic.md`).

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use airlane_apps::bulk;
use airlane_base::{Rng, Time};
use airlane_quic::{Endpoint, TransportConfig};
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use rand::RngExt;

use super::super::output::WebOutput;
use super::{Flows, PORT, Pair, Start};
use crate::error::LabError;
use crate::scenario::Web;

/// What is known of one entry's traffic.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    started: AtomicU64,
    offered_bytes: AtomicU64,
    received_bytes: AtomicU64,
    /// Seconds that each finished transfer took, its handshake included.
    took_s: Mutex<Vec<f64>>,
}

impl Traffic {
    pub(super) fn output(&self, name: String) -> WebOutput {
        let took_s = self.took_s.lock().unwrap_or_else(PoisonError::into_inner).clone();
        WebOutput {
            name,
            started: self.started.load(Ordering::Relaxed),
            offered_bytes: self.offered_bytes.load(Ordering::Relaxed),
            received_bytes: self.received_bytes.load(Ordering::Relaxed),
            took_s,
        }
    }
}

impl Web {
    /// The mean size of a transfer in bytes: that of the Pareto distribution between its bounds.
    pub fn mean_bytes(&self) -> f64 {
        let (a, l, h) = (self.shape, self.least_bytes as f64, self.most_bytes as f64);
        let cut = 1.0 - (l / h).powf(a);
        if (a - 1.0).abs() < 1e-9 {
            return l * (h / l).ln() / cut;
        }
        a * l.powf(a) * (l.powf(1.0 - a) - h.powf(1.0 - a)) / ((a - 1.0) * cut)
    }

    /// The size of a transfer, by inversion of the distribution function.
    fn draw_bytes(&self, rng: &mut Rng) -> u64 {
        let (l, h) = (self.least_bytes as f64, self.most_bytes as f64);
        let cut = 1.0 - (l / h).powf(self.shape);
        let u: f64 = rng.random();
        (l * (1.0 - u * cut).powf(-1.0 / self.shape)).round().clamp(l, h) as u64
    }
}

pub(super) fn spawn(
    start: &Start<'_>,
    pairs: &mut impl Iterator<Item = Pair>,
    flows: &mut Flows,
) -> Result<(), LabError> {
    for web in &start.scenario().web {
        let mut servers = Vec::new();
        for (server, client, ip) in pairs.take(web.servers) {
            let listen = start.server(&server, start.sender(&web.control))?;
            server.spawn("web server", bulk::serve(listen, |_, _| {}));
            // Several transfers from one server at once are told apart by their ids.
            let receiver = TransportConfig { empty_client_ids: false, ..start.receiver() };
            let caller = Arc::new(start.client(&client, receiver)?);
            flows.endpoints.push(caller.clone());
            servers.push((client, caller, SocketAddr::new(ip, PORT)));
        }
        let traffic = Arc::new(Traffic::default());
        flows.web.push((web.name.clone(), traffic.clone()));
        let Some((clock, _, _)) = servers.first().cloned() else { continue };
        let rng = start.seed.split("web").split(&web.name).rng();
        let offer = offer(web.clone(), servers, clock.clone(), start.end, rng, traffic);
        clock.spawn("web traffic", offer);
    }
    Ok(())
}

/// A client's host, its endpoint, and the address of its server.
type Server = (RuntimeHandle, Arc<Endpoint>, SocketAddr);

/// Starts transfers until `end`.
async fn offer(
    web: Web,
    servers: Vec<Server>,
    clock: RuntimeHandle,
    end: Time,
    mut rng: Rng,
    traffic: Arc<Traffic>,
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
                seen.took_s.lock().unwrap_or_else(PoisonError::into_inner).push(took);
            }
        });
    }
}
