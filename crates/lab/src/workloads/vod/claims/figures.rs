//! What claims need of the viewers of a run: a few numbers each, so that hundreds of runs fit in
//! memory.

use std::borrow::Cow;
use std::time::Duration;

use airlane_base::Time;
use serde::{Deserialize, Serialize};

use super::super::{
    ContentDraws, Output, Viewer, ViewerOutput, Viewers, metric_unit, minerva_of, session,
};
use super::measures::{greedy_over_greedy, rates_over_greedy, settling};
use airlane_sim::workload::ClaimContext;

/// Time from the join until the first viewer's buffer is looked at.
const AFTER_JOIN: Duration = Duration::from_secs(60);

/// Figures of the viewers of a run that claims need.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Figures {
    /// Seconds from the join until the weights were settled; `None` without weights.
    pub(super) settling_s: Option<f64>,
    /// The bound mu on weights, if there is one.
    pub(super) mu: Option<f64>,
    /// The rate of the first bulk flow over the mean of the others, in bins of time: how much equals
    /// scatter.
    pub(super) bulk_over_bulk: Vec<f64>,
    /// The viewers, in the order of the scenario.
    pub(super) viewers: Vec<ViewerFigures>,
}

/// Figures of one viewer. "After the join" is from the moment at which the last viewer of the run
/// pressed play. What is a mean of nothing is `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ViewerFigures {
    /// The name without its number.
    pub(super) group: String,
    /// Unit of its quality and QoE.
    pub(super) unit: Cow<'static, str>,
    /// Mean of equation 1 over the chunks that began to play before its end, with what it waited
    /// for and did not get.
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
    /// Number of stalls in the middle.
    pub(super) stalls: u64,
    /// Seconds from play to the first picture, or the length of the session if none came.
    pub(super) wait_s: f64,
    /// Bytes acknowledged to its server.
    pub(super) bytes: u64,
    /// The rate while it had data to send, over the mean of the bulk flows', in bins of time.
    pub(super) over_bulk: Vec<f64>,
}

impl Figures {
    /// The figures of the viewers of a run.
    pub(super) fn of(output: &Output, run: &ClaimContext<'_>) -> Self {
        let scenario = &run.plan.scenario;
        let traffic = Viewers::of(scenario);
        let end = Time::ZERO + scenario.duration;
        let until = |v: &ViewerOutput| session::over_at(scenario, v.model.start(), run.at);
        let starts = ContentDraws::in_case(run.plan, run.key.case).map_or(&[][..], |w| &w.starts);
        let join = Time::ZERO + starts.iter().max().copied().unwrap_or_default();
        let viewers = &output.0;
        let viewed = |(v, viewer): (&ViewerOutput, &Viewer)| ViewerFigures {
            group: viewer.group.clone(),
            unit: metric_unit(traffic.metric_of(viewer)).symbol().into(),
            over_bulk: rates_over_greedy(&v.samples, run.flows),
            ..ViewerFigures::of(v, join, end, until(v))
        };
        // Who has a weight by the scheme; without one there is nothing to settle.
        let minerva = minerva_of(&scenario.schemes[run.key.scheme]);
        let weighted = viewers.iter().zip(&traffic.viewers);
        let weighted = weighted.filter(|(_, v)| minerva.is_some() && v.control.is_none());
        let weighted: Vec<&ViewerOutput> = weighted.map(|(v, _)| v).collect();
        Self {
            settling_s: settling(&weighted, join, end),
            bulk_over_bulk: greedy_over_greedy(run.flows),
            mu: minerva.and_then(|m| m.mu),
            viewers: viewers.iter().zip(&traffic.viewers).map(viewed).collect(),
        }
    }

    /// QoE of the worst viewer; `None` if one of them has none.
    pub(super) fn min_qoe(&self) -> Option<f64> {
        lowest(self.viewers.iter())
    }

    /// QoE of the worst viewer of a group; `None` if one of them has none.
    pub(super) fn min_qoe_of(&self, group: &str) -> Option<f64> {
        lowest(self.viewers.iter().filter(|v| v.group == group))
    }

    /// The groups of viewers, in the order of the scenario.
    pub(super) fn groups(&self) -> Vec<&str> {
        let mut groups: Vec<&str> = Vec::new();
        for viewer in &self.viewers {
            if !groups.contains(&viewer.group.as_str()) {
                groups.push(&viewer.group);
            }
        }
        groups
    }
}

/// The lowest QoE of these; `None` if one of them has none, or if they have several units.
pub(super) fn lowest<'a>(viewers: impl Iterator<Item = &'a ViewerFigures>) -> Option<f64> {
    let all = session::of_one_unit(viewers.map(|v| (&*v.unit, v.qoe)))?;
    all.into_iter().min_by(f64::total_cmp)
}

impl ViewerFigures {
    fn of(viewer: &ViewerOutput, join: Time, end: Time, until: Time) -> Self {
        let model = &viewer.model;
        let session = session::of(model, until);
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
        let stalled = Duration::from_secs_f64(session.stall_s);
        Self {
            qoe: session.qoe,
            quality: session.quality,
            quality_after_join: model.mean_over(join, until, |c| c.quality),
            buffer_at_join_s: held_s(join),
            buffer_after_join_s: (at <= end).then(|| held_s(at)),
            stall_after_join_s: stalled.saturating_sub(before_join).as_secs_f64(),
            stall_s: session.stall_s,
            stalls: session.stalls,
            wait_s: session.wait_s,
            bytes: viewer.samples.last().map_or(0, |s| s.acked_bytes),
            ..Self::default()
        }
    }
}
