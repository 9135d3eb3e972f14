//! What a sender knows of a path: what the driver says, and what follows from that.

use std::collections::VecDeque;
use std::time::Duration;

use airlane_base::Time;

/// The least timeout of retransmission, as in Linux (TCP_RTO_MIN).
const MIN_RTO: Duration = Duration::from_millis(200);
/// The timeout before there is a sample of the round trip (RFC 6298, 2.1).
const FIRST_RTO: Duration = Duration::from_secs(1);
/// The round trip that Linux paces the first window by before there is a sample.
const FIRST_PACING_RTT: Duration = Duration::from_millis(1);
/// Ratio of Linux's pacing rate to the window per round trip, once out of slow start.
const PACING_RATIO: f64 = 1.2;

/// State of a path's own connection as the driver knows it: what a kernel's scheduler reads off a
/// TCP socket.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathState {
    /// Congestion window in bytes; [`u64::MAX`] if the path has no congestion control.
    pub cwnd: u64,
    /// Bytes that were written to the path and that its peer has not acknowledged to it, sent or
    /// not. Lost ones count until then.
    pub in_flight: u64,
    /// The smoothed round trip; zero before there is a sample.
    pub srtt: Duration,
    /// The smoothed mean deviation of it (RFC 6298).
    pub rttvar: Duration,
    /// The least round trip; zero before there is a sample.
    pub min_rtt: Duration,
    /// The rate that the path is paced at, or that it delivers at, bits per second; zero if it is
    /// not known: then 1.2 windows per round trip, as Linux paces.
    pub rate_bps: f64,
    /// Payload of one of the path's packets, bytes.
    pub mss: u64,
    /// Packets of its connection, with whatever is in them, that its peer has acknowledged so far.
    pub acked_packets: u64,
    /// True if it takes another segment now.
    pub has_room: bool,
}

impl Default for PathState {
    /// A path that has not begun: ten packets of 1448 bytes, and room.
    fn default() -> Self {
        Self {
            cwnd: 14_480,
            in_flight: 0,
            srtt: Duration::ZERO,
            rttvar: Duration::ZERO,
            min_rtt: Duration::ZERO,
            rate_bps: 0.0,
            mss: 1448,
            acked_packets: 0,
            has_room: true,
        }
    }
}

impl PathState {
    /// Time that it would wait for an acknowledgement before it sends again.
    pub(crate) fn rto(&self) -> Duration {
        if self.srtt.is_zero() { FIRST_RTO } else { MIN_RTO.max(self.srtt + 4 * self.rttvar) }
    }

    /// The rate that it is paced at, bits per second; above zero.
    pub(crate) fn pacing_bps(&self) -> f64 {
        if self.rate_bps > 0.0 {
            return self.rate_bps;
        }
        let rtt = if self.srtt.is_zero() { FIRST_PACING_RTT } else { self.srtt };
        (PACING_RATIO * self.cwnd as f64 * 8.0 / rtt.as_secs_f64()).max(1.0)
    }
}

/// A path.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    pub(crate) state: PathState,
    /// Segments that the scheduler gave it and that it has not taken, with their bytes: the part of
    /// a kernel's send buffer that is above the path.
    pub(crate) queue: VecDeque<(u64, u64)>,
    pub(crate) queued: u64,
    /// One past the last segment that it took: the next one, for the scheduler that sends all of them
    /// on every path.
    pub(crate) pointer: u64,
    /// True if it has fallen silent with data on its way: it gets nothing until it goes on.
    pub(crate) is_silent: bool,
    /// Timeouts of the stream in a row without progress of this path.
    pub(crate) timeouts: u32,
    /// Bytes that it is held to, after it blocked the window.
    pub(crate) cap: Option<u64>,
    /// Time at which it last had others held back.
    pub(crate) punished_at: Option<Time>,
    /// Bytes that it took, and the most that had arrived of these. The latter is off by what else
    /// the driver counts as on its way.
    taken: i64,
    arrived: Option<i64>,
    pub(crate) last_progress: Time,
    /// Bytes that a kernel gives its socket's send buffer, which grows and never shrinks.
    pub(crate) socket_bytes: u64,
}

impl Path {
    pub(crate) fn new(now: Time) -> Self {
        Self {
            state: PathState::default(),
            queue: VecDeque::new(),
            queued: 0,
            pointer: 0,
            is_silent: false,
            timeouts: 0,
            cap: None,
            punished_at: None,
            taken: 0,
            arrived: None,
            last_progress: now,
            socket_bytes: 0,
        }
    }

    /// The driver looked at it; `first` is the number of the first segment that was not
    /// acknowledged. Returns whether it goes on after it had fallen silent.
    pub(crate) fn update(&mut self, now: Time, state: PathState, first: u64) -> bool {
        // Where none of the stream's data is on its way, whatever arrives shows that it is alive.
        let is_alive = self.pointer <= first && state.acked_packets > self.state.acked_packets;
        self.state = state;
        let arrived = self.taken - i64::try_from(state.in_flight).unwrap_or(i64::MAX);
        let most = *self.arrived.get_or_insert(arrived);
        if arrived <= most {
            if is_alive {
                self.last_progress = now;
                self.timeouts = 0;
            }
            return is_alive && std::mem::take(&mut self.is_silent);
        }
        self.arrived = Some(arrived);
        let more = (arrived - most).unsigned_abs();
        self.last_progress = now;
        self.timeouts = 0;
        // As Cubic returns to a window that it did not give up after a loss: by half per round trip.
        self.cap = self.cap.map(|cap| cap + more / 2).filter(|cap| *cap < state.cwnd);
        std::mem::take(&mut self.is_silent)
    }

    /// It took a segment of so many bytes.
    pub(crate) fn take(&mut self, now: Time, bytes: u64) {
        if self.state.in_flight == 0 {
            self.last_progress = now;
        }
        self.taken += bytes as i64;
        self.state.in_flight += bytes;
    }

    /// Removes what was queued for it below this number, which has arrived.
    pub(crate) fn drop_below(&mut self, number: u64) {
        while let Some((_, bytes)) = self.queue.front().filter(|(queued, _)| *queued < number) {
            self.queued -= bytes;
            self.queue.pop_front();
        }
    }

    /// The window that it has, if it is not held to less.
    pub(crate) fn cwnd(&self) -> u64 {
        self.cap.map_or(self.state.cwnd, |cap| cap.min(self.state.cwnd))
    }

    /// It is held to half of its window.
    pub(crate) fn halve(&mut self) {
        self.cap = Some((self.cwnd() / 2).max(self.state.mss));
    }

    /// Time at which it counts as silent if nothing arrives before.
    pub(crate) fn silent_at(&self) -> Option<Time> {
        let waits = self.state.in_flight > 0 && !self.is_silent;
        waits.then(|| self.last_progress + self.state.rto())
    }
}
