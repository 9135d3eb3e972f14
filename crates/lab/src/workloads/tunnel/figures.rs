//! Figures of a tunnel, from how far it had come when.

use airlane_base::Time;
use airlane_report::model::{Draw, Panel, Series, Span};

use super::{NAME, Output, TunnelOutput, samples};
use airlane_sim::workload::{ActorResult, Figures, OverTime, PartResult, Unit};

/// Time between points of the goodput over time.
const STEP_S: f64 = 0.5;
/// Share of the memory from which on waiting bytes count as blocked.
const MUCH: f64 = 0.25;

impl TunnelOutput {
    /// Bytes in order by `at`.
    pub(super) fn read_by(&self, at: Time) -> u64 {
        let known = self.read.partition_point(|(_, time)| *time <= at);
        known.checked_sub(1).map_or(0, |last| self.read[last].0)
    }

    /// Bytes in order over the time that counts, bits/s; `None` if none counts.
    pub(super) fn goodput_bps(&self) -> Option<f64> {
        let span = (self.end.max(self.counted_from) - self.counted_from).as_secs_f64();
        let bytes = self.read_by(self.end).saturating_sub(self.read_by(self.counted_from));
        (span > 0.0).then(|| bytes as f64 * 8.0 / span)
    }

    /// Bytes that were sent again over distinct ones; `None` if nothing was sent.
    fn redundant_share(&self) -> Option<f64> {
        let (again, all) = (self.redundant_bytes as f64, self.distinct_bytes as f64);
        (self.distinct_bytes > 0).then(|| again / all)
    }

    /// From being written to being there in order, with how many bytes took so long: of what came
    /// in the time that counts, shortest first.
    fn latencies(&self) -> Vec<(f64, u64)> {
        let mut written = self.written.iter().peekable();
        let (mut latencies, mut before) = (Vec::new(), 0);
        for (upto, at) in &self.read {
            // The note of the last byte of this part: written no later than it was read.
            while written.next_if(|(bytes, _)| bytes < upto).is_some() {}
            let Some((_, since)) = written.peek() else { break };
            if *at >= self.counted_from {
                latencies.push(((*at - *since).as_secs_f64(), upto - before));
            }
            before = *upto;
        }
        latencies.sort_by(|a, b| a.0.total_cmp(&b.0));
        latencies
    }
}

/// The latency that so large a share of all bytes does not exceed, s.
fn quantile(latencies: &[(f64, u64)], share: f64) -> Option<f64> {
    let all: u64 = latencies.iter().map(|(_, bytes)| bytes).sum();
    let mut below = 0;
    latencies.iter().find_map(|(latency, bytes)| {
        below += bytes;
        (below as f64 >= share * all as f64).then_some(*latency)
    })
}

pub(super) fn result(output: &Output) -> PartResult {
    let mut actors = Vec::new();
    for tunnel in &output.0 {
        let mut figures = Figures::default();
        let goodput = tunnel.goodput_bps();
        let latencies = tunnel.latencies();
        let waited = |share| {
            (tunnel.waited.count() > 0).then(|| 1e3 * tunnel.waited.quantile(share).as_secs_f64())
        };
        figures.add("goodput_bps", Unit::BITS_PER_SECOND, goodput);
        figures.add("delay_ms", Unit::MILLISECONDS, waited(0.5));
        figures.add("delay_p99_ms", Unit::MILLISECONDS, waited(0.99));
        figures.add("latency_ms", Unit::MILLISECONDS, quantile(&latencies, 0.5).map(|s| 1e3 * s));
        figures.add(
            "latency_p99_ms",
            Unit::MILLISECONDS,
            quantile(&latencies, 0.99).map(|s| 1e3 * s),
        );
        figures.add("redundant_share", Unit::ONE, tunnel.redundant_share());
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
            figures.add("byte_share", Unit::ONE, share);
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
    let mut in_order = Panel::new("in-order", "Data in order", "Mbit/s", Draw::Step, 1)
        .help("What the application could read, half second by half second.");
    let mut waiting = Panel::new("waiting", "Waits for bytes before it", "MB", Draw::Step, 2).help(
        "What has come and cannot be read yet. Shaded where it fills a quarter of the memory: all of \
         it waits for a byte on the radio of that colour.",
    );
    let mut met = Panel::new("met", "Where the radios met", "% of a window", Draw::Step, 0)
        .range(0.0, 100.0)
        .help(
            "FBDT sends a window over one radio from its beginning, over the other from its end. \
             The more of it the first had when they met, the faster it was.",
        );
    let mut spans = Vec::new();
    for tunnel in &output.0 {
        let name = &tunnel.name;
        let mut line = Series::new(name.clone());
        let mut from = Time::ZERO;
        while from < end {
            let to = Time::from_secs_f64(from.as_secs_f64() + STEP_S).min(end);
            let bytes = tunnel.read_by(to) - tunnel.read_by(from);
            let span = (to - from).as_secs_f64();
            line.push(from.as_secs_f64(), bytes as f64 * 8.0 / span / 1e6);
            from = to;
        }
        in_order.series.push(line);
        let (mut held, mut where_met) = (Series::new(name.clone()), Series::new(name.clone()));
        for sample in &tunnel.samples {
            held.push(sample.at.as_secs_f64(), sample.waiting_bytes as f64 / 1e6);
            if let Some(met) = sample.met {
                where_met.push(sample.at.as_secs_f64(), 100.0 * met);
            }
        }
        waiting.series.push(held);
        if tunnel.samples.iter().any(|sample| sample.met.is_some()) {
            met.series.push(where_met);
        }
        spans.extend(waits(tunnel));
    }
    let met = (!met.series.is_empty()).then_some(met);
    let panels = [in_order, waiting].into_iter().chain(met).collect();
    OverTime { panels, spans, ..OverTime::default() }
}

/// For which radio much waited, and when.
fn waits(tunnel: &TunnelOutput) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for sample in &tunnel.samples {
        let Some(head) = sample.head else { continue };
        let radio = tunnel.radios.iter().find(|radio| radio.number == Some(head));
        let Some(radio) = radio else { continue };
        if (sample.waiting_bytes as f64) < MUCH * tunnel.memory as f64 {
            continue;
        }
        let (start_s, end_s) =
            ((sample.at - samples::EVERY).as_secs_f64(), sample.at.as_secs_f64());
        match spans.last_mut() {
            Some(last) if last.actor == radio.name && start_s - last.end_s < 1e-6 => {
                last.end_s = end_s;
            }
            _ => spans.push(Span {
                actor: radio.name.clone(),
                kind: "others wait for data".to_owned(),
                start_s,
                end_s,
            }),
        }
    }
    spans
}
