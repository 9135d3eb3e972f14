//! The two roles on their sockets.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::task::Poll;

use airlane_base::{Dscp, Ecn, Time};
use airlane_runtime::{Datagram, Received, RuntimeHandle, Timer, UdpSocket};

use super::Source;
use super::sender::{Handle, Next};
use super::wire::{Body, Message, ack, decode};
use crate::bulk;
use crate::error::TrafficError;

/// Sends what `source` has to `peer`, until it is dropped or the source has no more.
///
/// # Errors
/// If the socket fails.
pub async fn send(
    handle: Handle,
    runtime: &RuntimeHandle,
    socket: Box<dyn UdpSocket>,
    peer: SocketAddr,
    mut source: impl Source,
) -> io::Result<()> {
    let mut timer = runtime.timer(Time::FAR_FUTURE);
    let ecn = handle.ecn;
    loop {
        let now = runtime.now();
        handle.with(|sender| sender.check(now));
        let mut begins = true;
        let until = loop {
            let Some(due) = source.due() else { return Ok(()) };
            if due > now {
                handle.with(|sender| sender.has_nothing(now));
                break due;
            }
            match handle.with(|sender| sender.next(now, begins)) {
                Next::Packet(packet) => emit(&*socket, peer, ecn, &packet).await,
                Next::At(at) => break at,
                Next::Held => break Time::FAR_FUTURE,
            }
            begins = false;
            source.left();
        };
        let until = until.min(handle.with(|sender| sender.due()));
        if let Some(received) = wait(&*socket, &mut *timer, until).await?
            && received.src == peer
            && let Some(Message::Ack { pn, marked }) = decode(&received.payload)
        {
            handle.with(|sender| sender.acknowledge(runtime.now(), pn, marked));
        }
    }
}

/// Receives from `peer` until it is dropped, checks every byte, and acknowledges every packet.
///
/// # Errors
/// If the socket fails or a byte is not what it should be.
pub async fn receive(
    socket: Box<dyn UdpSocket>,
    peer: SocketAddr,
    got: &bulk::Received,
) -> Result<Infallible, TrafficError> {
    let body = Body::new();
    loop {
        let received = poll_fn(|cx| socket.poll_recv(cx))
            .await
            .map_err(|e| TrafficError::Unreachable(format!("datagrams of {peer}: {e}")))?;
        if received.src != peer {
            continue;
        }
        let Some(Message::Data { pn, data }) = decode(&received.payload) else { continue };
        if !body.matches(pn, data) {
            let problem = format!("wrong bytes in packet {pn}");
            return Err(TrafficError::Answer { path: "datagrams".to_owned(), problem });
        }
        got.add(data.len() as u64);
        let answer = ack(pn, received.ecn == Ecn::Ce);
        emit(&*socket, peer, Ecn::NotEct, &answer).await;
    }
}

/// Waits for a datagram, but not beyond `until`.
async fn wait(
    socket: &dyn UdpSocket,
    timer: &mut dyn Timer,
    until: Time,
) -> io::Result<Option<Received>> {
    timer.reset(until);
    poll_fn(|cx| {
        if let Poll::Ready(received) = socket.poll_recv(cx) {
            return Poll::Ready(received.map(Some));
        }
        timer.poll(cx).map(|()| Ok(None))
    })
    .await
}

/// Sends a datagram. What the socket refuses is a lost one.
async fn emit(socket: &dyn UdpSocket, dst: SocketAddr, ecn: Ecn, payload: &[u8]) {
    let datagram = Datagram { dst, src: None, ecn, dscp: Dscp::default(), payload, segment: None };
    if let Err(e) = poll_fn(|cx| socket.poll_send(cx, &datagram)).await {
        tracing::debug!(%dst, "a datagram was not sent: {e}");
    }
}
