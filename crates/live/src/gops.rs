//! A source that is encoded as it comes: which frame a picture becomes, at which rate, marked with what.

use std::time::Duration;

use airlane_base::Rate;
use airlane_media::dash::FrameRate;
use airlane_media::layers::{GOP, LAYERS, layer_kbps, usual_rates};
use bytes::Bytes;

use super::encoder::{Encoded, EncodedLayer};
use super::rates::EncodingRates;
use super::wire::HEADER_BYTES;
use super::{LayerMarks, Structure};
use crate::media_path::Estimate;

/// Ratio of one encoding's rate to the one below.
pub const ENCODING_STEP: f64 = 1.05;
/// By how much the lowest rate is below the lowest of the usual ones: some picture is better than none.
pub const BELOW_USUAL: f64 = 4.0;
/// The share of the path's rate that is asked for. A controller takes a path to carry some percent more
/// than it does, and an encoder's GoPs spread: at the whole rate most lose their highest layer
/// (`docs/guide/live.md`, "Raw video"). Clips, whose encodings are far apart, are rarely so close
/// to it.
pub const USED_SHARE: f64 = 0.85;
/// Weight of the latest GoP in the moving average of the bytes taken over the bytes asked for.
const LATEST: f64 = 0.5;

/// Makes frames in layers of quality of the pictures of a source, for one viewer, without encoding them.
///
/// Frames are numbered so that a GoP is 10 frame times of the source, also where an encoder is too slow
/// for some pictures: of those that are left out the numbers are missing at the end of their GoP, where
/// nothing needs them. The rate is chosen for each GoP ([`MediaPath::estimate`]), as of the encodings of a
/// clip.
///
/// [`MediaPath::estimate`]: crate::media_path::MediaPath::estimate
#[derive(Clone, Debug)]
pub struct LiveGops {
    marks: LayerMarks,
    frame_time: Duration,
    /// The rates of the encodings that there may be, media kbit/s, rising.
    kbps: Vec<u32>,
    rates: EncodingRates,
    /// The encoding for a path of which nothing is known.
    first: usize,
    /// The encoding of this GoP.
    encoding: usize,
    /// Rate that layers take, with those below, over the rate asked for: an encoder takes more at the
    /// coarsest quantiser, and right after a change. At least 1: of pictures that hardly change it takes
    /// less until they do.
    takes: [f64; LAYERS],
    /// IP bytes of this GoP's layers, with those below.
    sent: [u64; LAYERS],
    /// The first picture of the source that was encoded, and the last frame.
    at: Option<(u64, u32)>,
}

/// Order to encode a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// The number of its frame.
    pub frame: u32,
    /// Time at which it is shown, in frame times after the first picture.
    pub at: u32,
    /// If it begins a GoP, and is a key frame: the rate of each layer alone in it, kbit/s.
    pub begins: Option<[u32; LAYERS]>,
}

impl LiveGops {
    /// For pictures of so many pixels. `ip_bytes` says how many IP bytes a message of so many bytes takes.
    pub fn new(
        (width, height): (u32, u32),
        fps: FrameRate,
        marks: LayerMarks,
        ip_bytes: impl Fn(usize) -> u64,
    ) -> Self {
        let usual = usual_rates(width, height, fps);
        let bps = |rate: Option<&Rate>| rate.map_or(1e5, |rate| rate.as_f64());
        let (lowest, most) = (bps(usual.first()), bps(usual.last()));
        let least = lowest / BELOW_USUAL;
        let steps =
            |from: f64, to: f64| ((to / from).ln() / ENCODING_STEP.ln()).round().max(0.0) as u8;
        let ladder = (0..=steps(least, most)).map(|n| least * ENCODING_STEP.powi(n.into()) / 1e3);
        let kbps: Vec<u32> = ladder.map(|kbps| kbps.round() as u32).collect();
        let of_frame = |kbps: u32| {
            let mut sum = 0.0;
            let layers = layer_kbps(kbps).map(|alone| {
                let bytes = f64::from(alone) * 1e3 / 8.0 / fps.as_f64();
                sum += ip_bytes(bytes as usize + HEADER_BYTES) as f64 * 8.0 * fps.as_f64();
                sum
            });
            layers.to_vec()
        };
        Self {
            marks,
            frame_time: Duration::from_secs_f64(1.0 / fps.as_f64()),
            rates: EncodingRates::new(kbps.iter().map(|kbps| of_frame(*kbps)).collect()),
            kbps,
            first: steps(least, lowest).into(),
            encoding: 0,
            takes: [1.0; LAYERS],
            sent: [0; LAYERS],
            at: None,
        }
    }

    /// Structure of its frames.
    pub fn structure() -> Structure {
        Structure::Quality { gop: GOP, layers: LAYERS as u8 }
    }

    /// The next picture is number `picture` of the source, which rises; `None` if there are no numbers
    /// left for frames.
    pub fn order(&mut self, picture: u64, estimate: &Estimate) -> Option<Order> {
        let (base, last) = self.at.unwrap_or((picture, 0));
        let at = u32::try_from(picture.saturating_sub(base)).ok()?;
        let begins = self.at.is_none() || at / GOP > last / GOP;
        let frame = if begins { at / GOP * GOP } else { last + 1 };
        self.at = Some((base, frame));
        if begins {
            self.learn();
            let times = self.takes[LAYERS - 1] / USED_SHARE;
            self.encoding = self.rates.choose(estimate, times).unwrap_or(self.first);
        }
        Some(Order { frame, at, begins: begins.then(|| layer_kbps(self.kbps[self.encoding])) })
    }

    /// Layers that a frame is sent as, once they are encoded; `ip_bytes` as of [`new`](Self::new).
    pub fn encoded(
        &mut self,
        order: &Order,
        layers: &[Bytes],
        ip_bytes: impl Fn(usize) -> u64,
    ) -> Encoded {
        let (first, mut below) = (order.begins.is_some(), 0);
        for (sent, bytes) in self.sent.iter_mut().zip(layers) {
            below += ip_bytes(bytes.len() + HEADER_BYTES);
            *sent += below;
        }
        let layers = layers.iter().enumerate().take(LAYERS).map(|(layer, bytes)| {
            let ip_bps = self.rates.ip_bps(self.encoding, layer) * self.takes[layer];
            EncodedLayer {
                bytes: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
                marking: self.marks.of_quality(first, layer, ip_bps),
            }
        });
        Encoded { encoding: self.encoding as u8, layers: layers.collect() }
    }

    /// A GoP is over.
    fn learn(&mut self) {
        let seconds = (self.frame_time * GOP).as_secs_f64();
        let sent = std::mem::take(&mut self.sent);
        if sent[0] == 0 {
            return;
        }
        for (layer, (takes, bytes)) in self.takes.iter_mut().zip(sent).enumerate() {
            let asked = self.rates.ip_bps(self.encoding, layer);
            let latest = bytes as f64 * 8.0 / seconds / asked;
            *takes = (*takes * (1.0 - LATEST) + latest * LATEST).max(1.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FPS: FrameRate = FrameRate { frames: 30, seconds: 1 };

    fn ip_bytes(message: usize) -> u64 {
        (message + 60 * message.div_ceil(1100)) as u64
    }

    fn gops() -> LiveGops {
        LiveGops::new((640, 360), FPS, LayerMarks::PAPER, ip_bytes)
    }

    fn path(bps: f64) -> Estimate {
        Estimate { target: Some(Rate::from_bps_f64(bps)), ..Estimate::default() }
    }

    /// Sends a GoP whose layers take so many times what is asked; what was asked, and the markings of the
    /// last frame.
    fn gop(gops: &mut LiveGops, from: u64, estimate: &Estimate, times: f64) -> (u32, Vec<u32>) {
        let (mut asked, mut marked) = (0, Vec::new());
        for picture in from..from + u64::from(GOP) {
            let order = gops.order(picture, estimate).unwrap();
            if let Some(kbps) = order.begins {
                asked = kbps.iter().sum();
            }
            let layers = layer_kbps(asked).map(|kbps| {
                Bytes::from(vec![0; (f64::from(kbps) * 125.0 / 30.0 * times) as usize])
            });
            let encoded = gops.encoded(&order, &layers, ip_bytes);
            let markings: Vec<_> = encoded.layers.iter().map(|layer| layer.marking).collect();
            let drops = order.begins.is_some().then_some(1);
            assert_eq!(markings.iter().map(|m| m.drops).collect::<Vec<_>>(), [drops, None, None]);
            assert_eq!(markings.iter().map(|m| m.priority).collect::<Vec<_>>(), [1, 2, 3]);
            marked = markings.iter().map(|m| m.bitrate_kbps).collect();
        }
        (asked, marked)
    }

    #[test]
    fn the_rate_follows_the_path_overheads_counted() {
        let mut gops = gops();
        // Nothing is known: the lowest of the usual rates.
        assert!((400..440).contains(&gop(&mut gops, 0, &Estimate::default(), 1.0).0));
        for (n, bps) in [(1, 1e6), (2, 3e6), (3, 700e3), (4, 1.2e6)] {
            let (asked, marked) = gop(&mut gops, 10 * n, &path(bps), 1.0);
            let asked = f64::from(asked) * 1e3;
            assert!(asked > 0.65 * bps && asked < 0.83 * bps, "{asked} of {bps}");
            assert!(marked[0] == 0 && marked.is_sorted(), "{marked:?}");
            let share = f64::from(marked[2]) * 1e3 / bps;
            assert!(share <= USED_SHARE && share > 0.8, "{share}");
        }
        // Bounds: a quarter of the lowest usual rate, and the highest.
        assert!((100..110).contains(&gop(&mut gops, 50, &path(1e3), 1.0).0));
        assert!((5_100..5_500).contains(&gop(&mut gops, 60, &path(1e9), 1.0).0));
    }

    #[test]
    fn what_layers_take_beyond_what_was_asked_is_counted() {
        let mut gops = gops();
        let mut last = (0, Vec::new());
        for n in 0..8 {
            last = gop(&mut gops, 10 * n, &path(1e6), 1.5);
        }
        assert!((430..550).contains(&last.0), "{last:?}");
        assert!((780..=850).contains(&last.1[2]), "{last:?}");
        // Pictures that stand still take nothing; they may move at any time.
        for n in 8..16 {
            last = gop(&mut gops, 10 * n, &path(1e6), 0.1);
        }
        assert!((650..830).contains(&last.0), "{last:?}");
    }

    #[test]
    fn nothing_is_marked_without_marks() {
        let mut gops = LiveGops::new((640, 360), FPS, LayerMarks::NONE, ip_bytes);
        let order = gops.order(7, &path(1e6)).unwrap();
        let encoded = gops.encoded(&order, &[vec![1; 10].into(), vec![2; 10].into()], ip_bytes);
        assert!(encoded.layers.iter().all(|layer| layer.marking == Default::default()));
    }

    proptest! {
        /// For any pictures left out, GoPs begin where the receiver takes them to, numbers have no gap
        /// within them, and no frame is shown before its time by more than a GoP.
        #[test]
        fn numbers_keep_time(first in 0u64..1 << 40, steps in prop::collection::vec(1u64..40, 1..200)) {
            let (mut gops, mut picture, mut last) = (gops(), first, None);
            for step in steps {
                let order = gops.order(picture, &Estimate::default()).unwrap();
                prop_assert_eq!(u64::from(order.at), picture - first);
                prop_assert_eq!(order.begins.is_some(), order.frame.is_multiple_of(GOP));
                prop_assert!(order.frame <= order.at && order.at - order.frame < GOP);
                if order.begins.is_none() {
                    prop_assert_eq!(Some(order.frame - 1), last);
                }
                prop_assert!(last.is_none_or(|last| order.frame > last));
                last = Some(order.frame);
                picture += step;
            }
        }

        #[test]
        fn any_source_has_rates(width in 8u32..2049, height in 8u32..2049, fps in 1u32..241) {
            let fps = FrameRate { frames: fps, seconds: 1 };
            let gops = LiveGops::new((2 * width, 2 * height), fps, LayerMarks::PAPER, ip_bytes);
            prop_assert!(gops.kbps.len() <= 256 && gops.first < gops.kbps.len());
            prop_assert!(gops.kbps.is_sorted() && gops.kbps[0] >= 25);
        }
    }
}
