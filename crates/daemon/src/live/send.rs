//! The end that sends: a clip in real time, to everybody who asks.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use airlane_apps::live::wire::Answer;
use airlane_apps::live::{self, LayerMarks, LiveError, Noted, Source, Video};
use airlane_apps::media_path::MediaPaths;
use airlane_base::{InputError, Seed, Time};
use airlane_media::layers::LayeredVideo;
use airlane_quic::{Admission, Connection, Endpoint, Tls, TransportConfig, Trust};
use airlane_runtime::RuntimeExt;
use airlane_runtime::real_time::TokioRuntime;

use super::{path, paths, transport};
use crate::certificate::{self, Development};
use crate::{DaemonError, date};

/// Handshakes under way at most, and how long each may take.
const HANDSHAKES: usize = 256;
const HANDSHAKE: Duration = Duration::from_secs(10);

/// What to send, and where.
#[derive(Clone, Debug)]
pub struct SendRequest {
    /// Where to listen.
    pub listen: SocketAddr,
    /// The clip, which is played over and over.
    pub clip: Arc<LayeredVideo>,
    /// Where its bytes come from.
    pub source: Source,
    /// Which of its encodings.
    pub video: Video,
    /// What layers are marked with.
    pub marks: LayerMarks,
    /// A certificate and its key, PEM; `None`: one for development, kept in `data_folder`.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// Where a certificate for development is kept.
    pub data_folder: PathBuf,
    /// Viewers at a time at most.
    pub viewers: usize,
}

/// What a sender has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendStatus {
    /// Viewers now.
    pub viewers: usize,
    /// Frames handed over, to all of them.
    pub frames: u64,
    /// Messages that the sender's own buffer dropped.
    pub dropped: u64,
}

#[derive(Debug, Default)]
struct Counts {
    viewers: AtomicUsize,
    frames: AtomicU64,
    dropped: AtomicU64,
}

/// A clip that is being sent, until it is stopped.
#[derive(Debug)]
pub struct Sender {
    endpoint: Arc<Endpoint>,
    counts: Arc<Counts>,
    development: Option<Development>,
}

impl Sender {
    /// Starts to listen.
    ///
    /// # Errors
    /// If the clip has no such encodings, the address cannot be bound, or there is no certificate.
    pub fn start(request: SendRequest) -> Result<Self, DaemonError> {
        let Some(structure) = request.video.structure(&request.clip) else {
            let found = format!("{} was not encoded in these layers", request.clip.name);
            return Err(InputError::new(found, "name another clip, or another --video").into());
        };
        let (identity, development) = certificate::identity(
            request.identity.as_ref(),
            &request.data_folder,
            &[request.listen.ip()],
        )?;
        let tls = Tls { identity: Some(identity.shown()?), trust: Trust::Roots(Vec::new()) };
        let config = TransportConfig {
            admission: Admission {
                validate_from: HANDSHAKES / 4,
                handshakes: HANDSHAKES,
                connections: request.viewers.saturating_mul(2),
                handshake_timeout: Some(HANDSHAKE),
            },
            ..transport(tls)
        };
        let runtime = TokioRuntime::new(Seed(date::now_ms()));
        let endpoint = Arc::new(Endpoint::server(&runtime, request.listen, config)?);
        let paths = paths(&endpoint, request.viewers)?;
        let counts = Arc::new(Counts::default());
        let frame_time = Duration::from_secs_f64(1.0 / request.clip.fps);
        let answer = Answer { structure, frame_time, coding: request.source.coding() };
        let clock = date::now() - runtime.now().since_start();
        let serving = Serving { request: Arc::new(request), answer, clock, counts: counts.clone() };
        let accepting = endpoint.clone();
        runtime.spawn("live sender", async move {
            while let Some(connection) = accepting.accept().await {
                let serving = serving.clone();
                let paths = paths.clone();
                accepting.runtime().spawn("live viewer", serving.serve(connection, paths));
            }
        });
        Ok(Self { endpoint, counts, development })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.endpoint.local_addr()
    }

    /// The certificate for development that it shows, if it was given none.
    pub fn development(&self) -> Option<&Development> {
        self.development.as_ref()
    }

    /// What it has done so far.
    pub fn status(&self) -> SendStatus {
        SendStatus {
            viewers: self.counts.viewers.load(Ordering::Relaxed),
            frames: self.counts.frames.load(Ordering::Relaxed),
            dropped: self.counts.dropped.load(Ordering::Relaxed),
        }
    }

    /// Tells viewers that it ends.
    pub async fn stop(self) {
        self.endpoint.close(0, "stopped");
        self.endpoint.wait_idle().await;
    }
}

/// What every viewer gets.
#[derive(Clone)]
struct Serving {
    request: Arc<SendRequest>,
    answer: Answer,
    /// The time since 1970 when the runtime's clock shows 0.
    clock: Duration,
    counts: Arc<Counts>,
}

impl Serving {
    /// Serves whoever opened a connection until that ends, one path after the other.
    async fn serve(self, connection: Connection, paths: MediaPaths) {
        loop {
            let Ok(asked) = paths.accept(&connection).await else { return };
            let Ok(opened) = asked.open(&path(), self.answer.encode()).await else { return };
            let SendRequest { clip, source, video, marks, .. } = &*self.request;
            let ip_bytes = |layer| opened.ip_bytes(source.message_bytes(layer));
            let Some(encoder) = video.encoder(clip, *marks, ip_bytes) else { return };
            self.counts.viewers.fetch_add(1, Ordering::Relaxed);
            let note = |noted| {
                let count = match noted {
                    Noted::Sent(_) => &self.counts.frames,
                    Noted::Dropped { .. } => &self.counts.dropped,
                };
                count.fetch_add(1, Ordering::Relaxed);
            };
            let (frame_time, until) = (self.answer.frame_time, Time::FAR_FUTURE);
            let sent = live::send(&opened, source, encoder, frame_time, self.clock, until, note);
            tokio::select! {
                // The path ends with the endpoint; a source that cannot be read is for the log.
                sent = sent => if let Err(e @ LiveError::Source(_)) = sent {
                    tracing::error!("{e}");
                },
                _ = connection.closed() => {}
            }
            self.counts.viewers.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
