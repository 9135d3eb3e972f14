//! Transfers of datagrams at a constant rate, as a UDP test sends them: nobody acknowledges, and nothing holds them back.

use std::future::poll_fn;
use std::sync::Arc;

use airlane_base::{Dscp, Ecn, IP_UDP_HEADER_BYTES, Rate, Time};
use airlane_runtime::{Datagram, RuntimeExt};
use airlane_traffic::bulk;
use tokio::sync::oneshot;

use super::datagram::{Ends, TransferHandles};
use super::roles::ConnectionResult;
use airlane_sim::world::{FlowSample, Pair, RunContext};

/// Starts both ends. `rate` is that of IP bytes.
pub(super) fn start(
    ends: Ends,
    pair: &Pair,
    context: &RunContext<'_>,
    rate: Rate,
) -> TransferHandles {
    let Ends { from, to, sender_at, receiver_at, begin, until } = ends;
    let payload = vec![0; context.scenario().transport.payload_bytes as usize];
    let packet_bytes = payload.len() as u64 + u64::from(IP_UDP_HEADER_BYTES);
    let tap = context.tap(pair);
    let got = Arc::new(bulk::Received::default());
    let (clock, came) = (pair.server.clone(), got.clone());
    tap.connect_to(move || {
        let at = clock.now();
        Some(FlowSample {
            at,
            // What came is what an acknowledgement would say.
            acked_bytes: came.bytes(),
            sent_bytes: rate.bytes_in(at.min(until).since(begin)),
            lost_bytes: 0,
            window_bytes: 0,
            rtt_s: None,
            weight: 1.0,
            busy: at.since(begin),
        })
    });
    let clock = pair.server.clone();
    pair.server.spawn("constant sender", async move {
        let (interval, mut due): (_, Time) = (rate.time_for(packet_bytes), begin);
        while due < until {
            clock.sleep_until(due).await;
            let datagram = Datagram {
                dst: receiver_at,
                src: None,
                ecn: Ecn::NotEct,
                dscp: Dscp::default(),
                payload: &payload,
                segment: None,
            };
            // What the socket refuses is a lost one.
            drop(poll_fn(|cx| from.poll_send(cx, &datagram)).await);
            due += interval;
        }
    });
    let (done, ended) = oneshot::channel();
    let clock = pair.client.clone();
    pair.client.spawn("constant receiver", async move {
        let receive = async {
            loop {
                match poll_fn(|cx| to.poll_recv(cx)).await {
                    Ok(received) if received.src == sender_at => {
                        got.add(received.payload.len() as u64);
                    }
                    Ok(_) => {}
                    Err(e) => return e.to_string(),
                }
            }
        };
        let failure = tokio::select! {
            biased;
            () = clock.sleep_until(until) => None,
            failure = receive => Some(failure),
        };
        // The receiver is gone if the world was stopped.
        drop(done.send(ConnectionResult { bytes: got.bytes(), end: clock.now(), failure }));
    });
    (ended, tap)
}
