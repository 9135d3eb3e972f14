//! Order in which a receiver shows the frames of a track.

use std::collections::BTreeMap;

use crate::wire::MediaHeader;

/// Frames that may wait for the one before them.
const MAX_WAITING: usize = 64;

/// Frames of one track at a receiver. A frame is shown once the frame that it is predicted from has been; a key frame
/// is shown at once, and what was missing before it is given up. A frame that comes after a later one was shown is
/// not shown.
#[derive(Debug)]
pub struct Playout<T> {
    /// The newest frame that was shown, and which of those before it were: bit i is the frame i before it. `None`
    /// before the first key frame.
    shown: Option<(u32, u64)>,
    /// Frames that came, each with the one that it is predicted from.
    waiting: BTreeMap<u32, (u32, T)>,
}

impl<T> Default for Playout<T> {
    fn default() -> Self {
        Self { shown: None, waiting: BTreeMap::new() }
    }
}

impl<T> Playout<T> {
    /// Takes a frame that has arrived whole, and returns those that are shown now, in order.
    pub fn on_frame(&mut self, header: &MediaHeader, frame: T) -> Vec<T> {
        let number = header.frame;
        if self.shown.is_some_and(|(newest, _)| number <= newest) {
            return Vec::new();
        }
        let mut shown = Vec::new();
        if header.is_key {
            // What came before it can only be older than what is shown next.
            self.waiting = self.waiting.split_off(&number);
            self.waiting.remove(&number);
            self.shown = Some((number, 1));
            shown.push(frame);
        } else {
            let reference = number.saturating_sub(header.reference_distance.into());
            self.waiting.insert(number, (reference, frame));
        }
        while let Some(number) = self.next() {
            shown.extend(self.show(number));
        }
        while self.waiting.len() > MAX_WAITING {
            self.waiting.pop_first();
        }
        shown
    }

    /// The next frame that waits and can be shown.
    fn next(&self) -> Option<u32> {
        let can_be_shown = |(_, (reference, _)): &(&u32, &(u32, T))| self.was_shown(*reference);
        self.waiting.iter().find(can_be_shown).map(|(number, _)| *number)
    }

    fn was_shown(&self, number: u32) -> bool {
        self.shown.is_some_and(|(newest, before)| {
            newest.checked_sub(number).is_some_and(|age| age < u64::BITS && before >> age & 1 == 1)
        })
    }

    /// Shows a frame, and gives up those before it.
    fn show(&mut self, number: u32) -> Option<T> {
        let (newest, before) = self.shown?;
        let later = self.waiting.split_off(&number);
        self.waiting = later;
        let (_, frame) = self.waiting.remove(&number)?;
        let before = before.checked_shl(number - newest).unwrap_or(0);
        self.shown = Some((number, before | 1));
        Some(frame)
    }

    /// True if frames wait for one that has not come.
    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }
}
