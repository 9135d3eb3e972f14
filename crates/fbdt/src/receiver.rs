//! The receiving end: puts segments in order, whichever path they came on, and says what it has.

use std::collections::VecDeque;

use airlane_base::{Histogram, Time};
use bytes::Bytes;

use crate::Config;
use crate::wire::{Ack, MAX_ACK_RANGES, MAX_ACK_WINDOWS, MAX_WINDOWS, Ranges, Segment};

/// Reason for refusing a segment: the peer broke the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReceiverError {
    /// It does not fit the window that it names, or what was agreed on segments.
    #[error("found segment {index} of window {window} with {bytes} bytes, which does not fit it")]
    Misfit {
        /// The window.
        window: u64,
        /// The segment.
        index: u32,
        /// Its bytes.
        bytes: usize,
    },
    /// It would need more memory than was agreed on.
    #[error("found window {0}, which needs more memory than was agreed on")]
    Memory(u64),
    /// It is of a window behind the stream's end, or the end was told differently before.
    #[error("found window {0} and another end of the stream")]
    End(u64),
}

/// A window that is not complete, or not taken by the application.
#[derive(Clone, Debug, Default)]
struct Window {
    /// Empty until the first segment comes. Of each segment that is there, when it came.
    slots: Vec<Option<(Bytes, Time)>>,
    missing: u32,
    /// The first segment that the application has not taken.
    next: usize,
}

impl Window {
    fn is_begun(&self) -> bool {
        !self.slots.is_empty()
    }

    fn is_complete(&self) -> bool {
        self.is_begun() && self.missing == 0
    }
}

/// The receiving end of a stream.
#[derive(Clone, Debug)]
pub struct Receiver {
    config: Config,
    /// From the first window that the application has not taken all of.
    windows: VecDeque<Window>,
    first: u64,
    /// Number of windows from `first` on that are complete.
    complete: usize,
    held: u64,
    /// Segments that there is a place for, in the tables of all `windows`.
    slots: u64,
    consumed: u64,
    duplicate_bytes: u64,
    waited: Histogram,
    end: Option<u64>,
}

impl Receiver {
    /// A stream of which nothing has come.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            windows: VecDeque::new(),
            first: 0,
            complete: 0,
            held: 0,
            slots: 0,
            consumed: 0,
            duplicate_bytes: 0,
            waited: Histogram::default(),
            end: None,
        }
    }

    /// A segment came, on any path. Returns whether it was new: a duplicate is dropped.
    ///
    /// # Errors
    /// If the peer does not keep to what was agreed. Nothing has changed then.
    pub fn on_segment(&mut self, now: Time, segment: Segment) -> Result<bool, ReceiverError> {
        let Segment { window, index, count, payload } = segment;
        let bytes = payload.len();
        let misfit = ReceiverError::Misfit { window, index, bytes };
        if self.end.is_some_and(|end| window >= end) {
            return Err(ReceiverError::End(window));
        }
        let size = self.config.segment_bytes as usize;
        let is_short = bytes < size;
        if bytes == 0 || bytes > size || index >= count || (is_short && index + 1 != count) {
            return Err(misfit);
        }
        let Some(place) = window.checked_sub(self.first) else {
            self.duplicate_bytes += bytes as u64;
            return Ok(false);
        };
        if place >= MAX_WINDOWS as u64 {
            return Err(ReceiverError::Memory(window));
        }
        let known = self.windows.get(place as usize).filter(|w| w.is_begun());
        if known.is_some_and(|w| w.slots.len() != count as usize) {
            return Err(misfit);
        }
        let is_new =
            known.is_none_or(|w| w.slots[index as usize].is_none() && index as usize >= w.next);
        if !is_new {
            self.duplicate_bytes += bytes as u64;
            return Ok(false);
        }
        if self.held + bytes as u64 > self.config.receive_memory {
            return Err(ReceiverError::Memory(window));
        }
        let place = place as usize;
        if known.is_none() {
            // The table of a window is memory as well.
            if count as usize
                > self.config.window_bytes.div_ceil(self.config.segment_bytes) as usize
            {
                return Err(misfit);
            }
            if self.slots + u64::from(count) > self.config.max_slots() {
                return Err(ReceiverError::Memory(window));
            }
            self.slots += u64::from(count);
            if self.windows.len() <= place {
                self.windows.resize_with(place + 1, Window::default);
            }
            self.windows[place] =
                Window { slots: vec![None; count as usize], missing: count, next: 0 };
        }
        let into = &mut self.windows[place];
        into.slots[index as usize] = Some((payload, now));
        into.missing -= 1;
        self.held += bytes as u64;
        while self.windows.get(self.complete).is_some_and(Window::is_complete) {
            self.complete += 1;
        }
        Ok(true)
    }

    /// The peer said how many windows the stream has.
    ///
    /// # Errors
    /// If it said something else before, or has sent a window behind that.
    pub fn on_end(&mut self, windows: u64) -> Result<(), ReceiverError> {
        let begun = self.first + self.windows.len() as u64;
        if self.end.is_some_and(|end| end != windows) || windows < begun {
            return Err(ReceiverError::End(windows));
        }
        self.end = Some(windows);
        Ok(())
    }

    /// The next bytes of the stream for the application; `None` if they have not come.
    pub fn read(&mut self, now: Time) -> Option<Bytes> {
        let window = self.windows.front_mut()?;
        let (payload, came) = window.slots.get_mut(window.next)?.take()?;
        self.waited.add_many(now - came, payload.len() as u64);
        window.next += 1;
        self.held -= payload.len() as u64;
        self.consumed += payload.len() as u64;
        if window.next == window.slots.len() {
            self.slots -= window.slots.len() as u64;
            self.windows.pop_front();
            self.first += 1;
            self.complete -= 1;
        }
        Some(payload)
    }

    /// True if the application has taken all of the stream.
    pub fn is_done(&self) -> bool {
        self.end == Some(self.first)
    }

    /// Bytes that are held for the application.
    pub fn held_bytes(&self) -> u64 {
        self.held
    }

    /// Bytes of segments that had come before.
    pub fn duplicate_bytes(&self) -> u64 {
        self.duplicate_bytes
    }

    /// Times that bytes waited from coming on a path to being read, byte by byte.
    pub fn waited(&self) -> &Histogram {
        &self.waited
    }

    /// Acknowledgement of what the receiver has, to be sent on every path; `received` is the
    /// number of bytes of segments that came on the path that it is sent on.
    pub fn ack(&self, received: u64) -> Ack {
        let mut missing = Vec::new();
        let complete = self.first + self.complete as u64;
        for (number, window) in (complete..).zip(self.windows.iter().skip(self.complete)) {
            if missing.len() == MAX_ACK_WINDOWS {
                break;
            }
            if !window.is_begun() {
                continue;
            }
            let mut ranges = Ranges::default();
            for (index, slot) in (0u32..).zip(&window.slots) {
                if slot.is_none() && index as usize >= window.next {
                    ranges.push(index, index + 1);
                }
            }
            ranges.limit(MAX_ACK_RANGES, window.slots.len() as u32);
            missing.push((number, ranges));
        }
        Ack { received, complete, consumed: self.consumed, missing }
    }
}
