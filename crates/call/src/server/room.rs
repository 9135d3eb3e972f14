//! The room: who takes part, and what goes from one to another.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use airlane_base::{Rate, Time};
use airlane_plum::Decision;
use airlane_runtime::{RuntimeHandle, WatchCell};
use parking_lot::Mutex;

use super::session::Session;
use super::{ServerConfig, ServerNote};
use crate::allocate::Offer;
use crate::coordination::Coordination;
use crate::error::CallError;
use crate::last_n::LastN;
use crate::queue::Frame;
use crate::speakers::ActiveSpeaker;
use crate::wire::{FromServer, ParticipantId, Track};

/// Interval at which channels are sampled.
pub(super) const TICK_INTERVAL: Duration = Duration::from_millis(20);
/// Ticks between two divisions of downlinks over sources, and between two records.
const TICKS_PER_SPLIT: u64 = 5;

/// Pauses the video of everybody who is not among the last speakers, and lets the others go on.
fn pause_others(last_n: &LastN, sessions: &BTreeMap<ParticipantId, Arc<Session>>) {
    for session in sessions.values() {
        session.set_paused(!last_n.is_forwarded(session.id));
    }
}

/// A room. Locks: the sessions' map first, then the next number, or the speaker and the last speakers, then one
/// session's state at a time. The coordination is the ticks' alone.
pub(super) struct Room {
    pub(super) config: ServerConfig,
    pub(super) clock: RuntimeHandle,
    sessions: Mutex<BTreeMap<ParticipantId, Arc<Session>>>,
    /// Number of the next participant. Numbers of those who have left come last: what is under way of them would
    /// be taken for somebody else's.
    next_id: Mutex<u16>,
    coordination: Mutex<Option<Coordination<ParticipantId>>>,
    last_n: Mutex<Option<LastN>>,
    speaker: Mutex<ActiveSpeaker>,
    ticks: Mutex<u64>,
    note: ServerNote,
    /// True once the server is gone.
    is_closed: WatchCell<bool>,
}

impl Room {
    pub(super) fn new(config: ServerConfig, clock: RuntimeHandle, note: ServerNote) -> Arc<Self> {
        let coordination = config.coordination.clone();
        let coordination = coordination.map(|config| Coordination::new(config, clock.now()));
        let rng = || clock.seed().split("last n").rng();
        let last_n = config.last_n.map(|config| LastN::new(config, rng(), clock.now()));
        Arc::new(Self {
            last_n: Mutex::new(last_n),
            speaker: Mutex::default(),
            config,
            clock,
            sessions: Mutex::default(),
            next_id: Mutex::default(),
            coordination: Mutex::new(coordination),
            ticks: Mutex::default(),
            note,
            is_closed: WatchCell::new(false),
        })
    }

    /// Ends with the server.
    pub(super) async fn closed(&self) {
        self.is_closed.until(true).await;
    }

    /// Ends all sessions.
    pub(super) fn close(&self) {
        self.is_closed.set(true);
    }

    /// Lets a participant in: `make` gets its number. The others are told, and asked for key frames.
    pub(super) fn join(
        &self,
        name: &str,
        make: impl FnOnce(ParticipantId) -> Arc<Session>,
    ) -> Result<Arc<Session>, CallError> {
        let mut sessions = self.sessions.lock();
        if sessions.len() >= self.config.max_participants {
            return Err(CallError::Full);
        }
        let session = make(self.free_id(&sessions)?);
        session.tell(FromServer::Welcome(session.id));
        for other in sessions.values() {
            session.tell(FromServer::Joined(other.id, other.name.clone()));
            other.tell(FromServer::Joined(session.id, name.to_owned()));
            other.request_key_frames(self.clock.now());
            for track in Track::VIDEOS {
                // What is not said is that of who has just joined: a camera is sent, a screen is not.
                let is_sent = other.told().contains(&track);
                if is_sent != (track == Track::Camera) {
                    session.tell(FromServer::Sends(other.id, track, is_sent));
                }
            }
        }
        sessions.insert(session.id, session.clone());
        if let Some(last_n) = &mut *self.last_n.lock() {
            last_n.join(session.id);
            pause_others(last_n, &sessions);
        }
        Ok(session)
    }

    /// The next number that nobody has.
    fn free_id(
        &self,
        sessions: &BTreeMap<ParticipantId, Arc<Session>>,
    ) -> Result<ParticipantId, CallError> {
        let mut next = self.next_id.lock();
        let first = *next;
        let mut all = (0..=u16::MAX).map(|ahead| first.wrapping_add(ahead));
        let free = all.find(|id| !sessions.contains_key(&ParticipantId(*id)));
        let id = free.ok_or(CallError::Full)?;
        *next = id.wrapping_add(1);
        Ok(ParticipantId(id))
    }

    pub(super) fn leave(&self, id: ParticipantId) {
        let mut sessions = self.sessions.lock();
        sessions.remove(&id);
        if let Some(last_n) = &mut *self.last_n.lock() {
            last_n.leave(id);
            pause_others(last_n, &sessions);
        }
        self.speaker.lock().forget(id);
        for other in sessions.values() {
            other.forget(id);
            other.tell(FromServer::Left(id));
        }
    }

    /// Forwards a frame to everybody but its source, each their share of it.
    pub(super) fn forward(&self, frame: &Frame) {
        let now = self.clock.now();
        let sessions = self.sessions.lock();
        let source = frame.header.source;
        // The last frames of who has left may come after that was told.
        let Some(of) = sessions.get(&source) else { return };
        if of.is_paused() && frame.header.track == Track::Camera {
            return;
        }
        for (id, session) in &*sessions {
            if *id != source {
                session.forward(now, frame, self.config.min_frame_bytes);
            }
        }
    }

    /// Asks a participant for a key frame.
    pub(super) fn request_key_frame(&self, source: ParticipantId, track: Track) {
        if let Some(session) = self.sessions.lock().get(&source) {
            session.request_key_frame(self.clock.now(), track);
        }
    }

    /// Takes a frame of audio in which a participant speaks.
    pub(super) fn on_speech(&self, now: Time, id: ParticipantId) {
        let sessions = self.sessions.lock();
        // The last frames of who has left may come after that was told.
        if !sessions.contains_key(&id) {
            return;
        }
        if let Some(speaker) = self.speaker.lock().on_speech(now, id)
            && let Some(last_n) = &mut *self.last_n.lock()
        {
            last_n.on_speaker(speaker);
            pause_others(last_n, &sessions);
        }
    }

    /// Samples all channels; now and then divides downlinks over sources, and coordinates.
    pub(super) fn tick(&self) {
        let now = self.clock.now();
        let ticks = {
            let mut ticks = self.ticks.lock();
            *ticks += 1;
            *ticks
        };
        // Who leaves meanwhile is in it for this time alone.
        let sessions: Vec<Arc<Session>> = self.sessions.lock().values().cloned().collect();
        for session in &sessions {
            session.sample(now);
            session.pad(TICK_INTERVAL);
        }
        if ticks % TICKS_PER_SPLIT != 0 {
            return;
        }
        for (source, track) in sessions.iter().flat_map(|session| session.take_wanted()) {
            self.request_key_frame(source, track);
        }
        for session in &sessions {
            session.request_deferred(now);
            self.tell_sent(session, &sessions);
        }
        {
            let sessions = self.sessions.lock();
            if let Some(last_n) = &mut *self.last_n.lock()
                && last_n.poll(now)
            {
                pause_others(last_n, &sessions);
            }
        }
        if let Some(coordination) = &mut *self.coordination.lock() {
            // Whoever sends no video has no uplink that others wait for, and needs nothing of it for its downlink.
            let (senders, muted): (Vec<_>, Vec<_>) =
                sessions.iter().partition(|session| session.sends_video());
            let channels: Vec<_> = senders.iter().map(|s| (s.id, s.channel(now))).collect();
            for (id, decision) in coordination.update(now, &channels) {
                if let Some(session) = senders.iter().find(|session| session.id == id) {
                    session.decide(decision);
                }
            }
            muted.iter().for_each(|session| session.decide(Decision::Natural));
        }
        self.divide(&sessions);
    }

    /// Tells the others which videos a participant sends, if that has changed.
    fn tell_sent(&self, session: &Session, sessions: &[Arc<Session>]) {
        let Some((sent, before)) = session.take_sent() else { return };
        for other in sessions.iter().filter(|other| other.id != session.id) {
            for track in sent.symmetric_difference(&before) {
                other.tell(FromServer::Sends(session.id, *track, sent.contains(track)));
            }
        }
    }

    /// True if the bitrate from before a hold is restored.
    pub(super) fn restores(&self) -> bool {
        self.config.coordination.as_ref().is_some_and(|config| config.restores)
    }

    /// Divides the downlink of each participant over the others' videos.
    fn divide(&self, sessions: &[Arc<Session>]) {
        let now = self.clock.now();
        let speaker = self.speaker.lock().speaker(now).filter(|_| self.config.speakers_first);
        let mut offers = Vec::new();
        let mut rates = Vec::new();
        for session in sessions {
            let mut sum = Rate::ZERO;
            for (track, rate, layers) in session.videos(now) {
                let tier = match track {
                    Track::Screen => 0,
                    _ if speaker == Some(session.id) => 1,
                    _ => 2,
                };
                sum = Rate::from_bps(sum.bps().saturating_add(rate.bps()));
                let stream = (session.id, track);
                // The camera of who is paused is not there.
                if track == Track::Screen || !session.is_paused() || !self.config.has_layers() {
                    offers.push(Offer { stream, rate: rate.as_f64(), layers, tier });
                }
            }
            rates.push(sum);
        }
        let mut key_frames = BTreeSet::new();
        for (session, rate) in sessions.iter().zip(rates) {
            let budget = session.down_media(now, &self.config);
            let others: Vec<_> =
                offers.iter().filter(|offer| offer.stream.0 != session.id).cloned().collect();
            key_frames.extend(session.divide(now, budget, &others));
            (self.note)(session.record(now, rate, budget));
        }
        for (source, track) in key_frames {
            self.request_key_frame(source, track);
        }
    }
}
