//! What claims need of a run: a few numbers per viewer, so that hundreds of runs fit in memory.

use std::time::Duration;

use airlane_base::Time;

use crate::plan::Plan;
use crate::summary::Row;
use crate::world::{RunOutput, ViewerOutput};

/// How long after the join the first viewer's buffer is looked at.
const AFTER_JOIN: Duration = Duration::from_secs(60);

/// What claims need of a run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Figures {
    /// Hash over what happened to every packet.
    pub(super) packet_hash: u64,
    /// Share of the link that carried something.
    pub(super) utilisation: Option<f64>,
    /// The viewers, in the order of the scenario.
    pub(super) viewers: Vec<Viewed>,
}

/// What a viewer saw. "After the join" is from the moment at which the last viewer of the run
/// pressed play. What is a mean of nothing is `None`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Viewed {
    /// Name.
    pub(super) name: String,
    /// The video.
    pub(super) video: String,
    /// Mean of equation 1 over the chunks that began to play before the run's end.
    pub(super) qoe: Option<f64>,
    /// Mean quality of these chunks.
    pub(super) quality: Option<f64>,
    /// Mean quality of those of them that began to play after the join.
    pub(super) quality_after_join: Option<f64>,
    /// Seconds held at the join.
    pub(super) buffer_at_join_s: f64,
    /// Seconds held 60 s after the join; `None` if the run ended before.
    pub(super) buffer_after_join_s: Option<f64>,
    /// Seconds without a picture in the middle, after the join.
    pub(super) stall_after_join_s: f64,
    /// The same over the whole run.
    pub(super) stall_s: f64,
    /// Seconds from play to the first picture.
    pub(super) startup_s: Option<f64>,
    /// Minerva's last weight.
    pub(super) weight: Option<f64>,
    /// Why the session ended early, if it did.
    pub(super) failure: Option<String>,
}

impl Figures {
    /// The figures of a run of `plan`.
    pub(super) fn of(plan: &Plan, output: &RunOutput) -> Self {
        let end = Time::ZERO + plan.scenario.duration;
        let starts = plan.scenario.viewers.iter().map(|v| v.start);
        let join = Time::ZERO + starts.max().unwrap_or_default();
        Self {
            packet_hash: output.packet_hash,
            utilisation: output.link.as_ref().map(|l| l.utilisation),
            viewers: output.viewers.iter().map(|v| Viewed::of(v, join, end)).collect(),
        }
    }

    /// QoE of the worst viewer; `None` if one of them has none.
    pub(super) fn min_qoe(&self) -> Option<f64> {
        let all: Option<Vec<f64>> = self.viewers.iter().map(|v| v.qoe).collect();
        all?.into_iter().min_by(f64::total_cmp)
    }

    /// The rows of the run in a summary: each viewer's, then the run's. What was not measured has
    /// no row; `row` has everything but the figure.
    pub(super) fn rows(&self, row: &Row) -> Vec<Row> {
        let mut rows = Vec::new();
        let mut add = |case: String, metric: &str, unit: &str, value: Option<f64>| {
            if let Some(value) = value {
                let (metric, unit) = (metric.to_owned(), unit.to_owned());
                rows.push(Row { case, metric, unit, value, ..row.clone() });
            }
        };
        for v in &self.viewers {
            let of = || format!("{}/{}", row.case, v.name);
            add(of(), "qoe", "points", v.qoe);
            add(of(), "quality", "points", v.quality);
            add(of(), "stall_s", "s", Some(v.stall_s));
            add(of(), "startup_s", "s", v.startup_s);
            add(of(), "last_weight", "", v.weight);
        }
        add(row.case.clone(), "min_qoe", "points", self.min_qoe());
        add(row.case.clone(), "link_utilisation", "", self.utilisation);
        rows
    }
}

impl Viewed {
    fn of(viewer: &ViewerOutput, join: Time, end: Time) -> Self {
        let model = &viewer.model;
        let from = model.start();
        let at = join + AFTER_JOIN;
        // The buffer as it was then: chunks that came later are not in it.
        let held_s = |at: Time| {
            let held = model.chunks().iter().rfind(|c| c.arrived <= at);
            let runs_out = held.map_or(Time::ZERO, |c| c.begins + model.setting().chunk());
            (runs_out - at).as_secs_f64()
        };
        let before_join = model
            .chunks()
            .iter()
            .map(|c| {
                let began = c.begins - c.stall;
                c.begins.min(join).since_start().saturating_sub(began.since_start())
            })
            .sum::<Duration>();
        let stalled = model.stalled(end);
        Self {
            name: viewer.name.clone(),
            video: model.setting().video().name.clone(),
            qoe: model.mean_over(from, end, |c| c.qoe),
            quality: model.mean_over(from, end, |c| c.quality),
            quality_after_join: model.mean_over(join, end, |c| c.quality),
            buffer_at_join_s: held_s(join),
            buffer_after_join_s: (at <= end).then(|| held_s(at)),
            stall_after_join_s: stalled.saturating_sub(before_join).as_secs_f64(),
            stall_s: stalled.as_secs_f64(),
            startup_s: model.startup().map(|s| s.as_secs_f64()),
            weight: viewer.updates.last().map(|u| u.weight),
            failure: viewer.failure.clone(),
        }
    }
}
