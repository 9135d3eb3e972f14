//! A viewer of the end that sends: what it gets, and when that ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use airlane_base::Time;
use airlane_live::media_path::{MediaPath, MediaPaths, OpenError, PathFault};
use airlane_live::wire::Answer;
use airlane_live::{ClipFrames, Frames, LayerMarks, LiveError, SenderEvent, Source, Video};
use airlane_media::layers::LayeredVideo;
use airlane_media::y4m::Header;
use airlane_quic::Connection;
use airlane_runtime::RuntimeExt;
use tokio::sync::{Semaphore, watch};

use super::encoded::{EncodedFrames, Encoding};
use super::encoder::{EncoderFactory, EncoderPermit};
use super::pictures::Latest;
use super::{ENDED, FAILED, IDLE_TIMEOUT, TURNED_AWAY, VIOLATION, path};
use airlane_host::RateLimitedLog;

/// Maximum time from a viewer's handshake to its request for the video.
const FIRST_REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// Interval of the checks whether a viewer still takes what it gets.
const LOOK: Duration = Duration::from_millis(500);
/// Time that a viewer has for what waits for it when a source has ended, and the interval of the checks.
const LAST_WORDS: Duration = Duration::from_secs(2);
const MOMENT: Duration = Duration::from_millis(20);

/// Counts over all viewers.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// Viewers now.
    pub(super) viewers: watch::Sender<usize>,
    /// Frames handed over.
    pub(super) frames: AtomicU64,
    /// Messages that the sender's own buffer dropped.
    pub(super) dropped: AtomicU64,
    /// Pictures that were left out since an encoder was busy.
    pub(super) skipped: Arc<AtomicU64>,
}

/// Served video, ready for viewers.
#[derive(Clone)]
pub(super) enum VideoSource {
    Clip {
        clip: Arc<LayeredVideo>,
        source: Source,
        video: Video,
    },
    Live {
        header: Header,
        encoders: Arc<dyn EncoderFactory>,
        pictures: watch::Receiver<Latest>,
        room: Arc<Semaphore>,
    },
}

/// Configuration and counts that all viewers share.
#[derive(Clone)]
pub(super) struct Serving {
    pub(super) video: VideoSource,
    pub(super) marks: LayerMarks,
    pub(super) answer: Answer,
    /// The time since 1970 when the runtime's clock shows 0.
    pub(super) clock: Duration,
    pub(super) counts: Arc<Counts>,
    pub(super) warnings: Arc<RateLimitedLog>,
}

/// Somebody who watches, counted until this is dropped.
struct Viewer<'a>(&'a watch::Sender<usize>);

impl<'a> Viewer<'a> {
    fn count(viewers: &'a watch::Sender<usize>) -> Self {
        viewers.send_modify(|viewers| *viewers += 1);
        Self(viewers)
    }
}

impl Drop for Viewer<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|viewers| *viewers -= 1);
    }
}

impl Serving {
    /// Serves whoever opened a connection until that ends, one path after the other.
    pub(super) async fn serve(self, connection: Connection, paths: MediaPaths) {
        let runtime = connection.runtime().clone();
        let mut request_timeout = FIRST_REQUEST_TIMEOUT;
        loop {
            let asked = tokio::select! {
                biased;
                asked = paths.accept(&connection) => asked,
                () = runtime.sleep(request_timeout) => return connection.close(TURNED_AWAY, "nothing was asked for"),
            };
            let Ok(asked) = asked else { return };
            connection.mark_active();
            request_timeout = IDLE_TIMEOUT;
            let opened = match asked.open(&path(None), self.answer.encode()).await {
                Ok(opened) => opened,
                Err(OpenError::Full) => {
                    return connection.close(TURNED_AWAY, "no room for another viewer");
                }
                Err(_) => return,
            };
            let _viewer = Viewer::count(&self.counts.viewers);
            let ended = match self.video.clone() {
                VideoSource::Clip { clip, source, video } => {
                    let ip_bytes = |layer| opened.ip_bytes(source.message_bytes(layer));
                    let encoder = video.encoder(&clip, self.marks, ip_bytes);
                    let Some(encoder) = encoder else { return };
                    let (frame_time, until) = (self.answer.frame_time, Time::FAR_FUTURE);
                    let frames = ClipFrames::new(source, encoder, frame_time, self.clock, until);
                    self.send(&connection, &opened, frames).await
                }
                VideoSource::Live { header, encoders, pictures, room } => {
                    // There is room for as many as there are paths, but for encoders whose viewers have
                    // just left.
                    let Ok(permit) = room.acquire_owned().await else { return };
                    let (marks, clock) = (self.marks, self.clock);
                    let skipped = self.counts.skipped.clone();
                    match encoders.encoder(header, EncoderPermit(permit)) {
                        Ok(encoder) => {
                            let of = Encoding { header, marks, pictures, encoder, clock, skipped };
                            let frames = EncodedFrames::new(&opened, of);
                            self.send(&connection, &opened, frames).await
                        }
                        Err(e) => {
                            tracing::error!("{e}");
                            Ended::Failed
                        }
                    }
                }
            };
            match ended {
                Ended::Left => connection.mark_idle(),
                Ended::Stalled => {
                    self.warnings
                        .info("stalled", "a viewer that acknowledged nothing was sent away");
                    return connection.close(TURNED_AWAY, "nothing was acknowledged");
                }
                Ended::Fault(PathFault::UnsentAcknowledged) => {
                    let what = "a viewer that acknowledged what was never sent was sent away";
                    self.warnings.info("violation", what);
                    return connection.close(VIOLATION, "acknowledged what was never sent");
                }
                Ended::Fault(PathFault::Inside) => {
                    return connection.close(TURNED_AWAY, "the path failed inside");
                }
                Ended::Done => return connection.close(ENDED, "the video has ended"),
                Ended::Failed => return connection.close(FAILED, "the video cannot be sent"),
            }
        }
    }

    /// Sends to a viewer until there is nothing left, or nobody.
    async fn send(&self, connection: &Connection, path: &MediaPath, frames: impl Frames) -> Ended {
        let note = |noted| {
            let count = match noted {
                SenderEvent::Sent(_) => &self.counts.frames,
                SenderEvent::Dropped { .. } => &self.counts.dropped,
            };
            count.fetch_add(1, Ordering::Relaxed);
        };
        let sent = async {
            match airlane_live::send(path, frames, note).await {
                Ok(()) => {
                    flush(path).await;
                    Ended::Done
                }
                // What is wrong at this end is for the log; a path ends with the endpoint.
                Err(e @ (LiveError::Source(_) | LiveError::Encode { .. } | LiveError::Send(_))) => {
                    tracing::error!("{e}");
                    Ended::Failed
                }
                Err(_) => path.fault().map_or(Ended::Left, Ended::Fault),
            }
        };
        tokio::select! {
            ended = sent => ended,
            () = stalled(path) => Ended::Stalled,
            _ = connection.closed() => Ended::Left,
        }
    }
}

/// Reason for which sending to a viewer ended.
enum Ended {
    /// It left.
    Left,
    /// It takes nothing.
    Stalled,
    /// Its path ended by itself.
    Fault(PathFault),
    /// There is nothing left.
    Done,
    /// This end cannot go on.
    Failed,
}

/// Waits until nothing of what is sent has been acknowledged for as long as a connection may be silent.
/// An encoder costs more than a connection: one that is kept alive is no reason to go on.
async fn stalled(path: &MediaPath) {
    let runtime = path.runtime();
    let (mut last, mut since) = (path.counts(), runtime.now());
    while runtime.now().since(since) < IDLE_TIMEOUT {
        runtime.sleep(LOOK).await;
        let counts = path.counts();
        let idle = counts.sent_packets == last.sent_packets && path.estimate().waiting_bytes == 0;
        if idle || counts.acked_packets != last.acked_packets {
            (last, since) = (counts, runtime.now());
        }
    }
}

/// Waits until what waits has left, and has had the time to arrive.
async fn flush(path: &MediaPath) {
    let runtime = path.runtime();
    let until = runtime.now() + LAST_WORDS;
    while path.estimate().waiting_bytes > 0 && runtime.now() < until {
        runtime.sleep(MOMENT).await;
    }
    let round_trip = path.estimate().rtt.map_or(MOMENT, |rtt| rtt.smoothed.min(LAST_WORDS));
    runtime.sleep(round_trip).await;
}
