//! Metrics of claims about calls: groups of participants, all together, what the server knows of channels,
//! and what became of what a direction gave up.

use airlane_base::Time;
use airlane_call::ChannelRecord;
use airlane_net::Direction;
use airlane_plum::State;
use airlane_quality::stats;
use airlane_scenario::{AccessKind, Place, Scenario};
use serde::{Deserialize, Serialize};

use super::{NAME, Output, ParticipantOutput, Participants, pooled};
use airlane_sim::workload::{
    ByMetric, CachedMetrics, ClaimContext, ClaimRun, Metric, SceneRuns, Sense, Unit,
};
use airlane_sim::world::{DirectionOutput, LinkSampleRow};

/// Time from which on the server is to know a channel's capacity, seconds.
const KNOWN_FROM_S: f64 = 10.0;
/// Error of a capacity that is still right.
const RIGHT: f64 = 0.1;
/// The true capacity is a mean over so long before it is compared, seconds: the time that the server counts over.
const TRUTH_S: f64 = 5.0;
/// Length of the first and of the last part of a long run, seconds.
const PART_S: f64 = 300.0;

/// Metrics of a group of participants, its name in front.
const OF_GROUP: [(&str, Unit, Sense); 6] = [
    ("received_bps", Unit::BITS_PER_SECOND, Sense::Higher),
    ("sent_bps", Unit::BITS_PER_SECOND, Sense::Neutral),
    ("frame_delay_p95_s", Unit::SECONDS, Sense::Lower),
    ("shown_fps", Unit::PER_SECOND, Sense::Higher),
    ("received_p01_bps", Unit::BITS_PER_SECOND, Sense::Higher),
    ("good_share", Unit::ONE, Sense::Higher),
];

/// Metrics of all participants together.
const OF_ALL: [(&str, Unit, Sense); 18] = [
    ("received_median_bps", Unit::BITS_PER_SECOND, Sense::Higher),
    ("received_pooled_p90_bps", Unit::BITS_PER_SECOND, Sense::Higher),
    ("received_pooled_p10_bps", Unit::BITS_PER_SECOND, Sense::Higher),
    ("through_bps", Unit::BITS_PER_SECOND, Sense::Higher),
    ("psnr_db", Unit::DECIBELS, Sense::Higher),
    ("response_p50_s", Unit::SECONDS, Sense::Lower),
    ("response_p95_s", Unit::SECONDS, Sense::Lower),
    ("best_source_pooled_p90_bps", Unit::BITS_PER_SECOND, Sense::Higher),
    ("best_source_good_share", Unit::ONE, Sense::Higher),
    ("frame_delay_pooled_p95_s", Unit::SECONDS, Sense::Lower),
    ("performance_term", Unit::ONE, Sense::Higher),
    ("fairness_term", Unit::ONE, Sense::Higher),
    ("capacity_right_share", Unit::ONE, Sense::Higher),
    ("capacity_right_share_min", Unit::ONE, Sense::Higher),
    ("capacity_error", Unit::ONE, Sense::Lower),
    ("capacity_bias", Unit::ONE, Sense::Neutral),
    ("capacity_drift", Unit::ONE, Sense::Lower),
    ("held_share", Unit::ONE, Sense::Neutral),
];

/// Rate that the held directions of channels lose to a baseline, and rate that the others gain.
const LOST: &str = "held_lost_bps";
const GAINED: &str = "other_gained_bps";

/// Figures that claims need of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct RunFigures {
    figures: Vec<(String, Option<f64>)>,
    /// By half-duplex channel; `None`: the server knew nothing of it.
    channels: Vec<Option<Channel>>,
}

/// Use of a half-duplex channel in the time that counts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Channel {
    /// IP bits a second that went up.
    up_bps: f64,
    /// IP bits a second that went down.
    down_bps: f64,
    /// Share of the time in which the uplink was held.
    up_held: f64,
    /// Share of the time in which the downlink was held.
    down_held: f64,
}

/// A name as part of a metric.
fn word(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// The name of a group: that of an entry without the number at its end.
fn stem(name: &str) -> &str {
    match name.trim_end_matches(|c: char| c.is_ascii_digit()) {
        "" => name,
        stem => stem,
    }
}

/// The groups of participants: entries whose names differ in the number at their end are one.
fn groups(traffic: &Participants) -> Vec<&str> {
    let mut groups: Vec<&str> = Vec::new();
    for entry in &traffic.0 {
        let group = stem(&entry.name);
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    groups
}

pub(super) fn run_metrics(traffic: &Participants) -> Vec<Metric> {
    if traffic.0.is_empty() {
        return Vec::new();
    }
    let of_groups = groups(traffic).into_iter().flat_map(|group| {
        let group = word(group);
        OF_GROUP
            .map(|(metric, unit, sense)| Metric::of_run(format!("{group}_{metric}"), unit, sense))
    });
    let of_all = OF_ALL.map(|(metric, unit, sense)| Metric::of_run(metric, unit, sense));
    of_groups.chain(of_all).collect()
}

pub(super) fn figure(metric: &str, run: &ClaimRun) -> Option<f64> {
    let kept = run.kept.of::<RunFigures>()?;
    kept.figures.iter().find(|(name, _)| name == metric)?.1
}

/// Metrics of a draw: what the held directions lose to the first baseline, and what the others gain.
pub(super) fn metrics(traffic: &Participants, names: &[String]) -> Vec<Metric> {
    if traffic.0.is_empty() || names.len() < 2 {
        return Vec::new();
    }
    [LOST, GAINED].map(|name| Metric::of_run(name, Unit::BITS_PER_SECOND, Sense::Neutral)).to_vec()
}

/// The figures of draws.
pub(super) fn of_draws(traffic: &Participants, compared: &SceneRuns<'_>) -> ByMetric {
    if traffic.0.is_empty() || compared.names.len() < 2 {
        return ByMetric::new();
    }
    let of = |pick: fn((f64, f64)) -> f64| {
        compared.each(|runs| {
            let [ours, theirs] = [runs[0], runs[1]].map(|run| run.kept.of::<RunFigures>());
            ours.zip(theirs).map_or(f64::NAN, |(ours, theirs)| {
                conservation(&ours.channels, &theirs.channels).map_or(f64::NAN, pick)
            })
        })
    };
    ByMetric::from([
        (LOST.to_owned(), of(|(lost, _)| lost)),
        (GAINED.to_owned(), of(|(_, gained)| gained)),
    ])
}

/// Rates that the held directions of all channels lose and the other directions of these channels gain; `None` if
/// one of them was not measured.
fn conservation(ours: &[Option<Channel>], theirs: &[Option<Channel>]) -> Option<(f64, f64)> {
    let (mut lost, mut gained) = (0.0, 0.0);
    for (ours, theirs) in ours.iter().zip(theirs) {
        let (ours, theirs) = ((*ours)?, (*theirs)?);
        let up = ours.up_bps - theirs.up_bps;
        let down = ours.down_bps - theirs.down_bps;
        // The direction that is held for longer is the one that gives up.
        if ours.up_held > ours.down_held {
            (lost, gained) = (lost - up, gained + down);
        } else if ours.down_held > 0.0 {
            (lost, gained) = (lost - down, gained + up);
        }
    }
    Some((lost, gained))
}

pub(super) fn keep(output: &Output, run: &ClaimContext<'_>) -> Option<CachedMetrics> {
    let scenario = &run.plan.scenario;
    let traffic = scenario.participants.of::<Participants>()?;
    let mut figures = Vec::new();
    for group in groups(traffic) {
        let members: Vec<_> = output.0.iter().filter(|p| stem(&p.group) == group).collect();
        let group = word(group);
        for (metric, _, _) in OF_GROUP {
            let of = |participant: &&ParticipantOutput| participant.result().value(metric);
            let figure = match pooled::OF_GROUP.contains(&metric) {
                true => pooled::of_group(metric, &members),
                false => {
                    let all: Option<Vec<f64>> = members.iter().map(of).collect();
                    all.and_then(|all| stats::mean(&all))
                }
            };
            figures.push((format!("{group}_{metric}"), figure));
        }
    }
    let channels = channels(scenario, output, run.ways);
    let errors: Vec<Errors> = channels.iter().map(|(p, ways)| Errors::of(p, ways)).collect();
    let on_channels: Vec<_> = channels.iter().filter_map(|(p, _)| p.id).collect();
    for (metric, _, _) in OF_ALL {
        let figure = match metric.starts_with("capacity") {
            true => of_errors(metric, &errors),
            false => pooled::of_all(metric, &output.0, &on_channels),
        };
        figures.push((metric.to_owned(), figure));
    }
    let channels = channels.iter().map(|(participant, ways)| channel(participant, ways));
    Some(CachedMetrics::new(NAME, RunFigures { figures, channels: channels.collect() }))
}

/// Both directions of a half-duplex access: down, up.
type Ways<'a> = [&'a [LinkSampleRow]; 2];

/// Participants who have a half-duplex access to themselves, each with its access.
fn channels<'a>(
    scenario: &Scenario,
    output: &'a Output,
    ways: &'a [DirectionOutput],
) -> Vec<(&'a ParticipantOutput, Ways<'a>)> {
    let places: Vec<(bool, Place)> = scenario
        .participants
        .iter()
        .flat_map(|traffic| {
            let is_call = traffic.workload() == NAME;
            traffic.places().into_iter().map(move |place| (is_call, place))
        })
        .collect();
    let own = places.iter().enumerate().filter(|(_, (is_call, _))| *is_call);
    let mut found = Vec::new();
    for (participant, (number, (_, place))) in output.0.iter().zip(own) {
        let Some(&at) = place.at.first() else { continue };
        let access = &scenario.network.accesses[at];
        let AccessKind::HalfDuplex { per_host, .. } = access.kind else { continue };
        let on_it = |places: &[(bool, Place)]| {
            places.iter().filter(|(_, place)| place.at.contains(&at)).count()
        };
        if !per_host && on_it(&places) > 1 {
            continue;
        }
        let name = match on_it(&places[..number]) {
            0 => access.name.clone(),
            before => format!("{}.{}", access.name, before + 1),
        };
        let rows = |direction| {
            let way = ways.iter().find(|way| way.access == name && way.direction == direction);
            way.map(|way| way.rows.as_slice())
        };
        if let (Some(down), Some(up)) = (rows(Direction::Down), rows(Direction::Up)) {
            found.push((participant, [down, up]));
        }
    }
    found
}

/// The use of a channel in the time that counts.
fn channel(participant: &ParticipantOutput, ways: &Ways<'_>) -> Option<Channel> {
    let [down_bps, up_bps] = ways.map(|rows| {
        let from = rows.iter().find(|row| row.at >= participant.counted_from)?;
        let to = rows.last()?;
        let span = (to.at - from.at).as_secs_f64();
        (span > 0.0).then(|| 8.0 * (to.carried_bytes - from.carried_bytes) as f64 / span)
    });
    Some(Channel {
        up_bps: up_bps?,
        down_bps: down_bps?,
        up_held: participant.share_in(State::ClientConstrained)?,
        down_held: participant.share_in(State::ServerConstrained)?,
    })
}

/// Relative errors of the capacity that the server took a channel to have, each with its time in seconds.
struct Errors(Vec<(f64, f64)>);

impl Errors {
    fn of(participant: &ParticipantOutput, ways: &Ways<'_>) -> Self {
        let from = Time::from_millis((KNOWN_FROM_S * 1e3) as u64);
        let known = participant.channel.iter().filter(|record| record.at >= from);
        let error = |record: &ChannelRecord| {
            let truth = true_bps(ways[0], record.at)?;
            // A capacity that is not known is as wrong as none.
            let found = record.capacity.map_or(0.0, |capacity| capacity.as_f64());
            Some((record.at.as_secs_f64(), found / truth - 1.0))
        };
        Self(known.filter_map(error).collect())
    }

    fn right_share(&self) -> Option<f64> {
        let errors: Vec<f64> = self.0.iter().map(|(_, error)| *error).collect();
        stats::mean(&pooled::shares(&errors, |error| error.abs() <= RIGHT))
    }

    fn mean_of(&self, of: fn(f64) -> f64) -> Option<f64> {
        stats::mean(&self.0.iter().map(|(_, error)| of(*error)).collect::<Vec<_>>())
    }

    /// Mean error in the last part of the run less that in the first; of runs too short for both the halves.
    fn drift(&self) -> Option<f64> {
        let (first, last) = (self.0.first()?.0, self.0.last()?.0);
        let part = PART_S.min((last - first) / 2.0);
        let mean = |is_in: &dyn Fn(f64) -> bool| {
            let errors = self.0.iter().filter(|(at, _)| is_in(*at)).map(|(_, error)| *error);
            stats::mean(&errors.collect::<Vec<_>>())
        };
        Some((mean(&|at| at > last - part)? - mean(&|at| at < first + part)?).abs())
    }
}

fn of_errors(metric: &str, all: &[Errors]) -> Option<f64> {
    let each = |of: &dyn Fn(&Errors) -> Option<f64>| all.iter().map(of).collect::<Option<Vec<_>>>();
    match metric {
        "capacity_right_share" => stats::mean(&each(&Errors::right_share)?),
        "capacity_right_share_min" => each(&Errors::right_share)?.into_iter().reduce(f64::min),
        "capacity_error" => stats::mean(&each(&|errors| errors.mean_of(f64::abs))?),
        "capacity_bias" => stats::mean(&each(&|errors| errors.mean_of(|error| error))?),
        _ => each(&Errors::drift)?.into_iter().reduce(f64::max),
    }
}

/// Capacity of a channel before a time, bits a second; `None` if it has none.
fn true_bps(rows: &[LinkSampleRow], at: Time) -> Option<f64> {
    let last = rows.partition_point(|row| row.at <= at).checked_sub(1)?;
    let since = at.as_secs_f64() - TRUTH_S;
    let first = rows.partition_point(|row| row.at.as_secs_f64() < since).min(last);
    let span = (rows[last].at - rows[first].at).as_secs_f64();
    let bits = 8.0 * (rows[last].capacity_bytes - rows[first].capacity_bytes);
    (span > 0.0 && bits > 0.0).then(|| bits / span)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(mbps: &[f64]) -> Vec<LinkSampleRow> {
        let mut capacity_bytes = 0.0;
        let row = |(second, mbps): (u64, &f64)| {
            let row = LinkSampleRow {
                at: Time::from_millis(1000 * second),
                queue_packets: 0,
                queue_bytes: 0,
                carried_bytes: 0,
                capacity_bytes,
                dropped_packets: 0,
            };
            capacity_bytes += mbps * 1e6 / 8.0;
            row
        };
        (0..).zip(mbps).map(row).collect()
    }

    #[test]
    fn entries_that_differ_in_a_number_are_a_group() {
        assert_eq!(["c1", "c12", "wifi", "7"].map(stem), ["c", "c", "wifi", "7"]);
        assert_eq!(word("far-1 b"), "far_1_b");
    }

    #[test]
    fn a_true_capacity_is_that_of_the_last_five_seconds() {
        let rows = rows(&[30.0, 10.0, 10.0, 10.0, 10.0, 10.0, 20.0, 0.0]);
        let at = |second: u64| true_bps(&rows, Time::from_millis(1000 * second));
        assert_eq!(at(0), None);
        assert_eq!(at(1), Some(30e6));
        assert_eq!(at(6), Some(10e6));
        assert_eq!(at(7), Some(12e6));
    }

    #[test]
    fn what_a_held_direction_loses_the_other_gains() {
        let channel = |up_bps: f64, down_bps: f64, up_held: f64, down_held: f64| {
            Some(Channel { up_bps, down_bps, up_held, down_held })
        };
        let theirs = [channel(6.0, 6.0, 0.0, 0.0); 3];
        let ours = [channel(9.0, 2.5, 0.1, 0.8), channel(4.0, 8.0, 0.9, 0.0), theirs[0]];
        assert_eq!(conservation(&ours, &theirs), Some((3.5 + 2.0, 3.0 + 2.0)));
        assert_eq!(conservation(&theirs, &theirs), Some((0.0, 0.0)));
        assert_eq!(conservation(&[None], &theirs[..1]), None);
    }

    #[test]
    fn an_error_drifts_from_the_first_to_the_last_five_minutes() {
        let of = |seconds: u32, error: fn(f64) -> f64| {
            let errors = (0..seconds).map(|second| (f64::from(second), error(f64::from(second))));
            Errors(errors.collect())
        };
        assert_eq!(of(0, |_| 0.1).drift(), None);
        let halves = of(100, |second| if second < 50.0 { 0.0 } else { 0.1 }).drift();
        assert!((halves.expect("a drift") - 0.1).abs() < 0.005, "{halves:?}");
        assert_eq!(of(700, |_| 0.1).drift().map(|drift| drift < 1e-9), Some(true));
        let rising = of(1201, |second| second / 12_000.0).drift().expect("a drift");
        assert!((rising - 0.075).abs() < 1e-3, "{rising}");
        assert_eq!(
            of(100, |second| if second < 25.0 { 0.2 } else { -0.05 }).right_share(),
            Some(0.75)
        );
    }
}
