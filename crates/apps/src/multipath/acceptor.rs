//! The end that is connected to: joins the connections of a stream.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use airlane_fbdt::{Config, PathId};
use airlane_quic::{Connection, ControlHandle, Endpoint, RecvStream, SendStream};
use airlane_runtime::{RuntimeExt, RuntimeHandle};

use super::Settings;
use super::control::ControlReader;
use super::dialer::patience;
use super::error::MultipathError;
use super::hello::{HELLO_BYTES, Hello, StreamId, welcome};
use super::lane::{LaneSender, Lanes};
use super::path::Path;
use super::shared::Shared;
use super::stream::MultipathStream;

/// Streams at once at most, of all peers.
const MAX_STREAMS: usize = 1024;
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
    open: Mutex<BTreeMap<StreamId, (Shared, Config)>>,
    begun: Box<dyn Fn(MultipathStream) + Send + Sync>,
}

impl Streams {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<StreamId, (Shared, Config)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn path(self: Arc<Self>, connection: Connection) {
        let lanes = Lanes::default();
        let ended = tokio::select! {
            biased;
            ended = self.on(&connection, &lanes) => ended,
            ended = lanes.route(&connection) => ended,
        };
        tracing::debug!("{ended}");
        connection.close(u32::from(ended.is_fatal()), "path ended");
    }

    async fn on(self: &Arc<Self>, connection: &Connection, lanes: &Lanes) -> MultipathError {
        let timeout = self.runtime.sleep(HELLO);
        let greeted = tokio::select! {
            biased;
            greeted = self.greet(connection) => greeted,
            () = timeout => return MultipathError::Hello("it did not come"),
        };
        let (hello, to, from) = match greeted {
            Ok(greeted) => greeted,
            Err(e) => return e,
        };
        let (shared, id, path) = match self.join(connection, lanes, hello, to, from).await {
            Ok(joined) => joined,
            Err(e) => return e,
        };
        let ended = path.run(&shared, id).await;
        shared.detach(id);
        // A peer that breaks the protocol on one path is not one to go on with on others.
        if ended.is_fatal() {
            shared.fail(ended.clone());
        }
        ended
    }

    async fn greet(
        &self,
        connection: &Connection,
    ) -> Result<(Hello, SendStream, ControlReader), MultipathError> {
        let (to, from): (SendStream, RecvStream) = connection.accept_bi().await?;
        to.set_priority(i32::MAX)?;
        let mut from = ControlReader::new(from);
        let hello = Hello::decode(&from.exactly(HELLO_BYTES).await?)?;
        Ok((hello, to, from))
    }

    async fn join(
        self: &Arc<Self>,
        connection: &Connection,
        lanes: &Lanes,
        hello: Hello,
        mut to: SendStream,
        from: ControlReader,
    ) -> Result<(Shared, PathId, Path), MultipathError> {
        let (shared, config) = self.stream(&hello)?;
        let incoming =
            lanes.claim(hello.stream).ok_or(MultipathError::Hello("the lane is taken"))?;
        let outgoing = LaneSender::new(connection.clone(), hello.stream);
        to.write_all(welcome(config.receive_memory)).await?;
        let id = shared.attach(hello.path, config)?;
        Ok((shared, id, Path { outgoing, incoming, to, from }))
    }

    /// The stream that a path belongs to: a new one, if it is the first.
    fn stream(self: &Arc<Self>, hello: &Hello) -> Result<(Shared, Config), MultipathError> {
        let mut open = self.lock();
        let own = self.settings.config.receive_memory;
        let wanted =
            Config { receive_memory: hello.config.receive_memory.min(own), ..hello.config };
        if let Some((shared, agreed)) = open.get(&hello.stream) {
            if wanted != *agreed {
                return Err(MultipathError::Hello("it wants something else than on other paths"));
            }
            return Ok((shared.clone(), *agreed));
        }
        if open.len() >= MAX_STREAMS {
            return Err(MultipathError::Hello("there are too many streams already"));
        }
        if wanted.receive_memory < wanted.window_bytes.into() {
            return Err(MultipathError::Hello("the memory holds no window"));
        }
        let shared = Shared::new(self.runtime.clone(), self.settings);
        open.insert(hello.stream, (shared.clone(), wanted));
        drop(open);
        let (streams, id, watched) = (self.clone(), hello.stream, shared.clone());
        self.runtime.spawn("multipath stream", async move {
            patience(watched.clone()).await;
            drop(poll_fn(|cx| watched.poll_over(cx)).await);
            streams.lock().remove(&id);
        });
        (self.begun)(MultipathStream::new(shared.clone()));
        Ok((shared, wanted))
    }
}
