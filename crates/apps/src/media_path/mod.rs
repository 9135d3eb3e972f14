//! The media path over real and emulated sockets: [`airlane_messages`] beside the QUIC connection that
//! set it up, on the same socket (`docs/wire/messages.md`).
//!
//! [`MediaPaths`] are those of an endpoint. A path is opened over a QUIC connection: one end asks
//! ([`MediaPaths::connect`]), the other answers ([`MediaPaths::accept`]); both exchange the numbers of
//! the session on a stream of the connection and take their keys from its exporter. Then each
//! [`MediaPath`] sends and receives messages.

mod driver;
mod hello;
mod paths;

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use airlane_base::{Rate, Time};
use airlane_congestion::{ControllerConfig, Rtt};
use airlane_messages::{
    Config, Counts, Event, Ids, Protection, ReceiveLimits, Secret, SendError, SendOptions, Session,
};
use airlane_octopus::Marking;
use airlane_quic::{Connection, Endpoint, QuicError, RecvStream, SendStream};
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::Bytes;

use self::driver::Driver;
use self::hello::Hello;
use self::paths::Paths;

/// What the secrets of a path are exported for.
const LABEL: &str = "EXPORTER-airlane-messages";

/// What a path is, at one end.
#[derive(Clone, Copy, Debug)]
pub struct PathConfig {
    /// UDP payload of a full packet, bytes, which is taken to pass every path.
    pub payload_bytes: u16,
    /// How many packets may leave, and when.
    pub controller: ControllerConfig,
    /// How it sends.
    pub send: SendOptions,
    /// What it holds of what comes.
    pub receive: ReceiveLimits,
}

/// Why a path could not be opened.
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

/// The media paths on an endpoint's socket.
#[derive(Clone, Debug)]
pub struct MediaPaths {
    paths: Arc<Paths>,
}

impl MediaPaths {
    /// Those of an endpoint, with at most `most` at a time; `None` if something else has the socket
    /// beside QUIC already. They end with the endpoint.
    pub fn new(endpoint: &Endpoint, most: usize) -> Option<Self> {
        let paths = Arc::new(Paths::new(endpoint.runtime().clone(), most));
        let driver = Driver::new(endpoint.companion()?, paths.clone());
        endpoint.runtime().spawn("media paths", driver);
        Some(Self { paths })
    }

    /// Paths that are open.
    pub fn len(&self) -> usize {
        self.paths.len()
    }

    /// Whether none is open.
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
        let session = Session::new(
            now,
            Config {
                payload_bytes: config.payload_bytes,
                controller: config.controller.build(now, config.payload_bytes.into(), seed),
                send: config.send,
                receive: config.receive,
                protection: protection(connection, ids, asked)?,
                ids,
                key_packets: None,
            },
        );
        place.fill(session, connection.clone());
        Ok(MediaPath { place })
    }
}

/// What packets of a session are protected with. `asked`: this end asked for it.
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
    /// What the peer says with it.
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

    /// What happens next; `None` once the endpoint is gone.
    pub async fn next_event(&self) -> Option<Event> {
        poll_fn(|cx| self.poll_event(cx)).await
    }

    /// The same, to poll.
    pub fn poll_event(&self, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        self.place.poll_event(cx)
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

/// What a sender knows of its path.
#[derive(Clone, Copy, Debug, Default)]
pub struct Estimate {
    /// What the path is estimated to carry, IP bytes; `None` before there is an estimate.
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
