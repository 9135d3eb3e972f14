//! The figures of viewers.

use airlane_abr::{PlayedChunk, PlayerModel};
use airlane_base::Time;
use airlane_media::Metric as Quality;
use airlane_quality::stats;

use super::{NAME, Output, ViewerOutput, Viewers, session};
use airlane_sim::workload::{ActorResult, EndedRun, Figures, Metric, PartResult, Sense, Unit};
use airlane_sim::world::FlowSample;

/// The metrics of those who watch.
pub(super) fn metrics(traffic: &Viewers) -> Vec<Metric> {
    use Sense::{Higher, Lower, Neutral};
    let unit = traffic.unit();
    let mut metrics = vec![Metric::of_actor("qoe", unit, Higher)];
    for quality in traffic.metrics() {
        metrics.push(Metric::of_actor(quality.name(), metric_unit(quality), Higher));
    }
    metrics.extend([
        Metric::of_actor("mean_rate_bps", Unit::BITS_PER_SECOND, Neutral),
        Metric::of_actor("bitrate_bps", Unit::BITS_PER_SECOND, Neutral),
        Metric::of_actor("stall_s", Unit::SECONDS, Lower),
        Metric::of_actor("stalls", Unit::ONE, Lower),
        Metric::of_actor("startup_s", Unit::SECONDS, Lower),
        Metric::of_actor("mean_buffer_s", Unit::SECONDS, Neutral),
        Metric::of_actor("switches", Unit::ONE, Lower),
        Metric::of_actor("chunks", Unit::ONE, Neutral),
        Metric::of_run("min_qoe", unit, Higher),
        Metric::of_run("mean_qoe", unit, Higher),
        Metric::of_run("qoe_range", unit, Lower),
        Metric::of_run("stall_total_s", Unit::SECONDS, Lower),
    ]);
    metrics
}

/// The figures of a run: of each viewer's session and of all.
pub(super) fn result(output: &Output, run: &EndedRun<'_>) -> PartResult {
    let traffic = Viewers::of(&run.plan.scenario);
    let until = |v: &ViewerOutput| session::over_at(&run.plan.scenario, v.model.start(), run.at);
    let viewers = output.0.iter().zip(&traffic.viewers);
    let actors: Vec<ActorResult> = viewers
        .map(|(output, viewer)| {
            let group = viewer.group.clone();
            let figures = actor(output, traffic.metric_of(viewer), until(output), run.at);
            ActorResult { group, ..figures }
        })
        .collect();
    let mut figures = Figures::default();
    if !actors.is_empty() {
        let unit = traffic.unit();
        let units = traffic.viewers.iter().map(|v| metric_unit(traffic.metric_of(v)).symbol());
        let qoe = session::of_one_unit(units.zip(actors.iter().map(|a| a.value("qoe"))));
        let lowest = qoe.as_ref().and_then(|all| all.iter().copied().min_by(f64::total_cmp));
        let highest = qoe.as_ref().and_then(|all| all.iter().copied().max_by(f64::total_cmp));
        figures.add("min_qoe", unit, lowest);
        figures.add("mean_qoe", unit, qoe.as_deref().and_then(stats::mean));
        figures.add("qoe_range", unit, highest.zip(lowest).map(|(high, low)| high - low));
        let stalls = actors.iter().filter_map(|a| a.value("stall_s"));
        figures.add("stall_total_s", Unit::SECONDS, Some(stalls.sum()));
    }
    PartResult { actors, figures }
}

/// The figures of a viewer whose session was over at `until`; its run ended at `run_end`. Means of
/// nothing are left out.
fn actor(viewer: &ViewerOutput, metric: Quality, until: Time, run_end: Time) -> ActorResult {
    let model = &viewer.model;
    let began = |c: &&PlayedChunk| c.begins >= model.start() && c.begins < until;
    let played: Vec<_> = model.chunks().iter().filter(began).collect();
    let quality: Vec<f64> = played.iter().map(|c| c.quality).collect();
    let setting = model.setting();
    let rates: Vec<f64> =
        played.iter().map(|c| setting.bits(c.chunk)[c.rung] / setting.chunk_s()).collect();
    // One that has every chunk takes nothing more from the link.
    let whole = model.chunks().last().filter(|c| c.chunk + 1 == setting.chunks());
    let fetched = whole.map_or(run_end, |c| c.arrived);
    let switches = played.windows(2).filter(|w| w[0].rung != w[1].rung).count();
    let rate = mean_rate(&viewer.samples, model.start(), fetched);
    let unit = metric_unit(metric);
    let session = session::of(model, until);
    let mut figures = Figures::default();
    figures.add("qoe", unit, session.qoe);
    figures.add(metric.name(), unit, session.quality);
    // The rate that the connection got until it had the whole video or the run ended.
    figures.add("mean_rate_bps", Unit::BITS_PER_SECOND, rate);
    figures.add("bitrate_bps", Unit::BITS_PER_SECOND, stats::mean(&rates));
    figures.add("stall_s", Unit::SECONDS, Some(session.stall_s));
    figures.add("stalls", Unit::ONE, Some(session.stalls as f64));
    figures.add("startup_s", Unit::SECONDS, session.startup_s);
    figures.add("mean_buffer_s", Unit::SECONDS, mean_buffer(model, run_end));
    figures.add("switches", Unit::ONE, Some(switches as f64));
    figures.add("chunks", Unit::ONE, Some(played.len() as f64));
    ActorResult {
        workload: NAME.to_owned(),
        name: viewer.name.clone(),
        title: super::words::viewer_title(&viewer.name),
        failure: viewer.failure.clone(),
        rate_bps: Some(rate.unwrap_or(0.0)),
        figures,
        samples: vec![("quality", quality)],
        ..ActorResult::default()
    }
}

/// The unit of a metric's values, and of QoE under it.
pub(crate) const fn metric_unit(metric: Quality) -> Unit {
    match metric {
        Quality::Vmaf | Quality::VmafPhone | Quality::Vmaf4k => Unit::POINTS,
        Quality::PsnrDb => Unit::quality("dB"),
        Quality::Ssim => Unit::quality(""),
    }
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
