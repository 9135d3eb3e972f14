//! The receiving end: one queue in order and one out of order for all paths.

use std::collections::{BTreeMap, VecDeque};

use airlane_base::{Histogram, Time};
use bytes::{Buf, Bytes};

use crate::Config;
use crate::wire::{Ack, MAX_SEGMENTS, Segment};

/// Error in a segment or end from a peer that does not keep to what was agreed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReceiverError {
    /// It has no bytes, or more than a segment.
    #[error("found a segment of {bytes} bytes at {dsn}, which is not what was agreed on")]
    Misfit {
        /// Its data sequence number.
        dsn: u64,
        /// Its bytes.
        bytes: usize,
    },
    /// It is beyond the window, or one segment too many.
    #[error("found a segment at {0}, beyond the window")]
    Memory(u64),
    /// It is behind the stream's end, or the end was told differently before.
    #[error("found data or an end at {0}, and another end of the stream")]
    End(u64),
}

/// The receiving end of a stream.
#[derive(Clone, Debug)]
pub struct Receiver {
    config: Config,
    /// Bytes in order, for the application: pieces, each with its time of arrival.
    ready: VecDeque<(Bytes, Time)>,
    /// Bytes out of order, by data sequence number; nothing overlaps.
    out_of_order: BTreeMap<u64, (Bytes, Time)>,
    /// The first byte that has not come.
    next: u64,
    held: u64,
    consumed: u64,
    duplicate_bytes: u64,
    waited: Histogram,
    /// One past the last byte that came.
    highest: u64,
    end: Option<u64>,
}

impl Receiver {
    /// A stream of which nothing has come.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            ready: VecDeque::new(),
            out_of_order: BTreeMap::new(),
            next: 0,
            held: 0,
            consumed: 0,
            duplicate_bytes: 0,
            waited: Histogram::default(),
            highest: 0,
            end: None,
        }
    }

    /// A segment came, on any path. Returns whether any of it was new: what is not is dropped.
    ///
    /// # Errors
    /// If the peer does not keep to what was agreed. Nothing has changed then.
    pub fn on_segment(&mut self, now: Time, segment: Segment) -> Result<bool, ReceiverError> {
        let Segment { dsn, mut payload } = segment;
        let bytes = payload.len();
        if bytes == 0 || bytes > self.config.segment_bytes as usize {
            return Err(ReceiverError::Misfit { dsn, bytes });
        }
        let end = dsn.saturating_add(bytes as u64);
        if self.end.is_some_and(|last| end > last) {
            return Err(ReceiverError::End(dsn));
        }
        let is_full = self.ready.len() + self.out_of_order.len() >= MAX_SEGMENTS;
        if end > self.window() || (is_full && end > self.next) {
            return Err(ReceiverError::Memory(dsn));
        }
        self.highest = self.highest.max(end);
        // Where the first byte is that may be new: behind what is in order, and behind a piece that
        // reaches into the segment.
        let before = self.out_of_order.range(..=dsn).next_back();
        let covered = before.map_or(0, |(at, (piece, _))| at + piece.len() as u64).max(self.next);
        let mut at = dsn;
        let mut skip = |at: &mut u64, payload: &mut Bytes, to: u64| {
            let known = to.saturating_sub(*at).min(payload.len() as u64);
            payload.advance(known as usize);
            *at += known;
            self.duplicate_bytes += known;
        };
        skip(&mut at, &mut payload, covered);
        let mut is_new = false;
        while !payload.is_empty() {
            let next = self.out_of_order.range(at..).next();
            let next = next.map(|(at, (piece, _))| (*at, at + piece.len() as u64));
            let until = next.map_or(end, |(low, _)| low.min(end));
            let piece = payload.split_to((until - at) as usize);
            if !piece.is_empty() {
                is_new = true;
                self.held += piece.len() as u64;
                self.out_of_order.insert(at, (piece, now));
            }
            at = until;
            if let Some((_, high)) = next {
                skip(&mut at, &mut payload, high);
            }
        }
        while let Some(piece) = self.out_of_order.remove(&self.next) {
            self.next += piece.0.len() as u64;
            self.ready.push_back(piece);
        }
        Ok(is_new)
    }

    /// The peer said how many bytes the stream has.
    ///
    /// # Errors
    /// If it said something else before, or has sent what is behind that.
    pub fn on_end(&mut self, bytes: u64) -> Result<(), ReceiverError> {
        if self.end.is_some_and(|end| end != bytes) || bytes < self.highest {
            return Err(ReceiverError::End(bytes));
        }
        self.end = Some(bytes);
        Ok(())
    }

    /// The next bytes of the stream for the application; `None` if they have not come.
    pub fn read(&mut self, now: Time) -> Option<Bytes> {
        let (payload, came) = self.ready.pop_front()?;
        self.waited.add_many(now - came, payload.len() as u64);
        self.held -= payload.len() as u64;
        self.consumed += payload.len() as u64;
        Some(payload)
    }

    /// True if the application has taken all of the stream.
    pub fn is_done(&self) -> bool {
        self.end == Some(self.consumed)
    }

    /// Bytes that are held for the application, in order or not.
    pub fn held_bytes(&self) -> u64 {
        self.held
    }

    /// Bytes that had come before.
    pub fn duplicate_bytes(&self) -> u64 {
        self.duplicate_bytes
    }

    /// Histogram of the time that bytes waited from arriving on a path until they were read; each
    /// byte counts.
    pub fn waited(&self) -> &Histogram {
        &self.waited
    }

    /// Acknowledgement of what it has, with the window that it has room for; to be sent on every
    /// path when something came, and when the application took something.
    pub fn ack(&self) -> Ack {
        Ack { data_ack: self.next, window: self.window() }
    }

    fn window(&self) -> u64 {
        self.consumed.saturating_add(self.config.receive_memory)
    }
}
