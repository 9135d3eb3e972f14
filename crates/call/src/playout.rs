//! Order in which a receiver shows the frames of a track.

use std::collections::BTreeMap;

/// Frames that may wait for the one before them.
const MAX_WAITING: usize = 64;

/// Frames of one track at a receiver. A frame is shown once every frame since the last key frame has been;
/// a key frame is shown at once, and what was missing before it is given up.
#[derive(Debug)]
pub struct Playout<T> {
    /// The frame that is shown next; `None` before the first key frame.
    next: Option<u32>,
    waiting: BTreeMap<u32, T>,
}

impl<T> Default for Playout<T> {
    fn default() -> Self {
        Self { next: None, waiting: BTreeMap::new() }
    }
}

impl<T> Playout<T> {
    /// Takes a frame that has arrived whole, and returns those that are shown now, in order.
    pub fn on_frame(&mut self, number: u32, is_key: bool, frame: T) -> Vec<T> {
        if self.next.is_some_and(|next| number < next) {
            return Vec::new();
        }
        self.waiting.insert(number, frame);
        if is_key {
            // What came before it can only be older than what is shown next.
            self.waiting = self.waiting.split_off(&number);
            self.next = Some(number);
        }
        let mut shown = Vec::new();
        while let Some(next) = self.next
            && let Some(frame) = self.waiting.remove(&next)
        {
            shown.push(frame);
            self.next = Some(next.saturating_add(1));
        }
        while self.waiting.len() > MAX_WAITING {
            self.waiting.pop_first();
        }
        shown
    }

    /// True if frames wait for one that has not come.
    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }
}
