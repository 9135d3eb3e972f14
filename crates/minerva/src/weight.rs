//! The controller of one flow: from requests and acknowledgements to a weight (sections 5.2 and
//! 6.2).
//!
//! Updates come every `T = n * clamp(minRTT, 20 ms, 100 ms)`, n = 25 unless a provider says
//! otherwise. The first half of an interval lets
//! the flow settle to its new weight, the second measures. A half-interval without data to send
//! for three quarters of it says nothing about the flow's share and gives no sample.

use std::sync::Arc;
use std::time::Duration;

use airlane_abr::{Abr, TitleModel};
use airlane_base::Time;
use serde::Serialize;

use crate::config::{Config, UtilityKind};
use crate::ledger::{Ledger, at_pace};
use crate::normalise::Normalisation;
use crate::objective::Objective;
use crate::utility::{self, Download, Utility};
use crate::value::{OnDemand, SentCurve, ValueFunction};

/// A round trip counts as at least and at most this.
const ROUND_TRIP: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(100));
/// Share of a half-interval with data to send from which on it is a sample.
const MIN_BUSY: f64 = 0.25;
/// Measurements that the deviation is taken over.
const MEASUREMENTS: usize = 4;
/// Part of a new value in both moving averages.
const GAIN: f64 = 0.1;
/// The weight stays within these multiples of the baseline's: 0.5 to 20 for the 2 connections of
/// the paper (section 6.2).
const CLAMP: (f64, f64) = (0.25, 10.0);

/// Data of a request for a chunk that the server knows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    /// The chunk, from 0.
    pub chunk: usize,
    /// Its rung.
    pub rung: usize,
    /// The player's buffer at the request (CMCD `bl`).
    pub buffer: Duration,
    /// All rebuffering of the session so far, start-up apart.
    pub stalled: Duration,
    /// True if the viewer went elsewhere in the video: the chunk is not meant to follow the one
    /// before.
    pub after_seek: bool,
}

/// State of the playback at the moment: its speed, and whether the picture can be seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Watching {
    /// Seconds of video per second (CMCD `pr`): 1, or 0 while paused.
    pub pace: f64,
    /// True if the picture can be seen: not in a hidden tab (CMCD `bg`).
    pub visible: bool,
}

impl Default for Watching {
    fn default() -> Self {
        Self { pace: 1.0, visible: true }
    }
}

impl Watching {
    /// True if the video is playing and visible.
    fn is_active(&self) -> bool {
        self.visible && self.pace > 0.0
    }

    /// The pace that the viewer watches at, or will when going on.
    fn usual_pace(&self) -> f64 {
        if self.pace > 0.0 { self.pace } else { 1.0 }
    }
}

/// Request that is on its way to the player, or came last.
#[derive(Clone, Copy, Debug)]
struct Current {
    request: Request,
    /// Bytes acknowledged when it was asked for.
    acked_bytes: u64,
    /// The player's buffer, and when it was that.
    buffer: Duration,
    at: Time,
}

/// Running totals of the flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of bodies acknowledged since the connection began.
    pub acked_bytes: u64,
    /// Time with data to send since the connection began; the wait for the last acknowledgements
    /// does not count.
    pub busy: Duration,
    /// Smallest round trip seen.
    pub min_rtt: Duration,
}

/// One update with everything that led to it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Update {
    /// Time of the update.
    pub at: Time,
    /// The measurement, bits per second.
    pub rate_bps: f64,
    /// Its conservative form, `max(0.8 r, r - sigma/2)`.
    pub conservative_bps: f64,
    /// The moving average of that, which the utility is taken at.
    pub smoothed_bps: f64,
    /// The server's estimate of the buffer, seconds; negative while the picture stands.
    pub buffer_s: f64,
    /// The chunk on its way.
    pub chunk: usize,
    /// U with its parts; the basic form has its value in all of them.
    pub utility: Utility,
    /// f(U), or f(Z) under proportional fairness, bits per second.
    pub normalised_bps: f64,
    /// `r / f(U)` within the clamp.
    pub raw_weight: f64,
    /// The moving average of that within its bounds: what to hand to congestion control.
    pub weight: f64,
}

/// The controller of one session's flow.
#[derive(Clone, Debug)]
pub struct Minerva {
    setting: Arc<TitleModel>,
    value: Arc<dyn ValueFunction>,
    objective: Objective,
    config: Config,
    /// Value curve that the player sent for the future of its last request.
    sent: Option<SentCurve>,
    current: Option<Current>,
    /// The furthest chunk that was asked for since the last seek.
    furthest: Option<usize>,
    watching: Watching,
    past: Past,
    ledger: Ledger,
    clock: Clock,
    measured: Vec<f64>,
    smoothed_bps: Option<f64>,
    smoothed_weight: f64,
}

/// Sums over the chunks before the current one.
#[derive(Clone, Copy, Debug, Default)]
struct Past {
    chunks: u32,
    qoe: f64,
    last_rung: Option<usize>,
    stalled: Duration,
}

#[derive(Clone, Copy, Debug)]
enum Clock {
    /// Until the first chunk is through.
    Stopped,
    /// The flow settles until `middle`.
    Settling { middle: Time, half: Duration },
    /// The flow is measured until `end`; the totals are those of the middle.
    Measuring { end: Time, half: Duration, from: Progress },
}

impl Minerva {
    /// A controller for one session: its video and player, the algorithm that the player runs,
    /// simulated on demand, and the provider's normalisation.
    pub fn new(
        setting: Arc<TitleModel>,
        abr: Arc<dyn Abr>,
        f: Arc<Normalisation>,
        config: Config,
    ) -> Self {
        let value = OnDemand::new(setting.clone(), abr, config.blend.horizon);
        Self::with_value(setting, Arc::new(value), f, config)
    }

    /// The same with any value function of this video.
    pub fn with_value(
        setting: Arc<TitleModel>,
        value: Arc<dyn ValueFunction>,
        f: Arc<Normalisation>,
        config: Config,
    ) -> Self {
        Self {
            ledger: Ledger::new(setting.chunk(), setting.player().chunk_overhead),
            objective: Objective::new(&setting, f, &config),
            setting,
            value,
            sent: None,
            smoothed_weight: config.baseline_connections,
            config,
            current: None,
            furthest: None,
            watching: Watching::default(),
            past: Past::default(),
            clock: Clock::Stopped,
            measured: Vec::with_capacity(MEASUREMENTS),
            smoothed_bps: None,
        }
    }

    /// The weight in plain RFC 9438 connections.
    pub fn weight(&self) -> f64 {
        self.bounded(self.smoothed_weight)
    }

    /// A request for a chunk arrived. The second one starts the updates: the first chunk always
    /// runs at the baseline's weight.
    ///
    /// Requests for chunks or rungs that the video does not have are ignored. A buffer or stalls
    /// that the deliveries rule out are taken at the nearest that they allow.
    pub fn on_request(&mut self, now: Time, request: Request, progress: Progress) {
        if request.chunk >= self.setting.chunks() || request.rung >= self.setting.rungs() {
            return;
        }
        if request.after_seek {
            self.ledger.on_seek();
            self.furthest = None;
        }
        // A player that gives a download up asks for the same chunk again, and one that has found
        // more rate may ask for better versions of what it holds.
        if self.furthest.is_none_or(|chunk| chunk < request.chunk) {
            self.ledger.on_request(now);
            self.furthest = Some(request.chunk);
        }
        let request = Request {
            buffer: self.ledger.buffer(now, request.buffer),
            stalled: self.ledger.stalled(request.stalled),
            ..request
        };
        if let Some(Current { request: done, .. }) = self.current {
            let stall = request.stalled.saturating_sub(self.past.stalled).as_secs_f64();
            self.past.qoe +=
                self.setting.chunk_qoe(done.chunk, done.rung, stall, self.past.last_rung);
            self.past.chunks += 1;
            self.past.last_rung = (!request.after_seek).then_some(done.rung);
            self.past.stalled = self.past.stalled.max(request.stalled);
            if matches!(self.clock, Clock::Stopped) {
                self.start_interval(now, progress.min_rtt);
            }
        }
        let acked_bytes = progress.acked_bytes;
        self.current = Some(Current { request, acked_bytes, buffer: request.buffer, at: now });
        self.sent = None;
    }

    /// The player says how it is watched from now on, and what it holds, if it does.
    ///
    /// A paused viewer's buffer lasts, at twice the pace it lasts half as long. Somebody who does
    /// not look at moving pictures has the least weight, unless less than a chunk is left.
    pub fn on_watching(&mut self, now: Time, watching: Watching, buffer: Option<Duration>) {
        if let Some(current) = &mut self.current {
            let watched = at_pace(now - current.at, self.watching.pace);
            current.buffer = match buffer {
                Some(reported) => self.ledger.buffer(now, reported),
                None => current.buffer.saturating_sub(watched),
            };
            current.at = now;
        }
        self.ledger.on_pace(now, watching.pace);
        self.watching = watching;
    }

    /// The player sent V itself with the request that came last: until the next request it stands
    /// for this controller's own. A curve for another chunk or rung is ignored.
    ///
    /// A low V means a high weight, so that no curve is read lower than a tenth of the video's best
    /// quality under what staying at the requested rung, or at the lowest, would bring. Algorithms
    /// that often do worse than that (those that look at the buffer alone) are better simulated
    /// here.
    pub fn on_curve(&mut self, curve: SentCurve) {
        let asked = self.current.map(|c| (c.request.chunk + 1, c.request.rung));
        if asked == Some((curve.next_chunk(), curve.rung())) {
            self.sent = Some(curve);
        }
    }

    /// Time at which [`Minerva::poll`] wants to be called next, `None` until the first chunk is
    /// through.
    pub fn next_event(&self) -> Option<Time> {
        match self.clock {
            Clock::Stopped => None,
            Clock::Settling { middle, .. } => Some(middle),
            Clock::Measuring { end, .. } => Some(end),
        }
    }

    /// Drives the clock; `Some` if there is a new weight. A call before [`Minerva::next_event`]
    /// does nothing.
    ///
    /// Without a sample, with the buffer full and nothing on its way, and after the last chunk,
    /// the last weight stays.
    pub fn poll(&mut self, now: Time, progress: Progress) -> Option<Update> {
        match self.clock {
            Clock::Settling { middle, half } if now >= middle => {
                self.clock = Clock::Measuring { end: now + half, half, from: progress };
                None
            }
            Clock::Measuring { end, half, from } if now >= end => {
                // A late call measured for longer.
                let length = half + (now - end);
                self.start_interval(now, progress.min_rtt);
                self.measure(length, from, progress)?;
                self.update(now, progress)
            }
            _ => None,
        }
    }

    fn start_interval(&mut self, now: Time, min_rtt: Duration) {
        let half = min_rtt.clamp(ROUND_TRIP.0, ROUND_TRIP.1) * self.config.interval_round_trips / 2;
        self.clock = Clock::Settling { middle: now + half, half };
    }

    /// Adds the sample of a half-interval, if it is one.
    fn measure(&mut self, length: Duration, from: Progress, to: Progress) -> Option<()> {
        let busy = to.busy.saturating_sub(from.busy).min(length).as_secs_f64();
        let bytes = to.acked_bytes.saturating_sub(from.acked_bytes);
        if busy < MIN_BUSY * length.as_secs_f64() || bytes == 0 {
            return None;
        }
        if self.measured.len() == MEASUREMENTS {
            self.measured.remove(0);
        }
        self.measured.push(bytes as f64 * 8.0 / busy);
        Some(())
    }

    fn update(&mut self, now: Time, progress: Progress) -> Option<Update> {
        let rate_bps = *self.measured.last()?;
        let conservative_bps = if self.config.conservative {
            (0.8 * rate_bps).max(rate_bps - 0.5 * deviation(&self.measured))
        } else {
            rate_bps
        };
        let gain = if self.config.smoothed { GAIN } else { 1.0 };
        let smoothed_bps = match self.smoothed_bps {
            Some(before) => gain * conservative_bps + (1.0 - gain) * before,
            None => conservative_bps,
        };
        self.smoothed_bps = Some(smoothed_bps);

        let (download, chunk) = self.download(now, progress)?;
        // At twice the pace a rate is worth what half of it is: seconds are of video from here on.
        let watched_bps = smoothed_bps / self.watching.usual_pace();
        let utility = match self.config.utility {
            UtilityKind::ClientAware => {
                let (setting, blend) = (&*self.setting, &self.config.blend);
                let sent = self.sent.as_ref().map(|c| c.bounded(setting, blend.horizon));
                let own = &*self.value;
                let value = sent.as_ref().map_or(own, |s| s as &dyn ValueFunction);
                utility::client_aware(setting, value, &download, watched_bps, blend)?
            }
            UtilityKind::Basic => {
                let total = utility::basic(&self.setting, watched_bps);
                Utility { past: total, current: total, value: total, total }
            }
        };
        let objective = &self.objective;
        let normalised_bps = objective.normalised_bps(smoothed_bps, utility.total);
        let starving = download.buffer_s < self.setting.chunk_s();
        let raw_weight = if self.watching.is_active() || starving {
            self.clamped(objective.weight(smoothed_bps, utility.total))
        } else {
            self.clamped(0.0)
        };
        self.smoothed_weight = gain * raw_weight + (1.0 - gain) * self.smoothed_weight;
        Some(Update {
            at: now,
            rate_bps,
            conservative_bps,
            smoothed_bps,
            buffer_s: download.buffer_s,
            chunk,
            utility,
            normalised_bps,
            raw_weight,
            weight: self.weight(),
        })
    }

    /// Download on its way, `None` if the player waits with a full buffer.
    fn download(&self, now: Time, progress: Progress) -> Option<(Download, usize)> {
        let Current { request, acked_bytes, buffer, at } = self.current?;
        let size = self.setting.bits(request.chunk)[request.rung];
        let acked = progress.acked_bytes.saturating_sub(acked_bytes);
        let left_bits = (size - acked as f64 * 8.0).max(0.0);
        let player = self.setting.player();
        let buffer_s = buffer.as_secs_f64()
            - at_pace(now - at, self.watching.pace).as_secs_f64()
            - player.chunk_overhead.as_secs_f64();
        let full = buffer_s + self.setting.chunk_s() >= player.buffer_cap.as_secs_f64();
        if left_bits == 0.0 && full {
            return None;
        }
        let n = f64::from(self.past.chunks.max(1));
        let download = Download {
            chunk: request.chunk,
            rung: request.rung,
            previous: self.past.last_rung,
            left_bits,
            buffer_s,
            past_qoe: self.past.qoe / n,
        };
        Some((download, request.chunk))
    }

    fn bounded(&self, weight: f64) -> f64 {
        let n = self.config.baseline_connections;
        let weight = match self.config.mu {
            Some(mu) if mu >= 1.0 => weight.clamp(n / mu, n * mu),
            _ => weight,
        };
        self.clamped(weight)
    }

    fn clamped(&self, weight: f64) -> f64 {
        let n = self.config.baseline_connections;
        weight.clamp(CLAMP.0 * n, CLAMP.1 * n)
    }
}

/// Population standard deviation.
fn deviation(samples: &[f64]) -> f64 {
    let n = samples.len() as f64;
    let mean = samples.iter().sum::<f64>() / n;
    (samples.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / n).sqrt()
}
