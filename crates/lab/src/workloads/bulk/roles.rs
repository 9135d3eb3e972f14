//! The roles: a sender and a receiver per transfer.

use std::sync::Arc;

use airlane_apps::bulk;
use airlane_base::Time;
use airlane_runtime::RuntimeExt;
use tokio::sync::oneshot;

use super::{Output, TransferEnd, TransferOutput, Transfers};
use crate::error::LabError;
use crate::workload::{Later, Part, Running};
use crate::world::{Stage, Tap};

/// A transfer that ended.
struct Received {
    bytes: u64,
    end: Time,
    failure: Option<String>,
}

/// Transfers that run: name, start, what comes of each, samples of its sender.
struct Roles(Vec<(String, Time, oneshot::Receiver<Received>, Arc<Tap>)>);

pub(super) fn start(cast: &Transfers, stage: &mut Stage<'_>) -> Result<Box<dyn Running>, LabError> {
    let mut roles = Vec::new();
    for (transfer, name) in cast.each() {
        let pair = stage.attach()?;
        let tap = stage.tap(&pair);
        let control = transfer.control.as_ref().unwrap_or(&stage.scheme().control);
        let listen = stage.server(&pair, bulk::sender(stage.transport(control)))?;
        let seen = stage.sender_seen(&pair, &tap);
        pair.server.spawn("bulk server", bulk::serve(listen, move |_, control| seen(control)));
        let caller = stage.client(&pair, bulk::receiver(stage.client_transport()))?;
        let (done, result) = oneshot::channel();
        let (begin, clock, end) = (Time::ZERO + transfer.start, pair.client.clone(), stage.end);
        let (bytes, until) = match transfer.until {
            TransferEnd::Run => (0, end),
            TransferEnd::At(at) => (0, (Time::ZERO + at).min(end)),
            TransferEnd::Bytes(bytes) => (bytes, end),
        };
        pair.client.spawn("bulk receiver", async move {
            clock.sleep_until(begin).await;
            let received = Arc::new(bulk::Received::default());
            let to = pair.address;
            let result = bulk::fetch(&caller, to, bytes, Some(until), received.clone()).await;
            let failure = result.err().map(|e| e.to_string());
            // Nobody waits for it any more if the world was stopped.
            drop(done.send(Received { bytes: received.bytes(), end: clock.now(), failure }));
        });
        roles.push((name, begin, result, tap));
    }
    Ok(Box::new(Roles(roles)))
}

impl Running for Roles {
    fn end(self: Box<Self>) -> Later<Box<dyn Part>> {
        Box::pin(async {
            let mut outputs = Vec::new();
            for (name, start, result, tap) in self.0 {
                // Its task cannot be gone: a panic would have ended the world.
                let Ok(Received { bytes, end, failure }) = result.await else { continue };
                let samples = tap.take();
                outputs.push(TransferOutput { name, start, bytes, end, failure, samples });
            }
            Box::new(Output(outputs)) as Box<dyn Part>
        })
    }
}
