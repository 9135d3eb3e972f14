//! Links: a queue and the process that serves it.

mod backlog;
mod half_duplex;
mod handover;
mod opportunities;
mod profile;
mod serial;
mod services;
mod trace_link;

use std::sync::Arc;
use std::time::Duration;

use airlane_base::{InputError, Rate, Time};

pub use backlog::{Backlog, PortQueue};
pub use half_duplex::RoundRobin;
pub use handover::{Handover, HandoverQueue};
pub use opportunities::{OPPORTUNITY_BYTES, Opportunities};
pub use profile::RateProfile;
pub use serial::SerialLink;
pub use services::Services;
pub use trace_link::TraceLink;

use crate::node::{Node, Queue};

/// Time at which a link asks its queue again that answered
/// [`Dequeued::NotBefore`](crate::node::Dequeued).
///
/// # Panics
/// If the queue broke its contract: a time that has passed would have the link ask for ever.
fn later(now: Time, at: Time) -> Time {
    assert!(at > now, "a queue asked at {now} answered that it serves nothing before {at}");
    at
}

/// Capacity of a link over time.
#[derive(Clone, Debug, PartialEq)]
pub enum Supply {
    /// Always the same rate.
    Constant(Rate),
    /// A rate that changes in steps.
    Profile(Arc<RateProfile>),
    /// Single delivery opportunities.
    Opportunities(Arc<Opportunities>),
}

impl Supply {
    /// The mean rate: what limits in BDP count with.
    pub fn mean(&self) -> Rate {
        match self {
            Self::Constant(rate) => *rate,
            Self::Profile(p) => p.mean(),
            Self::Opportunities(o) => o.mean(),
        }
    }

    /// IP bytes that a link with this supply could have carried from the start until `now`, in a world
    /// that starts at `offset` of it.
    pub fn bytes_until(&self, offset: Duration, now: Time) -> f64 {
        let offset = match self.period() {
            Some(period) => Duration::from_nanos((offset.as_nanos() % period.as_nanos()) as u64),
            None => offset,
        };
        let to = now.since_start() + offset;
        match self {
            Self::Constant(rate) => rate.as_f64() / 8.0 * now.since_start().as_secs_f64(),
            Self::Profile(p) => p.bytes_until(to) - p.bytes_until(offset),
            Self::Opportunities(o) => {
                (o.count_before(to) - o.count_before(offset)) as f64 * f64::from(OPPORTUNITY_BYTES)
            }
        }
    }

    /// Times at which the link with this supply begins to serve each of endless packets of so many
    /// IP bytes, which wait from `from` on, in a world that starts at `offset` of it.
    pub fn services(&self, offset: Duration, from: Time, bytes: u32) -> Services {
        Services::new(self, offset, from, bytes)
    }

    /// Length of what repeats: offsets are taken modulo it. `None` if nothing repeats.
    pub fn period(&self) -> Option<Duration> {
        match self {
            Self::Constant(_) => None,
            Self::Profile(p) => p.period(),
            Self::Opportunities(o) => Some(o.period()),
        }
    }

    /// The supply with every rate times `scale`.
    ///
    /// # Errors
    /// Delivery opportunities, unless `scale` is 1; rates that make no profile.
    pub fn scaled(self, scale: f64) -> Result<Self, InputError> {
        if (scale - 1.0).abs() < f64::EPSILON {
            return Ok(self);
        }
        match self {
            Self::Constant(rate) => Ok(Self::Constant(rate.scale(scale))),
            Self::Profile(p) => {
                let steps: Vec<_> = p.steps().map(|(at, rate)| (at, rate.scale(scale))).collect();
                Ok(Self::Profile(Arc::new(RateProfile::new(&steps, p.period())?)))
            }
            Self::Opportunities(_) => Err(InputError::new(
                format!("{scale} on a trace of delivery opportunities"),
                "expected 1: opportunities of 1500 bytes cannot be scaled; \
                 trace_mean_bps makes a profile of them",
            )),
        }
    }

    /// The link with this supply in front of which `queue` waits; the world starts at `offset`.
    pub fn link(&self, offset: Duration, queue: Box<dyn Queue>) -> Box<dyn Node> {
        match self {
            Self::Constant(rate) => Box::new(SerialLink::constant(*rate, queue)),
            Self::Profile(p) => Box::new(SerialLink::new(Arc::clone(p), offset, queue)),
            Self::Opportunities(o) => Box::new(TraceLink::new(Arc::clone(o), offset, queue)),
        }
    }
}

impl From<Rate> for Supply {
    fn from(rate: Rate) -> Self {
        Self::Constant(rate)
    }
}
