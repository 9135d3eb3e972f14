//! What moves an end: its socket, its timer, and str0m between them.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::task::{Context, Poll};
use std::time::Duration;

use airlane_base::{Dscp, Ecn, Time};
use airlane_runtime::{Datagram, Received, RuntimeHandle, Timer, UdpSocket};
use str0m::{Event, Output};

use crate::CallError;
use crate::engine::Engine;

/// Times that str0m may want to be called at one time without anything to show for it.
const IDLE_CALLS: u32 = 1_000;
/// Time for which it is left alone then.
const PAUSE: Duration = Duration::from_millis(1);

/// An end on its socket.
pub(crate) struct Driver {
    engine: Engine,
    runtime: RuntimeHandle,
    socket: Box<dyn UdpSocket>,
    timer: Box<dyn Timer>,
    events: VecDeque<Event>,
}

impl Driver {
    pub(crate) fn new(engine: Engine, runtime: &RuntimeHandle, socket: Box<dyn UdpSocket>) -> Self {
        let timer = runtime.timer(Time::FAR_FUTURE);
        Self { engine, runtime: runtime.clone(), socket, timer, events: VecDeque::new() }
    }

    pub(crate) fn now(&self) -> Time {
        self.runtime.now()
    }

    /// str0m, for one change of it; [`Driver::settle`] has to follow.
    pub(crate) fn engine(&mut self) -> &mut Engine {
        &mut self.engine
    }

    pub(crate) fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Lets str0m do all that is due, and sends what it has to send; `sent` sees each datagram.
    /// When it wants to be called next.
    pub(crate) async fn settle(&mut self, mut sent: impl FnMut(&[u8])) -> Result<Time, CallError> {
        let mut idle = 0;
        loop {
            match self.engine.poll()? {
                Output::Timeout(at) => {
                    let (at, now) = (self.engine.clock.time(at), self.now());
                    if at > now {
                        return Ok(at);
                    }
                    if idle == IDLE_CALLS {
                        return Ok(now + PAUSE);
                    }
                    idle += 1;
                    self.engine.time_out(now)?;
                }
                Output::Transmit(transmit) => {
                    idle = 0;
                    sent(&transmit.contents);
                    emit(&*self.socket, transmit.destination, &transmit.contents).await;
                }
                Output::Event(event) => {
                    idle = 0;
                    self.events.push_back(event);
                }
            }
        }
    }

    /// Waits for a datagram, which str0m gets, but not beyond `until` or `wake`. Its UDP payload, if one came.
    pub(crate) async fn wait(
        &mut self,
        until: Time,
        mut wake: impl FnMut(&mut Context<'_>) -> Poll<()>,
    ) -> Result<Option<u64>, CallError> {
        self.timer.reset(until);
        let (socket, timer) = (&self.socket, &mut self.timer);
        let received: Option<Received> = poll_fn(|cx| {
            if let Poll::Ready(received) = socket.poll_recv(cx) {
                return Poll::Ready(received.map(Some));
            }
            if timer.poll(cx).is_ready() || wake(cx).is_ready() {
                return Poll::Ready(Ok(None));
            }
            Poll::Pending
        })
        .await?;
        let Some(received) = received else { return Ok(None) };
        let to = SocketAddr::new(received.dst_ip, self.socket.local_addr().port());
        self.engine.take_in(received.at, received.src, to, &received.payload);
        Ok(Some(received.payload.len() as u64))
    }
}

/// Sends a datagram. What the socket refuses is a lost one.
async fn emit(socket: &dyn UdpSocket, dst: SocketAddr, payload: &[u8]) {
    let (ecn, dscp) = (Ecn::default(), Dscp::default());
    let datagram = Datagram { dst, src: None, ecn, dscp, payload, segment: None };
    if let Err(e) = poll_fn(|cx| socket.poll_send(cx, &datagram)).await {
        tracing::debug!(%dst, "a datagram was not sent: {e}");
    }
}
