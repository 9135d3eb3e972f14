//! libvpx as a live encoder, on a thread for each viewer.

use std::sync::Arc;
use std::sync::mpsc::{self, SyncSender};
use std::thread;

use airlane_live::Order;
use airlane_media::layers::{LAYERS, layer_kbps};
use airlane_media::vp9;
use airlane_media::y4m::Header;
use airlane_runtime::BoxFuture;
use airlane_vpx::{Encoder, Library, Settings, VpxError};
use bytes::Bytes;
use tokio::sync::oneshot;

use super::encoder::{EncoderFactory, EncoderPermit, LayerEncoder};

/// Speed of an encoder, in libvpx's numbers (higher is faster): what `airlane pack --speed fast`
/// asks for.
const SPEED: u32 = 8;
/// That of an encoder that is late. It takes 0.65 to 0.82 of the time, and costs up to 1.1 dB.
const FAST_SPEED: u32 = 9;
/// GoPs for which an encoder stays fast that has skipped a picture.
const FAST_GOPS: u32 = 100;
/// An encoder whose rate falls by more than this factor begins anew: libvpx takes up to two GoPs to
/// follow, and half a second of too much fills a queue. It follows a rate that rises at once, where a new
/// encoder takes longer to begin and several GoPs to reach the rate.
const FOLLOWED: f64 = 0.75;

/// Encoders of libvpx, each on a thread of its own.
#[derive(Clone, Debug)]
pub struct VpxEncoders(Arc<Library>);

impl VpxEncoders {
    /// Encoders of this libvpx.
    pub fn new(library: Arc<Library>) -> Self {
        Self(library)
    }
}

impl EncoderFactory for VpxEncoders {
    fn check(&self, header: &Header) -> Result<(), VpxError> {
        VpxEncoder::new(self.0.clone(), *header).begin(layer_kbps(1000), SPEED).map(drop)
    }

    fn encoder(
        &self,
        header: Header,
        permit: EncoderPermit,
    ) -> Result<Box<dyn LayerEncoder>, VpxError> {
        // One is encoded at a time.
        let (jobs, to_do) = mpsc::sync_channel::<Job>(1);
        let mut encoder = VpxEncoder::new(self.0.clone(), header);
        let work = move || {
            for Job { picture, order, reply } in to_do {
                // A viewer that has left wants none.
                let _ = reply.send(encoder.encode(&picture, &order));
            }
            drop(permit);
        };
        thread::Builder::new().name("live encoder".to_owned()).spawn(work)?;
        Ok(Box::new(OnThread(jobs)))
    }
}

/// The side of an encoder's thread that asks.
struct OnThread(SyncSender<Job>);

/// A picture that is to be encoded.
struct Job {
    picture: Arc<Vec<u8>>,
    order: Order,
    reply: oneshot::Sender<Result<Vec<Bytes>, String>>,
}

impl LayerEncoder for OnThread {
    fn encode(
        &mut self,
        picture: Arc<Vec<u8>>,
        order: Order,
    ) -> BoxFuture<Result<Vec<Bytes>, String>> {
        let (reply, made) = oneshot::channel();
        let asked = self.0.try_send(Job { picture, order, reply });
        let gone = || Err("the encoder has ended".to_owned());
        Box::pin(async move {
            if asked.is_err() {
                return gone();
            }
            made.await.unwrap_or_else(|_| gone())
        })
    }
}

/// libvpx for one viewer, on the thread of whoever asks.
#[derive(Debug)]
pub struct VpxEncoder {
    library: Arc<Library>,
    header: Header,
    encoding: Option<Encoding>,
    speed: SpeedControl,
}

impl VpxEncoder {
    /// One of such pictures, which begins with the first of them.
    pub fn new(library: Arc<Library>, header: Header) -> Self {
        Self { library, header, encoding: None, speed: SpeedControl::default() }
    }

    fn begin(&self, layer_kbps: [u32; LAYERS], speed: u32) -> Result<Encoder, VpxError> {
        let settings = Settings {
            width: self.header.width,
            height: self.header.height,
            frames: self.header.fps.frames,
            seconds: self.header.fps.seconds,
            // `LiveGops` says where.
            gop: 0,
            layer_kbps: layer_kbps.to_vec(),
            speed,
            is_full_range: self.header.is_full_range,
            shown_size: Some(self.header.shown_size())
                .filter(|shown| *shown != (self.header.width, self.header.height)),
        };
        Encoder::new(&self.library, settings)
    }

    /// The layers of a picture, lowest first.
    ///
    /// # Errors
    /// What libvpx says, if it cannot.
    pub fn encode(&mut self, picture: &[u8], order: &Order) -> Result<Vec<Bytes>, String> {
        let failed = |e: VpxError| e.to_string();
        let speed = self.speed.of(order);
        if let Some(layer_kbps) = order.begins {
            let kbps = layer_kbps.iter().sum();
            match &mut self.encoding {
                Some(old) if old.follows(kbps) => {
                    old.encoder.set_rates(&layer_kbps).map_err(failed)?;
                    old.encoder.set_speed(speed).map_err(failed)?;
                    old.kbps = kbps;
                }
                _ => {
                    let encoder = self.begin(layer_kbps, speed).map_err(failed)?;
                    self.encoding = Some(Encoding { encoder, kbps, first: order.at });
                }
            }
        }
        let Some(Encoding { encoder, first, .. }) = &mut self.encoding else {
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
#[derive(Debug)]
struct Encoding {
    encoder: Encoder,
    kbps: u32,
    /// Time at which its first picture is shown, in frame times.
    first: u32,
}

impl Encoding {
    /// True if the encoder follows soon enough if its rate becomes `kbps`.
    fn follows(&self, kbps: u32) -> bool {
        f64::from(kbps) >= FOLLOWED * f64::from(self.kbps)
    }
}

/// Chooses the speed of an encoder for each GoP: the fast one for a while after a picture was skipped since
/// the encoder was busy.
#[derive(Debug, Default)]
struct SpeedControl {
    /// Time at which the last picture is shown.
    last: Option<u32>,
    /// GoPs from the next on that are encoded fast.
    fast_gops: u32,
    is_fast: bool,
}

impl SpeedControl {
    /// The speed for a picture.
    fn of(&mut self, order: &Order) -> u32 {
        if self.last.replace(order.at).is_some_and(|last| order.at > last + 1) {
            self.fast_gops = FAST_GOPS;
        }
        if order.begins.is_some() {
            self.is_fast = self.fast_gops > 0;
            self.fast_gops = self.fast_gops.saturating_sub(1);
        }
        if self.is_fast { FAST_SPEED } else { SPEED }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOP: u32 = airlane_media::layers::GOP;

    /// The speeds of pictures that are shown at these times.
    fn speeds(control: &mut SpeedControl, at: impl IntoIterator<Item = u32>) -> Vec<u32> {
        let order =
            |at| Order { frame: at, at, begins: at.is_multiple_of(GOP).then(|| layer_kbps(1000)) };
        at.into_iter().map(|at| control.of(&order(at))).collect()
    }

    #[test]
    fn an_encoder_that_skips_pictures_is_fast_for_a_while() {
        let mut control = SpeedControl::default();
        let slow = |speeds: Vec<u32>| speeds.into_iter().all(|speed| speed == SPEED);
        let fast = |speeds: Vec<u32>| speeds.into_iter().all(|speed| speed == FAST_SPEED);
        // A picture is skipped in the second GoP: it changes with the third.
        assert!(slow(speeds(&mut control, (0..GOP).chain([10, 12, 13, 14, 15, 16, 17, 18, 19]))));
        let end = (2 + FAST_GOPS) * GOP;
        assert!(fast(speeds(&mut control, 2 * GOP..end)));
        assert!(slow(speeds(&mut control, end..end + GOP)));
        // One that is skipped at the end of a GoP counts for the next, and one meanwhile anew.
        let next = end + GOP;
        assert!(slow(speeds(&mut control, next..next + GOP - 1)));
        let next = next + GOP;
        assert!(fast(speeds(&mut control, (next..next + GOP).filter(|at| at % GOP != 7))));
        let (next, end) = (next + GOP, next + (1 + FAST_GOPS) * GOP);
        assert!(fast(speeds(&mut control, next..end)));
        assert!(slow(speeds(&mut control, end..end + GOP)));
    }
}
