//! Numbers without the gaps that dropped packets and frames would leave.

use std::collections::VecDeque;

/// Number of runs of dropped numbers that are remembered: late numbers from before them are not mapped.
///
/// A layer that is dropped makes a run for each of its frames: 256 are the frames of 8 seconds at 30 per second.
const MAX_RUNS: usize = 256;

/// Numbers from `from` on, up to the next run, and what is subtracted from them.
#[derive(Clone, Copy, Debug)]
struct Run {
    from: u64,
    offset: u64,
}

/// A map from the numbers of a stream to those of what is forwarded of it.
///
/// A number that is kept has one image for ever, also if it comes again or late; numbers that never came leave a
/// gap, because they may still come; numbers that were dropped leave none. Bounded.
#[derive(Debug)]
pub(crate) struct NumberMap {
    runs: VecDeque<Run>,
    highest: u64,
}

impl NumberMap {
    pub(crate) fn new() -> Self {
        Self { runs: VecDeque::new(), highest: 0 }
    }

    /// Begins anew: `first` becomes `output`.
    pub(crate) fn restart(&mut self, first: u64, output: u64) {
        self.runs.clear();
        self.runs.push_back(Run { from: first, offset: first.wrapping_sub(output) });
        self.highest = first.wrapping_sub(1);
    }

    /// Highest number that came.
    pub(crate) fn highest(&self) -> u64 {
        self.highest
    }

    /// The number is higher than all that came.
    pub(crate) fn is_new(&self, number: u64) -> bool {
        number > self.highest || self.highest == u64::MAX && number == 0
    }

    /// Image of a number that is kept; nothing if it was dropped before, or is older than what is remembered.
    pub(crate) fn keep(&mut self, number: u64) -> Option<u64> {
        if self.is_new(number) {
            self.highest = number;
        }
        let place = self.runs.partition_point(|run| run.from <= number).checked_sub(1)?;
        let run = self.runs[place];
        if let Some(next) = self.runs.get(place + 1) {
            let dropped = next.offset.wrapping_sub(run.offset);
            if number >= next.from.wrapping_sub(dropped) {
                return None;
            }
        }
        Some(number.wrapping_sub(run.offset))
    }

    /// Drops a number, if it is a new one: those behind it close up.
    pub(crate) fn skip(&mut self, number: u64) {
        if !self.is_new(number) {
            return;
        }
        self.highest = number;
        let Some(last) = self.runs.back_mut() else { return };
        let next = Run { from: number.wrapping_add(1), offset: last.offset.wrapping_add(1) };
        if last.from == number {
            *last = next;
            return;
        }
        if self.runs.len() == MAX_RUNS {
            self.runs.pop_front();
        }
        self.runs.push_back(next);
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.runs.capacity() * size_of::<Run>()
    }
}

/// Numbers of few bits, extended to 64 by how often they wrapped.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Unwrapper {
    newest: Option<u64>,
}

impl Unwrapper {
    /// Extended number: the one next to the newest that has these low bits.
    pub(crate) fn unwrap(&mut self, value: u64, bits: u32) -> u64 {
        let span = 1_u64 << bits;
        // Far enough from zero that an older number than the first one has a place.
        let Some(newest) = self.newest else {
            let first = (1 << 32) + value;
            self.newest = Some(first);
            return first;
        };
        let ahead = value.wrapping_sub(newest) & (span - 1);
        let extended = match ahead < span / 2 {
            true => newest.saturating_add(ahead),
            false => newest.saturating_sub(span - ahead),
        };
        self.newest = Some(newest.max(extended));
        extended
    }
}
