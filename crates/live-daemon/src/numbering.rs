//! Numbers of frames over several sessions with a sender, each of which numbers its own from 0.

use std::time::Duration;

use airlane_base::Time;
use airlane_live::ReceivedLayer;
use airlane_live::wire::Answer;

/// Frames that may lie between two sessions at most: the sender's clock may show anything.
const MAX_GAP: u32 = 1 << 24;

/// Numbers frames as if one session had brought them all: those that were captured between two of them
/// are missing.
#[derive(Debug)]
pub(super) struct Numbering {
    gop: u32,
    frame_time: Duration,
    offset: u32,
    /// The newest frame so far, by its new number, and when it was handed over.
    newest: Option<(u32, Time)>,
    /// The next frame is of another session than the newest.
    restarts: bool,
}

impl Numbering {
    pub(super) fn new(answer: &Answer) -> Self {
        let (gop, frame_time) = (answer.structure.gop().max(1), answer.frame_time);
        Self { gop, frame_time, offset: 0, newest: None, restarts: false }
    }

    /// Begins another session: what comes from now on is of it.
    pub(super) fn restart(&mut self) {
        self.restarts = true;
    }

    /// Gives a layer its new number.
    pub(super) fn number(&mut self, layer: &mut ReceivedLayer) {
        let handed = layer.header.handed;
        if std::mem::take(&mut self.restarts)
            && let Some((newest, at)) = self.newest
        {
            let passed = handed.since(at).as_nanos() / self.frame_time.as_nanos().max(1);
            let gap = u32::try_from(passed).unwrap_or(MAX_GAP).clamp(1, MAX_GAP);
            let first = newest.saturating_add(gap).saturating_sub(layer.header.frame);
            // A group of pictures begins where it did.
            let first = first.max(newest.saturating_add(1)).div_ceil(self.gop);
            self.offset = first.saturating_mul(self.gop);
        }
        layer.header.frame = layer.header.frame.saturating_add(self.offset);
        for decoded in &mut layer.decoded {
            decoded.frame = decoded.frame.saturating_add(self.offset);
        }
        if self.newest.is_none_or(|(newest, _)| newest < layer.header.frame) {
            self.newest = Some((layer.header.frame, handed));
        }
    }
}

#[cfg(test)]
mod tests {
    use airlane_live::Structure;
    use airlane_live::wire::{Coding, LayerHeader};
    use bytes::Bytes;

    use super::*;

    fn numbering() -> Numbering {
        Numbering::new(&Answer {
            structure: Structure::Quality { gop: 10, layers: 3 },
            frame_time: Duration::from_millis(40),
            coding: Coding::Vp9,
        })
    }

    fn number(numbering: &mut Numbering, frame: u32, handed_ms: u64) -> u32 {
        let handed = Time::from_millis(handed_ms);
        let header = LayerHeader { frame, layer: 0, encoding: 0, handed };
        let (at, body) = (Time::ZERO, Bytes::new());
        let mut layer = ReceivedLayer { header, bytes: 20, body, at, decoded: Vec::new() };
        numbering.number(&mut layer);
        layer.header.frame
    }

    #[test]
    fn frames_between_two_sessions_are_missing() {
        let mut numbering = numbering();
        assert_eq!(number(&mut numbering, 0, 1_000), 0);
        assert_eq!(number(&mut numbering, 4, 1_160), 4);
        numbering.restart();
        // 4 s later: a hundred frames, and what it takes to the next group of pictures.
        assert_eq!(number(&mut numbering, 0, 5_160), 110);
        assert_eq!(number(&mut numbering, 7, 5_440), 117);
        numbering.restart();
        // The first that comes is the third of its session.
        assert_eq!(number(&mut numbering, 2, 6_440), 142);
        assert_eq!(number(&mut numbering, 1, 6_400), 141);
    }

    #[test]
    fn strange_clocks_do_no_harm() {
        let mut numbering = numbering();
        let mut last = number(&mut numbering, 5, 1_000_000);
        for handed in [0, u64::MAX / 2_000_000, 3] {
            numbering.restart();
            let next = number(&mut numbering, 0, handed);
            assert!(next > last && next.is_multiple_of(10), "{next}");
            last = next;
        }
        numbering.restart();
        assert_eq!(number(&mut numbering, u32::MAX, 4), u32::MAX);
        numbering.restart();
        number(&mut numbering, u32::MAX, 5);
    }
}
