//! The pictures of a live source, of which only the latest is kept.

use std::sync::Arc;
use std::time::Duration;

use airlane_base::{InputError, Time};
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use tokio::sync::watch;

use super::input::VideoInput;

/// By how much a pipe may be faster than its frame rate says: cameras' clocks are off by less, while a
/// program that does not keep time would play the whole film in a moment.
const FASTER: f64 = 1.05;
/// Maximum time that a pipe may have stood still for all that has come meanwhile to be read at
/// once.
const BURST: Duration = Duration::from_secs(1);
/// So many pictures in a row that had to wait are no chance.
const HURRIED: u32 = 150;

/// A picture that has come.
#[derive(Clone, Debug)]
pub(super) struct Picture {
    /// Its number in the source, from 0.
    pub(super) number: u64,
    /// Planar 4:2:0, 8 bits.
    pub(super) bytes: Arc<Vec<u8>>,
    /// Time at which all of the picture had come.
    pub(super) came: Time,
}

/// Latest picture of a source, and its end.
#[derive(Clone, Debug, Default)]
pub(super) struct Latest {
    /// The latest picture.
    pub(super) picture: Option<Picture>,
    /// There are no more, and why.
    pub(super) ended: Option<Result<(), InputError>>,
}

/// Keeps `latest` what it says until there are no more pictures. A recorded source begins with the first
/// viewer, whom `viewers` counts; others come whether anybody watches or not.
pub(super) async fn keep_latest(
    mut input: VideoInput,
    runtime: RuntimeHandle,
    latest: watch::Sender<Latest>,
    mut viewers: watch::Receiver<usize>,
) {
    if input.is_recorded && viewers.wait_for(|viewers| *viewers > 0).await.is_err() {
        return;
    }
    let frame_time = 1.0 / input.header.fps.as_f64();
    let faster = if input.is_recorded { 1.0 } else { FASTER };
    let mut pace = Pace::new(Duration::from_secs_f64(frame_time / faster));
    let (mut number, mut hurried) = (0, 0_u32);
    let ended = loop {
        runtime.sleep_until(pace.next(runtime.now())).await;
        let next = match input.pictures.try_recv() {
            Ok(next) => {
                hurried = hurried.saturating_add(1);
                Some(next)
            }
            Err(_) => {
                hurried = 0;
                input.pictures.recv().await
            }
        };
        if hurried == HURRIED && !input.is_recorded {
            tracing::warn!(
                "{}: pictures come faster than {} in a second, and play {:.0} % too fast: \
                 ffmpeg keeps time with -re before its -i",
                input.name,
                input.header.fps,
                100.0 * (FASTER - 1.0),
            );
        }
        let bytes = match next {
            Some(Ok(bytes)) => Arc::new(bytes),
            Some(Err(e)) => break Err(e),
            None => break Ok(()),
        };
        let picture = Picture { number, bytes, came: runtime.now() };
        latest.send_modify(|latest| latest.picture = Some(picture));
        number += 1;
    };
    latest.send_modify(|latest| latest.ended = Some(ended));
}

/// Pacer of pictures: the time at which the next may be taken.
#[derive(Debug)]
struct Pace {
    step: Duration,
    due: Option<Time>,
}

impl Pace {
    fn new(step: Duration) -> Self {
        Self { step, due: None }
    }

    fn next(&mut self, now: Time) -> Time {
        let due = match self.due {
            None => now,
            Some(due) => {
                (due + self.step).max(Time::ZERO + now.since_start().saturating_sub(BURST))
            }
        };
        self.due = Some(due);
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_taken_in_time_and_after_a_pause_at_once() {
        let at = |ms: u64| Time::ZERO + Duration::from_millis(ms);
        let mut pace = Pace::new(Duration::from_millis(40));
        // Faster than the frame rate: every 40 ms from the first on.
        assert_eq!(
            [5000, 5000, 5001, 5100].map(|now| pace.next(at(now))),
            [5000, 5040, 5080, 5120].map(at)
        );
        // Somewhat late: the times stay what they were.
        assert_eq!([5130, 5500].map(|now| pace.next(at(now))), [5160, 5200].map(at));
        // After a long pause at most a second's are taken at once.
        let due: Vec<Time> = (0..30).map(|_| pace.next(at(60_000))).collect();
        assert_eq!(due[0], at(59_000));
        assert_eq!(due.iter().filter(|due| **due <= at(60_000)).count(), 26);
    }
}
