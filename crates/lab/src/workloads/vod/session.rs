//! What a viewer's session came to, by one definition for runs, claims and browsers.
//!
//! A session lasts from play until the run ends, and at most as long as the scenario says. Every
//! session counts, whatever became of it:
//!
//! - one that stands still at its end is charged that stall too, in QoE as in seconds: equation 1
//!   takes beta per second of waiting for a chunk, whether it came or not;
//! - one that failed stands still from where its buffer ran out;
//! - one that never began has waited for its first picture all the time, and its QoE is that of a
//!   chunk without quality after such a stall.

use std::time::Duration;

use airlane_abr::PlayerModel;
use airlane_base::Time;

use super::Viewers;
use airlane_scenario::Scenario;

/// A session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Session {
    /// Mean of equation 1 over the chunks that began to play, the unfinished stall charged; `None`
    /// if the session has no length.
    pub(crate) qoe: Option<f64>,
    /// Mean quality of these chunks; `None` without one.
    pub(crate) quality: Option<f64>,
    /// Seconds without a picture in the middle, an unfinished stall included.
    pub(crate) stall_s: f64,
    /// Number of stalls.
    pub(crate) stalls: u64,
    /// Seconds from play to the first picture; `None` if it never came.
    pub(crate) startup_s: Option<f64>,
    /// The same, or for as long as the session lasted.
    pub(crate) wait_s: f64,
}

/// End of the session of a viewer who pressed play at `start`, in a run that ended at `run_end`.
/// Where viewers come and go, the run ends with the last download and films are played to their
/// ends.
pub(crate) fn over_at(scenario: &Scenario, start: Time, run_end: Time) -> Time {
    let longest = start + scenario.duration;
    if Viewers::of(scenario).arrivals.is_some() { longest } else { longest.min(run_end) }
}

/// The session of `model` until `until`.
pub(crate) fn of(model: &PlayerModel, until: Time) -> Session {
    let start = model.start();
    let (stalled, finished) = (model.stalled(until), stalls_so_far(model));
    let unfinished = stalled.saturating_sub(finished);
    let beta = model.setting().qoe_params().beta;
    let played =
        model.chunks().iter().filter(|c| c.begins >= start && c.begins < until).count() as f64;
    let lasted = (until - start).as_secs_f64();
    let qoe = match model.mean_over(start, until, |c| c.qoe) {
        Some(mean) => Some(mean - beta * unfinished.as_secs_f64() / played),
        None if lasted > 0.0 => Some(-beta * lasted),
        None => None,
    };
    let startup_s = model.startup().map(|s| s.as_secs_f64());
    let stalls = model.chunks().iter().filter(|c| !c.stall.is_zero()).count() as u64;
    Session {
        qoe,
        quality: model.mean_over(start, until, |c| c.quality),
        stall_s: stalled.as_secs_f64(),
        stalls: stalls + u64::from(!unfinished.is_zero()),
        startup_s,
        wait_s: startup_s.unwrap_or(lasted),
    }
}

/// The stalls that have ended.
fn stalls_so_far(model: &PlayerModel) -> Duration {
    model.chunks().iter().map(|c| c.stall).sum()
}

/// The figures if all are there and of one unit: a mean or a minimum over the others would say
/// less than it seems to, and decibels do not compare with points. `None` also without a figure.
pub(crate) fn of_one_unit<'a>(
    figures: impl Iterator<Item = (&'a str, Option<f64>)>,
) -> Option<Vec<f64>> {
    let mut unit = None;
    let mut all = Vec::new();
    for (of, figure) in figures {
        if *unit.get_or_insert(of) != of {
            return None;
        }
        all.push(figure?);
    }
    (!all.is_empty()).then_some(all)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use airlane_abr::{PlayerConfig, TitleModel};
    use airlane_base::Seed;
    use airlane_media::{Metric, Perceptual};
    use airlane_quality::QoeParams;

    use super::*;

    fn model(start_s: u64) -> PlayerModel {
        let video = airlane_media::synthetic::corpus(1, 10, Seed(3)).remove(0);
        let view = Perceptual::new(video, Metric::Vmaf).unwrap();
        let (qoe, player) = (QoeParams::default(), PlayerConfig::default());
        PlayerModel::new(Arc::new(TitleModel::new(view, qoe, player).unwrap()), at(start_s))
    }

    fn at(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    fn fetch(model: &mut PlayerModel, at_s: u64) -> f64 {
        model.on_request(at(at_s), 0);
        model.on_chunk(at(at_s), 1000, Duration::from_secs(1)).qoe
    }

    #[test]
    fn a_stall_that_is_not_over_is_in_the_qoe() {
        let mut model = model(10);
        let qoe = fetch(&mut model, 11);
        let chunk_s = model.setting().chunk_s();
        let runs_out = at(11) + Duration::from_secs_f64(chunk_s);
        let playing = of(&model, runs_out);
        assert_eq!((playing.qoe, playing.stall_s, playing.stalls), (Some(qoe), 0.0, 0));
        let still = of(&model, runs_out + Duration::from_secs(3));
        let beta = model.setting().qoe_params().beta;
        assert!((still.qoe.unwrap() - (qoe - 3.0 * beta)).abs() < 1e-9);
        assert_eq!((still.stall_s, still.stalls, still.startup_s), (3.0, 1, Some(1.0)));
    }

    #[test]
    fn a_session_that_never_began_has_waited_all_the_time() {
        let model = model(10);
        let session = of(&model, at(30));
        let beta = model.setting().qoe_params().beta;
        assert_eq!((session.qoe, session.quality), (Some(-20.0 * beta), None));
        assert_eq!((session.startup_s, session.wait_s), (None, 20.0));
        assert_eq!(of(&model, at(10)).qoe, None, "it was not there");
    }

    #[test]
    fn several_units_or_a_missing_figure_leave_none() {
        let of = |figures: &[(&'static str, Option<f64>)]| of_one_unit(figures.iter().copied());
        assert_eq!(of(&[("dB", Some(1.0)), ("dB", Some(2.0))]), Some(vec![1.0, 2.0]));
        assert_eq!(of(&[("dB", Some(1.0)), ("points", Some(2.0))]), None);
        assert_eq!((of(&[("dB", Some(1.0)), ("dB", None)]), of(&[])), (None, None));
    }
}
