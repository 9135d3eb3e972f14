//! The end that has the radios: connects from each of them, and again when a connection ends.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use airlane_quic::{Connection, Endpoint};
use airlane_runtime::{RuntimeExt, RuntimeHandle};

use super::Settings;
use super::control::ControlReader;
use super::error::MultipathError;
use super::hello::{Agreed, Hello, StreamId, WELCOME_BYTES};
use super::path::Path;
use super::shared::{Attached, Shared};
use super::stream::MultipathStream;

/// Between two attempts to connect.
const RETRY: Duration = Duration::from_millis(250);
/// An attempt takes no longer.
const CONNECT: Duration = Duration::from_secs(5);
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
                let ended = self.path().await;
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

    /// One connection from its beginning to its end.
    async fn path(&self) -> MultipathError {
        let Dial { endpoint, server, name } = &self.dial;
        let timeout = self.shared.runtime.sleep(CONNECT);
        let connected = tokio::select! {
            biased;
            connection = endpoint.connect(*server, name) => connection,
            () = timeout => return MultipathError::Ended,
        };
        let connection = match connected {
            Ok(connection) => connection,
            Err(e) => return e.into(),
        };
        let ended = match self.greet(&connection).await {
            Ok((attached, path)) => path.run(attached).await,
            Err(e) => e,
        };
        connection.close(u32::from(ended.is_fatal()), "path ended");
        ended
    }

    async fn greet(&self, connection: &Connection) -> Result<(Attached, Path), MultipathError> {
        let wanted = self.settings.config;
        let (mut to, from) = connection.open_bi().await?;
        to.set_priority(i32::MAX)?;
        let hello = Hello { stream: self.id, path: self.number, config: wanted };
        to.write_all(hello.encode()).await?;
        let mut from = ControlReader::new(from);
        let agreed = Agreed::decode(&from.exactly(WELCOME_BYTES).await?, wanted)?;
        let attached = self.shared.attach(self.number, agreed)?;
        Ok((attached, Path::new(connection, self.id, to, from)))
    }
}
