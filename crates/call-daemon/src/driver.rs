//! Driver of a conference: its socket, its connections, its timer, and what comes over HTTP.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::task::Poll;

use airlane_base::{Dscp, Ecn, Time};
use airlane_runtime::{Datagram as Outgoing, Received, RuntimeHandle, Timer, UdpSocket};
use str0m::net::Transmit;
use tokio::sync::{mpsc, oneshot};

use crate::conference::{CallStatus, Conference, JoinRequest, ParticipantId};
use crate::error::Refusal;
use crate::media::answerer::AnsweredSession;
use crate::media::remote::{Remote, Transport};
use crate::media::session::Datagram;
use crate::media_tcp::connections::{ConnectionEvent, ConnectionTable, EventKind};

/// Datagrams that are taken before what follows from them is sent.
const MAX_BATCH: usize = 64;
/// Commands that wait.
pub(crate) const MAX_COMMANDS: usize = 256;

/// Command of an HTTP request.
pub(crate) enum Command {
    /// Request to take part, with the session that answers the offer.
    Join {
        request: JoinRequest,
        answered: Box<AnsweredSession>,
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
    /// Connections over TCP, and what happens on them.
    connections: ConnectionTable,
    connection_events: mpsc::Receiver<ConnectionEvent>,
    /// Addresses of the socket as clients reach it.
    announced: Vec<SocketAddr>,
    /// Source of input that is looked at first: each in turn, so that none is waited for because another is full.
    first_source: usize,
}

/// Input of a driver.
enum Input {
    Received(std::io::Result<Received>),
    Connection(ConnectionEvent),
    Command(Option<Command>),
    Time,
}

/// Sources of input beside the timer.
const SOURCES: usize = 3;

impl Driver {
    pub(crate) fn new(
        conference: Conference,
        runtime: &RuntimeHandle,
        socket: Box<dyn UdpSocket>,
        announced: Vec<SocketAddr>,
        commands: mpsc::Receiver<Command>,
        connection_events: mpsc::Receiver<ConnectionEvent>,
    ) -> Self {
        Self {
            conference,
            runtime: runtime.clone(),
            socket,
            timer: runtime.timer(Time::FAR_FUTURE),
            commands,
            connections: ConnectionTable::default(),
            connection_events,
            announced,
            first_source: 0,
        }
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
                    Input::Connection(event) => self.on_connection_event(event),
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
        let Self { conference, runtime, socket, connections, .. } = self;
        let send = &mut |transmit: &_| route(&**socket, connections, transmit);
        conference.drive(runtime.now(), send);
    }

    fn close(&mut self) {
        let Self { conference, runtime, socket, connections, .. } = self;
        let send = &mut |transmit: &_| route(&**socket, connections, transmit);
        conference.close(runtime.now(), send);
    }

    async fn wait(&mut self) -> Input {
        self.timer.reset(self.conference.next_time());
        self.poll_input(false).await
    }

    /// The next input. `at_once`: it is the time if there is none yet.
    async fn poll_input(&mut self, at_once: bool) -> Input {
        let Self { socket, commands, connection_events, timer, first_source, .. } = self;
        let first = *first_source;
        *first_source = (first + 1) % SOURCES;
        poll_fn(|cx| {
            for source in first..first + SOURCES {
                let input = match source % SOURCES {
                    0 => socket.poll_recv(cx).map(Input::Received),
                    1 => match connection_events.poll_recv(cx) {
                        Poll::Ready(Some(event)) => Poll::Ready(Input::Connection(event)),
                        // It ends with the last handle, as the commands do.
                        Poll::Ready(None) | Poll::Pending => Poll::Pending,
                    },
                    _ => commands.poll_recv(cx).map(Input::Command),
                };
                if input.is_ready() {
                    return input;
                }
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
        let from = SocketAddr::new(received.src.ip().to_canonical(), received.src.port());
        self.take(received.at, Remote::udp(from), local, &received.payload);
    }

    /// Takes a datagram that has come from a client to an address of this machine.
    fn take(&mut self, at: Time, from: Remote, local: SocketAddr, bytes: &[u8]) {
        let Self { conference, socket, connections, announced, .. } = self;
        let datagram = Datagram { from, to: announced_of(announced, local), bytes };
        let send = &mut |transmit: &_| route(&**socket, connections, transmit);
        conference.receive(at, &datagram, send);
    }

    fn on_connection_event(&mut self, event: ConnectionEvent) {
        let ConnectionEvent { connection, at, kind } = event;
        let from = Remote::tcp(connection.remote);
        match kind {
            EventKind::Opened => return self.connections.open(connection),
            EventKind::Closed => {}
            EventKind::Datagram(_) if !self.connections.has(&connection) => return,
            EventKind::Datagram(bytes) => {
                self.take(at, from, connection.local, &bytes);
                if self.conference.knows(from) {
                    return connection.mark_active();
                }
                tracing::debug!(remote = %connection.remote, "a connection of no session is closed");
            }
        }
        if self.connections.close(&connection) {
            self.conference.forget(from);
        }
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
                let dropped = self.connections.dropped;
                let status = CallStatus {
                    tcp_connections: self.connections.len(),
                    tcp_dropped_datagrams_total: dropped.datagrams,
                    tcp_dropped_bytes_total: dropped.bytes,
                    ..self.conference.status(now)
                };
                // Who asked may have gone.
                let _ = reply.send(status);
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

/// Sends a datagram over its transport.
fn route(socket: &dyn UdpSocket, connections: &mut ConnectionTable, transmit: &Transmit) {
    match Transport::of(transmit.proto) {
        Transport::Udp => emit(socket, transmit),
        Transport::Tcp => connections.send(transmit.destination, &transmit.contents),
    }
}

/// Sends a datagram on a socket. What the socket refuses is a lost one.
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
