//! Position of a client in one encoding of its video, and how many encodings it sends.

use std::sync::Arc;

use super::clip::{Clip, ClipFrame};
use super::packetizer::Packetizer;

/// Share by which the rate must exceed what another encoding takes before it is sent again.
const HEADROOM: f64 = 1.1;

/// First sequence number of a stream: its high part is known to be 0 at the receiver (RFC 3711, section 3.3.1).
pub(super) const FIRST_SEQUENCE: u64 = 1;

/// One encoding of a video, which is played again and again.
#[derive(Clone, Debug)]
pub(super) struct Feed {
    clip: Arc<Clip>,
    packetizer: Packetizer,
    /// Sequence number of the next packet.
    next_sequence: u64,
    /// Frame that comes next.
    next: usize,
    /// Frames that were taken so far.
    taken: u32,
    wants_key_frame: bool,
}

impl Feed {
    /// Encoding that begins with the key frame at or after this share of the clip, 0 to 1.
    pub(super) fn new(clip: Arc<Clip>, offset: f64) -> Self {
        let next = (clip.frames.len() as f64 * offset.clamp(0.0, 1.0)) as usize % clip.frames.len();
        let packetizer = Packetizer::new(clip.codec(), clip.temporal_layers > 1);
        let next_sequence = FIRST_SEQUENCE;
        Self { clip, packetizer, next_sequence, next, taken: 0, wants_key_frame: true }
    }

    /// Goes on from the next key frame: a file has one only where it was encoded.
    pub(super) fn request_key_frame(&mut self) {
        self.wants_key_frame = true;
    }

    /// Payloads of the packets of a frame that is sent now, and the first one's sequence number. What is not sent
    /// leaves no gap.
    pub(super) fn payloads(&mut self, frame: &ClipFrame) -> (u64, Vec<Arc<[u8]>>) {
        let payloads = self.packetizer.payloads(frame);
        let first = self.next_sequence;
        self.next_sequence += payloads.len() as u64;
        (first, payloads)
    }

    /// Takes the next frame, and its number among those that were taken.
    pub(super) fn take(&mut self) -> (u32, ClipFrame) {
        let frames = &self.clip.frames;
        if std::mem::take(&mut self.wants_key_frame) {
            // The first frame of a clip is one.
            let later = frames[self.next..].iter().position(|frame| frame.is_key_frame);
            self.next = later.map_or(0, |later| self.next + later);
        }
        let frame = frames[self.next].clone();
        self.next = (self.next + 1) % frames.len();
        let number = self.taken;
        self.taken = number.wrapping_add(1);
        (number, frame)
    }
}

/// Number of encodings that fit into a rate, the lowest first. The lowest one is always sent, and one more than
/// `current` wants some headroom. All in bit/s.
pub(super) fn fitting(rate_bps: f64, encodings_bps: &[f64], current: usize) -> usize {
    let mut sum = 0.0;
    let fits = |(place, of): (usize, &f64)| {
        sum += of;
        let headroom = if place >= current { HEADROOM } else { 1.0 };
        sum * headroom <= rate_bps
    };
    encodings_bps.iter().enumerate().map(fits).take_while(|fits| *fits).count().max(1)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::server::VideoCodec;

    #[test]
    fn a_key_frame_is_the_next_one_of_the_file() {
        let frame = |n: u8| ClipFrame {
            data: [n].into(),
            is_key_frame: n.is_multiple_of(4),
            temporal: 0,
            is_layer_sync: false,
            is_discardable: false,
            reference_distance: 1,
        };
        let frames = (0..8).map(frame).collect();
        let (codec, frame_interval) = (VideoCodec::Vp8, Duration::from_millis(40));
        let clip = Arc::new(Clip { codec, frame_interval, frames, temporal_layers: 1 });
        let mut feed = Feed::new(clip.clone(), 0.0);
        let take = |feed: &mut Feed| feed.take().1.data[0];
        assert_eq!([take(&mut feed), take(&mut feed)], [0, 1]);
        feed.request_key_frame();
        assert_eq!([take(&mut feed), take(&mut feed)], [4, 5]);
        feed.request_key_frame();
        assert_eq!([take(&mut feed), take(&mut feed)], [0, 1]);
        assert_eq!(take(&mut Feed::new(clip, 0.2)), 4);
    }

    #[test]
    fn encodings_come_and_go_with_the_rate() {
        let encodings = [100e3, 400e3, 1e6];
        assert_eq!(fitting(50e3, &encodings, 1), 1);
        assert_eq!(fitting(520e3, &encodings, 1), 1);
        assert_eq!(fitting(560e3, &encodings, 1), 2);
        assert_eq!(fitting(520e3, &encodings, 2), 2);
        assert_eq!(fitting(2e6, &encodings, 1), 3);
    }
}
