//! Whether the player of a session plays, which is what makes the session's weight count.
//!
//! Anybody can invent ids and ask for a few bytes under each. A player takes whole chunks of its
//! title, new ones, in time, and takes them as fast as they are sent.

use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;

use airlane_base::Time;

/// Lengths of a chunk that may pass from one whole chunk to the request for the next one, while
/// nothing is on its way: a player whose buffer is full asks once in the length of a chunk.
const IDLE_CHUNKS: u32 = 3;
/// The same at least.
const MIN_IDLE: Duration = Duration::from_secs(10);
/// The longest that a chunk may be on its way.
const MAX_CHUNK: Duration = Duration::from_secs(60);
/// Chunks that are remembered: one of them counts once.
const RECENT: usize = 16;
/// A player takes at least this part of what is due to it.
const MIN_TAKEN: f64 = 0.5;
/// Maximum backlog behind that, in bytes: the pieces of answers that it has not taken whole.
const MAX_BEHIND: f64 = 524_288.0;

/// A chunk of the picture: its position in the ladder, and its number.
pub(in super::super) type ChunkId = (usize, usize);

/// Part of a chunk that the connection took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Taken {
    /// The chunk.
    pub(in super::super) chunk: ChunkId,
    /// Range of the chunk's bytes.
    pub(in super::super) bytes: Range<u64>,
    /// Length of the chunk in bytes.
    pub(in super::super) len: u64,
}

/// Activity of a session, which decides whether its weight counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Activity {
    /// It has just begun.
    New,
    /// Its player plays.
    Playing,
    /// It does not, or not yet after all the time that it had.
    Stopped,
}

/// Tracker of what one session was delivered on one connection.
#[derive(Debug)]
pub(super) struct DeliveryTracker {
    /// Time at which the session began.
    began: Time,
    /// Time at which the last new chunk was whole.
    last_whole: Option<Time>,
    /// Time for which the session may ask for nothing.
    idle: Duration,
    /// Chunks that were whole, latest last.
    recent: VecDeque<usize>,
    /// Chunk that is being taken, and the number of its bytes that were taken, from the first on.
    covered: (ChunkId, u64),
    /// Answers with chunks on their way.
    in_flight: u32,
    /// Bytes that it is behind what it had to take.
    behind: f64,
}

impl DeliveryTracker {
    /// Of a session that begins, with chunks of this length.
    pub(super) fn new(now: Time, chunk: Duration) -> Self {
        Self {
            began: now,
            last_whole: None,
            idle: (chunk * IDLE_CHUNKS).max(MIN_IDLE),
            recent: VecDeque::new(),
            covered: ((usize::MAX, usize::MAX), 0),
            in_flight: 0,
            behind: 0.0,
        }
    }

    /// A chunk is asked for.
    pub(super) fn on_request(&mut self) {
        self.in_flight += 1;
    }

    /// The answer with it ended.
    pub(super) fn on_end(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    /// The connection took bytes of a chunk.
    pub(super) fn on_taken(&mut self, now: Time, taken: &Taken) {
        let Taken { chunk, bytes, len } = taken;
        self.behind = (self.behind - (bytes.end - bytes.start) as f64).max(0.0);
        if self.covered.0 != *chunk {
            self.covered = (*chunk, 0);
        }
        // From its first byte on, without a gap, in one answer or several.
        if bytes.start <= self.covered.1 {
            self.covered.1 = self.covered.1.max(bytes.end);
        }
        if self.covered.1 >= *len && !self.recent.contains(&chunk.1) {
            self.recent.push_back(chunk.1);
            if self.recent.len() > RECENT {
                self.recent.pop_front();
            }
            self.last_whole = Some(now);
            self.behind = 0.0;
        }
    }

    /// The connection delivered what of which so many bytes were due to this session.
    pub(super) fn on_due(&mut self, bytes: f64) {
        if self.in_flight > 0 {
            self.behind += bytes * MIN_TAKEN;
        }
    }

    /// Activity of the session, which decides whether its weight counts.
    pub(super) fn activity(&self, now: Time) -> Activity {
        match self.last_whole {
            _ if now >= self.expires() || self.behind > MAX_BEHIND => Activity::Stopped,
            Some(_) => Activity::Playing,
            None => Activity::New,
        }
    }

    /// Time at which it stops, unless something happens before.
    pub(super) fn expires(&self) -> Time {
        let longest = if self.in_flight > 0 { MAX_CHUNK.max(self.idle) } else { self.idle };
        self.last_whole.unwrap_or(self.began) + longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: u64) -> Time {
        Time::from_millis(s * 1000)
    }

    fn taken(chunk: usize, bytes: Range<u64>) -> Taken {
        Taken { chunk: (1, chunk), bytes, len: 100_000 }
    }

    fn delivery_tracker() -> DeliveryTracker {
        DeliveryTracker::new(at(0), Duration::from_secs(4))
    }

    #[test]
    fn a_player_earns_by_whole_chunks_and_stops_by_silence() {
        let mut of = delivery_tracker();
        assert_eq!(of.activity(at(1)), Activity::New);
        for chunk in 0..10 {
            let asked = 10 * chunk as u64;
            of.on_request();
            // In two answers, of which the second begins where the first ended.
            of.on_taken(at(asked + 1), &taken(chunk, 0..65_536));
            of.on_end();
            of.on_request();
            of.on_taken(at(asked + 2), &taken(chunk, 65_536..100_000));
            of.on_end();
            assert_eq!(of.activity(at(asked + 10)), Activity::Playing);
        }
        assert_eq!(of.expires(), at(104));
        assert_eq!(of.activity(at(104)), Activity::Stopped);
        // A slow chunk has longer.
        of.on_request();
        assert_eq!(of.activity(at(151)), Activity::Playing);
        assert_eq!(of.activity(at(152)), Activity::Stopped);
    }

    #[test]
    fn pieces_and_repetitions_earn_nothing() {
        let mut of = delivery_tracker();
        for s in 0..100 {
            of.on_request();
            of.on_taken(at(s), &taken(s as usize, 0..1));
            of.on_taken(at(s), &taken(s as usize, 50_000..100_000));
            of.on_end();
            assert_eq!(of.activity(at(s)), if s < 12 { Activity::New } else { Activity::Stopped });
        }
        of.on_taken(at(100), &taken(7, 0..100_000));
        assert_eq!(of.activity(at(100)), Activity::Playing);
        for s in 100..200 {
            of.on_taken(at(s), &taken(7, 0..100_000));
        }
        assert_eq!(of.activity(at(112)), Activity::Stopped);
    }

    #[test]
    fn who_takes_less_than_half_of_what_is_due_stops() {
        let mut of = delivery_tracker();
        of.on_taken(at(0), &taken(0, 0..100_000));
        of.on_due(1e9);
        assert_eq!(of.activity(at(1)), Activity::Playing, "nothing was asked for");
        of.on_request();
        let chunk =
            |n: u64| Taken { chunk: (1, 1), bytes: n * 60_000..(n + 1) * 60_000, len: 1 << 40 };
        for n in 0..40 {
            of.on_due(100_000.0);
            of.on_taken(at(1), &chunk(n));
        }
        assert_eq!(of.activity(at(1)), Activity::Playing);
        for n in 40..140 {
            of.on_due(100_000.0);
            of.on_taken(at(1), &Taken { bytes: n * 60_000..n * 60_000 + 30_000, ..chunk(n) });
        }
        assert_eq!(of.activity(at(1)), Activity::Stopped);
        // The next whole chunk makes it good.
        of.on_taken(at(2), &taken(2, 0..100_000));
        assert_eq!(of.activity(at(2)), Activity::Playing);
    }
}
