//! The network of a scenario.

use std::sync::Arc;
use std::time::Duration;

use airlane_base::{InputError, Rate, Seed};
use airlane_net::link::{RateProfile, Supply};
use airlane_net::queue::{Limit, PieConfig, QueueSpec};
use airlane_net::{
    BuiltDumbbell, Dumbbell, GilbertElliott, Impairment, JitterLaw, PeriodicLoss, SendJitter, Way,
};
use rand::RngExt;

use crate::plan::{Plan, RunKey};
use crate::scenario::{Capacity, Discipline, Loss, Queue, QueueLimit, Scenario};

/// What the way back holds: it is never the bottleneck of a download.
const UPLINK_PACKETS: usize = 1_000;

/// Builds the dumbbell: a pair of hosts for each place of each workload.
pub(super) fn build(plan: &Plan, key: RunKey, seed: Seed) -> Result<BuiltDumbbell, InputError> {
    let scenario = &plan.scenario;
    let link = &scenario.link;
    let (supply, offset) = supply(plan, key, seed)?;
    let queue = scenario.schemes[key.scheme].queue.as_ref().unwrap_or(&link.queue);
    let places = scenario.casts.iter().flat_map(|cast| cast.places());
    let rtts = places.map(|place| place.rtt.unwrap_or(link.rtt));
    let queue = queue_spec(queue, supply.mean(), link.rtt);
    let back = QueueSpec::DropTail(Limit::Packets(UPLINK_PACKETS));
    let jitter = scenario.host.send_jitter_packets;
    let dumbbell = Dumbbell {
        downlink: Way {
            offset,
            queue_rtt: link.rtt,
            impairments: impairments(scenario),
            ..Way::new(supply, queue)
        },
        uplink: Way::new(link.uplink, back),
        send_jitter: if jitter > 0.0 { SendJitter::Services(jitter) } else { SendJitter::Off },
        rtts: rtts.collect(),
    };
    Ok(dumbbell.build(seed.split("network")))
}

/// What the bottleneck can carry, and where in a recording the run starts.
fn supply(plan: &Plan, key: RunKey, seed: Seed) -> Result<(Supply, Duration), InputError> {
    match &plan.scenario.link.capacity {
        Capacity::Constant(rate) => Ok((Supply::Constant(*rate), Duration::ZERO)),
        Capacity::Steps(steps) => {
            let steps: Vec<_> = steps.iter().map(|s| (s.at, s.rate)).collect();
            let profile = RateProfile::new(&steps, None).map_err(|e| e.at_key("link.steps"))?;
            Ok((Supply::Profile(Arc::new(profile)), Duration::ZERO))
        }
        Capacity::Trace(source) => {
            let Some(trace) = &plan.cases[key.case].trace else {
                return Err(InputError::new("the trace was not read", "name it with --trace"));
            };
            let supply = trace.supply().scaled(source.scale);
            let supply = supply.map_err(|e| e.at_key("link.trace_scale"))?;
            let length = trace.length().as_secs_f64();
            // The same offset under every scheme: it depends on the case and the seed alone.
            let drawn = || {
                Duration::from_secs_f64(seed.split("trace offset").rng().random_range(0.0..length))
            };
            Ok((supply, source.offset.unwrap_or_else(drawn)))
        }
    }
}

fn queue_spec(queue: &Queue, mean: Rate, rtt: Duration) -> QueueSpec {
    let limit = match queue.limit {
        QueueLimit::Bdp(x) => {
            Limit::Bdp(x).fixed(queue.bdp_rate.unwrap_or(mean), queue.bdp_rtt.unwrap_or(rtt))
        }
        QueueLimit::Bytes(n) => Limit::Bytes(n),
        QueueLimit::Packets(n) => Limit::Packets(n as usize),
    };
    match queue.discipline {
        Discipline::DropTail => QueueSpec::DropTail(limit),
        Discipline::Pie { target } => {
            QueueSpec::Pie(limit, PieConfig { target, ..PieConfig::default() })
        }
    }
}

fn impairments(scenario: &Scenario) -> Vec<Impairment> {
    let loss = scenario.link.loss.map(|loss| match loss {
        Loss::Bernoulli { p } => Impairment::Bernoulli(p),
        Loss::Periodic { every, first } => Impairment::PeriodicLoss(PeriodicLoss { every, first }),
        Loss::GilbertElliott { good_to_bad, bad_to_good, good, bad } => {
            Impairment::GilbertElliott(GilbertElliott {
                to_bad: good_to_bad,
                to_good: bad_to_good,
                loss_good: good,
                loss_bad: bad,
            })
        }
    });
    let jitter = (!scenario.link.jitter.is_zero()).then_some(Impairment::Jitter {
        law: JitterLaw::Uniform(scenario.link.jitter),
        reorder: false,
    });
    loss.into_iter().chain(jitter).collect()
}
