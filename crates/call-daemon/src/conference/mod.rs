//! Conference: all rooms and their participants, without I/O. Datagrams and times go in; datagrams come out.
//!
//! ```text
//! datagram --Demux--> Session of its client --RTP--> Track --> Line of each receiver --> Session --> datagram
//!                         | messages, estimates, levels
//!                         '--> Room: slots, speaker, states
//! ```

mod audio_rate;
mod config;
mod coordination;
mod demux;
mod estimator_targets;
mod events;
mod messages;
mod participant;
mod room;
mod shares;
mod slots;
mod status;
mod ticks;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use airlane_base::{Rate, Time};
use airlane_call::CoordinationConfig;
use str0m::Event;
use str0m::net::Transmit;

pub use self::config::CallLimits;
pub use self::messages::{ConnectionQuality, FromClient, ParticipantId, ParticipantInfo, ToClient};
pub use self::participant::Role;
pub use self::status::{CallStatus, ParticipantStatus, RoomStatus};

use self::demux::Demux;
use self::participant::{JoiningParticipant, Participant};
use self::room::Room;
use crate::clock::Clock;
use crate::error::Refusal;
use crate::media::answerer::AnsweredSession;
use crate::media::remote::Remote;
use crate::media::session::Datagram;
use crate::media::stun;
use crate::names::RoomName;

/// Interval of what is done for all rooms: messages, speakers, shares of downlinks.
const TICK_INTERVAL: Duration = Duration::from_millis(100);
/// Interval at which everybody is told the quality of all connections.
const QUALITY_INTERVAL: Duration = Duration::from_secs(1);

/// Request to take part.
#[derive(Clone, Debug)]
pub(crate) struct JoinRequest {
    pub(crate) room: RoomName,
    pub(crate) name: String,
    pub(crate) role: Role,
    /// Secret name under which the participation may be ended over HTTP.
    pub(crate) resource: String,
}

/// All rooms and their participants.
pub(crate) struct Conference {
    limits: CallLimits,
    clock: Clock,
    participants: BTreeMap<ParticipantId, Participant>,
    rooms: BTreeMap<RoomName, Room>,
    demux: Demux,
    next_id: u32,
    /// Time at which each session wants to be called.
    timeouts: BTreeSet<(Instant, ParticipantId)>,
    timeout_of: BTreeMap<ParticipantId, Instant>,
    /// Sessions that have something to say.
    ready: BTreeSet<ParticipantId>,
    next_tick: Time,
    next_quality: Time,
    started: Time,
    /// Participants who have joined so far.
    joined_total: u64,
    /// The chooser of bitrates of all rooms; `None`: nothing is coordinated.
    coordination: Option<CoordinationConfig>,
    /// Datagrams that were of no session.
    stray_datagrams: u64,
}

impl Conference {
    pub(crate) fn new(limits: CallLimits, now: Time) -> Self {
        Self {
            limits,
            clock: Clock::new(now),
            participants: BTreeMap::new(),
            rooms: BTreeMap::new(),
            demux: Demux::default(),
            next_id: 0,
            timeouts: BTreeSet::new(),
            timeout_of: BTreeMap::new(),
            ready: BTreeSet::new(),
            next_tick: now + TICK_INTERVAL,
            next_quality: now + QUALITY_INTERVAL,
            started: now,
            joined_total: 0,
            coordination: limits
                .is_coordinated
                .then(|| coordination::config(limits.max_bitrate_bps)),
            stray_datagrams: 0,
        }
    }

    pub(crate) fn clock(&self) -> Clock {
        self.clock
    }

    /// Reason for which nobody else may join a room.
    fn refusal(&self, name: &RoomName) -> Option<Refusal> {
        let CallLimits { max_participants, max_total_participants, max_rooms, .. } = self.limits;
        let is_full = match self.rooms.get(name) {
            Some(room) if room.members.len() >= max_participants => return Some(Refusal::RoomFull),
            Some(_) => false,
            None => self.rooms.len() >= max_rooms,
        };
        let is_full = is_full || self.participants.len() >= max_total_participants;
        is_full.then_some(Refusal::ServerFull)
    }

    /// Lets a client take part whose offer was answered.
    ///
    /// # Errors
    /// If the room or the server is full.
    pub(crate) fn join(
        &mut self,
        now: Time,
        request: JoinRequest,
        answered: AnsweredSession,
    ) -> Result<ParticipantId, Refusal> {
        if let Some(refusal) = self.refusal(&request.room) {
            return Err(refusal);
        }
        let id = ParticipantId(self.next_id);
        self.next_id = self.next_id.wrapping_add(1);
        self.joined_total += 1;
        let JoinRequest { room, name, role, resource } = request;
        let max_bitrate = Rate::from_bps(self.limits.max_bitrate_bps);
        let joining =
            JoiningParticipant { id, room: room.clone(), name, role, resource, max_bitrate };
        let participant = Participant::new(now, joining, answered);
        self.demux.add(participant.fragment.clone(), id);
        self.participants.insert(id, participant);
        let room =
            self.rooms.entry(room).or_insert_with(|| Room::new(self.coordination.clone(), now));
        room.members.push(id);
        room.has_news = true;
        self.ready.insert(id);
        Ok(id)
    }

    /// Ends a participation, by its secret name. False if there is none.
    pub(crate) fn leave(&mut self, now: Time, resource: &str) -> bool {
        let mut all = self.participants.values();
        let Some(id) = all.find(|of| of.resource == resource).map(|of| of.id) else { return false };
        self.remove(now, id);
        true
    }

    /// Forgets a participant.
    fn remove(&mut self, now: Time, id: ParticipantId) {
        let Some(gone) = self.participants.remove(&id) else { return };
        self.demux.remove(&gone.fragment, id);
        self.ready.remove(&id);
        if let Some(at) = self.timeout_of.remove(&id) {
            self.timeouts.remove(&(at, id));
        }
        let Some(room) = self.rooms.get_mut(&gone.room) else { return };
        room.remove(id);
        if room.members.is_empty() {
            self.rooms.remove(&gone.room);
        } else {
            self.assign_slots(now, &gone.room);
        }
    }

    /// Takes a datagram, and hands what its session answers to `send`. What is of no session is counted and dropped.
    pub(crate) fn receive(
        &mut self,
        at: Time,
        datagram: &Datagram<'_>,
        send: &mut dyn FnMut(&Transmit),
    ) {
        let instant = self.clock.instant(at);
        let is_stun = stun::is_stun(datagram.bytes);
        let id = match is_stun {
            true => stun::local_fragment(datagram.bytes).and_then(|of| self.demux.by_fragment(of)),
            false => self.demux.by_address(datagram.from),
        };
        let Some(participant) = id.and_then(|id| self.participants.get_mut(&id)) else {
            self.stray_datagrams += 1;
            return;
        };
        if is_stun {
            // Only who knows the session's password speaks for it from this address.
            if !participant.session.accepts(instant, datagram) {
                self.stray_datagrams += 1;
                return;
            }
            self.demux.bind(datagram.from, participant.id);
        }
        participant.heard = at;
        participant.session.receive(instant, datagram);
        let id = participant.id;
        // str0m keeps one packet at a time: it is taken before the next datagram. Whoever gets it is driven later.
        self.drain(at, id, send, &mut Vec::new());
    }

    /// True if a client has proven to send from an address.
    pub(crate) fn knows(&self, remote: Remote) -> bool {
        self.demux.by_address(remote).is_some()
    }

    /// Forgets an address from which nothing comes any more: its client is sent to over another one, if it has one.
    pub(crate) fn forget(&mut self, remote: Remote) {
        let Some(id) = self.demux.unbind(remote) else { return };
        let Some(participant) = self.participants.get_mut(&id) else { return };
        participant.session.forget(remote);
        self.ready.insert(id);
    }

    /// Takes what a session has to say.
    fn drain(
        &mut self,
        now: Time,
        id: ParticipantId,
        send: &mut dyn FnMut(&Transmit),
        events: &mut Vec<Event>,
    ) {
        let Some(participant) = self.participants.get_mut(&id) else { return };
        let instant = self.clock.instant(now);
        let next = participant.session.drain(instant, send, events);
        self.schedule(id, next);
        for event in events.drain(..) {
            self.on_event(now, id, event);
        }
        if self.participants.get(&id).is_some_and(|of| of.session.is_over()) {
            self.remove(now, id);
        }
    }

    /// Does all that is due, and hands datagrams to `send`.
    pub(crate) fn drive(&mut self, now: Time, send: &mut dyn FnMut(&Transmit)) {
        if now >= self.next_tick {
            self.next_tick = now + TICK_INTERVAL;
            self.tick(now);
        }
        let instant = self.clock.instant(now);
        let mut events: Vec<Event> = Vec::new();
        loop {
            while let Some((at, id)) = self.timeouts.first().copied()
                && at <= instant
            {
                self.timeouts.remove(&(at, id));
                self.timeout_of.remove(&id);
                self.ready.insert(id);
            }
            let ready = std::mem::take(&mut self.ready);
            if ready.is_empty() {
                return;
            }
            for id in ready {
                self.drain(now, id, send, &mut events);
            }
        }
    }

    fn schedule(&mut self, id: ParticipantId, next: Option<Instant>) {
        if let Some(before) = self.timeout_of.remove(&id) {
            self.timeouts.remove(&(before, id));
        }
        if let Some(next) = next {
            self.timeouts.insert((next, id));
            self.timeout_of.insert(id, next);
        }
    }

    /// Time at which [`Self::drive`] wants to be called again.
    pub(crate) fn next_time(&self) -> Time {
        let first = self.timeouts.first().map(|(at, _)| self.clock.time(*at));
        first.map_or(self.next_tick, |at| at.min(self.next_tick))
    }

    /// Ends all sessions; what they have to say of it is handed to `send`.
    pub(crate) fn close(&mut self, now: Time, send: &mut dyn FnMut(&Transmit)) {
        let instant = self.clock.instant(now);
        let mut events = Vec::new();
        for participant in self.participants.values_mut() {
            participant.session.call(|rtc| rtc.close());
            participant.session.drain(instant, send, &mut events);
            events.clear();
        }
        self.participants.clear();
        self.rooms.clear();
    }
}
