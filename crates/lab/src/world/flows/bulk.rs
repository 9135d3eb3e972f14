//! Bulk transfers: a sender and a receiver each.

use std::net::SocketAddr;
use std::sync::Arc;

use airlane_apps::bulk;
use airlane_base::Time;
use airlane_quic::TransportConfig;
use airlane_runtime::RuntimeExt;
use tokio::sync::oneshot;

use super::super::tap::Tap;
use super::{CLIENT_CONTROL, Flows, PORT, Pair, Start};
use crate::error::LabError;
use crate::scenario::{BulkEnd, Control};

/// A transfer that ended.
pub(super) struct Transfer {
    pub(super) bytes: u64,
    pub(super) end: Time,
    pub(super) failure: Option<String>,
}

impl Start<'_> {
    /// What a bulk sender's connections are.
    pub(super) fn sender(&self, control: &Control) -> TransportConfig {
        TransportConfig {
            send_window_bytes: bulk::SEND_WINDOW_BYTES,
            least_send_window_bytes: bulk::SEND_WINDOW_BYTES,
            max_streams: bulk::MAX_REQUESTS,
            ..self.transport(control)
        }
    }

    /// What a bulk receiver's connections are.
    pub(super) fn receiver(&self) -> TransportConfig {
        TransportConfig {
            receive_window_bytes: bulk::RECEIVE_WINDOW_BYTES,
            max_streams: bulk::MAX_STREAMS,
            ..self.transport(&CLIENT_CONTROL)
        }
    }
}

pub(super) fn spawn(
    start: &Start<'_>,
    pairs: &mut impl Iterator<Item = Pair>,
    flows: &mut Flows,
) -> Result<(), LabError> {
    let scenario = start.scenario();
    let scheme = &scenario.schemes[start.key.scheme];
    let each = scenario.bulk.iter().flat_map(|t| (1..=t.count).map(move |n| (t, n)));
    for (transfer, n) in each {
        let Some((server, client, ip)) = pairs.next() else { break };
        let tap = Tap::start(&server);
        let control = transfer.control.as_ref().unwrap_or(&scheme.control);
        let listen = start.server(&server, start.sender(control))?;
        let (seen, hook, host) = (tap.clone(), start.options.on_bulk.clone(), server.clone());
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
        let caller = Arc::new(start.client(&client, start.receiver())?);
        flows.endpoints.push(caller.clone());
        let (done, result) = oneshot::channel();
        let (begin, clock, end) = (Time::ZERO + transfer.start, client.clone(), start.end);
        let (bytes, until) = match transfer.until {
            BulkEnd::Run => (0, end),
            BulkEnd::At(at) => (0, (Time::ZERO + at).min(end)),
            BulkEnd::Bytes(bytes) => (bytes, end),
        };
        client.spawn("bulk receiver", async move {
            clock.sleep_until(begin).await;
            let received = Arc::new(bulk::Received::default());
            let to = SocketAddr::new(ip, PORT);
            let result = bulk::fetch(&caller, to, bytes, Some(until), received.clone()).await;
            let failure = result.err().map(|e| e.to_string());
            drop(done.send(Transfer { bytes: received.bytes(), end: clock.now(), failure }));
        });
        let name = match transfer.count {
            1 => transfer.name.clone(),
            _ => format!("{}.{n}", transfer.name),
        };
        flows.bulk.push((name, begin, result, tap));
    }
    Ok(())
}
