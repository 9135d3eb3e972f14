//! Coordination of a room's clients: from their channels to their states.

use std::collections::BTreeMap;

use airlane_base::Time;
use airlane_plum::{ClientChannel, Coordinator, Decision};

use super::CoordinationConfig;
use crate::wire::ParticipantId;

/// Coordination of the participants of a room.
pub(super) struct Coordination {
    config: CoordinationConfig,
    coordinator: Coordinator<ParticipantId>,
}

impl Coordination {
    pub(super) fn new(config: CoordinationConfig, now: Time) -> Self {
        let coordinator = Coordinator::new(config.coordinator, now);
        Self { config, coordinator }
    }

    /// Takes what is known of all clients, which are those that there are, and returns what follows, if a change
    /// was detected.
    pub(super) fn update(
        &mut self,
        now: Time,
        channels: &[(ParticipantId, ClientChannel)],
    ) -> Vec<(ParticipantId, Decision)> {
        self.coordinator.retain(|id| channels.iter().any(|(of, _)| *of == id));
        for (id, channel) in channels {
            self.coordinator.on_channel(*id, channel);
        }
        let Some(capacities) = self.coordinator.poll(now) else { return Vec::new() };
        let rates: Vec<_> = capacities.iter().map(|(_, rate)| *rate).collect();
        let targets = (self.config.optimiser.0)(&rates).map(|targets| {
            capacities.iter().map(|(id, _)| *id).zip(targets).collect::<BTreeMap<_, _>>()
        });
        self.coordinator.decide(targets.as_ref())
    }
}
