//! Transfers by Sprout's forecast as published (Winstein et al., NSDI 2013): in each tick as much as is
//! to arrive within 100 ms, over Salsify's transport, which has the one estimator
//! (`docs/design/salsify.md`).

use std::sync::Arc;
use std::time::Duration;

use airlane_base::{IP_UDP_HEADER_BYTES, Time};
use airlane_runtime::RuntimeExt;
use airlane_salsify::{Ask, Config, Delivered, Estimator, Frame, FrameSource, SproutConfig};
use airlane_traffic::bulk;
use tokio::sync::oneshot;

use super::datagram::{Ends, TransferHandles};
use super::roles::ConnectionResult;
use airlane_sim::world::{FlowSample, Pair, RunContext};

/// Starts both ends.
pub(super) fn start(ends: Ends, pair: &Pair, context: &RunContext<'_>) -> TransferHandles {
    let Ends { from, to, sender_at, receiver_at, begin, until } = ends;
    let sprout = SproutConfig::default();
    let config = || Config {
        packet_bytes: context.scenario().transport.payload_bytes as usize
            + usize::from(IP_UDP_HEADER_BYTES),
        ..Config::new(Estimator::Sprout(sprout))
    };
    let (sender, receiver) = (config(), config());
    let (stats, tap) = (sender.stats.clone(), context.tap(pair));
    let got = Arc::new(bulk::Received::default());
    let (clock, came) = (pair.server.clone(), got.clone());
    tap.connect_to(move || {
        let report = stats.read();
        Some(FlowSample {
            at: clock.now(),
            acked_bytes: came.bytes(),
            sent_bytes: report.media.bytes + report.other.bytes,
            lost_bytes: 0,
            window_bytes: report.budgets.last().map_or(0, |(_, budget)| *budget as u64),
            rtt_s: report.rtt.map(|rtt| rtt.as_secs_f64()),
            weight: 1.0,
            busy: clock.now().since(begin),
        })
    });
    let source = Backlog { tick: sprout.tick, next: begin, until };
    let clock = pair.server.clone();
    pair.server.spawn("sprout sender", async move {
        clock.sleep_until(begin).await;
        // An error is of the socket, which the receiver hears nothing of: it shows in the figures.
        drop(airlane_salsify::send(sender, &clock, from, receiver_at, source).await);
    });
    let (done, ended) = oneshot::channel();
    let clock = pair.client.clone();
    pair.client.spawn("sprout receiver", async move {
        let sink = |frame: Delivered| got.add(frame.data.len() as u64);
        let failure = tokio::select! {
            biased;
            () = clock.sleep_until(until) => None,
            result = airlane_salsify::receive(receiver, &clock, to, sender_at, sink) => {
                result.err().map(|e| e.to_string())
            }
        };
        // The receiver is gone if the world was stopped.
        drop(done.send(ConnectionResult { bytes: got.bytes(), end: clock.now(), failure }));
    });
    (ended, tap)
}

/// A frame in each tick, of as much as fits.
struct Backlog {
    tick: Duration,
    next: Time,
    until: Time,
}

impl FrameSource for Backlog {
    fn next_at(&self) -> Option<Time> {
        (self.next < self.until).then_some(self.next)
    }

    fn frame(&mut self, ask: &Ask) -> Option<Frame> {
        self.next += self.tick;
        (ask.budget > 0).then(|| Frame::new(vec![0; ask.budget]))
    }
}
