//! Figures of a tunnel, from how far it had come when.

use airlane_base::Time;
use airlane_report::model::{Draw, Panel, Series};

use super::{NAME, Output, TunnelOutput};
use crate::workload::{ActorResult, Figures, OverTime, PartResult};

/// Time between points of the goodput over time.
const STEP_S: f64 = 0.5;

impl TunnelOutput {
    /// Bytes in order by `at`.
    fn read_by(&self, at: Time) -> u64 {
        let known = self.read.partition_point(|(_, time)| *time <= at);
        known.checked_sub(1).map_or(0, |last| self.read[last].0)
    }

    /// Bytes in order over the time that counts, bits/s; `None` if none counts.
    fn goodput_bps(&self) -> Option<f64> {
        let span = (self.end.max(self.counted_from) - self.counted_from).as_secs_f64();
        let bytes = self.read_by(self.end).saturating_sub(self.read_by(self.counted_from));
        (span > 0.0).then(|| bytes as f64 * 8.0 / span)
    }

    /// From being written to being there in order, with how many bytes took so long: of what came
    /// in the time that counts, shortest first.
    fn delays(&self) -> Vec<(f64, u64)> {
        let mut written = self.written.iter().peekable();
        let (mut delays, mut before) = (Vec::new(), 0);
        for (upto, at) in &self.read {
            // The note of the last byte of this part: written no later than it was read.
            while written.next_if(|(bytes, _)| bytes < upto).is_some() {}
            let Some((_, since)) = written.peek() else { break };
            if *at >= self.counted_from {
                delays.push(((*at - *since).as_secs_f64(), upto - before));
            }
            before = *upto;
        }
        delays.sort_by(|a, b| a.0.total_cmp(&b.0));
        delays
    }
}

/// The delay that so large a share of all bytes does not exceed, s.
fn quantile(delays: &[(f64, u64)], share: f64) -> Option<f64> {
    let all: u64 = delays.iter().map(|(_, bytes)| bytes).sum();
    let mut below = 0;
    delays.iter().find_map(|(delay, bytes)| {
        below += bytes;
        (below as f64 >= share * all as f64).then_some(*delay)
    })
}

pub(super) fn result(output: &Output) -> PartResult {
    let mut actors = Vec::new();
    for tunnel in &output.0 {
        let mut figures = Figures::default();
        let goodput = tunnel.goodput_bps();
        let delays = tunnel.delays();
        figures.add("goodput_bps", "bit/s", goodput);
        figures.add("delay_ms", "ms", quantile(&delays, 0.5).map(|s| 1e3 * s));
        figures.add("delay_p99_ms", "ms", quantile(&delays, 0.99).map(|s| 1e3 * s));
        let share = (tunnel.distinct_bytes > 0)
            .then(|| tunnel.redundant_bytes as f64 / tunnel.distinct_bytes as f64);
        figures.add("redundant_share", "", share);
        actors.push(ActorResult {
            workload: NAME.to_owned(),
            name: tunnel.name.clone(),
            failure: tunnel.failure.clone(),
            rate_bps: Some(goodput.unwrap_or(0.0)),
            figures,
            ..ActorResult::default()
        });
        let all: u64 = tunnel.radios.iter().map(|radio| radio.first_bytes).sum();
        for radio in &tunnel.radios {
            let mut figures = Figures::default();
            let share = (all > 0).then(|| radio.first_bytes as f64 / all as f64);
            figures.add("byte_share", "", share);
            actors.push(ActorResult {
                workload: NAME.to_owned(),
                name: radio.name.clone(),
                part: true,
                figures,
                ..ActorResult::default()
            });
        }
    }
    PartResult { actors, figures: Figures::default() }
}

pub(super) fn over_time(output: &Output, end: Time) -> OverTime {
    if output.0.is_empty() {
        return OverTime::default();
    }
    let mut panel = Panel::new("in-order", "Data in order", "Mbit/s", Draw::Step, 1)
        .help("What the application could read, half second by half second.");
    for tunnel in &output.0 {
        let mut line = Series::new(tunnel.name.clone());
        let mut from = Time::ZERO;
        while from < end {
            let to = Time::from_secs_f64(from.as_secs_f64() + STEP_S).min(end);
            let bytes = tunnel.read_by(to) - tunnel.read_by(from);
            let span = (to - from).as_secs_f64();
            line.push(from.as_secs_f64(), bytes as f64 * 8.0 / span / 1e6);
            from = to;
        }
        panel.series.push(line);
    }
    OverTime { panels: vec![panel], ..OverTime::default() }
}
