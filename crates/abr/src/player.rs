//! The player's buffer as a state machine on the axis of time.
//!
//! Chunks are fetched one after another and played in order. Playing starts with the arrival of
//! the first one. Since chunks have a fixed length, the moment at which each begins to play is
//! known when it arrives: `S_k = max(arrival_k, S_(k-1) + D)`, and its rebuffering is
//! `R_k = S_k - (S_(k-1) + D)`. The wait before the first picture is start-up and no rebuffering.

use std::sync::Arc;
use std::time::Duration;

use airlane_base::Time;
use airlane_quality::SessionQoe;

use crate::algorithm::{Abr, next_rung};
use crate::state::{History, PlayerState};
use crate::title_model::TitleModel;

/// A chunk that arrived: what it was, when it plays and what it cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlayedChunk {
    /// Its number, from 0.
    pub chunk: usize,
    /// Its rung.
    pub rung: usize,
    /// Time of the request.
    pub requested: Time,
    /// Time at which the last byte arrived.
    pub arrived: Time,
    /// Time at which the first picture is shown.
    pub begins: Time,
    /// Rebuffering charged to it, R_k of equation 1; zero for the first chunk.
    pub stall: Duration,
    /// Its quality.
    pub quality: f64,
    /// Equation 1.
    pub qoe: f64,
    /// Its throughput, bits per second of the download.
    pub throughput_bps: f64,
}

/// Phase of the playback, as the viewer sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlayerPhase {
    /// Nothing yet: the first chunk is on its way or not asked for.
    Starting,
    /// Pictures.
    Playing,
    /// A wait in the middle.
    Stalled,
    /// The whole video was played.
    Ended,
}

/// The buffer of one session, driven by what happens: [`PlayerModel::on_request`] and
/// [`PlayerModel::on_chunk`] in turn. Pure: the caller keeps the timers.
#[derive(Clone, Debug)]
pub struct PlayerModel {
    setting: Arc<TitleModel>,
    start: Time,
    /// The chunk on its way: rung and time of the request.
    pending: Option<(usize, Time)>,
    played: Vec<PlayedChunk>,
    history: History,
    qoe: SessionQoe,
}

impl PlayerModel {
    /// A viewer who presses play at `start`.
    pub fn new(setting: Arc<TitleModel>, start: Time) -> Self {
        let qoe = SessionQoe::new(setting.qoe_params());
        Self {
            played: Vec::with_capacity(setting.chunks()),
            setting,
            start,
            pending: None,
            history: History::default(),
            qoe,
        }
    }

    /// The video and how it is watched.
    pub fn setting(&self) -> &Arc<TitleModel> {
        &self.setting
    }

    /// Time at which the viewer pressed play.
    pub fn start(&self) -> Time {
        self.start
    }

    /// The chunk to ask for next, `None` after the last.
    pub fn next_chunk(&self) -> Option<usize> {
        let next = self.played.len() + usize::from(self.pending.is_some());
        (next < self.setting.chunks()).then_some(next)
    }

    /// Time at which the next request may go out: the overhead after the last response, and not
    /// before the buffer is down to its cap. `None` while a chunk is on its way and after the
    /// last.
    pub fn next_request_at(&self) -> Option<Time> {
        if self.pending.is_some() || self.next_chunk().is_none() {
            return None;
        }
        let Some(last) = self.played.last() else { return Some(self.start) };
        let player = self.setting.player();
        Some((last.arrived + player.chunk_overhead).max(self.runs_out() - player.buffer_cap))
    }

    /// State from which an algorithm decides at `now`; [`Self::choose`] asks one.
    pub fn decision_state(&self, now: Time) -> PlayerState {
        PlayerState {
            next_chunk: self.next_chunk().unwrap_or(self.setting.chunks()),
            buffer_s: self.buffer(now).as_secs_f64(),
            last_rung: self.played.last().map(|p| p.rung),
            history: self.history,
        }
    }

    /// The rung that `abr` asks for at `now`, the lowest for the first chunk. `None` after the
    /// last chunk.
    pub fn choose(&self, abr: &(impl Abr + ?Sized), now: Time) -> Option<usize> {
        self.next_chunk()?;
        Some(next_rung(abr, &self.setting, &self.decision_state(now)))
    }

    /// The request for the next chunk goes out at `rung`.
    ///
    /// # Panics
    /// If a chunk is on its way already, none is left, or there is no such rung.
    pub fn on_request(&mut self, now: Time, rung: usize) {
        assert!(self.pending.is_none(), "a chunk is on its way already");
        assert!(self.next_chunk().is_some(), "no chunk is left");
        assert!(rung < self.setting.rungs(), "rung {rung} of {}", self.setting.rungs());
        self.pending = Some((rung, now));
    }

    /// The chunk asked for arrived whole: `bytes` after `download`, the time that its throughput
    /// is taken over.
    ///
    /// # Panics
    /// If none was asked for.
    pub fn on_chunk(&mut self, now: Time, bytes: u64, download: Duration) -> PlayedChunk {
        self.on_chunk_shown(now, bytes, download, now)
    }

    /// The same where somebody saw when the chunk's first picture was `shown`; not before the
    /// picture of the chunk before it ended.
    ///
    /// # Panics
    /// If none was asked for.
    pub fn on_chunk_shown(
        &mut self,
        now: Time,
        bytes: u64,
        download: Duration,
        shown: Time,
    ) -> PlayedChunk {
        let (rung, requested) = self.pending.take().expect("a chunk was asked for");
        let chunk = self.played.len();
        let (begins, stall) = if chunk == 0 {
            self.qoe.startup_s = (shown - self.start).as_secs_f64();
            (shown, Duration::ZERO)
        } else {
            (shown.max(self.runs_out()), shown - self.runs_out())
        };
        let previous = self.played.last().map(|p| p.rung);
        let quality = self.setting.quality(chunk)[rung];
        let change = self.setting.change(chunk, rung, previous);
        let scored = self.qoe.push(quality, stall.as_secs_f64(), change);
        let throughput_bps =
            bytes as f64 * 8.0 / download.max(Duration::from_nanos(1)).as_secs_f64();
        self.history.push(throughput_bps);
        let played = PlayedChunk {
            chunk,
            rung,
            requested,
            arrived: now,
            begins,
            stall,
            quality,
            qoe: scored.qoe,
            throughput_bps,
        };
        self.played.push(played);
        played
    }

    /// The chunk on its way: its number, rung and the time of its request.
    pub fn pending(&self) -> Option<(usize, usize, Time)> {
        self.pending.map(|(rung, requested)| (self.played.len(), rung, requested))
    }

    /// Seconds of video held and not yet played.
    pub fn buffer(&self, now: Time) -> Duration {
        self.runs_out() - now
    }

    /// Phase of the playback at `now`, which is not before the last event.
    pub fn phase(&self, now: Time) -> PlayerPhase {
        if self.played.is_empty() {
            PlayerPhase::Starting
        } else if now >= self.runs_out() && self.played.len() == self.setting.chunks() {
            PlayerPhase::Ended
        } else if now > self.runs_out() {
            PlayerPhase::Stalled
        } else {
            PlayerPhase::Playing
        }
    }

    /// Seconds without a picture in the middle so far, those of a stall under way included.
    pub fn stalled(&self, now: Time) -> Duration {
        let done: Duration = self.played.iter().map(|p| p.stall).sum();
        match self.phase(now) {
            PlayerPhase::Stalled => done + (now - self.runs_out()),
            _ => done,
        }
    }

    /// Wait before the first picture, `None` while it lasts.
    pub fn startup(&self) -> Option<Duration> {
        self.played.first().map(|p| p.begins - self.start)
    }

    /// Chunks that arrived so far, in order.
    pub fn chunks(&self) -> &[PlayedChunk] {
        &self.played
    }

    /// Throughput of the chunks so far.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Sums over all that arrived: mean and total QoE, quality, stalls.
    pub fn totals(&self) -> &SessionQoe {
        &self.qoe
    }

    /// Mean of equation 1 over the chunks that began to play in the first `within` after the
    /// start, `None` if none did.
    pub fn session_qoe(&self, within: Duration) -> Option<f64> {
        self.mean_over(self.start, self.start + within, |p| p.qoe)
    }

    /// Mean of `what` over the chunks that began to play from `from` until before `until`, `None`
    /// if none did.
    pub fn mean_over(
        &self,
        from: Time,
        until: Time,
        what: impl Fn(&PlayedChunk) -> f64,
    ) -> Option<f64> {
        let (mut sum, mut n) = (0.0, 0_u32);
        for p in self.played.iter().filter(|p| p.begins >= from && p.begins < until) {
            sum += what(p);
            n += 1;
        }
        (n > 0).then(|| sum / f64::from(n))
    }

    /// The moment at which all that arrived will have been played.
    fn runs_out(&self) -> Time {
        self.played.last().map_or(Time::ZERO, |p| p.begins + self.setting.chunk())
    }
}
