//! The roles: an end that sends and one that receives per tunnel, and a connection over each radio
//! that the scheme uses.

use std::sync::Arc;

use airlane_base::{Histogram, Time};
use airlane_multipath::{MultipathStream, StreamConfig};
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::samples::{self, Samples, StreamSlot};
use super::transfer;
use super::{Entry, Output, RadioOutput, SchemeOptions, TunnelOutput, Tunnels};
use crate::multipath::{Ends, Opener, Radio, Sites};
use airlane_sim::LabError;
use airlane_sim::workload::{BoxFuture, Part, Running};
use airlane_sim::world::RunContext;

/// More than anybody waits for.
const ENDLESS: u64 = 1 << 60;

/// A tunnel that runs.
struct RunningTunnel {
    name: String,
    memory: u64,
    counted_from: Time,
    written: Arc<transfer::Passed>,
    read: Arc<transfer::Passed>,
    /// The end that sends and the one that receives, once they have begun.
    source: StreamSlot,
    sink: StreamSlot,
    samples: Samples,
    /// Waiting times of bytes until the goodput began to count.
    waited_before: Arc<Mutex<Histogram>>,
    ended: oneshot::Receiver<(Time, Option<String>)>,
    radios: Vec<Radio>,
}

/// Tunnels that run.
struct Roles(Vec<RunningTunnel>);

pub(super) fn start(
    traffic: &Tunnels,
    context: &mut RunContext<'_>,
) -> Result<Box<dyn Running>, LabError> {
    let roles: Result<Vec<_>, _> =
        traffic.0.iter().map(|tunnel| start_one(tunnel, context)).collect();
    Ok(Box::new(Roles(roles?)))
}

fn start_one(tunnel: &Entry, context: &mut RunContext<'_>) -> Result<RunningTunnel, LabError> {
    let of_scheme = context.scheme().parts.of::<SchemeOptions>().cloned().unwrap_or_default();
    let control = tunnel.control.as_ref().unwrap_or(&context.scheme().control);
    let memory = tunnel.memory;
    let shipped = StreamConfig::default();
    let window = of_scheme.window.and_then(|bytes| u32::try_from(bytes).ok());
    let config = StreamConfig {
        scheme: of_scheme.scheduler.scheme(&of_scheme.without),
        max_segment_bytes: of_scheme.scheduler.segment_bytes(),
        max_window_bytes: window.unwrap_or(shipped.max_window_bytes),
        memory: Some(memory),
    };
    let sites = Sites {
        owner: &tunnel.name,
        server: "tunnel.airlane",
        at: &tunnel.at,
        only: of_scheme.only.as_deref(),
        seed: context.seed.split("tunnel").split(&tunnel.name),
    };
    let mut ends = Ends::new(context, &sites, control)?;
    let bytes = tunnel.bytes.unwrap_or(ENDLESS);
    let written = Arc::new(transfer::Passed::default());
    let (source, sink) = (StreamSlot::default(), StreamSlot::default());
    let begun = {
        let (written, source, clock) = (written.clone(), source.clone(), ends.pair.server.clone());
        move |stream: MultipathStream| {
            let stream = Arc::new(stream);
            *source.lock() = Some(stream.clone());
            let (written, clock_) = (written.clone(), clock.clone());
            clock.spawn("tunnel source", async move {
                // An error says that the other end is gone, which tells why itself.
                drop(transfer::send(&stream, &clock_, bytes, &written).await);
            });
        }
    };
    ends.serve(config.clone(), begun);
    let begin = Time::ZERO + tunnel.start;
    let read = Arc::new(transfer::Passed::default());
    let (opener, keep) = (ends.opener(config), sink.clone());
    let Ends { pair, radios, .. } = ends;
    let times = (begin, context.end);
    let ended = receive(&pair.client, times, bytes, (opener, keep), &read);
    let samples = samples::start(&pair.client, &source, &sink, context.end);
    let counted_from = begin + tunnel.skip;
    let waited_before = Arc::new(Mutex::new(Histogram::default()));
    let (clock, before, stream) = (pair.client.clone(), waited_before.clone(), sink.clone());
    pair.client.spawn("tunnel count", async move {
        clock.sleep_until(counted_from).await;
        if let Some(stream) = &*stream.lock() {
            *before.lock() = stream.waited();
        }
    });
    Ok(RunningTunnel {
        name: tunnel.name.clone(),
        memory,
        counted_from,
        written,
        read,
        source,
        sink,
        samples,
        waited_before,
        ended,
        radios,
    })
}

fn receive(
    clock: &RuntimeHandle,
    (begin, end): (Time, Time),
    bytes: u64,
    (opener, keep): (Opener, StreamSlot),
    read: &Arc<transfer::Passed>,
) -> oneshot::Receiver<(Time, Option<String>)> {
    let (done, ended) = oneshot::channel();
    let (client, read) = (clock.clone(), read.clone());
    clock.spawn("tunnel receiver", async move {
        client.sleep_until(begin).await;
        let failure = match opener.open() {
            Ok((_session, stream)) => {
                *keep.lock() = Some(stream.clone());
                let result = tokio::select! {
                    biased;
                    () = client.sleep_until(end) => Ok(()),
                    result = transfer::receive(&stream, &client, bytes, &read) => result,
                };
                result.err().map(|e| e.to_string())
            }
            Err(e) => Some(e.to_string()),
        };
        // The receiver is gone if the world was stopped.
        drop(done.send((client.now(), failure)));
    });
    ended
}

impl Running for Roles {
    fn end(self: Box<Self>) -> BoxFuture<Box<dyn Part>> {
        Box::pin(async {
            let mut outputs = Vec::new();
            for tunnel in self.0 {
                // Its task cannot be gone: a panic would have ended the world.
                let Ok((end, failure)) = tunnel.ended.await else { continue };
                let waited = tunnel.sink.lock().as_ref().map(|stream| stream.waited());
                let waited = waited.unwrap_or_default().since(&tunnel.waited_before.lock());
                let counts =
                    |end: &StreamSlot| end.lock().take().map(|s| s.counts()).unwrap_or_default();
                let (came, sent) = (counts(&tunnel.sink), counts(&tunnel.source).sent);
                let radios = tunnel.radios.into_iter().map(|Radio { name, used }| {
                    let Some((number, tap)) = used else {
                        return RadioOutput { name, ..RadioOutput::default() };
                    };
                    let counts = came.paths.iter().find(|path| path.interface == number);
                    let first_bytes = counts.map_or(0, |path| path.first_bytes);
                    RadioOutput { name, number: Some(number), first_bytes, samples: tap.take() }
                });
                outputs.push(TunnelOutput {
                    name: tunnel.name,
                    counted_from: tunnel.counted_from,
                    end,
                    written: tunnel.written.notes(),
                    read: tunnel.read.notes(),
                    waited,
                    memory: tunnel.memory,
                    distinct_bytes: sent.distinct_bytes,
                    redundant_bytes: sent.redundant_bytes,
                    samples: std::mem::take(&mut *tunnel.samples.lock()),
                    failure,
                    radios: radios.collect(),
                });
            }
            Box::new(Output(outputs)) as Box<dyn Part>
        })
    }
}
