//! The end that sends: a clip or a live source in real time, to everybody who asks.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use airlane_base::{InputError, Seed};
use airlane_live::wire::{Answer, Coding};
use airlane_live::{LayerMarks, LiveGops, Source, Video};
use airlane_media::layers::LayeredVideo;
use airlane_quic::{
    AcceptConfig, Admission, ConnectionLimiter, Endpoint, Tls, TransportConfig, Trust,
};
use airlane_runtime::real_time::TokioRuntime;
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use tokio::sync::{Semaphore, watch};

use super::encoder::EncoderFactory;
use super::input::VideoInput;
use super::pictures::{Latest, keep_latest};
use super::serving::{Counts, Serving, VideoSource};
use super::{paths, transport};
use airlane_certificate::{CertificateFiles, Development};
use airlane_host::RateLimitedLog;
use airlane_host::date;

use crate::DaemonError;

/// Handshakes under way at most, and how long each may take.
const HANDSHAKES: usize = 256;
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Connections that have not asked for the video yet, beside the viewers'.
const SILENT: usize = 32;
/// Connections that one address may have whatever the number of viewers.
const OF_ONE: usize = 4;

/// Limits for so many viewers: three quarters of them for one address, so that it leaves room for
/// others, and some for those who have yet to ask. Who says nothing gives its place to others.
fn limiter_for(viewers: usize) -> Arc<ConnectionLimiter> {
    let of_one = viewers.saturating_sub(viewers / 4).max(OF_ONE);
    ConnectionLimiter::new(viewers.saturating_add(SILENT), of_one)
}

/// Video to send.
#[derive(Debug)]
pub enum SentVideo {
    /// A clip, over and over.
    Clip {
        /// Its table.
        clip: Arc<LayeredVideo>,
        /// Source of its bytes.
        source: Source,
        /// Encoding of the clip.
        video: Video,
    },
    /// Raw video, encoded for each viewer as it comes.
    Live {
        /// Input of raw video.
        input: VideoInput,
        /// Factory of its encoders.
        encoders: Arc<dyn EncoderFactory>,
    },
}

/// Configuration of a sender.
#[derive(Debug)]
pub struct SenderConfig {
    /// Address to listen on.
    pub listen: SocketAddr,
    /// Video to send.
    pub video: SentVideo,
    /// Marks of the layers.
    pub marks: LayerMarks,
    /// A certificate and its key, PEM; `None`: one for development, kept in `data_folder`.
    pub identity: Option<CertificateFiles>,
    /// Folder in which a certificate for development is kept; `None`: it is not kept.
    pub data_folder: Option<PathBuf>,
    /// Viewers at a time at most. Of a live source each has an encoder.
    pub viewers: usize,
}

/// Counts of a sender so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendStatus {
    /// Viewers now.
    pub viewers: usize,
    /// Encoders now: of a live source, one for each viewer.
    pub encoders: usize,
    /// Frames handed over, to all of them.
    pub frames: u64,
    /// Messages that the sender's own buffer dropped.
    pub dropped: u64,
    /// Pictures of a live source that were left out since an encoder was busy, for all of them.
    pub skipped: u64,
}

/// A video that is being sent, until it is stopped.
#[derive(Debug)]
pub struct Sender {
    endpoint: Arc<Endpoint>,
    counts: Arc<Counts>,
    development: Option<Development>,
    /// Latest picture of a live source, and permits for its encoders.
    live: Option<(watch::Receiver<Latest>, Arc<Semaphore>)>,
    max_viewers: usize,
}

impl Sender {
    /// Starts to listen.
    ///
    /// # Errors
    /// If the clip has no such encodings, the source cannot be encoded, the address cannot be bound, or
    /// there is no certificate.
    pub fn start(config: SenderConfig) -> Result<Self, DaemonError> {
        Self::start_on(&TokioRuntime::new(Seed(date::now_ms())), config)
    }

    /// Starts to listen as a host of `runtime`'s world.
    ///
    /// # Errors
    /// As [`Sender::start`].
    pub fn start_on(runtime: &RuntimeHandle, config: SenderConfig) -> Result<Self, DaemonError> {
        let SenderConfig { listen, video, marks, identity, data_folder, viewers } = config;
        let (identity, development) = airlane_certificate::identity(
            identity.as_ref(),
            data_folder.as_deref(),
            &[listen.ip()],
        )?;
        let tls = Tls { identity: Some(identity.shown()?), trust: Trust::Roots(Vec::new()) };
        let config = TransportConfig {
            accept: AcceptConfig {
                admission: Admission {
                    validate_from: HANDSHAKES / 8,
                    handshakes: HANDSHAKES,
                    // Those that were evicted are there until their ends have been told.
                    connections: HANDSHAKES.saturating_add(viewers.saturating_mul(2)),
                    handshake_timeout: Some(HANDSHAKE),
                },
                connection_limiter: Some(limiter_for(viewers)),
                reset_secret: None,
            },
            ..transport(tls)
        };
        let counts = Arc::new(Counts::default());
        let (answer, video, input) = match video {
            SentVideo::Clip { clip, source, video } => {
                let Some(structure) = video.structure(&clip) else {
                    let found = format!("{} was not encoded in these layers", clip.name);
                    let expected = "name another clip, or another --video";
                    return Err(InputError::new(found, expected).into());
                };
                let frame_time = Duration::from_secs_f64(1.0 / clip.fps);
                let answer = Answer { structure, frame_time, coding: source.coding() };
                (answer, VideoSource::Clip { clip, source, video }, None)
            }
            SentVideo::Live { input, encoders } => {
                let header = *input.header();
                let frame_time = Duration::from_secs_f64(1.0 / header.fps.as_f64());
                let structure = LiveGops::structure();
                let answer = Answer { structure, frame_time, coding: Coding::Vp9 };
                let (room, latest) = (Arc::new(Semaphore::new(viewers)), watch::Sender::default());
                encoders.check(&header)?;
                let pictures = latest.subscribe();
                let served = VideoSource::Live { header, encoders, pictures, room };
                (answer, served, Some((input, latest)))
            }
        };
        let endpoint = Arc::new(Endpoint::server(runtime, listen, config)?);
        let paths = paths(&endpoint, viewers)?;
        if let Some((input, latest)) = input {
            let keep = keep_latest(input, runtime.clone(), latest, counts.viewers.subscribe());
            runtime.spawn("live pictures", keep);
        }
        let live = match &video {
            VideoSource::Live { pictures, room, .. } => Some((pictures.clone(), room.clone())),
            VideoSource::Clip { .. } => None,
        };
        let clock = date::now() - runtime.now().since_start();
        let (counts_of, warnings) = (counts.clone(), RateLimitedLog::new(runtime.clone()));
        let serving = Serving { video, marks, answer, clock, counts: counts_of, warnings };
        let accepting = endpoint.clone();
        runtime.spawn("live sender", async move {
            while let Some(connection) = accepting.accept().await {
                let serving = serving.clone();
                let paths = paths.clone();
                accepting.runtime().spawn("live viewer", serving.serve(connection, paths));
            }
        });
        Ok(Self { endpoint, counts, development, live, max_viewers: viewers })
    }

    /// Address on which the sender listens.
    pub fn address(&self) -> SocketAddr {
        self.endpoint.local_addr()
    }

    /// The certificate for development that it shows, if it was given none.
    pub fn development(&self) -> Option<&Development> {
        self.development.as_ref()
    }

    /// Counts of the sender so far.
    pub fn status(&self) -> SendStatus {
        let free = self.live.as_ref().map(|(_, room)| room.available_permits());
        SendStatus {
            viewers: *self.counts.viewers.borrow(),
            encoders: free.map_or(0, |free| self.max_viewers - free),
            frames: self.counts.frames.load(Ordering::Relaxed),
            dropped: self.counts.dropped.load(Ordering::Relaxed),
            skipped: self.counts.skipped.load(Ordering::Relaxed),
        }
    }

    /// Waits until a live source has ended and all who watch have had what there was of it. A clip has no
    /// end.
    ///
    /// # Errors
    /// What is wrong with the source, if that ended it.
    pub async fn ended(&self) -> Result<(), DaemonError> {
        let Some((latest, _)) = &self.live else { return std::future::pending().await };
        let mut latest = latest.clone();
        let ended = match latest.wait_for(|latest| latest.ended.is_some()).await {
            Ok(latest) => latest.ended.clone(),
            // Whoever kept it is gone with the runtime.
            Err(_) => None,
        };
        let mut viewers = self.counts.viewers.subscribe();
        // Its sender is ours.
        let _ = viewers.wait_for(|viewers| *viewers == 0).await;
        Ok(ended.unwrap_or(Ok(()))?)
    }

    /// Tells viewers that it ends.
    pub async fn stop(self) {
        self.endpoint.close(0, "stopped");
        self.endpoint.wait_idle().await;
    }
}
