//! The sender's side of a block-ack agreement: frames that have numbers and are not acknowledged.

use std::collections::VecDeque;

use airlane_base::Packet;

/// A frame with its number.
#[derive(Debug)]
pub(super) struct Mpdu {
    /// Its packets, until the receiver has them.
    pub(super) packets: Vec<Box<Packet>>,
    /// Number of its packets, also once they are gone.
    pub(super) count: usize,
    /// Bytes of the frame.
    pub(super) bytes: u32,
    /// Attempts so far.
    pub(super) tries: u8,
}

/// Frames in the order of their numbers. Numbers do not wrap here; those in the air are their lowest
/// twelve bits.
#[derive(Debug)]
pub(super) struct Window {
    size: usize,
    start: u64,
    /// From `start` on; what has been acknowledged is gone.
    frames: VecDeque<Option<Mpdu>>,
}

impl Window {
    pub(super) fn new(size: usize) -> Self {
        Self { size: size.max(1), start: 0, frames: VecDeque::new() }
    }

    /// The first number that is not done.
    pub(super) fn start(&self) -> u64 {
        self.start
    }

    /// True if nothing waits for an acknowledgement.
    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// True if another frame may have a number.
    pub(super) fn has_room(&self) -> bool {
        self.frames.len() < self.size
    }

    /// Numbers a frame.
    pub(super) fn push(&mut self, mpdu: Mpdu) -> u64 {
        self.frames.push_back(Some(mpdu));
        self.start + self.frames.len() as u64 - 1
    }

    /// Those that are not acknowledged, first to last.
    pub(super) fn outstanding(&self) -> impl Iterator<Item = (u64, &Mpdu)> {
        let numbered = self.frames.iter().enumerate();
        numbered.filter_map(|(i, frame)| Some((self.start + i as u64, frame.as_ref()?)))
    }

    /// A frame that is not acknowledged.
    pub(super) fn get(&self, number: u64) -> Option<&Mpdu> {
        self.frames.get(self.index(number)?)?.as_ref()
    }

    /// A frame that is not acknowledged.
    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut Mpdu> {
        self.frames.get_mut(self.index(number)?)?.as_mut()
    }

    /// A frame is acknowledged, or given up: it leaves the window.
    pub(super) fn take(&mut self, number: u64) -> Option<Mpdu> {
        let index = self.index(number)?;
        let mpdu = self.frames.get_mut(index)?.take();
        while let Some(None) = self.frames.front() {
            self.frames.pop_front();
            self.start += 1;
        }
        mpdu
    }

    fn index(&self, number: u64) -> Option<usize> {
        number.checked_sub(self.start).map(|i| i as usize)
    }
}
