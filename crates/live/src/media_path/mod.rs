//! The media path over real and emulated sockets: [`airlane_messages`] beside the QUIC connection that
//! set it up, on the same socket (`docs/reference/wire/messages.md`).
//!
//! [`MediaPaths`] are those of an endpoint. A path is opened over a QUIC connection: one end asks
//! ([`MediaPaths::connect`]), the other answers ([`MediaPaths::accept`]); both exchange the numbers of
//! the session on a stream of the connection and take their keys from its exporter. Then each
//! [`MediaPath`] sends and receives messages.

mod driver;
mod hello;
mod paths;
#[cfg(test)]
mod tests;

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use airlane_base::{Rate, Time};
use airlane_congestion::{ControllerConfig, Rtt};
use airlane_messages::{
    Config, Counts, Event, Ids, Protection, ReceiveLimits, Secret, SendError, SendOptions, Session,
};
use airlane_octopus::Marking;
use airlane_quic::{Connection, Endpoint, QuicError, RecvStream, SendStream};
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::Bytes;
use ring::hmac;

use self::driver::Driver;
use self::hello::Hello;
use self::paths::Paths;

/// Label with which the secrets of a path are exported.
const LABEL: &str = "EXPORTER-airlane-messages";

/// Configuration of a path, at one end.
#[derive(Clone, Copy, Debug)]
pub struct PathConfig {
    /// UDP payload of a full packet, bytes, which is taken to pass every path.
    pub payload_bytes: u16,
    /// Probes find out whether the path takes more, up to so many bytes (RFC 8899). `None`: full packets
    /// keep their size.
    pub max_payload_bytes: Option<u16>,
    /// Silence of the peer after which it is asked whether it is there, and told where this end is.
    /// `None`: it is not.
    pub keep_alive_interval: Option<Duration>,
    /// Congestion controller: limits the packets that may leave, and their times.
    pub controller: ControllerConfig,
    /// Options of its sending side.
    pub send: SendOptions,
    /// Limits on what it holds of received messages.
    pub receive: ReceiveLimits,
}

/// Error when a path is opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The connection failed.
    #[error(transparent)]
    Connection(#[from] QuicError),
    /// The peer said something else than a hello.
    #[error("{0}")]
    Hello(&'static str),
    /// As many paths are open as there may be, or the endpoint is gone.
    #[error("no room for another path")]
    Full,
}

/// Fault by which a path has ended by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathFault {
    /// The peer acknowledged a packet that was never sent to it (RFC 9000, section 21.4).
    #[error("the peer acknowledged a packet that was never sent")]
    UnsentAcknowledged,
    /// A fault of the program.
    #[error("the path failed inside")]
    Inside,
}

/// The media paths on an endpoint's socket.
#[derive(Clone, Debug)]
pub struct MediaPaths {
    paths: Arc<Paths>,
}

impl MediaPaths {
    /// Those of an endpoint, with at most `most` at a time; `None` if something else has the socket
    /// beside QUIC already, or the system has no randomness. They end with the endpoint.
    pub fn new(endpoint: &Endpoint, most: usize) -> Option<Self> {
        let secret = endpoint.secret("media paths").ok()?;
        let socket = endpoint.non_quic_socket()?;
        let may_fragment = socket.may_fragment();
        let paths = Paths::new(endpoint.runtime().clone(), most, secret, may_fragment);
        let paths = Arc::new(paths);
        let driver = Driver::new(socket, paths.clone());
        endpoint.runtime().spawn("media paths", driver);
        Some(Self { paths })
    }

    /// Paths that are open.
    pub fn len(&self) -> usize {
        self.paths.len()
    }

    /// True if none is open.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Opens a path over a connection. The peer is told `request`, and its answer is returned.
    ///
    /// # Errors
    /// If the connection fails, or the peer does not answer as it should.
    pub async fn connect(
        &self,
        connection: &Connection,
        config: &PathConfig,
        request: impl Into<Bytes>,
    ) -> Result<(MediaPath, Bytes), OpenError> {
        let place = self.paths.reserve().ok_or(OpenError::Full)?;
        let (mut to, mut from) = connection.open_bi().await?;
        to.write_all(Hello { id: place.id(), body: request.into() }.encode()?).await?;
        to.finish()?;
        let answer = Hello::read(&mut from).await?;
        let ids = Ids { local: place.id(), remote: answer.id };
        Ok((self.open(place, connection, config, ids, true)?, answer.body))
    }

    /// Waits for the peer to open a path over a connection.
    ///
    /// # Errors
    /// If the connection fails, or the peer says something else than it should.
    pub async fn accept(&self, connection: &Connection) -> Result<Asked, OpenError> {
        let (to, from) = connection.accept_bi().await?;
        self.asked(connection, to, from).await
    }

    async fn asked(
        &self,
        connection: &Connection,
        to: SendStream,
        mut from: RecvStream,
    ) -> Result<Asked, OpenError> {
        let Hello { id, body } = Hello::read(&mut from).await?;
        let paths = self.clone();
        Ok(Asked { paths, connection: connection.clone(), to, remote: id, request: body })
    }

    fn open(
        &self,
        place: paths::Place,
        connection: &Connection,
        config: &PathConfig,
        ids: Ids,
        asked: bool,
    ) -> Result<MediaPath, OpenError> {
        let (now, runtime) = (self.paths.runtime().now(), self.paths.runtime());
        let seed = runtime.seed().split("media path").index(ids.local.into());
        let (remote, source) = connection.validated_addr().ok_or(QuicError::ClosedHere)?;
        let is_accepted = connection.is_accepted();
        let session = Session::new(
            now,
            Config {
                payload_bytes: config.payload_bytes,
                max_payload_bytes: config.max_payload_bytes.filter(|_| !self.paths.may_fragment()),
                controller: config.controller,
                seed,
                random_secret: random_secret(self.paths.secret(), ids.local),
                remote: paths::comparable(remote),
                // Only a client moves (RFC 9000, section 9).
                follows: is_accepted,
                keep_alive_interval: config.keep_alive_interval,
                send: config.send,
                receive: config.receive,
                protection: protection(connection, ids, asked)?,
                ids,
                key_packets: None,
            },
        );
        // A client expects its datagrams from the address that it sends to.
        place.fill(session, connection.clone(), source.filter(|_| is_accepted));
        Ok(MediaPath { place })
    }
}

/// Secret of a session's numbers that its peer must not guess.
fn random_secret(of_endpoint: &[u8; 32], id: u32) -> [u8; 32] {
    let key = hmac::Key::new(hmac::HMAC_SHA256, of_endpoint);
    let tag = hmac::sign(&key, &id.to_be_bytes());
    let mut secret = [0; 32];
    secret.copy_from_slice(tag.as_ref());
    secret
}

/// Protection of a session's packets. `asked`: this end asked for it.
fn protection(connection: &Connection, ids: Ids, asked: bool) -> Result<Protection, QuicError> {
    let (asking, answering) = if asked { (ids.local, ids.remote) } else { (ids.remote, ids.local) };
    // Of what the end that asked sends, and of what the other one does.
    let secret = |direction: u8| {
        let mut context = Vec::with_capacity(9);
        context.extend_from_slice(&asking.to_be_bytes());
        context.extend_from_slice(&answering.to_be_bytes());
        context.push(direction);
        connection.exported_secret(LABEL, &context)
    };
    Ok(match (secret(0)?, secret(1)?) {
        (Some(forth), Some(back)) => {
            let (forth, back) = (Secret(forth), Secret(back));
            let (send, receive) = if asked { (forth, back) } else { (back, forth) };
            Protection::Sealed { send, receive }
        }
        _ => Protection::Null,
    })
}

/// A path that the peer asks for.
#[derive(Debug)]
pub struct Asked {
    paths: MediaPaths,
    connection: Connection,
    to: SendStream,
    remote: u32,
    request: Bytes,
}

impl Asked {
    /// Request that the peer sent with it.
    pub fn request(&self) -> &Bytes {
        &self.request
    }

    /// Opens the path, and tells the peer `answer`.
    ///
    /// # Errors
    /// If the connection fails, or there is no room.
    pub async fn open(
        mut self,
        config: &PathConfig,
        answer: Bytes,
    ) -> Result<MediaPath, OpenError> {
        let place = self.paths.paths.reserve().ok_or(OpenError::Full)?;
        let ids = Ids { local: place.id(), remote: self.remote };
        let hello = Hello { id: place.id(), body: answer }.encode()?;
        let path = self.paths.open(place, &self.connection, config, ids, false)?;
        self.to.write_all(hello).await?;
        self.to.finish()?;
        Ok(path)
    }
}

/// One end of a media path. It is closed when it is dropped; the connection that set it up is kept
/// open by it.
pub struct MediaPath {
    place: paths::Place,
}

impl fmt::Debug for MediaPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MediaPath").field("id", &self.place.id()).finish_non_exhaustive()
    }
}

impl MediaPath {
    /// The runtime that it runs on.
    pub fn runtime(&self) -> &RuntimeHandle {
        self.place.runtime()
    }

    /// Sends a message. Its number in the stream.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn send(&self, stream: u16, marking: Marking, data: Bytes) -> Result<u32, SendError> {
        self.place.change(|session, now| session.send(now, stream, marking, data))
    }

    /// Next event; `None` once the endpoint is gone or the path has ended by itself.
    pub async fn next_event(&self) -> Option<Event> {
        poll_fn(|cx| self.poll_event(cx)).await
    }

    /// The same, to poll.
    pub fn poll_event(&self, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        self.place.poll_event(cx)
    }

    /// Fault by which the path has ended by itself, if it has.
    pub fn fault(&self) -> Option<PathFault> {
        self.place.fault()
    }

    /// Rates and round-trip times as the controller has them.
    pub fn estimate(&self) -> Estimate {
        self.place.look(|session, now| Estimate {
            bandwidth: session.bandwidth(),
            target: session.target(now),
            pacing_rate: session.pacing_rate(),
            rtt: session.rtt(),
            waiting_bytes: session.waiting_bytes(),
        })
    }

    /// IP bytes that a message of so many bytes takes.
    pub fn ip_bytes(&self, message_bytes: usize) -> u64 {
        self.place.look(|session, _| session.ip_bytes(message_bytes))
    }

    /// Sums since the beginning.
    pub fn counts(&self) -> Counts {
        self.place.look(|session, now| session.counts(now))
    }

    /// Reads the session.
    pub fn look<T>(&self, read: impl FnOnce(&Session, Time) -> T) -> T {
        self.place.look(read)
    }
}

/// Estimates of a sender on its path.
#[derive(Clone, Copy, Debug, Default)]
pub struct Estimate {
    /// Bandwidth estimate of the path, IP bytes; `None` before there is an estimate.
    pub bandwidth: Option<Rate>,
    /// The rate that an encoder may ask for, IP bytes.
    pub target: Option<Rate>,
    /// The rate at which packets may leave, IP bytes.
    pub pacing_rate: Option<Rate>,
    /// Round-trip times, once there is a sample.
    pub rtt: Option<Rtt>,
    /// IP bytes that wait to be sent.
    pub waiting_bytes: u64,
}
