//! Driver of a client: its socket and its timer.

use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use airlane_runtime::{Received, RuntimeHandle, UdpSocket};

use super::ClientSummary;
use super::core::Core;
use crate::driver::emit;
use crate::media::remote::{Remote, Transport};
use crate::media::session::Datagram;

/// Time in which the connection has to come up.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Time without a packet of the server after which the call is lost.
const INACTIVITY_TIMEOUT: Duration = Duration::from_secs(30);

/// Client whose offer was answered.
pub struct CallClient {
    core: Core,
    local: SocketAddr,
    transport: Transport,
}

impl std::fmt::Debug for CallClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallClient").field("local", &self.local).finish_non_exhaustive()
    }
}

/// Input of a client.
enum Input {
    Received(std::io::Result<Received>),
    Time,
    Stop,
}

impl CallClient {
    pub(super) fn new(core: Core, local: SocketAddr, transport: Transport) -> Self {
        Self { core, local, transport }
    }

    /// Takes part on a socket, which may be a [`StreamSocket`](super::StreamSocket), until `stop`, or for `length` from the connection on.
    pub async fn run(
        mut self,
        runtime: &RuntimeHandle,
        socket: &dyn UdpSocket,
        length: Option<Duration>,
        stop: impl Future<Output = ()>,
    ) -> ClientSummary {
        let started = runtime.now();
        let mut heard = started;
        let mut end = None;
        let mut timer = runtime.timer(started);
        let mut stop = pin!(stop);
        let failure = loop {
            let now = runtime.now();
            self.core.drive(now, &mut |transmit| emit(socket, transmit));
            if self.core.is_connected() && end.is_none() {
                end = Some(length.map(|length| now + length));
            }
            if end.flatten().is_some_and(|end| now >= end) {
                break None;
            }
            if self.core.is_over() {
                break Some("the server ended the call, or the connection was lost");
            }
            if end.is_none() && now.since(started) > CONNECT_TIMEOUT {
                break Some(match self.transport {
                    Transport::Udp => {
                        "the server's media port does not answer: is UDP let through?"
                    }
                    Transport::Tcp => "the server does not answer on the connection for media",
                });
            }
            if now.since(heard) > INACTIVITY_TIMEOUT {
                break Some("nothing comes from the server any more");
            }
            timer.reset(self.core.next_time());
            let input = poll_fn(|cx| {
                if stop.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(Input::Stop);
                }
                if let Poll::Ready(received) = socket.poll_recv(cx) {
                    return Poll::Ready(Input::Received(received));
                }
                timer.poll(cx).map(|()| Input::Time)
            });
            match input.await {
                Input::Received(Ok(received)) => {
                    heard = received.at;
                    let from = Remote { transport: self.transport, address: received.src };
                    let to = self.local;
                    let datagram = Datagram { from, to, bytes: &received.payload };
                    let send = &mut |transmit: &_| emit(socket, transmit);
                    self.core.receive(received.at, &datagram, send);
                }
                // Such as an ICMP message that nobody listens there.
                Input::Received(Err(e)) => tracing::debug!("the socket: {e}"),
                Input::Time => {}
                Input::Stop => break None,
            }
        };
        let now = runtime.now();
        let mut summary = self.core.summary(now);
        summary.failure = failure.map(str::to_owned);
        self.core.leave(now, &mut |transmit| emit(socket, transmit));
        summary
    }
}
