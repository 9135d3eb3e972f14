//! Media of a client on its way out: when frames are due, where they wait, and what of them leaves.

use std::sync::Arc;
use std::time::Duration;

use airlane_base::Time;
use airlane_call::LayeredQueue;
use str0m::format::Codec;
use str0m::media::{Mid, Rid};
use str0m::net::Transmit;
use str0m::rtp::{ExtensionValues, RtpWrite, SeqNo};

use super::clip::ClipFrame;
use super::core::Core;
use super::feed::{FIRST_SEQUENCE, Feed, fitting};
use crate::media::session::MEDIA_SHARE;
use crate::server::VideoCodec;

/// Rate that is left for audio, bit/s.
pub(super) const AUDIO_BPS: f64 = 50e3;
/// Time by which frames may be late. What is later is left out: a client that stood still sends no burst.
const MAX_LAG: Duration = Duration::from_secs(1);
/// Time of the estimated rate that the pacer holds before frames wait in the queue in front of it, s: what lies in the
/// pacer can no longer be dropped.
const MAX_PACER_TIME_S: f64 = 0.05;
/// Bytes that the pacer may hold in any case.
const MIN_PACER_BYTES: usize = 1200;

/// Video that a client sends.
pub(super) struct SentVideo {
    pub(super) mid: Mid,
    pub(super) codec: VideoCodec,
    /// Names of the encodings; none of one alone.
    pub(super) rids: Vec<Rid>,
    pub(super) rates_bps: Vec<f64>,
    pub(super) frame_interval: Duration,
    pub(super) feeds: Vec<Feed>,
    /// Frames that wait for the pacer; `None`: they wait in it.
    pub(super) queue: Option<LayeredQueue<usize, WaitingFrame>>,
}

/// Frame of an encoding that waits.
pub(super) struct WaitingFrame {
    encoding: usize,
    due: Time,
    frame: ClipFrame,
}

/// Media with the time of its next frame or packet; `None`: it has not begun.
pub(super) struct TimedMedia<T> {
    pub(super) media: T,
    pub(super) due: Option<Time>,
}

impl Core {
    pub(super) fn send_audio(&mut self, now: Time, send: &mut dyn FnMut(&Transmit)) {
        while let Some(audio) = &mut self.audio
            && let Some(due) = audio.due.filter(|due| *due <= now)
        {
            let due = if now.since(due) > MAX_LAG { now } else { due };
            let (mid, sound) = (audio.media.0, audio.media.1.clone());
            let packet = &sound.packets[self.sent_packets % sound.packets.len()];
            let first_sequence = FIRST_SEQUENCE + self.sent_packets as u64;
            self.sent_packets += 1;
            audio.due = Some(due + packet.duration);
            let (rid, codec, payloads) = (None, Codec::Opus, vec![packet.data.clone()]);
            self.write(due, Outgoing { mid, rid, codec, first_sequence, payloads });
            self.drain(now, send);
        }
    }

    pub(super) fn send_video(&mut self, now: Time, send: &mut dyn FnMut(&Transmit)) {
        while let Some(video) = &mut self.video
            && let Some(due) = video.due.filter(|due| *due <= now)
        {
            let due = if now.since(due) > MAX_LAG { now } else { due };
            let budget = [self.estimate_bps, self.ceiling_bps.map(|bps| bps as f64)];
            let budget = budget.into_iter().flatten().fold(f64::INFINITY, f64::min);
            let budget = (budget - AUDIO_BPS) * MEDIA_SHARE;
            let encodings = fitting(budget, &video.media.rates_bps, self.sent_encodings);
            for feed in video.media.feeds.iter_mut().take(encodings).skip(self.sent_encodings) {
                feed.request_key_frame();
            }
            self.sent_encodings = encodings;
            video.due = Some(due + video.media.frame_interval);
            let feeds = video.media.feeds.iter_mut().take(encodings).enumerate();
            let frames: Vec<_> = feeds.map(|(encoding, feed)| (encoding, feed.take())).collect();
            for (encoding, (number, frame)) in frames {
                let place = frame.place(number);
                let waiting = WaitingFrame { encoding, due, frame };
                match self.video.as_mut().and_then(|video| video.media.queue.as_mut()) {
                    Some(queue) => queue.push(now, encoding, place, waiting),
                    None => {
                        self.send_frame(&waiting);
                        self.drain(now, send);
                    }
                }
            }
        }
    }

    /// Sends the frames that wait, as far as the pacer has room; what is not to leave any more is dropped before it has
    /// numbers.
    pub(super) fn send_waiting(&mut self, now: Time, send: &mut dyn FnMut(&Transmit)) {
        loop {
            let has_room = self.has_room();
            let Some(SentVideo { queue: Some(queue), feeds, .. }) =
                self.video.as_mut().map(|video| &mut video.media)
            else {
                return;
            };
            let frame = if has_room { queue.pop(now) } else { None };
            for encoding in queue.take_wanted() {
                if let Some(feed) = feeds.get_mut(encoding) {
                    feed.request_key_frame();
                }
            }
            let Some(frame) = frame else { return };
            self.send_frame(&frame);
            self.drain(now, send);
        }
    }

    /// True if the pacer holds little of the video.
    fn has_room(&mut self) -> bool {
        let Some(SentVideo { mid, rids, .. }) = self.video.as_ref().map(|video| &video.media)
        else {
            return false;
        };
        let mid = *mid;
        let rids: Vec<Option<Rid>> = match rids[..] {
            [] => vec![None],
            _ => rids.iter().copied().map(Some).collect(),
        };
        let estimate_bps = self.estimate_bps.unwrap_or_default();
        let max_bytes = ((estimate_bps / 8.0 * MAX_PACER_TIME_S) as usize).max(MIN_PACER_BYTES);
        let held = self.session.call(|rtc| {
            let mut api = rtc.direct_api();
            let mut held = 0;
            for rid in rids {
                let stream = api.stream_tx_by_mid(mid, rid);
                let info = stream.and_then(|stream| Some(stream.queue_info()?.byte_size()));
                held += info.unwrap_or(0);
            }
            held
        });
        held.is_some_and(|held| held < max_bytes)
    }

    /// Hands a frame of video to str0m.
    fn send_frame(&mut self, waiting: &WaitingFrame) {
        let WaitingFrame { encoding, due, frame } = waiting;
        let Some(video) = self.video.as_mut().map(|video| &mut video.media) else { return };
        let Some(feed) = video.feeds.get_mut(*encoding) else { return };
        let codec = match video.codec {
            VideoCodec::Vp8 => Codec::Vp8,
            VideoCodec::Vp9 => Codec::Vp9,
            VideoCodec::Av1 => Codec::Av1,
        };
        let (mid, rid) = (video.mid, video.rids.get(*encoding).copied());
        let (first_sequence, payloads) = feed.payloads(frame);
        self.sent_frames += 1;
        self.write(*due, Outgoing { mid, rid, codec, first_sequence, payloads });
    }

    /// Frames of video that were dropped before they were sent.
    pub(super) fn dropped_frames(&self) -> u64 {
        let queue = self.video.as_ref().and_then(|video| video.media.queue.as_ref());
        queue.map_or(0, LayeredQueue::dropped)
    }

    /// Hands the packets of a frame to str0m.
    fn write(&mut self, at: Time, frame: Outgoing) {
        let instant = self.clock.instant(at);
        let Outgoing { mid, rid, codec, first_sequence, payloads } = frame;
        let is_audio = codec == Codec::Opus;
        let clock_hz: u128 = if is_audio { 48_000 } else { 90_000 };
        let ticks = (at.since(self.started).as_nanos() * clock_hz / 1_000_000_000) as u32;
        let extensions = || ExtensionValues {
            audio_level: is_audio.then_some(-30),
            voice_activity: is_audio.then_some(true),
            ..ExtensionValues::default()
        };
        self.session.call(|rtc| {
            let agreed = rtc.media(mid).map(|media| media.remote_pts().to_vec());
            let agreed = agreed.unwrap_or_default();
            let mut known = rtc.codec_config().iter();
            let payload_type = known
                .find(|params| params.spec().codec == codec && agreed.contains(&params.pt()))
                .map(|params| params.pt());
            let Some(payload_type) = payload_type else { return };
            let mut api = rtc.direct_api();
            let Some(stream) = api.stream_tx_by_mid(mid, rid) else { return };
            let count = payloads.len();
            for (place, payload) in payloads.into_iter().enumerate() {
                let sequence = SeqNo::from(first_sequence + place as u64);
                let rtp = RtpWrite::new(payload_type, sequence, ticks, instant, payload)
                    .marker(!is_audio && place + 1 == count)
                    .nackable(!is_audio)
                    .ext_vals(extensions());
                stream.write_rtp(rtp);
            }
        });
    }
}

/// Frame or packet on its way to str0m.
struct Outgoing {
    mid: Mid,
    rid: Option<Rid>,
    codec: Codec,
    /// Sequence number of the first packet.
    first_sequence: u64,
    payloads: Vec<Arc<[u8]>>,
}
