//! Coordination of uplinks and downlinks (Plum), and what people are told of their connections.

use std::time::Duration;

use airlane_base::{Rate, Time};
use airlane_call::{CoordinationConfig, DEFAULT_OPTIMISER_TIMEOUT, Optimiser, optimal_targets};
use airlane_plum::{ClientChannel, CoordinatorConfig, Decision, OptimiserConfig, State, Target};
use str0m::media::MediaKind;

use super::messages::{ConnectionQuality, ParticipantId, ToClient};
use super::participant::Participant;
use super::{Conference, Role};
use crate::media::session::MEDIA_SHARE;
use crate::names::RoomName;

/// Rate that is left to each direction, where the channel carries twice as much: audio, and video that one can follow.
/// The optimiser knows no such bound, and has whoever is on the one thin channel of a room send nothing where the
/// others fill each other's downlinks.
const MIN_RATE: Rate = Rate::from_bps(250_000);
/// Time without a packet after which a client takes no part, as its link may be dead or it may be gone: what it would send or receive is
/// nobody's loss until it is back. By then it holds nothing itself.
const INACTIVITY_TIMEOUT: Duration = Duration::from_secs(3);
/// Share of lost packets from which on a connection is fair, and poor.
const FAIR_LOSS: f64 = 0.02;
const POOR_LOSS: f64 = 0.08;

/// Settings of Plum for rooms whose participants send `max_bps` at most.
pub(super) fn config(max_bps: u64) -> CoordinationConfig {
    let of_optimiser =
        OptimiserConfig { max_rate: max_bps as f64 / 1000.0, ..OptimiserConfig::default() };
    CoordinationConfig {
        coordinator: CoordinatorConfig::default(),
        optimiser: Optimiser::threaded(move |capacities| {
            let targets = optimal_targets(&of_optimiser, capacities)?;
            Some(targets.into_iter().zip(capacities).map(|(of, rate)| usable(of, *rate)).collect())
        }),
        optimiser_timeout: DEFAULT_OPTIMISER_TIMEOUT,
        restores: true,
    }
}

/// The target of a client whose channel carries `capacity`, with enough of it for each direction.
fn usable(target: Target, capacity: Rate) -> Target {
    let least = (MIN_RATE.bps()).min(capacity.bps() / 2);
    let up = target.up.bps().max(least);
    let down = target.down.bps().max(least);
    // What one of them was raised to the other gives up; a channel that carries both has room for it.
    let (up, down) = match up == least {
        true => (up, down.min(capacity.bps().saturating_sub(up).max(least))),
        false => (up.min(capacity.bps().saturating_sub(down).max(least)), down),
    };
    Target { up: Rate::from_bps(up), down: Rate::from_bps(down) }
}

impl Conference {
    /// Decides which directions in a room are held, and tells clients about theirs.
    pub(super) fn coordinate(&mut self, now: Time, name: &RoomName) {
        let Some(room) = self.rooms.get_mut(name) else { return };
        let Some(coordination) = &mut room.coordination else { return };
        // Whoever sends no video has no uplink that others wait for; who has no data channel says nothing of its own.
        let mut channels: Vec<(ParticipantId, ClientChannel)> = room
            .members
            .iter()
            .filter_map(|id| self.participants.get(id).filter(|of| of.is_coordinated(now)))
            .map(|of| (of.id, of.path.measurement()))
            .collect();
        // Who is alone makes room for nobody.
        let is_alone = channels.len() < 2;
        if is_alone {
            channels.clear();
        }
        for (id, decision) in coordination.update(now, &channels) {
            if let Some(participant) = self.participants.get_mut(&id) {
                participant.path.decide(decision);
            }
        }
        for id in &room.members {
            let Some(participant) = self.participants.get_mut(id) else { continue };
            let is_coordinated = participant.is_coordinated(now) && !is_alone;
            if !is_coordinated || participant.path.capacity().is_none() {
                participant.path.decide(Decision::Natural);
            }
            participant.tell_notice(now, self.limits.max_bitrate_bps);
        }
    }

    /// Tells everybody how the connections in their room are.
    pub(super) fn tell_qualities(&mut self) {
        for room in self.rooms.values() {
            let people = room.members.iter().filter_map(|id| self.participants.get(id));
            let people = people.filter(|of| of.role != Role::Viewer).map(|of| of.quality());
            let message = ToClient::Quality { people: people.collect() };
            for id in &room.members {
                if let Some(participant) = self.participants.get_mut(id) {
                    participant.tell(&message);
                }
            }
        }
    }
}

impl Participant {
    /// True if it takes part in the coordination.
    fn is_coordinated(&self, now: Time) -> bool {
        let is_heard = now.since(self.heard) < INACTIVITY_TIMEOUT;
        is_heard && self.is_connected && self.channel.is_some() && self.track_state.has_video
    }

    /// Tells the client the ceiling of its uplink, if that is due: on the data channel, and by REMB where it does not
    /// answer there.
    fn tell_notice(&mut self, now: Time, max_bps: u64) {
        let Some(notice) = self.path.due_notice(now) else { return };
        let ceiling_bps = notice.target.map(|rate| rate.scale(MEDIA_SHARE).bps());
        self.tell(&ToClient::Notice { epoch: notice.epoch.0, ceiling_bps });
        if self.path.ignores_notice(now)
            && let Some(track) = self.track(MediaKind::Video)
        {
            let bps = notice.target.map_or(max_bps, Rate::bps);
            self.tracks[track].request_remb(&mut self.session, bps);
        }
    }

    /// Quality of its connection.
    pub(super) fn quality(&self) -> ConnectionQuality {
        let (up, down) = self.path.rates();
        let loss = self.path.down_loss;
        let grade = if !self.is_connected || loss >= POOR_LOSS {
            "poor"
        } else if self.is_thinned || loss >= FAIR_LOSS {
            "fair"
        } else {
            "good"
        };
        ConnectionQuality {
            id: self.id,
            capacity_bps: self.path.capacity().map(Rate::as_f64),
            up_bps: up.as_f64(),
            down_bps: down.as_f64(),
            state: match self.path.state() {
                State::Natural => "natural",
                State::ClientConstrained => "client",
                State::ServerConstrained => "server",
            }
            .to_owned(),
            target_bps: self.path.target().map(Rate::as_f64),
            grade: grade.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_leaves_enough_for_each_direction() {
        let kbps = |kbps: u64| Rate::from_bps(kbps * 1000);
        for (up, down, capacity, expected) in [
            (0, 1400, 1400, (250, 1150)),
            (1400, 0, 1400, (1150, 250)),
            (600, 800, 1400, (600, 800)),
            (0, 300, 300, (150, 150)),
            (0, 0, 10, (5, 5)),
            (2000, 6000, 12_000, (2000, 6000)),
        ] {
            let target = usable(Target { up: kbps(up), down: kbps(down) }, kbps(capacity));
            assert_eq!(
                target,
                Target { up: kbps(expected.0), down: kbps(expected.1) },
                "{capacity}"
            );
        }
    }
}
