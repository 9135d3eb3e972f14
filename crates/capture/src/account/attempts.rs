//! Groups transmissions into attempts, and infers what of them was not heard.

use std::time::Duration;

use airlane_base::Time;
use airlane_wifi::{
    Access, Address, Band, Format, Frame, FrameKind, Response, Timing, Vector, What, contention,
    mac,
};

use super::attempt::{Air, Attempt};
use super::flows::{Flows, MAX_PPDU_DURATION};
use crate::transmission::{Precision, Transmission};

/// MPDUs above this many bytes make a station an active one.
const ACTIVE_BYTES: u32 = 200;
/// An answer whose kind could not be made out is at most so long: a block acknowledgement at 6 Mbit/s.
const MAX_ANSWER: Duration = Duration::from_micros(100);
/// Attempts at once at most: more collide seldom.
const MAX_ASIDE: usize = 4;
/// What a duration field can announce.
const MAX_RESERVED: Duration = Duration::from_micros(32_767);
/// What lies between a frame and its answer beyond SIFS is taken for frames that were not heard from here
/// on: receivers' clocks count microseconds.
const MIN_MISSED: Duration = Duration::from_micros(5);

/// Groups transmissions into attempts.
#[derive(Clone, Debug, Default)]
pub(super) struct Attempts {
    open: Option<Open>,
    /// Attempts at the same time as the open one, or so soon before it that they may still be answered.
    /// Only who hears both of a collision has such.
    aside: Vec<Open>,
    flows: Flows,
    /// The end of the last attempt, and its sender.
    last: Option<(Time, Option<Address>)>,
}

/// An attempt that may go on.
#[derive(Clone, Debug)]
struct Open {
    begin: Time,
    end: Time,
    sender: Option<Address>,
    receiver: Option<Address>,
    timing: Precision,
    /// Until when the air is reserved by RTS or CTS.
    reserved: Time,
    rts: Option<Duration>,
    cts: Option<Duration>,
    /// The way in which RTS, CTS or the answer is sent.
    control: Vector,
    ppdu: Option<Ppdu>,
    answer: Option<Answer>,
}

/// The PPDU of an attempt.
#[derive(Clone, Copy, Debug)]
struct Ppdu {
    begin: Time,
    duration: Duration,
    /// `None` of one of which not even the PHY header was heard.
    vector: Option<Vector>,
    is_aggregate: bool,
    /// The kind of its frames; `None` if none came.
    kind: Option<FrameKind>,
    tid: u8,
    /// What answers it.
    expects: Response,
    frames: u32,
    retries: u32,
    bytes: u64,
    largest: u32,
}

/// The answer of an attempt.
#[derive(Clone, Copy, Debug)]
struct Answer {
    at: Time,
    duration: Duration,
    /// Frames that a block acknowledgement acknowledges and none before it did.
    acknowledged: Option<u32>,
}

/// What a transmission is to an attempt.
#[derive(Clone, Copy)]
enum Role<'a> {
    Rts(&'a Frame),
    Cts(&'a Frame),
    /// ACK or block acknowledgement.
    Answer(&'a Frame),
    /// Data, management, a request.
    Sent(&'a Frame),
    /// Nobody knows.
    Unknown,
}

impl<'a> Role<'a> {
    fn of(transmission: &'a Transmission) -> Self {
        let What::Frames { frames, .. } = &transmission.heard.what else { return Self::Unknown };
        let Some(first) = frames.first() else { return Self::Unknown };
        match first.kind {
            FrameKind::Rts => Self::Rts(first),
            FrameKind::Cts => Self::Cts(first),
            FrameKind::Ack | FrameKind::BlockAck => Self::Answer(first),
            _ => Self::Sent(first),
        }
    }
}

/// How far from where it should be a frame may be.
fn slack(timing: Precision) -> Duration {
    match timing {
        Precision::Exact => Duration::from_micros(4),
        Precision::Receiver => Duration::from_micros(60),
        Precision::Machine => Duration::from_millis(5),
    }
}

fn timing() -> Timing {
    Timing::of(Band::Ghz5)
}

fn sifs() -> Duration {
    timing().sifs
}

impl Attempts {
    /// Takes a transmission; gives the attempts that it shows to be over.
    pub(super) fn push(&mut self, transmission: &Transmission, mut give: impl FnMut(Attempt)) {
        let role = Role::of(transmission);
        if let Some(open) = &mut self.open
            && open.take(transmission, role, &mut self.flows)
        {
            return;
        }
        let at = transmission.heard.at;
        if !self.aside.is_empty() {
            let is_named = !matches!(role, Role::Unknown);
            let mut aside = self.aside.iter_mut().filter(|_| is_named);
            if aside.any(|open| open.take(transmission, role, &mut self.flows)) {
                return;
            }
            while let Some(over) = self.aside.iter().position(|open| !open.may_go_on(at)) {
                let over = self.aside.swap_remove(over);
                give(self.close(over, Some(at)));
            }
        }
        let new = Open::new(transmission, role, &mut self.flows);
        if let Some(before) = self.open.replace(new) {
            match before.may_go_on(at) && self.aside.len() < MAX_ASIDE {
                true => self.aside.push(before),
                false => give(self.close(before, Some(at))),
            }
        }
    }

    /// Gives what is open.
    pub(super) fn finish(&mut self, mut give: impl FnMut(Attempt)) {
        let aside = std::mem::take(&mut self.aside);
        for open in aside.into_iter().chain(self.open.take()) {
            give(self.close(open, None));
        }
    }

    /// Closes an attempt; another transmission begins at `next`.
    fn close(&mut self, open: Open, next: Option<Time>) -> Attempt {
        let (before, by) = self.last.map_or((Time::ZERO, None), |last| last);
        // In one transmit opportunity: it has not contended.
        let pause = open.begin.since(before);
        let goes_on = by.is_some()
            && by == open.sender
            && open.timing != Precision::Machine
            && pause <= sifs() + slack(open.timing).min(timing().slot)
            && open.begin >= before;
        let (attempt, end) = open.close(next, before, goes_on, &mut self.flows);
        self.last = Some((end.max(before), attempt.sender));
        attempt
    }
}

impl Open {
    fn new(transmission: &Transmission, role: Role<'_>, flows: &mut Flows) -> Self {
        let heard = &transmission.heard;
        let control = match &heard.what {
            What::Frames { vector, .. } | What::Header(vector) => *vector,
            What::Energy => Vector::ofdm(4),
        };
        let mut open = Self {
            begin: heard.at,
            end: transmission.end(),
            sender: None,
            receiver: None,
            timing: transmission.timing,
            reserved: transmission.end(),
            rts: None,
            cts: None,
            control,
            ppdu: None,
            answer: None,
        };
        match role {
            Role::Rts(frame) => {
                (open.sender, open.receiver) = (frame.transmitter, Some(frame.receiver));
                if let Some(sender) = frame.transmitter {
                    flows.protects(sender, frame.receiver);
                }
                open.rts = Some(heard.duration);
                open.reserved = open.end + frame.remaining;
            }
            Role::Cts(frame) => {
                open.sender = Some(frame.receiver);
                open.cts = Some(heard.duration);
                open.reserved = open.end + frame.remaining;
            }
            Role::Answer(frame) => {
                (open.sender, open.receiver) = (Some(frame.receiver), frame.transmitter);
                open.answer = Some(answer(transmission, frame, flows));
            }
            Role::Sent(frame) => {
                (open.sender, open.receiver) = (frame.transmitter, Some(frame.receiver));
                open.ppdu = Some(Ppdu::of(transmission, flows));
            }
            Role::Unknown => open.ppdu = Some(Ppdu::of(transmission, flows)),
        }
        open
    }

    /// Whether it may go on although another transmission began at `at`: that was in the air at the same time,
    /// or before an answer was due. Of what others capture that is not known well enough.
    fn may_go_on(&self, at: Time) -> bool {
        self.timing == Precision::Exact
            && self.answer.is_none()
            && self.sender.is_some()
            && at <= self.end + sifs() + slack(Precision::Exact)
    }

    /// Takes a transmission that goes on with the attempt; whether it does.
    fn take(&mut self, transmission: &Transmission, role: Role<'_>, flows: &mut Flows) -> bool {
        if self.answer.is_some() {
            return false;
        }
        let heard = &transmission.heard;
        let slack = slack(self.timing.max(transmission.timing));
        let is_next = heard.at <= self.end + sifs() + slack;
        let is_reserved = heard.at <= self.reserved.max(self.end + sifs()) + slack;
        let is_awaited = match (role, &self.ppdu) {
            (Role::Cts(frame), None) => {
                self.cts.is_none() && self.sender == Some(frame.receiver) && is_next
            }
            (Role::Sent(frame), None) => {
                frame.transmitter.is_some()
                    && self.sender == frame.transmitter
                    && self.receiver.is_none_or(|receiver| receiver == frame.receiver)
                    && is_reserved
            }
            (Role::Unknown, None) => is_next && self.timing != Precision::Machine,
            (Role::Answer(frame), None) => {
                self.sender == Some(frame.receiver)
                    && (frame.transmitter.is_none()
                        || self.receiver.is_none()
                        || frame.transmitter == self.receiver)
                    && is_reserved
            }
            (Role::Answer(frame), Some(ppdu)) => {
                let is_theirs = match self.sender {
                    None => self.timing != Precision::Machine,
                    Some(sender) => {
                        sender == frame.receiver
                            && (frame.transmitter.is_none()
                                || self.receiver.is_none_or(|r| r.is_group())
                                || frame.transmitter == self.receiver)
                    }
                };
                // More frames of an aggregate may have been in the air than came.
                let may_be_longer =
                    ppdu.is_aggregate && heard.at <= ppdu.begin + MAX_PPDU_DURATION + slack;
                is_theirs && (is_next || may_be_longer) && ppdu.expects != Response::None
            }
            (Role::Unknown, Some(ppdu)) => {
                ppdu.kind.is_some()
                    && ppdu.expects != Response::None
                    && self.timing != Precision::Machine
                    && is_next
                    && heard.duration <= MAX_ANSWER
            }
            _ => false,
        };
        if !is_awaited {
            return false;
        }
        match role {
            Role::Cts(frame) => {
                self.cts = Some(heard.duration);
                self.reserved = transmission.end() + frame.remaining;
            }
            Role::Unknown if self.ppdu.is_none() && self.cts.is_none() && self.is_cts(heard) => {
                self.cts = Some(heard.duration);
            }
            Role::Sent(frame) => {
                self.receiver = self.receiver.or(Some(frame.receiver));
                self.ppdu = Some(Ppdu::of(transmission, flows));
            }
            Role::Unknown if self.ppdu.is_none() => {
                self.ppdu = Some(Ppdu::of(transmission, flows));
            }
            Role::Answer(frame) => {
                self.sender = Some(frame.receiver);
                self.receiver = self.receiver.or(frame.transmitter);
                self.answer = Some(answer(transmission, frame, flows));
            }
            Role::Unknown | Role::Rts(_) => {
                let (at, duration) = (heard.at, heard.duration);
                self.answer = Some(Answer { at, duration, acknowledged: None });
            }
        }
        self.timing = self.timing.max(transmission.timing);
        self.end = self.end.max(transmission.end());
        true
    }

    /// Whether something that could not be made out is as long as a CTS.
    fn is_cts(&self, heard: &airlane_wifi::Heard) -> bool {
        heard.duration <= self.control.response().duration(mac::CTS) + MIN_MISSED
    }

    /// What it cost, and its end. It has not contended if it `goes_on` in a transmit opportunity;
    /// `before` is the end of the attempt before, `next` when the next transmission begins.
    fn close(
        self,
        next: Option<Time>,
        before: Time,
        goes_on: bool,
        flows: &mut Flows,
    ) -> (Attempt, Time) {
        let mut air = Air::default();
        let control = self.control.response();
        // Without a CTS an RTS came to nothing, unless what it is for was heard.
        let went_on = self.ppdu.is_some() || self.answer.is_some();
        self.protection(&mut air, control, went_on, flows);
        let mut end = self.end;
        let mut is_unanswered = false;
        let mut ppdu_air = Duration::ZERO;
        match (&self.ppdu, &self.answer) {
            (Some(ppdu), answer) => {
                ppdu_air = ppdu.duration;
                air.heard += ppdu.duration;
                if let Some(answer) = answer {
                    let missed = self.missed(ppdu, answer, flows);
                    ppdu_air += missed;
                    air.answered += missed;
                    air.gaps += sifs();
                    air.heard += answer.duration;
                } else if ppdu.kind.is_some() && ppdu.expects != Response::None {
                    // Others wait that long.
                    is_unanswered = true;
                    let how = ppdu.vector.unwrap_or(control).response();
                    air.gaps += sifs() + how.duration(ppdu.expects.bytes());
                }
            }
            (None, Some(answer)) if self.rts.is_some() || self.cts.is_some() => {
                // What was not heard lies between CTS and answer.
                let mut from = self.begin;
                for part in [self.rts, self.cts].into_iter().flatten() {
                    from += part;
                }
                let gaps = if self.rts.is_some() && self.cts.is_some() { 3 } else { 2 };
                let between = answer.at.since(from);
                let unheard = if self.rts.is_some() && self.cts.is_none() {
                    between.saturating_sub(control.duration(mac::CTS) + 3 * sifs())
                } else {
                    between.saturating_sub(gaps * sifs())
                };
                ppdu_air = unheard.min(MAX_PPDU_DURATION);
                air.announced += ppdu_air;
                air.gaps += 2 * sifs();
                air.heard += answer.duration;
            }
            (None, Some(answer)) => {
                ppdu_air = self.guess(answer, before, flows);
                air.answered += ppdu_air;
                air.gaps += sifs();
                air.heard += answer.duration;
            }
            (None, None) if self.cts.is_some() => {
                // Granted, and nothing heard: until somebody else sends, at most as long as announced.
                let until = next.map_or(self.reserved, |next| self.reserved.min(next));
                let rest = until.since(self.end).saturating_sub(sifs()).min(MAX_RESERVED);
                ppdu_air = rest;
                air.announced += rest;
                if !rest.is_zero() {
                    air.gaps += sifs();
                    end = until;
                }
            }
            (None, None) => {
                // An RTS without a CTS: others wait that long.
                is_unanswered = true;
                air.gaps += sifs() + control.duration(mac::CTS);
            }
        }
        if !goes_on {
            air.contention = contention(&timing(), &self.access());
        }
        (self.attempt(air, ppdu_air, is_unanswered, flows), end)
    }

    /// RTS and CTS, and the gaps behind them.
    fn protection(&self, air: &mut Air, control: Vector, went_on: bool, flows: &Flows) {
        let is_protected = |sender| flows.is_protected(sender, self.receiver);
        match (self.rts, self.cts) {
            (Some(rts), cts) => {
                air.heard += rts + cts.unwrap_or_default();
                if cts.is_some() {
                    air.gaps += sifs();
                } else if went_on {
                    air.announced += control.duration(mac::CTS);
                    air.gaps += sifs();
                }
                if self.ppdu.is_some() {
                    air.gaps += sifs();
                }
            }
            (None, Some(cts)) => {
                air.heard += cts;
                if self.ppdu.is_some() {
                    air.gaps += sifs();
                }
                // Who asks for protection as a rule has asked here as well.
                if self.sender.is_some_and(is_protected) {
                    air.announced += control.duration(mac::RTS);
                    air.gaps += sifs();
                }
            }
            (None, None) => {}
        }
    }

    /// How much longer a PPDU was than its frames that came.
    fn missed(&self, ppdu: &Ppdu, answer: &Answer, flows: &Flows) -> Duration {
        if !ppdu.is_aggregate {
            return Duration::ZERO;
        }
        if self.timing != Precision::Machine {
            let between = answer.at.since(ppdu.begin + ppdu.duration).saturating_sub(sifs());
            let missed = if between < MIN_MISSED { Duration::ZERO } else { between };
            return missed.min(MAX_PPDU_DURATION.saturating_sub(ppdu.duration));
        }
        // Clocks are too coarse: by what is acknowledged beyond what came.
        let frames = answer.acknowledged.unwrap_or(0).saturating_sub(ppdu.frames);
        match (self.sender, frames, ppdu.vector) {
            (Some(sender), 1.., Some(vector)) => flows
                .guess(sender, self.receiver, frames)
                .saturating_sub(vector.preamble())
                .min(MAX_PPDU_DURATION.saturating_sub(ppdu.duration)),
            _ => Duration::ZERO,
        }
    }

    /// How long a PPDU was of which only the answer was heard: at most the silence before that.
    fn guess(&self, answer: &Answer, before: Time, flows: &Flows) -> Duration {
        let Some(sender) = self.sender else { return Duration::ZERO };
        let guess = match answer.acknowledged {
            Some(frames) => flows.guess(sender, self.receiver, frames),
            None => flows.guess_alone(sender),
        };
        match self.timing {
            Precision::Machine => guess,
            _ => guess.min(answer.at.since(before).saturating_sub(sifs())),
        }
    }

    /// How the sender contended.
    fn access(&self) -> Access {
        let Some(ppdu) = &self.ppdu else { return Access::BEST_EFFORT };
        match ppdu.kind {
            Some(FrameKind::Beacon | FrameKind::Management) => Access::VOICE,
            Some(FrameKind::Data) => Access::DCF,
            _ => match ppdu.tid {
                1 | 2 => Access::BACKGROUND,
                4 | 5 => Access::VIDEO,
                6 | 7 => Access::VOICE,
                _ => Access::BEST_EFFORT,
            },
        }
    }

    fn attempt(&self, air: Air, ppdu_air: Duration, is_unanswered: bool, flows: &Flows) -> Attempt {
        let acknowledges_data = self.answer.is_some_and(|answer| answer.acknowledged.is_some());
        let is_reserving = self.rts.is_some() || self.cts.is_some();
        let kind = self.ppdu.and_then(|ppdu| ppdu.kind);
        let is_data = match kind {
            Some(kind) => matches!(kind, FrameKind::QosData | FrameKind::Data),
            // Not heard: RTS and block acknowledgements are for data.
            None => acknowledges_data || (is_reserving && !ppdu_air.is_zero()),
        };
        let vector = self.ppdu.and_then(|ppdu| ppdu.vector);
        let rate = self.sender.zip(self.receiver).and_then(|(s, r)| flows.rate_bps(s, r));
        let came = self.ppdu.filter(|ppdu| ppdu.kind.is_some());
        let unheard = ppdu_air.saturating_sub(came.map_or(Duration::ZERO, |ppdu| ppdu.duration));
        let is_shown = self.ppdu.is_some() || self.answer.is_some();
        let inferred_bytes = match (is_data, vector.map(|v| v.rate().as_f64()).or(rate)) {
            (true, Some(bps)) if is_shown => {
                // A preamble, unless some of the PPDU came.
                let data = if came.is_some() {
                    unheard
                } else {
                    unheard.saturating_sub(Vector::ofdm(0).preamble() * 2)
                };
                (data.as_secs_f64() * bps / 8.0) as u64
            }
            _ => 0,
        };
        let largest = self.ppdu.map_or(0, |ppdu| ppdu.largest);
        Attempt {
            at: self.begin,
            air,
            sender: self.sender,
            receiver: self.receiver,
            vector,
            ppdu: ppdu_air,
            is_data,
            frames: self.ppdu.map_or(0, |ppdu| ppdu.frames),
            retries: self.ppdu.map_or(0, |ppdu| ppdu.retries),
            bytes: self.ppdu.map_or(0, |ppdu| ppdu.bytes),
            inferred_bytes,
            is_active: is_data
                && (largest > ACTIVE_BYTES || inferred_bytes > u64::from(ACTIVE_BYTES)),
            is_unanswered,
        }
    }
}

/// An answer, and what it acknowledges.
fn answer(transmission: &Transmission, frame: &Frame, flows: &mut Flows) -> Answer {
    let acknowledged = match (frame.block_ack, frame.transmitter) {
        (Some(bits), Some(transmitter)) => {
            Some(flows.acknowledged(frame.receiver, transmitter, frame.tid, bits))
        }
        _ if frame.kind == FrameKind::BlockAck => Some(1),
        _ => None,
    };
    let (at, duration) = (transmission.heard.at, transmission.heard.duration);
    Answer { at, duration, acknowledged }
}

impl Ppdu {
    fn of(transmission: &Transmission, flows: &mut Flows) -> Self {
        let heard = &transmission.heard;
        let mut ppdu = Self {
            begin: heard.at,
            duration: heard.duration,
            vector: None,
            is_aggregate: false,
            kind: None,
            tid: 0,
            // Whoever it was may be answered.
            expects: Response::Ack,
            frames: 0,
            retries: 0,
            bytes: 0,
            largest: 0,
        };
        let (vector, is_aggregate, frames) = match &heard.what {
            What::Energy => return ppdu,
            What::Header(vector) => {
                ppdu.vector = Some(*vector);
                // It may have been one, of which more frames were in the air than came damaged.
                ppdu.is_aggregate = has_aggregates(*vector);
                return ppdu;
            }
            What::Frames { vector, is_aggregate, frames } => (*vector, *is_aggregate, frames),
        };
        let Some(first) = frames.first() else { return ppdu };
        ppdu.vector = Some(vector);
        ppdu.is_aggregate = is_aggregate;
        ppdu.kind = Some(first.kind);
        ppdu.tid = first.tid;
        for frame in frames {
            ppdu.frames += 1;
            ppdu.retries += u32::from(frame.is_retry);
            ppdu.bytes += u64::from(frame.bytes);
            ppdu.largest = ppdu.largest.max(frame.bytes);
        }
        let is_data = matches!(first.kind, FrameKind::QosData | FrameKind::Data);
        if let (true, Some(transmitter)) = (is_data, first.transmitter) {
            let sizes = frames.iter().map(|frame| frame.bytes);
            flows.heard(transmitter, first.receiver, vector, sizes);
        }
        if let (false, false, Some(transmitter)) =
            (is_aggregate, first.receiver.is_group(), first.transmitter)
        {
            flows.heard_alone(transmitter, vector, first.bytes);
        }
        ppdu.expects = match first.kind {
            _ if first.receiver.is_group() => Response::None,
            FrameKind::Other => Response::None,
            FrameKind::BlockAckRequest => Response::BlockAck64,
            _ if !is_aggregate => Response::Ack,
            _ if vector.format == Format::He && frames.len() > 64 => Response::BlockAck256,
            _ => Response::BlockAck64,
        };
        ppdu
    }
}

fn has_aggregates(vector: Vector) -> bool {
    matches!(vector.format, Format::Ht | Format::Vht | Format::He)
}
