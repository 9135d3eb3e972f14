//! Coordination of a room's clients: from their channels to their states.

use std::collections::BTreeMap;
use std::fmt;
use std::task::{Context, Poll, Waker};

use std::time::Duration;

use airlane_base::Time;
use airlane_plum::{ClientChannel, Coordinator, CoordinatorConfig, Decision};
use airlane_runtime::BoxFuture;

use crate::optimiser::{Optimiser, Targets};

/// Time that an optimiser may take, unless another is given.
pub const DEFAULT_OPTIMISER_TIMEOUT: Duration = Duration::from_secs(2);

/// Coordination of uplinks and downlinks.
#[derive(Clone, Debug)]
pub struct CoordinationConfig {
    /// Rules for when bitrates are optimised.
    pub coordinator: CoordinatorConfig,
    /// The chooser of bitrates.
    pub optimiser: Optimiser,
    /// Time after which a result is not waited for any more: then everybody is Natural.
    pub optimiser_timeout: Duration,
    /// True if the bitrate from before the Constrained state is restored.
    pub restores: bool,
}

/// Coordination of the participants of a room, each under a key.
pub struct Coordination<K> {
    config: CoordinationConfig,
    coordinator: Coordinator<K>,
    optimising: Option<Optimising<K>>,
}

/// Call of the optimiser that has no result yet.
struct Optimising<K> {
    began: Time,
    /// Clients, in the order of the capacities that it got.
    ids: Vec<K>,
    targets: BoxFuture<Targets>,
}

impl<K: fmt::Debug> fmt::Debug for Coordination<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Coordination")
            .field("coordinator", &self.coordinator)
            .finish_non_exhaustive()
    }
}

impl<K: Ord + Copy> Coordination<K> {
    /// A coordination of nobody, which looks for changes first an interval after `now`.
    pub fn new(config: CoordinationConfig, now: Time) -> Self {
        let coordinator = Coordinator::new(config.coordinator, now);
        Self { config, coordinator, optimising: None }
    }

    /// Takes what is known of all clients, which are those that there are, and returns what follows, if there is a
    /// new result. It never waits for one: the optimiser is looked after at the next call.
    pub fn update(&mut self, now: Time, channels: &[(K, ClientChannel)]) -> Vec<(K, Decision)> {
        self.coordinator.retain(|id| channels.iter().any(|(of, _)| *of == id));
        for (id, channel) in channels {
            self.coordinator.on_channel(*id, channel);
        }
        if self.optimising.is_none()
            && let Some(capacities) = self.coordinator.poll(now)
        {
            let (ids, rates) = capacities.into_iter().unzip();
            let targets = (self.config.optimiser.0)(rates);
            self.optimising = Some(Optimising { began: now, ids, targets });
        }
        let Some(optimising) = &mut self.optimising else { return Vec::new() };
        let targets =
            match optimising.targets.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(targets) => targets,
                Poll::Pending if now - optimising.began >= self.config.optimiser_timeout => None,
                Poll::Pending => return Vec::new(),
            };
        let ids = std::mem::take(&mut optimising.ids);
        self.optimising = None;
        let targets =
            targets.map(|targets| ids.into_iter().zip(targets).collect::<BTreeMap<_, _>>());
        self.coordinator.decide(targets.as_ref())
    }
}
