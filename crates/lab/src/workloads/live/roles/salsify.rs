//! Streams over Salsify (`docs/design/salsify.md`): one layer, each frame by its codec as near as it comes
//! to what the transport says, or at one quality and sent only if it fits.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::{IP_UDP_HEADER_BYTES, Rate, Time};
use airlane_live::wire::LayerHeader;
use airlane_media::layers::{LayeredVideo, SingleEncoding, SingleFrame, SingleLadder};
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use airlane_salsify::{
    Ask, Clip, Codec, Config, Delivered, Encoded, Estimator, Frame, FrameSource, Mode,
    SAME_QUALITY, SproutConfig,
};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::super::{SalsifyCodec, Transport, Video};
use super::single::{CapturedFrame, EndRecords, RecordedStream};
use super::{StreamEnd, StreamSetup};
use airlane_sim::LabError;
use airlane_sim::world::RunContext;

/// The port of both ends.
const PORT: u16 = 5005;
/// An encoder goes down to this share of the lowest rate that was encoded; below it leaves frames out.
const COARSEST: f64 = 0.25;
/// Halvings in the search for the rate at which a frame fits.
const HALVINGS: u32 = 24;

pub(super) fn start(
    setup: StreamSetup<'_>,
    context: &mut RunContext<'_>,
) -> Result<StreamEnd, LabError> {
    let StreamSetup { entry, of_scheme, clip, pair, begin, end } = setup;
    let fault = |what: &str| LabError::fault(format!("{}: {what}", clip.name));
    let mode = match entry.video {
        Video::Quality => Mode::Quality,
        Video::FrameRate => Mode::FrameRate,
        // Refused when the streams were drawn.
        Video::Volumetric => return Err(fault("point clouds have no single layer")),
    };
    let sizes = Sizes::new(&clip, mode, of_scheme.salsify_codec);
    let sizes = sizes.ok_or_else(|| fault("no encodings of one layer"))?;
    // The measured codec's sender forces frames instead.
    let padding = of_scheme.salsify_codec == SalsifyCodec::Ideal;
    let estimator = match of_scheme.transport {
        Transport::SalsifySprout => Estimator::Sprout(SproutConfig::tuned()),
        Transport::SalsifySproutPaper => Estimator::Sprout(SproutConfig::default()),
        _ => Estimator::Own,
    };
    let config = || Config {
        mode,
        delay: of_scheme.salsify_delay,
        padding,
        packet_bytes: context.scenario().transport.payload_bytes as usize
            + usize::from(IP_UDP_HEADER_BYTES),
        ..Config::new(estimator)
    };
    let (sender, receiver) = (config(), config());
    let stats = sender.stats.clone();
    let both = Arc::new(Mutex::new(EndRecords::default()));
    let rtt = Box::new(move || stats.read().rtt);
    let known = RecordedStream { both: both.clone(), rtt, end };
    let sender_at = SocketAddr::new(pair.address.ip(), PORT);
    let receiver_at = SocketAddr::new(pair.from[0], PORT);
    let bind = |host: &RuntimeHandle, at| host.bind_udp(at).map_err(|e| fault(&e.to_string()));
    let (from, to) = (bind(&pair.server, sender_at)?, bind(&pair.client, receiver_at)?);
    let frame_time = Duration::from_secs_f64(1.0 / clip.fps);
    let source = Source { sizes, frame_time, begin, end, next: 0, sent: None, both: both.clone() };
    let clock = pair.server.clone();
    pair.server.spawn("salsify sender", async move {
        clock.sleep_until(begin).await;
        // An error is of the socket, which the receiver hears nothing of: it shows in the figures.
        drop(airlane_salsify::send(sender, &clock, from, receiver_at, source).await);
    });
    let (done, ended) = oneshot::channel();
    let clock = pair.client.clone();
    pair.client.spawn("salsify receiver", async move {
        clock.sleep_until(begin).await;
        let noted = both.clone();
        let sink = move |frame: Delivered| noted.lock().show(&frame.data, frame.at);
        let failure = tokio::select! {
            biased;
            () = clock.sleep_until(end) => both.lock().problem.take(),
            result = airlane_salsify::receive(receiver, &clock, to, sender_at, sink) => {
                result.err().map(|e| e.to_string())
            }
        };
        // The receiver is gone if the world was stopped.
        drop(done.send(failure));
    });
    Ok((ended, Box::new(known)))
}

/// Encodings that frames are chosen from.
enum Sizes {
    /// Of any rate.
    Ladder(SingleLadder),
    /// Two candidates of each frame.
    Candidates(Codec),
    /// As large as they are.
    Fixed(SingleEncoding),
}

impl Sizes {
    /// Encodings of a clip by a codec; `None` if the clip has none in one layer.
    fn new(clip: &LayeredVideo, mode: Mode, codec: SalsifyCodec) -> Option<Self> {
        Some(match (mode, codec) {
            (Mode::Quality, SalsifyCodec::Ideal) => Self::Ladder(clip.single.clone()?),
            (Mode::FrameRate, SalsifyCodec::Ideal) => Self::Fixed(clip.single_quantiser.clone()?),
            (Mode::Quality, SalsifyCodec::Measured) => {
                Self::Candidates(Codec::new(measured(clip)?))
            }
            (Mode::FrameRate, SalsifyCodec::Measured) => {
                let (measured, mut fixed) = (measured(clip)?, clip.single_quantiser.clone()?);
                for (n, frame) in (0..).zip(&mut fixed.frames) {
                    let bytes = |alone| measured.frame(n, SAME_QUALITY, alone).bytes;
                    (frame.bytes, frame.key_bytes) = (bytes(false), bytes(true));
                }
                Self::Fixed(fixed)
            }
        })
    }

    /// Frame `n` after frame `before` where `budget` bytes fit, its bytes and its SSIM in dB; `None` if it
    /// has none that is sent.
    fn choose(&mut self, n: u32, before: Option<u32>, budget: usize) -> Option<(u32, f64)> {
        match self {
            Self::Candidates(codec) => {
                let chosen = codec.choose(n, before.is_none(), budget)?;
                Some((chosen.bytes, chosen.ssim_db))
            }
            Self::Fixed(encoding) => {
                let bytes = encoding.bytes(n, before);
                (bytes as usize <= budget).then(|| (bytes, encoding.frame(n).ssim_db))
            }
            Self::Ladder(ladder) => {
                let n = n as usize;
                let bytes = |f: &SingleFrame| if before.is_none() { f.key_bytes } else { f.bytes };
                let fits = |frame: &SingleFrame| bytes(frame) as usize <= budget;
                let (mut low, mut high) = (COARSEST * ladder.encodings[0].bps, ladder.max_bps());
                if fits(&ladder.frame(n, high)) {
                    low = high;
                }
                for _ in 0..HALVINGS {
                    let middle = (low + high) / 2.0;
                    if fits(&ladder.frame(n, middle)) { low = middle } else { high = middle }
                }
                let frame = Some(ladder.frame(n, low)).filter(&fits)?;
                Some((bytes(&frame), frame.ssim_db))
            }
        }
    }
}

/// The clip in the hands of Salsify's own encoder.
fn measured(clip: &LayeredVideo) -> Option<Clip> {
    let fixed = clip.single_quantiser.as_ref()?;
    let (layer_db, db_per_octave) = clip.single.as_ref()?.quality_at(fixed.bps);
    let encoded = |frame: &SingleFrame| Encoded {
        bytes: frame.bytes,
        key_bytes: frame.key_bytes,
        ssim_db: frame.ssim_db,
    };
    Clip::new(fixed.frames.iter().map(encoded).collect(), layer_db, db_per_octave)
}

/// The clip as frames of one layer.
struct Source {
    sizes: Sizes,
    frame_time: Duration,
    begin: Time,
    end: Time,
    next: u32,
    /// The frame that was sent last.
    sent: Option<u32>,
    both: Arc<Mutex<EndRecords>>,
}

impl FrameSource for Source {
    fn next_at(&self) -> Option<Time> {
        let at = self.begin + self.frame_time * self.next;
        (at < self.end).then_some(at)
    }

    fn frame(&mut self, ask: &Ask) -> Option<Frame> {
        let number = self.next;
        self.next += 1;
        let captured = ask.captured;
        let before = self.sent.filter(|_| ask.reference.is_some());
        let encoded = self.sizes.choose(number, before, ask.budget);
        let target_bps = Rate::of(ask.budget as u64, self.frame_time).as_f64();
        self.both.lock().captured.push(CapturedFrame { at: captured, target_bps, encoded });
        let (bytes, _) = encoded?;
        self.sent = Some(number);
        let header = LayerHeader { frame: number, layer: 0, encoding: 0, handed: captured };
        let forced = bytes as usize > ask.budget;
        Some(Frame { forced, ..Frame::new(header.message(bytes as usize)) })
    }
}
