//! Elements of a network from what a scenario says of them.

use std::sync::Arc;
use std::time::Duration;

use airlane_base::{InputError, Rate, Seed};
use airlane_net::link::{RateProfile, Supply};
use airlane_net::queue::{
    AbcConfig, CodelConfig, DualPi2Config, Limit, OctopusConfig, PieConfig, QueueSpec,
};
use airlane_net::trace::Trace;
use airlane_net::{GilbertElliott, HalfDuplexWay, Impairment, JitterLaw, PeriodicLoss};

use crate::types::{Discipline, Loss, Queue, QueueLimit, RateStep, TraceSource, Way};

impl TraceSource {
    /// The trace as this source wants it, with its mean and its fading; `seed` is what fading is drawn from.
    ///
    /// # Errors
    /// If the trace carries nothing, or too much once it is scaled.
    pub fn adapted(&self, trace: Trace, seed: Seed) -> Result<Trace, InputError> {
        let trace = match self.mean {
            Some(mean) => trace.scaled_to(mean)?,
            None => trace,
        };
        if self.fading > 0.0 { trace.fading(self.fading, seed) } else { Ok(trace) }
    }
}

/// Supply of a capacity that changes at given times.
///
/// # Errors
/// If times do not rise, or there is never any capacity.
pub fn supply_of_steps(steps: &[RateStep]) -> Result<Supply, InputError> {
    let steps: Vec<_> = steps.iter().map(|s| (s.at, s.rate)).collect();
    Ok(Supply::Profile(Arc::new(RateProfile::new(&steps, None)?)))
}

impl Way {
    /// The way of a network that carries `supply` from `offset` on, where a limit in BDP counts with the round
    /// trip `rtt`; `queue` is in front of it.
    pub fn realised(
        &self,
        queue: &Queue,
        (supply, offset): (Supply, Duration),
        rtt: Duration,
    ) -> airlane_net::Way {
        airlane_net::Way {
            queue: queue.spec(supply.mean(), rtt),
            supply,
            offset,
            queue_rtt: rtt,
            delay: self.delay,
            impairments: self.impairments(),
            handover: self.handover,
        }
    }

    /// The way of a half-duplex link with this queue in front of it; a limit in BDP counts with the rate
    /// `mean` and the round trip `rtt`.
    pub fn realised_in_turns(&self, queue: &Queue, mean: Rate, rtt: Duration) -> HalfDuplexWay {
        HalfDuplexWay {
            queue: queue.spec(mean, rtt),
            queue_rtt: rtt,
            delay: self.delay,
            impairments: self.impairments(),
        }
    }

    fn impairments(&self) -> Vec<Impairment> {
        let loss = self.loss.map(|loss| match loss {
            Loss::Bernoulli { p } => Impairment::Bernoulli(p),
            Loss::Periodic { every, first } => {
                Impairment::PeriodicLoss(PeriodicLoss { every, first })
            }
            Loss::GilbertElliott { good_to_bad, bad_to_good, good, bad } => {
                Impairment::GilbertElliott(GilbertElliott {
                    to_bad: good_to_bad,
                    to_good: bad_to_good,
                    loss_good: good,
                    loss_bad: bad,
                })
            }
        });
        let jitter = (!self.jitter.is_zero())
            .then_some(Impairment::Jitter { law: JitterLaw::Uniform(self.jitter), reorder: false });
        loss.into_iter().chain(jitter).collect()
    }
}

impl Queue {
    /// The discipline with its limit, which counts with `mean` and `rtt` unless the scenario says otherwise.
    pub fn spec(&self, mean: Rate, rtt: Duration) -> QueueSpec {
        let limit = match self.limit {
            QueueLimit::Bdp(x) => {
                Limit::Bdp(x).fixed(self.bdp_rate.unwrap_or(mean), self.bdp_rtt.unwrap_or(rtt))
            }
            QueueLimit::Bytes(n) => Limit::Bytes(n),
            QueueLimit::Packets(n) => Limit::Packets(n as usize),
        };
        let spec = self.one(limit);
        if self.per_flow { QueueSpec::PerFlow(Box::new(spec)) } else { spec }
    }

    /// The discipline with this limit, of all flows or of one.
    fn one(&self, limit: Limit) -> QueueSpec {
        match self.discipline {
            Discipline::DropTail => QueueSpec::DropTail(limit),
            Discipline::Pie { target, ecn } => {
                QueueSpec::Pie(limit, PieConfig { target, ecn, ..PieConfig::default() })
            }
            Discipline::Codel { target, ecn, flows } => {
                let config = CodelConfig { target, ecn, ..CodelConfig::default() };
                match flows {
                    true => QueueSpec::FqCodel(limit, config),
                    false => QueueSpec::Codel(limit, config),
                }
            }
            Discipline::PriorityDrop => QueueSpec::PriorityDrop(limit),
            Discipline::Abc { threshold } => {
                QueueSpec::Abc(limit, AbcConfig { threshold, ..AbcConfig::default() })
            }
            Discipline::DiscardTimer { timer } => QueueSpec::DiscardTimer(limit, timer),
            Discipline::DualPi2 { target, step_threshold } => {
                let config = DualPi2Config { target, step_threshold, ..DualPi2Config::default() };
                QueueSpec::DualPi2(limit, config)
            }
            Discipline::Custom(queue) => QueueSpec::Custom(limit, queue),
            Discipline::Octopus { slack, headless, per_packet, pdu_set_id, pdu_set_slack } => {
                let config =
                    OctopusConfig { slack, headless, per_packet, pdu_set_id, pdu_set_slack };
                QueueSpec::Octopus(limit, config)
            }
        }
    }
}
