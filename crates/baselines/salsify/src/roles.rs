//! The two roles on their sockets.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::task::Poll;

use airlane_base::{Dscp, Ecn, Time};
use airlane_runtime::{Datagram, Received, RuntimeHandle, Timer, UdpSocket};

use crate::config::Config;
use crate::receiver::Receiver;
use crate::sender::{FrameSource, Sender};
use crate::states::Delivered;

/// Driver of an end: its socket and its timer.
struct Driver {
    runtime: RuntimeHandle,
    socket: Box<dyn UdpSocket>,
    timer: Box<dyn Timer>,
    peer: SocketAddr,
}

impl Driver {
    fn new(runtime: &RuntimeHandle, socket: Box<dyn UdpSocket>, peer: SocketAddr) -> Self {
        let timer = runtime.timer(Time::FAR_FUTURE);
        Self { runtime: runtime.clone(), socket, timer, peer }
    }

    fn now(&self) -> Time {
        self.runtime.now()
    }

    /// Waits for a datagram of the peer, but not beyond `until`.
    async fn wait(&mut self, until: Time) -> io::Result<Option<Received>> {
        self.timer.reset(until);
        let (socket, timer) = (&self.socket, &mut self.timer);
        let received: Option<Received> = poll_fn(|cx| {
            if let Poll::Ready(received) = socket.poll_recv(cx) {
                return Poll::Ready(received.map(Some));
            }
            timer.poll(cx).map(|()| Ok(None))
        })
        .await?;
        Ok(received.filter(|received| received.src == self.peer))
    }

    /// Sends a datagram. What the socket refuses is a lost one.
    async fn emit(&mut self, payload: &[u8]) {
        let (dst, ecn, dscp) = (self.peer, Ecn::default(), Dscp::default());
        let datagram = Datagram { dst, src: None, ecn, dscp, payload, segment: None };
        let socket = &self.socket;
        if let Err(e) = poll_fn(|cx| socket.poll_send(cx, &datagram)).await {
            tracing::debug!(%dst, "a datagram was not sent: {e}");
        }
    }
}

/// Sends what `source` gives to `peer`. Ends when there are no more frames and all packets were
/// acknowledged or nothing has come back for a second.
///
/// # Errors
/// If the socket fails.
pub async fn send(
    config: Config,
    runtime: &RuntimeHandle,
    socket: Box<dyn UdpSocket>,
    peer: SocketAddr,
    mut source: impl FrameSource,
) -> io::Result<()> {
    let mut driver = Driver::new(runtime, socket, peer);
    let mut sender = Sender::new(config);
    loop {
        let now = driver.now();
        sender.check(now);
        let mut next = source.next_at();
        if let Some(captured) = next.filter(|at| *at <= now) {
            let ask = sender.ask(now, captured);
            let frame = source.frame(&ask);
            sender.answer(now, &ask, frame);
            next = source.next_at();
        }
        while let Some(packet) = sender.poll(now, next) {
            driver.emit(&packet).await;
        }
        if next.is_none() && sender.is_done() {
            return Ok(());
        }
        let until = sender.due().min(next.unwrap_or(Time::FAR_FUTURE));
        if let Some(received) = driver.wait(until).await? {
            sender.receive(received.at, &received.payload);
        }
    }
}

/// Receives from `peer` until it is dropped. `sink` gets each frame as soon as it is whole and the
/// receiver has the state that it builds on, but none older than one that it got before.
///
/// # Errors
/// If the socket fails.
pub async fn receive(
    config: Config,
    runtime: &RuntimeHandle,
    socket: Box<dyn UdpSocket>,
    peer: SocketAddr,
    mut sink: impl FnMut(Delivered) + Send,
) -> io::Result<Infallible> {
    let mut driver = Driver::new(runtime, socket, peer);
    let mut receiver = Receiver::new(config);
    loop {
        if let Some(answer) = receiver.tick(driver.now()) {
            driver.emit(&answer).await;
        }
        let until = receiver.due().unwrap_or(Time::FAR_FUTURE);
        let Some(received) = driver.wait(until).await? else { continue };
        if let Some((frames, answer)) = receiver.receive(received.at, &received.payload) {
            frames.into_iter().for_each(&mut sink);
            driver.emit(&answer).await;
        }
    }
}
