//! Coordination of a room's clients: from their channels to their states.

use std::collections::BTreeMap;
use std::task::{Context, Poll, Waker};

use airlane_base::Time;
use airlane_plum::{ClientChannel, Coordinator, Decision};
use airlane_runtime::BoxFuture;

use super::CoordinationConfig;
use crate::optimiser::Targets;
use crate::wire::ParticipantId;

/// Coordination of the participants of a room.
pub(super) struct Coordination {
    config: CoordinationConfig,
    coordinator: Coordinator<ParticipantId>,
    optimising: Option<Optimising>,
}

/// Call of the optimiser that has no result yet.
struct Optimising {
    began: Time,
    /// Clients, in the order of the capacities that it got.
    ids: Vec<ParticipantId>,
    targets: BoxFuture<Targets>,
}

impl Coordination {
    pub(super) fn new(config: CoordinationConfig, now: Time) -> Self {
        let coordinator = Coordinator::new(config.coordinator, now);
        Self { config, coordinator, optimising: None }
    }

    /// Takes what is known of all clients, which are those that there are, and returns what follows, if there is a
    /// new result. It never waits for one: the optimiser is looked after at the next call.
    pub(super) fn update(
        &mut self,
        now: Time,
        channels: &[(ParticipantId, ClientChannel)],
    ) -> Vec<(ParticipantId, Decision)> {
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
