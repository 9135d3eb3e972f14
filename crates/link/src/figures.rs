//! What a link did in an interval, and the line that says so.

use std::fmt;
use std::time::Duration;

use airlane_base::Rate;
use airlane_net::Direction;

use crate::totals::{ClientTotals, Drops, Reason, Totals, WayTotals};

/// Metrics of one direction in an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct WayFigures {
    /// IP bits per second that arrived at the link.
    pub offered: Rate,
    /// IP bits per second that were sent on.
    pub delivered: Rate,
    /// Packets that arrived.
    pub received_packets: u64,
    /// Packets that were sent on.
    pub delivered_packets: u64,
    /// Share of the link's capacity that was used.
    pub utilisation: f64,
    /// Mean time from entering the queue until service began.
    pub queue_delay: Duration,
    /// 95th percentile of it.
    pub queue_delay_p95: Duration,
    /// Time-weighted mean of the IP bytes waiting.
    pub queue_bytes: f64,
    /// Dropped packets, by reason.
    pub dropped: Drops,
    /// Packets that the machine dropped before the link could read them.
    pub missed: u64,
    /// Delay between the time at which packets were due and the time at which they were
    /// handed to the machine: median, 99th percentile, greatest, each within 1/32.
    pub lateness: [Duration; 3],
}

impl WayFigures {
    fn between(later: &WayTotals, earlier: &WayTotals, span: Duration) -> Self {
        let report = later.link.since(&earlier.link);
        let lateness = later.lateness.since(&earlier.lateness);
        Self {
            offered: Rate::of(later.received.1 - earlier.received.1, span),
            delivered: Rate::of(later.delivered.1 - earlier.delivered.1, span),
            received_packets: later.received.0 - earlier.received.0,
            delivered_packets: later.delivered.0 - earlier.delivered.0,
            utilisation: report.utilisation,
            queue_delay: report.mean_sojourn,
            queue_delay_p95: report.sojourn_quantile(0.95),
            queue_bytes: report.mean_queue_bytes,
            dropped: later.dropped.since(&earlier.dropped),
            missed: later.missed.saturating_sub(earlier.missed),
            lateness: [0.5, 0.99, 1.0].map(|q| lateness.quantile(q)),
        }
    }
}

/// Metrics of a link in an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// Length of the interval.
    pub span: Duration,
    /// From the clients to the target.
    pub up: WayFigures,
    /// Back.
    pub down: WayFigures,
    /// Clients at its end, and since the start.
    pub clients: ClientTotals,
    /// Share of a core that the link's thread used.
    pub cpu: f64,
    /// True if the link's thread runs with a real-time priority.
    pub realtime: bool,
}

impl Totals {
    /// Metrics of the time since `earlier`, totals of the same link.
    pub fn since(&self, earlier: &Self) -> Figures {
        let span = self.at - earlier.at;
        Figures {
            span,
            up: WayFigures::between(&self.up, &earlier.up, span),
            down: WayFigures::between(&self.down, &earlier.down, span),
            clients: self.clients,
            cpu: self.cpu.saturating_sub(earlier.cpu).as_secs_f64() / span.as_secs_f64().max(1e-9),
            realtime: self.realtime,
        }
    }
}

impl Figures {
    /// One direction.
    pub fn way(&self, direction: Direction) -> &WayFigures {
        match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        }
    }
}

/// One line: `down 9.41 of 10.02 Mbit/s, queue 12.1 ms (p95 18.0) 15120 B, late 41 us (p99 120,
/// max 380), dropped overflow 3`.
impl fmt::Display for WayFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |d: Duration| d.as_secs_f64() * 1e3;
        let [median, p99, most] = self.lateness.map(|d| d.as_micros());
        write!(
            f,
            "{:.2} of {:.2} Mbit/s, queue {:.1} ms (p95 {:.1}) {:.0} B, late {median} us (p99 \
             {p99}, max {most})",
            self.delivered.mbps(),
            self.offered.mbps(),
            ms(self.queue_delay),
            ms(self.queue_delay_p95),
            self.queue_bytes,
        )?;
        let mut lost: Vec<(&str, u64)> = Reason::all()
            .map(|reason| (reason.name(), self.dropped.of(reason).0))
            .chain([("missed", self.missed)])
            .collect();
        lost.retain(|(_, packets)| *packets > 0);
        for (i, (reason, packets)) in lost.iter().enumerate() {
            write!(f, "{} {reason} {packets}", if i == 0 { ", dropped" } else { "," })?;
        }
        Ok(())
    }
}

/// One line for both directions.
impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "up {}; down {}; ", self.up, self.down)?;
        if self.clients.seen > 0 {
            write!(f, "{} clients, ", self.clients.now)?;
        }
        write!(f, "cpu {:.1} %", self.cpu * 100.0)?;
        if self.realtime {
            write!(f, ", real-time priority")?;
        }
        Ok(())
    }
}
