//! Driver of a conference: its socket, its timer, and what comes over HTTP.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::task::Poll;

use airlane_base::{Dscp, Ecn, Time};
use airlane_runtime::{Datagram as Outgoing, Received, RuntimeHandle, Timer, UdpSocket};
use str0m::net::Transmit;
use tokio::sync::{mpsc, oneshot};

use crate::conference::{CallStatus, Conference, JoinRequest, ParticipantId};
use crate::error::Refusal;
use crate::media::answerer::Answered;
use crate::media::session::Datagram;

/// Datagrams that are taken before what follows from them is sent.
const MAX_BATCH: usize = 64;
/// Commands that wait.
pub(crate) const MAX_COMMANDS: usize = 256;

/// Command of an HTTP request.
pub(crate) enum Command {
    /// Request to take part, with the session that answers the offer.
    Join {
        request: JoinRequest,
        answered: Box<Answered>,
        reply: oneshot::Sender<Result<ParticipantId, Refusal>>,
    },
    /// End of a participation, by its secret name; the reply is false if there is none.
    Leave { resource: String, reply: oneshot::Sender<bool> },
    /// Question for the status.
    Status { reply: oneshot::Sender<CallStatus> },
    /// End of the conference.
    Stop { reply: oneshot::Sender<()> },
}

/// Driver of a conference.
pub(crate) struct Driver {
    conference: Conference,
    runtime: RuntimeHandle,
    socket: Box<dyn UdpSocket>,
    timer: Box<dyn Timer>,
    commands: mpsc::Receiver<Command>,
    /// Addresses of the socket as clients reach it.
    announced: Vec<SocketAddr>,
}

/// Input of a driver.
enum Input {
    Received(std::io::Result<Received>),
    Command(Option<Command>),
    Time,
}

impl Driver {
    pub(crate) fn new(
        conference: Conference,
        runtime: &RuntimeHandle,
        socket: Box<dyn UdpSocket>,
        announced: Vec<SocketAddr>,
        commands: mpsc::Receiver<Command>,
    ) -> Self {
        let timer = runtime.timer(Time::FAR_FUTURE);
        Self { conference, runtime: runtime.clone(), socket, timer, commands, announced }
    }

    /// Runs until it is told to stop, or nobody can tell it anything any more.
    pub(crate) async fn run(mut self) {
        loop {
            self.drive();
            // What has come meanwhile is taken at once.
            for taken in 0..MAX_BATCH {
                let input =
                    if taken == 0 { self.wait().await } else { self.poll_input(true).await };
                match input {
                    Input::Received(Ok(received)) => self.receive(&received),
                    // Such as an ICMP message about a peer that is gone.
                    Input::Received(Err(e)) => tracing::debug!("the socket: {e}"),
                    Input::Command(Some(Command::Stop { reply })) => {
                        self.close();
                        let _ = reply.send(());
                        return;
                    }
                    Input::Command(Some(command)) => self.follow(command),
                    Input::Command(None) => return self.close(),
                    Input::Time => break,
                }
            }
        }
    }

    fn drive(&mut self) {
        let Self { conference, runtime, socket, .. } = self;
        conference.drive(runtime.now(), &mut |transmit| emit(&**socket, transmit));
    }

    fn close(&mut self) {
        let Self { conference, runtime, socket, .. } = self;
        conference.close(runtime.now(), &mut |transmit| emit(&**socket, transmit));
    }

    async fn wait(&mut self) -> Input {
        self.timer.reset(self.conference.next_time());
        self.poll_input(false).await
    }

    /// The next input. `at_once`: it is the time if there is none yet.
    async fn poll_input(&mut self, at_once: bool) -> Input {
        let Self { socket, commands, timer, .. } = self;
        poll_fn(|cx| {
            if let Poll::Ready(received) = socket.poll_recv(cx) {
                return Poll::Ready(Input::Received(received));
            }
            if let Poll::Ready(command) = commands.poll_recv(cx) {
                return Poll::Ready(Input::Command(command));
            }
            if at_once {
                return Poll::Ready(Input::Time);
            }
            timer.poll(cx).map(|()| Input::Time)
        })
        .await
    }

    fn receive(&mut self, received: &Received) {
        let local = SocketAddr::new(received.dst_ip, self.socket.local_addr().port());
        let to = announced_of(&self.announced, local);
        let from = SocketAddr::new(received.src.ip().to_canonical(), received.src.port());
        let datagram = Datagram { from, to, bytes: &received.payload };
        let Self { conference, socket, .. } = self;
        conference.receive(received.at, &datagram, &mut |transmit| emit(&**socket, transmit));
    }

    fn follow(&mut self, command: Command) {
        let now = self.runtime.now();
        match command {
            Command::Join { request, answered, reply } => {
                let joined = self.conference.join(now, request, *answered);
                let id = joined.as_ref().ok().copied();
                if reply.send(joined).is_err()
                    && let Some(id) = id
                {
                    tracing::debug!("a client went while it joined: {id:?}");
                }
            }
            Command::Leave { resource, reply } => {
                let _ = reply.send(self.conference.leave(now, &resource));
            }
            Command::Status { reply } => {
                // Who asked may have gone.
                let _ = reply.send(self.conference.status(now));
            }
            Command::Stop { .. } => {}
        }
    }
}

/// Announced address that a datagram to a local one came by.
fn announced_of(announced: &[SocketAddr], local: SocketAddr) -> SocketAddr {
    let local = SocketAddr::new(local.ip().to_canonical(), local.port());
    if announced.contains(&local) {
        return local;
    }
    let of_family = announced.iter().find(|of| of.is_ipv4() == local.is_ipv4());
    of_family.copied().unwrap_or(local)
}

/// Sends a datagram. What the socket refuses is a lost one.
pub(crate) fn emit(socket: &dyn UdpSocket, transmit: &Transmit) {
    let (ecn, dscp) = (Ecn::default(), Dscp::default());
    let dst = match (transmit.destination, socket.local_addr()) {
        // A socket of both kinds of addresses takes those of IP version 6 alone.
        (SocketAddr::V4(v4), SocketAddr::V6(_)) => {
            SocketAddr::from((v4.ip().to_ipv6_mapped(), v4.port()))
        }
        (other, _) => other,
    };
    let datagram =
        Outgoing { dst, src: None, ecn, dscp, payload: &transmit.contents, segment: None };
    if let Err(e) = socket.try_send(&datagram) {
        tracing::debug!(%dst, "a datagram was not sent: {e}");
    }
}
