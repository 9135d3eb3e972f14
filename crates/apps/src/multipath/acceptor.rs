//! The end that is connected to: joins the connections of a stream.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use airlane_quic::{Connection, ControlHandle, Endpoint};
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use rand::RngExt;

use super::Settings;
use super::control::ControlReader;
use super::dialer::patience;
use super::error::MultipathError;
use super::hello::{Agreed, HELLO_BYTES, Hello, StreamId, Terms};
use super::path::Path;
use super::shared::{Attached, NewPath, Shared};
use super::stream::MultipathStream;

/// Streams at once at most, of all peers.
const MAX_OPEN: usize = 1024;
/// A connection has said what it belongs to by then.
const HELLO: Duration = Duration::from_secs(5);

/// Serves every connection of `endpoint` until it is closed. `begun` gets each stream with its first
/// path; `connected` sees the controller of each connection as it comes.
pub async fn serve(
    endpoint: Endpoint,
    settings: Settings,
    connected: impl Fn(&Connection, &ControlHandle),
    begun: impl Fn(MultipathStream) + Send + Sync + 'static,
) {
    let streams = Arc::new(Streams {
        runtime: endpoint.runtime().clone(),
        settings,
        begun_so_far: AtomicU64::new(0),
        open: Mutex::default(),
        begun: Box::new(begun),
    });
    while let Some(connection) = endpoint.accept().await {
        connected(&connection, connection.control());
        endpoint.runtime().spawn("multipath path", streams.clone().path(connection));
    }
}

/// The streams that are open.
struct Streams {
    runtime: RuntimeHandle,
    settings: Settings,
    /// How many there ever were.
    begun_so_far: AtomicU64,
    open: Mutex<BTreeMap<StreamId, (Shared, Agreed)>>,
    begun: Box<dyn Fn(MultipathStream) + Send + Sync>,
}

impl Streams {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<StreamId, (Shared, Agreed)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn path(self: Arc<Self>, connection: Connection) {
        let ended = self.on(&connection).await;
        tracing::debug!("{ended}");
        connection.close(u32::from(ended.is_fatal()), "path ended");
    }

    async fn on(self: &Arc<Self>, connection: &Connection) -> MultipathError {
        let timeout = self.runtime.sleep(HELLO);
        let greeted = tokio::select! {
            biased;
            greeted = self.greet(connection) => greeted,
            () = timeout => return MultipathError::Protocol("no hello in time"),
        };
        let (shared, attached, path) = match greeted {
            Ok(greeted) => greeted,
            Err(e) => return e,
        };
        let ended = path.run(attached).await;
        // A peer that breaks the protocol on one path is not one to go on with on others.
        if ended.is_fatal() {
            shared.fail(ended.clone());
        }
        ended
    }

    async fn greet(
        self: &Arc<Self>,
        connection: &Connection,
    ) -> Result<(Shared, Attached, Path), MultipathError> {
        let (mut to, from) = connection.accept_bi().await?;
        to.set_priority(i32::MAX)?;
        let mut from = ControlReader::new(from);
        let hello = Hello::decode(&from.exactly(HELLO_BYTES).await?)?;
        let (shared, agreed) = self.stream(&hello)?;
        to.write_all(agreed.encode()).await?;
        let attached =
            shared.attach(NewPath::of(hello.path), agreed, Some(connection.control()))?;
        Ok((shared, attached, Path::new(connection, hello.stream, to, from)))
    }

    /// The stream that a path belongs to: a new one, if it is the first.
    fn stream(self: &Arc<Self>, hello: &Hello) -> Result<(Shared, Agreed), MultipathError> {
        let mut open = self.lock();
        let own = Terms::of(&self.settings);
        if hello.terms.protocol != own.protocol {
            return Err(MultipathError::Protocol("frames of a kind that is not spoken here"));
        }
        let receive_memory = hello.terms.receive_memory.min(own.receive_memory);
        let wanted = Terms { receive_memory, ..hello.terms };
        if let Some((shared, agreed)) = open.get(&hello.stream) {
            if wanted != agreed.terms {
                return Err(MultipathError::Protocol("other sizes than on other paths"));
            }
            return Ok((shared.clone(), *agreed));
        }
        if open.len() >= MAX_OPEN {
            return Err(MultipathError::Protocol("one stream too many"));
        }
        if wanted.receive_memory < wanted.window_bytes.into() {
            return Err(MultipathError::Protocol("memory that holds no window"));
        }
        let shared = Shared::new(self.runtime.clone(), self.settings);
        let incarnation = self.begun_so_far.fetch_add(1, Ordering::Relaxed);
        let incarnation = self.runtime.seed().split("multipath").index(incarnation).rng().random();
        let agreed = Agreed { incarnation, terms: wanted };
        open.insert(hello.stream, (shared.clone(), agreed));
        drop(open);
        let (streams, id, watched) = (self.clone(), hello.stream, shared.clone());
        self.runtime.spawn("multipath stream", async move {
            patience(watched.clone()).await;
            drop(poll_fn(|cx| watched.poll_over(cx)).await);
            streams.lock().remove(&id);
        });
        (self.begun)(MultipathStream::new(shared.clone()));
        Ok((shared, agreed))
    }
}
