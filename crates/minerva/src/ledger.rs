//! What a player says of itself, held against what it was sent.
//!
//! A player holds at least what it was sent minus what it can have watched since its first picture,
//! and has not stalled for longer than its deliveries were late. Who says otherwise is taken at the
//! bound: an invented stall or a buffer that is reported too low buys the slack of these bounds and
//! no more.

use std::time::Duration;

use airlane_base::Time;

/// Margin on top of the player's pause between its first picture and its second request, as
/// the server sees it: the round trip, and timers of the player's.
const SLACK: Duration = Duration::from_millis(500);

/// The deliveries of one session, by its requests: a chunk counts as delivered when the player
/// asks for the next one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ledger {
    chunk: Duration,
    pause: Duration,
    requests: u32,
    /// The earliest that the first picture can have been shown.
    begin: Option<Time>,
    /// Seconds of video watched per second, since when, and what can have been watched before.
    pace: f64,
    paced: Time,
    watched: Duration,
    /// Most that the picture can have stood still.
    stalled: Duration,
}

impl Ledger {
    /// Nothing was asked for yet. Chunks are so long, and the player pauses for so long between a
    /// response and the next request.
    pub(crate) fn new(chunk: Duration, pause: Duration) -> Self {
        Self {
            chunk,
            pause,
            requests: 0,
            begin: None,
            pace: 1.0,
            paced: Time::ZERO,
            watched: Duration::ZERO,
            stalled: Duration::ZERO,
        }
    }

    /// A request came: all chunks before were delivered.
    pub(crate) fn on_request(&mut self, now: Time) {
        match self.begin {
            None if self.requests == 1 => {
                let begin = now - self.pause - SLACK;
                (self.begin, self.paced) = (Some(begin), begin);
            }
            None => {}
            Some(begin) => {
                // The last delivery could not be shown before; those before it lasted so long.
                let shown = self.chunk * (self.requests - 1);
                self.stalled = self.stalled.max((now - begin).saturating_sub(shown));
            }
        }
        self.requests += 1;
    }

    /// The viewer went elsewhere in the video: what was delivered is of no use there.
    pub(crate) fn on_seek(&mut self) {
        *self =
            Self { pace: self.pace, stalled: self.stalled, ..Self::new(self.chunk, self.pause) };
    }

    /// The viewer watches so many seconds of video per second from now on.
    pub(crate) fn on_pace(&mut self, now: Time, pace: f64) {
        self.watched = self.watched(now);
        (self.pace, self.paced) = (pace, now.max(self.paced));
    }

    /// The buffer, not less than what was sent and cannot have been watched.
    pub(crate) fn buffer(&self, now: Time, reported: Duration) -> Duration {
        if self.begin.is_none() {
            return reported;
        }
        let delivered = self.chunk * (self.requests - 1);
        reported.max(delivered.saturating_sub(self.watched(now)))
    }

    /// All rebuffering so far, not more than deliveries were late.
    pub(crate) fn stalled(&self, reported: Duration) -> Duration {
        reported.min(self.stalled)
    }

    /// Most that can have been watched since the first picture.
    fn watched(&self, now: Time) -> Duration {
        if self.begin.is_none() {
            return Duration::ZERO;
        }
        self.watched + at_pace(now - self.paced, self.pace)
    }
}

/// So much video is watched in `time`.
pub(crate) fn at_pace(time: Duration, pace: f64) -> Duration {
    if pace == 1.0 { time } else { time.mul_f64(pace) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const D: Duration = Duration::from_secs(4);

    fn ledger(requests: &[u64]) -> Ledger {
        let mut l = Ledger::new(D, Duration::from_millis(500));
        requests.iter().for_each(|ms| l.on_request(Time::from_millis(*ms)));
        l
    }

    #[test]
    fn a_buffer_is_at_least_what_cannot_have_been_watched() {
        let at = Time::from_millis;
        assert_eq!(ledger(&[1_000]).buffer(at(1_000), Duration::ZERO), Duration::ZERO);
        // Twelve seconds sent, of which three can have been watched: the picture may have come one
        // second before the second request.
        let l = ledger(&[1_000, 2_000, 3_000, 4_000]);
        assert_eq!(l.buffer(at(4_000), Duration::ZERO), Duration::from_secs(9));
        assert_eq!(l.buffer(at(4_000), Duration::from_secs(10)), Duration::from_secs(10));
        assert_eq!(l.buffer(at(99_000), Duration::ZERO), Duration::ZERO);
    }

    #[test]
    fn a_buffer_lasts_as_long_as_the_viewer_makes_it_last() {
        let at = Time::from_millis;
        let held = |l: &Ledger, ms| l.buffer(at(ms), Duration::ZERO);
        let seconds = Duration::from_secs;
        let mut l = ledger(&[1_000, 2_000, 3_000, 4_000]);
        assert_eq!(held(&l, 4_000), seconds(9));
        // A pause keeps it, twice the pace halves it.
        l.on_pace(at(4_000), 0.0);
        assert_eq!(held(&l, 60_000), seconds(9));
        l.on_pace(at(60_000), 2.0);
        assert_eq!(held(&l, 62_000), seconds(5));
        l.on_seek();
        assert_eq!(held(&l, 62_000), Duration::ZERO);
    }

    #[test]
    fn a_stall_is_no_longer_than_deliveries_were_late() {
        let most = |requests: &[u64]| ledger(requests).stalled(Duration::from_secs(99));
        // The wait for the first picture is start-up.
        assert_eq!(most(&[0, 10_000]), Duration::ZERO);
        // Shown from 9 s on, the first chunk ends at 13 s; the second was there at 16 s.
        assert_eq!(most(&[0, 10_000, 16_000]), Duration::from_secs(3));
        assert_eq!(most(&[0, 10_000, 16_000, 17_000]), Duration::from_secs(3));
        let honest = ledger(&[0, 10_000, 16_000]).stalled(Duration::from_secs(2));
        assert_eq!(honest, Duration::from_secs(2));
    }
}
