//! The figures of a run: what the seed determines, in numbers.

use std::time::Duration;

use airlane_abr::PlayerModel;
use airlane_base::{DropReason, Time};
use airlane_media::Metric;
use airlane_quality::stats;

use crate::plan::{Plan, RunKey};
use crate::scenario::Scenario;
use crate::summary::{Row, RunEntry};
use crate::world::{BulkOutput, FlowSample, RunOutput, ViewerOutput, WebOutput};

/// The figures of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunFigures {
    /// Which run.
    pub key: RunKey,
    /// Hash over what happened to every packet.
    pub packet_hash: u64,
    /// Virtual time that it took, seconds.
    pub virtual_s: f64,
    /// The viewers, in the order of the scenario.
    pub viewers: Vec<ViewerFigures>,
    /// The transfers, in the order of the scenario.
    pub bulk: Vec<BulkFigures>,
    /// Web traffic, in the order of the scenario.
    pub web: Vec<WebFigures>,
    /// The bottleneck, if the run had one that measures.
    pub link: Option<LinkFigures>,
    /// Packets dropped at the bottleneck, by [`DropReason::index`]; `None` if nobody counted.
    pub drops: Option<[u64; DropReason::ALL.len()]>,
}

/// A viewer's session in the first [`duration`](crate::scenario::Scenario::duration) after it
/// pressed play. Means of nothing are `None`.
#[derive(Clone, Debug, PartialEq)]
pub struct ViewerFigures {
    /// Name.
    pub name: String,
    /// The measure of its quality.
    pub metric: Metric,
    /// Mean of equation 1 over the chunks that began to play.
    pub qoe: Option<f64>,
    /// Mean quality of these chunks, in the unit of the metric.
    pub quality: Option<f64>,
    /// Encoded rate of these chunks, bits/s of video.
    pub bitrate_bps: Option<f64>,
    /// Bytes acknowledged (UDP payload) over the time from its start until it had the whole video
    /// or the run ended, bits/s.
    pub mean_rate_bps: Option<f64>,
    /// Time without a picture in the middle, seconds; one that lasts until the end counts too.
    pub stall_s: f64,
    /// How often the picture stood still.
    pub stalls: u64,
    /// From play to the first picture, seconds.
    pub startup_s: Option<f64>,
    /// Mean of the buffer over the time from the first picture to the end, seconds of video.
    pub mean_buffer_s: Option<f64>,
    /// Changes of rung among these chunks.
    pub switches: u64,
    /// How many chunks began to play.
    pub chunks: u64,
    /// Quality of each of them.
    pub chunk_quality: Vec<f64>,
    /// Why it ended early, if it did.
    pub failure: Option<String>,
}

/// A transfer.
#[derive(Clone, Debug, PartialEq)]
pub struct BulkFigures {
    /// Name.
    pub name: String,
    /// Application bytes received over the time from its start to its end, bits/s.
    pub goodput_bps: Option<f64>,
    /// Why it ended early, if it did.
    pub failure: Option<String>,
}

/// Web traffic.
#[derive(Clone, Debug, PartialEq)]
pub struct WebFigures {
    /// Name.
    pub name: String,
    /// Bodies asked for, bits/s.
    pub offered_bps: f64,
    /// Bodies received, bits/s.
    pub goodput_bps: f64,
    /// Transfers that were begun.
    pub transfers: u64,
    /// Those of them that ended with the whole body.
    pub finished: u64,
    /// Seconds that one of these took, from before its handshake: mean.
    pub took_mean_s: Option<f64>,
    /// The 95th percentile of that.
    pub took_p95_s: Option<f64>,
}

/// The bottleneck.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkFigures {
    /// Share of what it could carry that it carried, in IP bytes.
    pub utilisation: f64,
    /// Packets waiting, mean over time.
    pub mean_queue_packets: f64,
    /// Time from entering the queue to service, mean over packets, milliseconds.
    pub mean_queue_ms: f64,
}

impl RunFigures {
    /// The figures of a run of `plan`.
    pub fn of(plan: &Plan, output: &RunOutput) -> Self {
        let window = plan.scenario.duration;
        let viewers = output.viewers.iter().zip(&plan.scenario.viewers).map(|(v, viewer)| {
            let metric = viewer.metric.unwrap_or(plan.scenario.player.metric);
            ViewerFigures::of(v, metric, window, output.ended)
        });
        Self {
            key: output.key,
            packet_hash: output.packet_hash,
            virtual_s: output.ended.since_start().as_secs_f64(),
            viewers: viewers.collect(),
            bulk: output.bulk.iter().map(BulkFigures::of).collect(),
            web: output.web.iter().map(|w| WebFigures::of(w, output.ended)).collect(),
            link: output.link.as_ref().map(|l| LinkFigures {
                utilisation: l.utilisation,
                mean_queue_packets: l.mean_queue_packets,
                mean_queue_ms: l.mean_sojourn.as_secs_f64() * 1e3,
            }),
            drops: output.drops.map(|d| d.dropped.map(|(packets, _)| packets)),
        }
    }

    /// Sessions and transfers that ended early, with the reason.
    pub fn failures(&self) -> impl Iterator<Item = (&str, &str)> {
        let viewers = self.viewers.iter().map(|v| (&v.name, &v.failure));
        let bulk = self.bulk.iter().map(|b| (&b.name, &b.failure));
        viewers.chain(bulk).filter_map(|(name, why)| Some((name.as_str(), why.as_deref()?)))
    }

    /// The viewers' QoE. `None` if there is no viewer, or if one has none or failed: a mean or a
    /// minimum over the others would say less than it seems to; or if their metrics have several
    /// units: decibels do not compare with points.
    pub fn qoe(&self) -> Option<Vec<f64>> {
        let unit = metric_unit(self.viewers.first()?.metric);
        if self.viewers.iter().any(|v| metric_unit(v.metric) != unit) {
            return None;
        }
        let all: Option<Vec<f64>> =
            self.viewers.iter().map(|v| v.qoe.filter(|_| v.failure.is_none())).collect();
        all.filter(|v| !v.is_empty())
    }

    /// QoE of the worst viewer; `None` as [`Self::qoe`].
    pub fn min_qoe(&self) -> Option<f64> {
        self.qoe()?.into_iter().min_by(f64::total_cmp)
    }

    /// Mean of the viewers' QoE; `None` as [`Self::qoe`].
    pub fn mean_qoe(&self) -> Option<f64> {
        stats::mean(&self.qoe()?)
    }

    /// QoE of the best viewer above that of the worst; `None` as [`Self::qoe`].
    pub fn qoe_range(&self) -> Option<f64> {
        let all = self.qoe()?;
        let best = all.iter().copied().max_by(f64::total_cmp)?;
        Some(best - all.into_iter().min_by(f64::total_cmp)?)
    }

    /// Time without a picture in the middle, all viewers together, seconds.
    pub fn stall_total_s(&self) -> f64 {
        self.viewers.iter().map(|v| v.stall_s).sum()
    }

    /// Jain's index of the rates of all viewers and transfers; `None` below two of them.
    pub fn jain(&self) -> Option<f64> {
        let rates = self.viewers.iter().map(|v| v.mean_rate_bps);
        let rates: Vec<f64> = rates
            .chain(self.bulk.iter().map(|b| b.goodput_bps))
            .map(|rate| rate.unwrap_or(0.0))
            .collect();
        (rates.len() > 1).then(|| stats::jain(&rates)).flatten()
    }

    /// The run's entry in a summary.
    pub fn entry(&self, plan: &Plan) -> RunEntry {
        RunEntry {
            experiment: plan.scenario.name.clone(),
            case: plan.cases[self.key.case].name.clone(),
            scheme: plan.scenario.schemes[self.key.scheme].name.clone(),
            seed: self.key.seed,
            packet_hash: format!("{:016x}", self.packet_hash),
        }
    }

    /// The run's rows in a summary: viewer by viewer, transfer by transfer, then the run's own.
    /// What was not measured has no row.
    pub fn rows(&self, plan: &Plan) -> Vec<Row> {
        let unit = metric_unit(watched_metric(&plan.scenario));
        let mut rows = Rows { plan, key: self.key, rows: Vec::new() };
        for v in &self.viewers {
            let unit = metric_unit(v.metric);
            let mut add = |name: &str, unit: &str, value: Option<f64>| {
                rows.add(Some(&v.name), name, unit, value);
            };
            add("qoe", unit, v.qoe);
            add(v.metric.name(), unit, v.quality);
            add("mean_rate_bps", "bit/s", v.mean_rate_bps);
            add("bitrate_bps", "bit/s", v.bitrate_bps);
            add("stall_s", "s", Some(v.stall_s));
            add("stalls", "", Some(v.stalls as f64));
            add("startup_s", "s", v.startup_s);
            add("mean_buffer_s", "s", v.mean_buffer_s);
            add("switches", "", Some(v.switches as f64));
            add("chunks", "", Some(v.chunks as f64));
        }
        for b in &self.bulk {
            rows.add(Some(&b.name), "goodput_bps", "bit/s", b.goodput_bps);
        }
        for w in &self.web {
            let mut add = |metric: &str, unit: &str, value: Option<f64>| {
                rows.add(Some(&w.name), metric, unit, value);
            };
            add("offered_bps", "bit/s", Some(w.offered_bps));
            add("goodput_bps", "bit/s", Some(w.goodput_bps));
            add("transfers", "", Some(w.transfers as f64));
            add("finished", "", Some(w.finished as f64));
            add("took_mean_s", "s", w.took_mean_s);
            add("took_p95_s", "s", w.took_p95_s);
        }
        let mut add = |name: &str, unit: &str, value| rows.add(None, name, unit, value);
        if !self.viewers.is_empty() {
            add("min_qoe", unit, self.min_qoe());
            add("mean_qoe", unit, self.mean_qoe());
            add("qoe_range", unit, self.qoe_range());
            add("stall_total_s", "s", Some(self.stall_total_s()));
        }
        if let Some(link) = self.link {
            add("link_utilisation", "", Some(link.utilisation));
            add("mean_queue_packets", "packets", Some(link.mean_queue_packets));
            add("mean_queue_ms", "ms", Some(link.mean_queue_ms));
        }
        for reason in DropReason::ALL {
            let packets = self.drops.map(|drops| drops[reason.index()] as f64);
            add(&format!("drops_{}", reason.name()), "packets", packets);
        }
        add("jain_rates", "", self.jain());
        add("failed_sessions", "", Some(self.failures().count() as f64));
        rows.rows
    }
}

/// The metric of a scenario's viewers: that of the first, where they have several. Figures over
/// viewers whose metrics have several units are not shown.
pub(crate) fn watched_metric(scenario: &Scenario) -> Metric {
    scenario.viewers.first().and_then(|v| v.metric).unwrap_or(scenario.player.metric)
}

/// The unit of a metric's values, and of QoE under it.
pub(crate) fn metric_unit(metric: Metric) -> &'static str {
    match metric {
        Metric::Vmaf | Metric::VmafPhone | Metric::Vmaf4k => "points",
        Metric::PsnrDb => "dB",
        Metric::Ssim => "",
    }
}

struct Rows<'a> {
    plan: &'a Plan,
    key: RunKey,
    rows: Vec<Row>,
}

impl Rows<'_> {
    fn add(&mut self, of: Option<&str>, metric: &str, unit: &str, value: Option<f64>) {
        let Some(value) = value else { return };
        let case = &self.plan.cases[self.key.case].name;
        self.rows.push(Row {
            experiment: self.plan.scenario.name.clone(),
            case: of.map_or_else(|| case.clone(), |name| format!("{case}/{name}")),
            scheme: self.plan.scenario.schemes[self.key.scheme].name.clone(),
            seed: self.key.seed,
            metric: metric.to_owned(),
            unit: unit.to_owned(),
            value,
        });
    }
}

impl ViewerFigures {
    fn of(viewer: &ViewerOutput, metric: Metric, duration: Duration, run_end: Time) -> Self {
        let model = &viewer.model;
        let played: Vec<_> = model
            .chunks()
            .iter()
            .filter(|c| c.begins >= model.start() && c.begins < model.start() + duration)
            .collect();
        let chunk_quality: Vec<f64> = played.iter().map(|c| c.quality).collect();
        let setting = model.setting();
        let rates: Vec<f64> =
            played.iter().map(|c| setting.bits(c.chunk)[c.rung] / setting.chunk_s()).collect();
        // One that has every chunk takes nothing more from the link.
        let whole = model.chunks().last().filter(|c| c.chunk + 1 == setting.chunks());
        let fetched = whole.map_or(run_end, |c| c.arrived);
        let waits = u64::from(model.stalled(run_end) > stalls_so_far(model));
        Self {
            name: viewer.name.clone(),
            metric,
            qoe: model.session_qoe(duration),
            quality: stats::mean(&chunk_quality),
            bitrate_bps: stats::mean(&rates),
            mean_rate_bps: mean_rate(&viewer.samples, model.start(), fetched),
            stall_s: model.stalled(run_end).as_secs_f64(),
            stalls: model.chunks().iter().filter(|c| !c.stall.is_zero()).count() as u64 + waits,
            startup_s: model.startup().map(|s| s.as_secs_f64()),
            mean_buffer_s: mean_buffer(model, run_end),
            switches: played.windows(2).filter(|w| w[0].rung != w[1].rung).count() as u64,
            chunks: played.len() as u64,
            chunk_quality,
            failure: viewer.failure.clone(),
        }
    }
}

impl BulkFigures {
    fn of(bulk: &BulkOutput) -> Self {
        let span = (bulk.end - bulk.start).as_secs_f64();
        Self {
            name: bulk.name.clone(),
            goodput_bps: (span > 0.0).then(|| bulk.bytes as f64 * 8.0 / span),
            failure: bulk.failure.clone(),
        }
    }
}

impl WebFigures {
    fn of(web: &WebOutput, run_end: Time) -> Self {
        let span = run_end.since_start().as_secs_f64().max(f64::MIN_POSITIVE);
        Self {
            name: web.name.clone(),
            offered_bps: web.offered_bytes as f64 * 8.0 / span,
            goodput_bps: web.received_bytes as f64 * 8.0 / span,
            transfers: web.started,
            finished: web.took_s.len() as u64,
            took_mean_s: stats::mean(&web.took_s),
            took_p95_s: stats::quantile(&web.took_s, 0.95),
        }
    }
}

/// The stalls that have ended.
fn stalls_so_far(model: &PlayerModel) -> Duration {
    model.chunks().iter().map(|c| c.stall).sum()
}

/// Bits acknowledged until the first sample at or after `until`, over that time; `None` without
/// a sample.
fn mean_rate(samples: &[FlowSample], from: Time, until: Time) -> Option<f64> {
    let last = samples.iter().find(|s| s.at >= until).or(samples.last())?;
    let span = (last.at.min(until.max(from)) - from).as_secs_f64();
    (span > 0.0).then(|| last.acked_bytes as f64 * 8.0 / span)
}

/// The buffer at a moment: what had arrived by then and was not yet played.
pub(super) fn buffer_s(model: &PlayerModel, at: Time) -> f64 {
    let arrived = model.chunks().partition_point(|c| c.arrived <= at);
    arrived.checked_sub(1).map_or(0.0, |last| {
        let runs_out = model.chunks()[last].begins + model.setting().chunk();
        (runs_out - at).as_secs_f64()
    })
}

/// The buffer's mean over time from the first picture until `end`. It falls by a second per
/// second between arrivals, until it is empty: each stretch is a trapezium.
fn mean_buffer(model: &PlayerModel, end: Time) -> Option<f64> {
    let chunks = model.chunks();
    let first = chunks.first()?.arrived;
    let span = (end - first).as_secs_f64();
    if span <= 0.0 {
        return None;
    }
    let mut area = 0.0;
    for (i, chunk) in chunks.iter().enumerate() {
        let until = chunks.get(i + 1).map_or(end, |next| next.arrived).min(end);
        let held = (chunk.begins + model.setting().chunk() - chunk.arrived).as_secs_f64();
        let falls = (until - chunk.arrived).as_secs_f64().min(held);
        area += falls * (held - falls / 2.0);
    }
    Some(area / span)
}
