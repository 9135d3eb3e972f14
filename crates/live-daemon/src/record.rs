//! What was shown, as a file that players play: superframes of VP9 in IVF.

use std::collections::BTreeMap;
use std::time::Duration;

use airlane_live::wire::{Answer, LayerHeader};
use airlane_live::{LiveError, Structure};
use airlane_media::dash::FrameRate;
use airlane_media::ivf::{IvfHeader, ivf_frame};
use airlane_media::vp9::{self, Vp9Error};
use bytes::Bytes;

/// Frames that wait for layers that are late at most: layers come in order but for what the network
/// changes.
const MAX_WAITING: usize = 2;
/// Bytes of a layer at most; larger ones are left out. Whoever sends could fill memory with what waits.
const MAX_BYTES: usize = 4 << 20;

/// Layers of a frame that have come.
type Layers = Vec<Option<Bytes>>;

/// Makes a file of the layers that come: of each frame that can be decoded those up to the highest that
/// can, of which that one is shown. Frames that cannot leave a gap in time.
#[derive(Debug)]
pub(super) struct Recorder {
    structure: Structure,
    frame_time: Duration,
    waiting: BTreeMap<u32, Layers>,
    /// Frames before this one were written or left out.
    next: u32,
    /// The layers of the frame before `next` that are in the file.
    before: usize,
    /// Width of the pictures, once a key frame was written.
    width: Option<u32>,
}

impl Recorder {
    pub(super) fn new(answer: Answer) -> Self {
        Self {
            structure: answer.structure,
            frame_time: answer.frame_time,
            waiting: BTreeMap::new(),
            next: 0,
            before: 0,
            width: None,
        }
    }

    /// A layer has come; what is to be written now.
    pub(super) fn add(&mut self, header: &LayerHeader, body: &Bytes) -> Result<Vec<u8>, LiveError> {
        let all = usize::from(self.structure.layers());
        let layer = usize::from(header.layer);
        if header.frame < self.next || layer >= all || body.is_empty() || body.len() > MAX_BYTES {
            return Ok(Vec::new());
        }
        let layers = self.waiting.entry(header.frame).or_insert_with(|| vec![None; all]);
        layers[layer] = Some(body.clone());
        let mut out = Vec::new();
        while let Some((&frame, layers)) = self.waiting.first_key_value() {
            let is_whole = layers.iter().all(Option::is_some);
            // A whole frame waits for nothing but the one before it, which may still come.
            let is_due = is_whole && (frame == self.next || self.starts(frame));
            if !is_due && self.waiting.len() <= MAX_WAITING {
                break;
            }
            self.write_first(&mut out)?;
        }
        Ok(out)
    }

    /// The stream has ended; what is left to be written.
    pub(super) fn finish(&mut self) -> Result<Vec<u8>, LiveError> {
        let mut out = Vec::new();
        while !self.waiting.is_empty() {
            self.write_first(&mut out)?;
        }
        Ok(out)
    }

    /// Notes that the latest frame was not written: frames that need it are left out.
    pub(super) fn lost(&mut self) {
        self.before = 0;
    }

    fn starts(&self, frame: u32) -> bool {
        frame.is_multiple_of(self.structure.gop())
    }

    fn write_first(&mut self, out: &mut Vec<u8>) -> Result<(), LiveError> {
        let Some((frame, layers)) = self.waiting.pop_first() else { return Ok(()) };
        let has: Vec<Bytes> = layers.into_iter().map_while(|layer| layer).collect();
        let can = match self.starts(frame) {
            true => has.len(),
            false if frame == self.next => has.len().min(self.before),
            false => 0,
        };
        (self.next, self.before) = (frame.saturating_add(1), can);
        let Some((top, below)) = has[..can].split_last() else { return Ok(()) };
        let strange = |_: Vp9Error| LiveError::Wire("a layer that is no frame of VP9");
        if self.starts(frame) {
            let first = below.first().unwrap_or(top);
            let size = vp9::key_frame_size(first);
            let size = size.ok_or(LiveError::Wire("a GoP without a key frame of VP9"))?;
            if self.width.replace(size.0).is_none() {
                let frame_rate = FrameRate::of_frame_time(self.frame_time);
                let header = IvfHeader { size, frame_rate };
                let header = header.encode();
                out.extend(header.map_err(|_| LiveError::Wire("pictures that are too large"))?);
            }
        }
        let width = self.width.unwrap_or(0);
        let below = below.iter().map(|layer| vp9::hide(layer, width).map_err(strange));
        let mut frames: Vec<Vec<u8>> = below.collect::<Result<_, _>>()?;
        frames.push(top.to_vec());
        let joined = vp9::superframe(&frames).ok_or(LiveError::Wire("too many layers"))?;
        out.extend_from_slice(&ivf_frame(joined.len() as u32, frame.into()));
        out.extend_from_slice(&joined);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use airlane_base::Time;
    use airlane_live::wire::Coding;

    use super::*;

    /// A key frame of 64x64, cut short behind its header.
    const KEY: [u8; 24] = [
        0x83, 0x49, 0x83, 0x42, 0x20, 0x03, 0xf0, 0x03, 0xf0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 1,
    ];
    /// Another frame, likewise.
    const INTER: [u8; 24] =
        [0x87, 0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];

    fn recorder() -> Recorder {
        Recorder::new(Answer {
            structure: Structure::Quality { gop: 10, layers: 3 },
            frame_time: Duration::from_millis(40),
            coding: Coding::Vp9,
        })
    }

    fn add(recorder: &mut Recorder, frame: u32, layer: u8) -> Vec<(u64, usize)> {
        let header = LayerHeader { frame, layer, encoding: 0, handed: Time::ZERO };
        let is_key = frame.is_multiple_of(10) && layer == 0;
        let body = Bytes::from_static(if is_key { &KEY } else { &INTER });
        frames(&recorder.add(&header, &body).unwrap())
    }

    /// Times and numbers of layers of the frames in a piece of a file.
    fn frames(mut piece: &[u8]) -> Vec<(u64, usize)> {
        piece = piece.strip_prefix(b"DKIF").map_or(piece, |rest| &rest[28..]);
        let mut found = Vec::new();
        while let Some((head, rest)) = piece.split_first_chunk::<12>() {
            let size = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
            let time = u64::from(head[4]) | u64::from(head[5]) << 8;
            found.push((time, vp9::frames_of(&rest[..size]).unwrap().len()));
            piece = &rest[size..];
        }
        found
    }

    #[test]
    fn a_whole_frame_is_written_at_once_and_a_missing_layer_ends_its_layer_for_the_gop() {
        let mut recorder = recorder();
        assert_eq!(add(&mut recorder, 0, 0), []);
        assert_eq!(add(&mut recorder, 0, 1), []);
        assert_eq!(add(&mut recorder, 0, 2), [(0, 3)]);
        for layer in [0, 1] {
            assert_eq!(add(&mut recorder, 1, layer), []);
        }
        for layer in [0, 1, 2] {
            assert_eq!(add(&mut recorder, 2, layer), []);
        }
        // Frame 1 waits no longer; what frame 2 has on top of it has lost its reference.
        assert_eq!(add(&mut recorder, 3, 0), [(1, 2), (2, 2)]);
        assert_eq!(frames(&recorder.finish().unwrap()), [(3, 1)]);
    }

    #[test]
    fn frames_that_cannot_be_decoded_leave_a_gap_until_the_next_gop() {
        let mut recorder = recorder();
        // Frame 0 never comes.
        for frame in 1..10 {
            assert_eq!(add(&mut recorder, frame, 0), []);
        }
        for layer in [0, 1, 2] {
            add(&mut recorder, 10, layer);
        }
        assert_eq!(add(&mut recorder, 12, 0), [(10, 3)]);
        // Frame 11 comes late, and then all that needs it can be written.
        add(&mut recorder, 11, 0);
        assert_eq!(frames(&recorder.finish().unwrap()), [(11, 1), (12, 1)]);
        assert_eq!(recorder.next, 13);
    }

    #[test]
    fn strange_layers_are_left_out_or_refused() {
        let mut recorder = recorder();
        assert_eq!(add(&mut recorder, 5, 9), []);
        assert_eq!(add(&mut recorder, u32::MAX, 0), []);
        assert!(recorder.finish().unwrap().is_empty());
        let header = LayerHeader { frame: 0, layer: 0, encoding: 0, handed: Time::ZERO };
        let mut recorder = Recorder { next: 0, ..self::recorder() };
        recorder.add(&header, &Bytes::from_static(&INTER)).unwrap();
        assert!(recorder.finish().is_err());
    }
}
