//! The frames of a live source as they are encoded for one viewer, on a thread of their own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;
use std::time::Duration;

use airlane_apps::live::wire::LayerHeader;
use airlane_apps::live::{Frame, Frames, LayerMarks, LiveError, LiveGops, Order};
use airlane_apps::media_path::MediaPath;
use airlane_media::layers::{LAYERS, layer_kbps};
use airlane_media::vp9;
use airlane_media::y4m::Header;
use airlane_vpx::{Encoder, Library, Settings, VpxError};
use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, oneshot, watch};

use super::pictures::{Latest, Picture};

/// How little time an encoder takes, as libvpx has it: what `airlane pack --speed fast` asks for.
const SPEED: u32 = 8;
/// An encoder whose rate changes by more than this factor begins anew: libvpx takes up to two GoPs to
/// follow, and half a second of too much fills a queue.
const FOLLOWED: f64 = 0.75;
/// Of so many pictures it is said if more than one in [`TOO_MANY`] was skipped.
const COUNTED: u64 = 300;
const TOO_MANY: u64 = 10;

/// Encoders of a source, one for each viewer.
#[derive(Clone)]
pub(super) struct Encoders {
    library: Arc<Library>,
    header: Header,
}

impl Encoders {
    /// Tries an encoder, so that nobody watches before it is known that there is one.
    ///
    /// # Errors
    /// If libvpx does not encode such pictures.
    pub(super) fn new(library: Arc<Library>, header: Header) -> Result<Self, VpxError> {
        let encoders = Self { library, header };
        encoders.begin(layer_kbps(1000))?;
        Ok(encoders)
    }

    fn begin(&self, layer_kbps: [u32; LAYERS]) -> Result<Encoder, VpxError> {
        let settings = Settings {
            width: self.header.width,
            height: self.header.height,
            frames: self.header.fps.frames,
            seconds: self.header.fps.seconds,
            // `LiveGops` says where.
            gop: 0,
            layer_kbps: layer_kbps.to_vec(),
            speed: SPEED,
        };
        Encoder::new(&self.library, settings)
    }

    /// The frames for a viewer. `permit` is given back when its encoder is gone.
    ///
    /// # Errors
    /// If there is no thread for it.
    pub(super) fn frames(
        &self,
        path: &MediaPath,
        marks: LayerMarks,
        pictures: watch::Receiver<Latest>,
        clock: Duration,
        skipped: Arc<AtomicU64>,
        permit: OwnedSemaphorePermit,
    ) -> Result<EncodedFrames, VpxError> {
        let Header { width, height, fps } = self.header;
        let gops = LiveGops::new((width, height), fps, marks, |n| path.ip_bytes(n));
        // One is encoded at a time.
        let (jobs, to_do) = mpsc::sync_channel(1);
        let encoders = self.clone();
        let work = move || {
            encoders.work(&to_do);
            drop(permit);
        };
        thread::Builder::new().name("live encoder".to_owned()).spawn(work)?;
        let last = pictures.borrow().picture.as_ref().map(|picture| picture.number);
        let skips = Skips { last, seen: 0, skipped: 0, is_said: false };
        Ok(EncodedFrames { gops, pictures, jobs, clock, skips, skipped })
    }

    /// Encodes what is asked for until nobody asks any more.
    fn work(&self, jobs: &Receiver<Job>) {
        let mut encoding = None;
        for Job { picture, order, reply } in jobs {
            let made = self.encode(&mut encoding, &picture, &order);
            // A viewer that has left wants none.
            let _ = reply.send(made);
        }
    }

    fn encode(
        &self,
        encoding: &mut Option<Encoding>,
        picture: &[u8],
        order: &Order,
    ) -> Result<Vec<Bytes>, String> {
        let failed = |e: VpxError| e.to_string();
        if let Some(layer_kbps) = order.begins {
            let kbps = layer_kbps.iter().sum();
            match encoding {
                Some(old) if old.follows(kbps) => {
                    old.encoder.set_rates(&layer_kbps).map_err(failed)?;
                    old.kbps = kbps;
                }
                _ => {
                    let encoder = self.begin(layer_kbps).map_err(failed)?;
                    *encoding = Some(Encoding { encoder, kbps, first: order.at });
                }
            }
        }
        let Some(Encoding { encoder, first, .. }) = encoding else {
            return Err("no key frame was asked for".to_owned());
        };
        let is_key = order.begins.is_some();
        let whole = encoder.encode_at(picture, order.at - *first, is_key).map_err(failed)?;
        let layers = vp9::frames_of(&whole).filter(|layers| layers.len() == LAYERS);
        let layers = layers.ok_or_else(|| "libvpx makes other layers".to_owned())?;
        Ok(layers.into_iter().map(Bytes::copy_from_slice).collect())
    }
}

/// An encoder at work.
struct Encoding {
    encoder: Encoder,
    kbps: u32,
    /// When its first picture is shown.
    first: u32,
}

impl Encoding {
    /// Whether it follows soon enough if its rate becomes `kbps`.
    fn follows(&self, kbps: u32) -> bool {
        let (now, then) = (f64::from(self.kbps), f64::from(kbps));
        then >= FOLLOWED * now && now >= FOLLOWED * then
    }
}

/// A picture that is to be encoded.
struct Job {
    picture: Arc<Vec<u8>>,
    order: Order,
    reply: oneshot::Sender<Result<Vec<Bytes>, String>>,
}

/// The frames of a source for one viewer: of the latest picture whenever the encoder is free.
pub(super) struct EncodedFrames {
    gops: LiveGops,
    pictures: watch::Receiver<Latest>,
    jobs: SyncSender<Job>,
    /// The time since 1970 when the runtime's clock shows 0.
    clock: Duration,
    skips: Skips,
    /// Pictures that were skipped, for all viewers.
    skipped: Arc<AtomicU64>,
}

impl EncodedFrames {
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
        let (reply, made) = oneshot::channel();
        let job = Job { picture: picture.bytes, order, reply };
        let gone = || failed("the encoder has ended".to_owned());
        self.jobs.try_send(job).map_err(|_| gone())?;
        let bodies = made.await.map_err(|_| gone())?.map_err(failed)?;
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
