//! The state of a player, derived from its requests and reports.
//!
//! A player of Airlane's reports its stalls; others only that there was one (CMCD `bs`), or how
//! long it was (`bsd`, `bsda` of version 2). Where the length is missing it follows from what a
//! buffer can do: between two requests it grows by what was delivered and falls by what was
//! watched, and the difference is the time that playback stalled.

use std::time::Duration;

use airlane_base::Time;
use airlane_minerva::{Request, Watching};

use crate::cmcd::{Cmcd, PlayerState};

/// The highest playback rate: a higher one counts as this.
const MAX_PACE: f64 = 16.0;

/// The state of one session's player: buffer at the last request, playback rate, stalls.
#[derive(Clone, Copy, Debug, Default)]
pub struct Viewer {
    last: Option<Last>,
    watching: Watching,
    stalled: Duration,
}

/// The last request for a chunk.
#[derive(Clone, Copy, Debug)]
struct Last {
    at: Time,
    chunk: usize,
    buffer: Duration,
}

impl Viewer {
    /// The player asks for a chunk of length `length`, as rung and number, with this CMCD.
    pub fn on_request(
        &mut self,
        now: Time,
        (rung, chunk): (usize, usize),
        length: Duration,
        cmcd: &Cmcd,
    ) -> Request {
        let after_seek = self.seeks(chunk, length, cmcd);
        let predicted = self.predicted(now, length, chunk).filter(|_| !after_seek);
        let buffer = cmcd.buffer.unwrap_or_else(|| predicted.map_or(Duration::ZERO, |p| p.0));
        self.stalled = match (cmcd.stalled, cmcd.total_stall, cmcd.last_stall) {
            (Some(total), ..) | (None, Some(total), _) => total,
            (None, None, Some(last)) => self.stalled.saturating_add(last),
            (None, None, None) => match predicted {
                Some(predicted) if cmcd.starved => {
                    self.stalled.saturating_add(stood_still(predicted, buffer))
                }
                _ => self.stalled,
            },
        };
        self.last = Some(Last { at: now, chunk, buffer });
        self.watching = watching(cmcd, self.watching);
        Request { chunk, rung, buffer, stalled: self.stalled, after_seek }
    }

    /// The player reports between requests. Returns whether pace or visibility changed.
    pub fn on_report(&mut self, cmcd: &Cmcd) -> bool {
        match (cmcd.total_stall, cmcd.last_stall) {
            (Some(total), _) => self.stalled = total,
            (None, Some(last)) => self.stalled = self.stalled.saturating_add(last),
            (None, None) => {}
        }
        let before = self.watching;
        self.watching = watching(cmcd, before);
        self.watching != before
    }

    /// Pace and visibility of the playback.
    pub fn watching(&self) -> Watching {
        self.watching
    }

    /// All rebuffering so far.
    pub fn stalled(&self) -> Duration {
        self.stalled
    }

    /// True if the request is for another place of the video. A player that asks for what it holds
    /// already, in a better version, does not seek: its buffer stays.
    fn seeks(&self, chunk: usize, length: Duration, cmcd: &Cmcd) -> bool {
        let Some(last) = self.last else { return false };
        let in_order = chunk == last.chunk || chunk == last.chunk.saturating_add(1);
        let empty = cmcd.buffer.is_none_or(|b| b < length);
        !in_order && (cmcd.state == Some(PlayerState::Seeking) || cmcd.startup || empty)
    }

    /// Buffer that the player should have now if it played on all the time, and the time since its
    /// last request.
    fn predicted(&self, now: Time, length: Duration, chunk: usize) -> Option<(Duration, Duration)> {
        let last = self.last?;
        let passed = now - last.at;
        let delivered = u32::try_from(chunk.saturating_sub(last.chunk)).unwrap_or(u32::MAX);
        let held = last.buffer.saturating_add(length.saturating_mul(delivered));
        Some((held.saturating_sub(passed.mul_f64(self.watching.pace)), passed))
    }
}

/// Time for which playback stalled, if a player holds more than it would have had it played on.
fn stood_still((predicted, passed): (Duration, Duration), buffer: Duration) -> Duration {
    buffer.saturating_sub(predicted).min(passed)
}

/// Pace and visibility of the playback after a report.
fn watching(cmcd: &Cmcd, before: Watching) -> Watching {
    let pace = match (cmcd.state, cmcd.pace) {
        (Some(PlayerState::Paused | PlayerState::Ended), _) => 0.0,
        (_, Some(pace)) => pace.min(MAX_PACE),
        (Some(PlayerState::Playing), None) if before.pace == 0.0 => 1.0,
        // Version 1 says nothing while the pace is 1.
        (None, None) if cmcd.buffer.is_some() => 1.0,
        (_, None) => before.pace,
    };
    Watching { pace, visible: !cmcd.hidden }
}

#[cfg(test)]
mod tests {
    use super::*;

    const D: Duration = Duration::from_secs(4);

    fn says(buffer_ms: u64) -> Cmcd {
        Cmcd { buffer: Some(Duration::from_millis(buffer_ms)), ..Cmcd::default() }
    }

    fn ask(viewer: &mut Viewer, ms: u64, chunk: usize, cmcd: &Cmcd) -> Request {
        viewer.on_request(Time::from_millis(ms), (1, chunk), D, cmcd)
    }

    #[test]
    fn a_starved_player_stood_still_for_what_does_not_add_up() {
        let mut viewer = Viewer::default();
        ask(&mut viewer, 0, 0, &says(0));
        ask(&mut viewer, 1_000, 1, &says(3_500));
        // 3.5 s held, 6 s waited, 4 s delivered: 1.5 s would be left, and 4 s are.
        let starved = Cmcd { starved: true, ..says(4_000) };
        assert_eq!(ask(&mut viewer, 7_000, 2, &starved).stalled, Duration::from_millis(2_500));
        // Without the flag the difference is something else: a rounded buffer, a late report.
        assert_eq!(ask(&mut viewer, 8_000, 3, &says(9_000)).stalled, Duration::from_millis(2_500));
        // Version 2 says it, once or as a sum.
        let last = Cmcd { last_stall: Some(Duration::from_millis(500)), ..says(4_000) };
        assert_eq!(ask(&mut viewer, 9_000, 4, &last).stalled, Duration::from_secs(3));
        let total = Cmcd { total_stall: Some(Duration::from_secs(5)), ..says(4_000) };
        assert_eq!(ask(&mut viewer, 10_000, 5, &total).stalled, Duration::from_secs(5));
    }

    #[test]
    fn a_player_that_does_not_say_its_buffer_has_what_it_should_have() {
        let mut viewer = Viewer::default();
        ask(&mut viewer, 0, 0, &says(0));
        ask(&mut viewer, 1_000, 1, &says(4_000));
        let silent = Cmcd { object: Some(crate::cmcd::ObjectType::Picture), ..Cmcd::default() };
        assert_eq!(ask(&mut viewer, 3_000, 2, &silent).buffer, Duration::from_secs(6));
    }

    #[test]
    fn seeks_pauses_and_replacements_are_told_apart() {
        let mut viewer = Viewer::default();
        ask(&mut viewer, 0, 0, &says(0));
        assert!(!ask(&mut viewer, 1_000, 1, &says(4_000)).after_seek);
        assert!(!ask(&mut viewer, 2_000, 10, &says(9_000)).after_seek, "it skips what it holds");
        assert!(!ask(&mut viewer, 3_000, 8, &says(30_000)).after_seek, "a better version");
        assert!(ask(&mut viewer, 4_000, 40, &Cmcd { startup: true, ..says(0) }).after_seek);
        let paused = Cmcd { pace: Some(0.0), ..says(2_000) };
        assert!(!ask(&mut viewer, 5_000, 41, &paused).after_seek);
        assert_eq!(viewer.watching().pace, 0.0);
        // Paused for a minute: nothing was watched, and nothing stalled.
        let on = Cmcd { starved: true, ..says(6_000) };
        assert_eq!(ask(&mut viewer, 65_000, 42, &on).stalled, Duration::ZERO);
        assert_eq!(viewer.watching().pace, 1.0);
        assert!(viewer.on_report(&Cmcd { state: Some(PlayerState::Paused), ..Cmcd::default() }));
        assert_eq!(viewer.watching().pace, 0.0);
        assert!(viewer.on_report(&Cmcd {
            state: Some(PlayerState::Playing),
            hidden: true,
            ..Cmcd::default()
        }));
        assert_eq!(viewer.watching(), Watching { pace: 1.0, visible: false });
    }
}
