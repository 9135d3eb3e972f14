//! Transfers that are no QUIC: a sender and a receiver of datagrams.

use std::net::SocketAddr;
use std::sync::Arc;

use airlane_base::{Rate, Seed, Time};
use airlane_congestion::Controller;
use airlane_runtime::{RuntimeExt, RuntimeHandle, UdpSocket};
use airlane_traffic::bulk;
use airlane_traffic::datagrams::{self, Backlog, Config, Handle, Source};
use tokio::sync::oneshot;

use super::oracle::{Oracle, UnlimitedController};
use super::roles::ConnectionResult;
use super::{OneWay, Transfer, TransferEnd, Transport, constant, sprout};
use airlane_sim::LabError;
use airlane_sim::world::{FlowSample, OracleLink, Pair, RunContext, Tap};

/// The port of both ends of a way down; that of a way up is the next one, as both may be of the same hosts.
const PORT: u16 = 5006;

/// A transfer's end, and the samples of its sender.
pub(super) type TransferHandles = (oneshot::Receiver<ConnectionResult>, Arc<Tap>);

/// Both ends of a transfer before they start.
pub(super) struct Ends {
    /// Their sockets.
    pub(super) from: Box<dyn UdpSocket>,
    pub(super) to: Box<dyn UdpSocket>,
    /// Their addresses.
    pub(super) sender_at: SocketAddr,
    pub(super) receiver_at: SocketAddr,
    /// Times of its start and its end.
    pub(super) begin: Time,
    pub(super) until: Time,
}

pub(super) fn start(
    transport: Transport,
    (transfer, way): (&Transfer, OneWay),
    pair: &Pair,
    context: &mut RunContext<'_>,
) -> Result<TransferHandles, LabError> {
    let fault = |e: std::io::Error| LabError::fault(format!("{}: {e}", transfer.name));
    let bind = |host: &RuntimeHandle, at| host.bind_udp(at).map_err(fault);
    let port = PORT + u16::from(way.is_up);
    let sender_at = SocketAddr::new(pair.address.ip(), port);
    let receiver_at = SocketAddr::new(pair.from[0], port);
    let begin = Time::ZERO + transfer.start;
    let until = match transfer.until {
        TransferEnd::At(at) => (Time::ZERO + at).min(context.end),
        TransferEnd::Run | TransferEnd::Bytes(_) => context.end,
    };
    let (from, to) = (bind(&pair.server, sender_at)?, bind(&pair.client, receiver_at)?);
    let ends = Ends { from, to, sender_at, receiver_at, begin, until };
    let payload = context.scenario().transport.payload_bytes;
    let oracle = |periods_late| -> Result<Oracle, LabError> {
        let rtt = transfer.rtt.unwrap_or(context.scenario().network.rtt);
        let link = OracleLink::of(context.plan, context.key, transfer.at[0], rtt)?;
        Ok(Oracle::new(&link, payload, (begin, until), periods_late))
    };
    match transport {
        Transport::Constant => {
            // A way without a limit was refused.
            let rate = way.limit.map_or(Rate::ZERO, |(_, rate)| rate);
            Ok(constant::start(ends, pair, context, rate))
        }
        Transport::Sprout => Ok(sprout::start(ends, pair, context)),
        Transport::Oracle => {
            Ok(run(ends, pair, context, Box::new(UnlimitedController), oracle(0)?))
        }
        Transport::OracleStale => {
            Ok(run(ends, pair, context, Box::new(UnlimitedController), oracle(1)?))
        }
        Transport::Quic | Transport::Datagrams => {
            let control = transfer.control.as_ref().unwrap_or(&context.scheme().control);
            let seed: Seed = context.seed.split("datagrams").split(&transfer.name);
            let controller = control.build(begin, payload, seed);
            Ok(run(ends, pair, context, controller, Backlog))
        }
    }
}

/// Starts both ends.
fn run(
    ends: Ends,
    pair: &Pair,
    context: &RunContext<'_>,
    controller: Box<dyn Controller>,
    source: impl Source + 'static,
) -> TransferHandles {
    let Ends { from, to, sender_at, receiver_at, begin, until } = ends;
    let transport = context.scenario().transport;
    let payload_bytes = u16::try_from(transport.payload_bytes).unwrap_or(u16::MAX);
    let handle = Handle::new(begin, Config { payload_bytes, controller, ecn: transport.ecn });
    let tap = context.tap(pair);
    let (seen, clock) = (handle.clone(), pair.server.clone());
    tap.connect_to(move || {
        let at = clock.now();
        let sent = seen.sent(at);
        Some(FlowSample {
            at,
            acked_bytes: sent.counts.acked_bytes,
            sent_bytes: sent.counts.sent_bytes,
            lost_bytes: sent.counts.lost_bytes,
            window_bytes: sent.window,
            rtt_s: sent.rtt.map(|rtt| rtt.as_secs_f64()),
            weight: 1.0,
            busy: sent.counts.busy,
        })
    });
    let clock = pair.server.clone();
    pair.server.spawn("datagram sender", async move {
        clock.sleep_until(begin).await;
        tokio::select! {
            biased;
            () = clock.sleep_until(until) => {}
            // An error is of the socket, which the receiver hears nothing of: it shows in the figures.
            _ = datagrams::send(handle, &clock, from, receiver_at, source) => {}
        }
    });
    let (done, ended) = oneshot::channel();
    let clock = pair.client.clone();
    pair.client.spawn("datagram receiver", async move {
        let got = bulk::Received::default();
        let failure = tokio::select! {
            biased;
            () = clock.sleep_until(until) => None,
            result = datagrams::receive(to, sender_at, &got) => result.err().map(|e| e.to_string()),
        };
        // The receiver is gone if the world was stopped.
        drop(done.send(ConnectionResult { bytes: got.bytes(), end: clock.now(), failure }));
    });
    (ended, tap)
}
