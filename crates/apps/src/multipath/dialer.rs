//! The end that has the radios: connects from each of them, and again when a connection ends or
//! falls silent.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::Time;
use airlane_quic::{Connection, Endpoint};
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use super::Settings;
use super::control::ControlReader;
use super::error::MultipathError;
use super::hello::{Agreed, Hello, StreamId, Terms, WELCOME_BYTES};
use super::path::Path;
use super::shared::{Attached, NewPath, Shared};
use super::stream::MultipathStream;

/// Between two attempts to connect.
const RETRY: Duration = Duration::from_millis(250);
/// An attempt takes no longer.
const CONNECT: Duration = Duration::from_secs(5);
/// An attempt beside a silent connection takes no longer, or three of its least round trips.
const ATTEMPT: Duration = Duration::from_secs(1);
/// A connection that acknowledges nothing for so long, and for three of its least round trips, may
/// be in the dark: others are tried beside it.
const SILENCE: Duration = Duration::from_millis(500);
/// A stream without any path fails after so long.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// How long the end that closes waits for the other to have heard that all has arrived.
const GOODBYE: Duration = Duration::from_secs(1);

/// How a radio reaches the other end.
#[derive(Clone)]
pub struct Dial {
    /// An endpoint at the radio's address.
    pub endpoint: Arc<Endpoint>,
    /// The other end.
    pub server: SocketAddr,
    /// Its name, for TLS.
    pub name: String,
}

/// Opens a stream over these radios. `id` is a random number that has never been used: whoever
/// knows it can join the stream.
///
/// It connects in the background: what is written waits for the first path.
pub fn open(
    runtime: &RuntimeHandle,
    id: StreamId,
    radios: Vec<Dial>,
    settings: Settings,
) -> MultipathStream {
    let shared = Shared::new(runtime.clone(), settings);
    for (number, dial) in (0..).zip(radios) {
        let radio = Radio { shared: shared.clone(), id, number, dial, settings };
        runtime.spawn("multipath radio", radio.run());
    }
    runtime.spawn("multipath patience", patience(shared.clone()));
    MultipathStream::new(shared)
}

/// Fails a stream that has had no path for too long.
pub(super) async fn patience(shared: Shared) {
    let watch = async {
        loop {
            poll_fn(|cx| shared.poll_has_path(cx, false)).await;
            let end = shared.runtime.sleep(PATIENCE);
            tokio::select! {
                biased;
                () = poll_fn(|cx| shared.poll_has_path(cx, true)) => {}
                () = end => return shared.fail(MultipathError::NoPath(PATIENCE.as_secs())),
            }
        }
    };
    tokio::select! {
        biased;
        _ = poll_fn(|cx| shared.poll_over(cx)) => {}
        () = watch => {}
    }
}

struct Radio {
    shared: Shared,
    id: StreamId,
    number: u8,
    dial: Dial,
    settings: Settings,
}

impl Radio {
    async fn run(self) {
        let paths = async {
            loop {
                let ended = match self.path().await {
                    Ok(first) => self.serve(first).await,
                    Err(e) => e,
                };
                tracing::debug!(radio = self.number, "{ended}");
                if ended.is_fatal() {
                    return self.shared.fail(ended);
                }
                self.shared.runtime.sleep(RETRY).await;
            }
        };
        tokio::select! {
            biased;
            // The other end hears the last acknowledgement meanwhile.
            () = self.over() => {}
            () = paths => {}
        }
    }

    async fn over(&self) {
        if poll_fn(|cx| self.shared.poll_over(cx)).await.is_ok() {
            self.shared.runtime.sleep(GOODBYE).await;
        }
    }

    /// Runs a path and those that take its place, until one ends that none took the place of.
    async fn serve(&self, first: OpenPath) -> MultipathError {
        let mut open = first;
        loop {
            let OpenPath { connection, usual, attached, path } = open;
            let (ended, replacement) = tokio::select! {
                biased;
                ended = path.run(attached) => (ended, None),
                replacement = self.replacement(&connection, usual) => (MultipathError::Ended, Some(replacement)),
            };
            connection.close(u32::from(ended.is_fatal()), "path ended");
            match replacement {
                Some(replacement) => open = replacement,
                None => return ended,
            }
        }
    }

    /// A path that came up while `connection` was silent. A connection in the dark probes at
    /// intervals that double (RFC 9002, 6.2.1), so it hears of the light as late as the dark was
    /// long; and its congestion window is then the least.
    async fn replacement(&self, connection: &Connection, usual: Duration) -> OpenPath {
        let runtime = &self.shared.runtime;
        let mut silence = Silence::new(connection, usual, runtime.now());
        loop {
            runtime.sleep(RETRY).await;
            if silence.lasts(connection, runtime.now())
                && let Some(open) = self.another(connection, &mut silence).await
            {
                return open;
            }
        }
    }

    /// Connects beside a silent connection until that speaks again; the first that comes up becomes
    /// a path. No other says hello: the other end would take it for the one that replaces all.
    async fn another(&self, silent: &Connection, silence: &mut Silence) -> Option<OpenPath> {
        let runtime = &self.shared.runtime;
        let mut attempts = FuturesUnordered::new();
        // What a dark link had queued comes at its end, and the connection may then be silent again:
        // a word is not enough.
        let mut words = 0;
        while words < 2 {
            attempts.push(self.connect(silence.usual.max(ATTEMPT)));
            let until = runtime.now() + RETRY;
            loop {
                tokio::select! {
                    biased;
                    Some(attempt) = attempts.next() => if let Ok(connected) = attempt {
                        drop(attempts);
                        return self.join(connected).await.ok();
                    },
                    () = runtime.sleep_until(until) => break,
                }
            }
            words = if silence.ended(silent, runtime.now()) { words + 1 } else { 0 };
        }
        None
    }

    /// A new connection that is a path of the stream.
    async fn path(&self) -> Result<OpenPath, MultipathError> {
        self.join(self.connect(CONNECT).await?).await
    }

    /// A new connection, if it is there within `patience`, and how long it took.
    async fn connect(&self, patience: Duration) -> Result<(Connection, Duration), MultipathError> {
        let Dial { endpoint, server, name } = &self.dial;
        let begun = self.shared.runtime.now();
        let timeout = self.shared.runtime.sleep(patience);
        tokio::select! {
            biased;
            connected = endpoint.connect(*server, name) => {
                Ok((connected?, self.shared.runtime.now() - begun))
            }
            () = timeout => Err(MultipathError::Ended),
        }
    }

    /// Makes a connection a path of the stream.
    async fn join(
        &self,
        (connection, took): (Connection, Duration),
    ) -> Result<OpenPath, MultipathError> {
        let timeout = self.shared.runtime.sleep(CONNECT);
        let joined = tokio::select! {
            biased;
            joined = self.greet(&connection) => joined,
            () = timeout => Err(MultipathError::Ended),
        };
        match joined {
            Ok((attached, path)) => Ok(OpenPath { connection, usual: 3 * took, attached, path }),
            Err(e) => {
                connection.close(u32::from(e.is_fatal()), "path ended");
                Err(e)
            }
        }
    }

    async fn greet(&self, connection: &Connection) -> Result<(Attached, Path), MultipathError> {
        let wanted = Terms::of(&self.settings);
        let (mut to, from) = connection.open_bi().await?;
        to.set_priority(i32::MAX)?;
        let hello = Hello { stream: self.id, path: self.number, terms: wanted };
        to.write_all(hello.encode()).await?;
        let mut from = ControlReader::new(from);
        let agreed = Agreed::decode(&from.exactly(WELCOME_BYTES).await?, wanted)?;
        let attached =
            self.shared.attach(NewPath::of(self.number), agreed, Some(connection.control()))?;
        Ok((attached, Path::new(connection, self.id, to, from)))
    }
}

/// A path that both ends have joined to the stream.
struct OpenPath {
    connection: Connection,
    /// Three times what it took to connect.
    usual: Duration,
    attached: Attached,
    path: Path,
}

/// Since when nothing was acknowledged on a connection though something is in flight.
struct Silence {
    acked_packets: u64,
    since: Time,
    /// Three round trips; before there is a sample, three times what it took to connect.
    usual: Duration,
}

impl Silence {
    fn new(connection: &Connection, usual: Duration, now: Time) -> Self {
        let acked_packets = connection.control().stats().acked_packets;
        Self { acked_packets, since: now, usual }
    }

    /// Whether it has lasted for so long that the radio may be dark.
    fn lasts(&mut self, connection: &Connection, now: Time) -> bool {
        self.ended(connection, now);
        now - self.since >= SILENCE.max(self.usual)
    }

    /// Whether something was acknowledged since the last look, or nothing is to be.
    fn ended(&mut self, connection: &Connection, now: Time) -> bool {
        let stats = connection.control().stats();
        self.usual = stats.rtt.map_or(self.usual, |rtt| 3 * rtt.min);
        let ended = stats.acked_packets != self.acked_packets || stats.in_flight == 0;
        if ended {
            (self.acked_packets, self.since) = (stats.acked_packets, now);
        }
        ended
    }
}
