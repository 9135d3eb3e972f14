//! The frames of a live source as they are encoded for one viewer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use airlane_live::media_path::MediaPath;
use airlane_live::wire::LayerHeader;
use airlane_live::{Frame, Frames, LayerMarks, LiveError, LiveGops};
use airlane_media::y4m::Header;
use tokio::sync::watch;

use super::encoder::LayerEncoder;
use super::pictures::{Latest, Picture};

/// Of so many pictures it is said if more than one in [`TOO_MANY`] was skipped.
const COUNTED: u64 = 300;
const TOO_MANY: u64 = 10;

/// The frames of a source for one viewer: of the latest picture whenever the encoder is free.
pub(super) struct EncodedFrames {
    gops: LiveGops,
    pictures: watch::Receiver<Latest>,
    encoder: Box<dyn LayerEncoder>,
    /// The time since 1970 when the runtime's clock shows 0.
    clock: Duration,
    skips: Skips,
    /// Pictures that were skipped, for all viewers.
    skipped: Arc<AtomicU64>,
}

/// Source and encoder of the frames for one viewer.
pub(super) struct Encoding {
    pub(super) header: Header,
    pub(super) marks: LayerMarks,
    pub(super) pictures: watch::Receiver<Latest>,
    pub(super) encoder: Box<dyn LayerEncoder>,
    /// The time since 1970 when the runtime's clock shows 0.
    pub(super) clock: Duration,
    /// Count of pictures that were skipped, for all viewers.
    pub(super) skipped: Arc<AtomicU64>,
}

impl EncodedFrames {
    pub(super) fn new(path: &MediaPath, of: Encoding) -> Self {
        let Encoding { header, marks, pictures, encoder, clock, skipped } = of;
        let Header { width, height, fps, .. } = header;
        let gops = LiveGops::new((width, height), fps, marks, |n| path.ip_bytes(n));
        let last = pictures.borrow().picture.as_ref().map(|picture| picture.number);
        let skips = Skips { last, seen: 0, skipped: 0, is_said: false };
        Self { gops, pictures, encoder, clock, skips, skipped }
    }

    /// Waits for a picture that is newer than the last; `None` if there are no more.
    async fn picture(&mut self) -> Option<Picture> {
        loop {
            let (picture, is_ended) = {
                let latest = self.pictures.borrow_and_update();
                (latest.picture.clone(), latest.ended.is_some())
            };
            if let Some(picture) = picture.filter(|p| self.skips.last.is_none_or(|n| p.number > n))
            {
                return Some(picture);
            }
            if is_ended || self.pictures.changed().await.is_err() {
                return None;
            }
        }
    }
}

impl Frames for EncodedFrames {
    async fn next(&mut self, path: &MediaPath) -> Result<Option<Frame>, LiveError> {
        let Some(picture) = self.picture().await else { return Ok(None) };
        self.skipped.fetch_add(self.skips.see(picture.number), Ordering::Relaxed);
        let Some(order) = self.gops.order(picture.number, &path.estimate()) else {
            return Ok(None);
        };
        let failed = |reason| LiveError::Encode { frame: order.frame, reason };
        let bodies = self.encoder.encode(picture.bytes, order).await.map_err(failed)?;
        let encoded = self.gops.encoded(&order, &bodies, |n| path.ip_bytes(n));
        let handed = picture.came + self.clock;
        let messages = bodies.iter().zip(0..).map(|(body, layer)| {
            let (frame, encoding) = (order.frame, encoded.encoding);
            LayerHeader { frame, layer, encoding, handed }.message_of(body)
        });
        let messages = messages.collect();
        Ok(Some(Frame { number: order.frame, encoded, messages }))
    }
}

/// Counts what is skipped.
struct Skips {
    /// The last picture that was taken, or that was there before.
    last: Option<u64>,
    seen: u64,
    skipped: u64,
    is_said: bool,
}

impl Skips {
    /// Takes a picture; how many were skipped for it.
    fn see(&mut self, number: u64) -> u64 {
        let skipped = self.last.map_or(0, |last| number.saturating_sub(last + 1));
        // Pictures that came before the first was taken are not skipped.
        let skipped = if self.seen == 0 { 0 } else { skipped };
        self.last = Some(number);
        self.seen += 1 + skipped;
        self.skipped += skipped;
        if self.seen >= COUNTED {
            if self.skipped > self.seen / TOO_MANY && !self.is_said {
                self.is_said = true;
                tracing::warn!(
                    "an encoder skipped {} of {} pictures: this machine is too slow for so many viewers, \
                     or pictures so large",
                    self.skipped,
                    self.seen,
                );
            }
            (self.seen, self.skipped) = (1, 0);
        }
        skipped
    }
}
