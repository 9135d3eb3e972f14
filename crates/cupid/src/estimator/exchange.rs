//! Joins records to exchanges, and exchanges to the books.
//!
//! What follows within SIFS belongs to the same exchange, or begins the next one of the same transmit
//! opportunity. The duration field says how long an exchange goes on, whether or not its other frames are
//! heard; a response says that something came before it.

use airlane_wifi::{
    Access, Address, Format, Frame, FrameKind, Timing, Vector, What, contention, mac,
};

use super::books::Books;
use super::flows::{Key, Missed, Ppdu};
use super::missed::infer;
use super::part::{Part, acknowledges, category_of, fitting, highest};
use super::unread::Unread;
use super::{MAX_AIR, nanos};

/// How far an exchange has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// RTS or CTS.
    Protection,
    /// Data, or whatever wants a response.
    Data,
    /// The response.
    Response,
}

/// The exchange that goes on.
#[derive(Clone, Debug)]
pub(super) struct Open {
    pub(super) start: u64,
    /// The end of what was heard, and of what was announced.
    pub(super) end: u64,
    pub(super) announced: u64,
    pub(super) phase: Phase,
    /// It follows another within SIFS: nobody contended for it.
    pub(super) continues: bool,
    pub(super) access: Access,
    /// Who sends the data, and to whom, as far as it is known.
    pub(super) from: Option<Address>,
    pub(super) to: Option<Address>,
    pub(super) station: Option<Address>,
    pub(super) is_foreign: bool,
    /// Nothing of it was made out.
    pub(super) is_anonymous: bool,
    /// What was not heard in front of it, nanoseconds.
    pub(super) missing: u64,
    pub(super) flow: Option<Key>,
    /// The PPDU, if its PHY header alone was made out.
    pub(super) unread: Option<Unread>,
    pub(super) mpdus: f64,
    pub(super) data: f64,
    pub(super) payload: f64,
    /// Numbers of the frames that this payload is of.
    pub(super) numbers: Vec<u16>,
    pub(super) phy_nanos: f64,
    pub(super) phy_bits: f64,
}

#[derive(Clone, Debug)]
pub(super) struct Joiner {
    pub(super) timing: Timing,
    pub(super) sifs: u64,
    /// A gap up to this is SIFS: below the shortest that contending leaves.
    within: u64,
    /// Of RTS, CTS and ACK at 24 Mbit/s, the usual rate of control frames.
    rts: u64,
    cts: u64,
    pub(super) ack: u64,
    pub(super) open: Option<Open>,
    /// The end of the last exchange that went into the books.
    pub(super) last_end: u64,
}

impl Joiner {
    pub fn new(timing: Timing) -> Self {
        let control = |bytes| nanos(Vector::ofdm(4).duration(bytes));
        Self {
            timing,
            sifs: nanos(timing.sifs),
            within: nanos(timing.sifs + timing.slot / 2),
            rts: control(mac::RTS),
            cts: control(mac::CTS),
            ack: control(mac::ACK),
            open: None,
            last_end: 0,
        }
    }

    /// What is over at `now` goes into the books.
    pub fn settle(&mut self, books: &mut Books, now: u64) {
        let is_over = |open: &Open| now > open.end.max(open.announced).saturating_add(self.within);
        if self.open.as_ref().is_some_and(is_over) {
            self.close(books);
        }
    }

    pub fn hear(&mut self, books: &mut Books, start: u64, end: u64, what: &What) {
        let part = Part::of(what);
        let joins = self.open.as_ref().is_some_and(|open| self.belongs(open, &part, (start, end)));
        if !joins {
            let continues = self.finish(books, start);
            let access = part.category();
            self.open = Some(Open {
                start,
                end,
                announced: end,
                phase: Phase::Data,
                continues,
                access,
                from: None,
                to: None,
                station: None,
                is_foreign: false,
                is_anonymous: true,
                missing: 0,
                flow: None,
                unread: None,
                mpdus: 0.0,
                data: 0.0,
                payload: 0.0,
                numbers: Vec::new(),
                phy_nanos: 0.0,
                phy_bits: 0.0,
            });
        }
        let last_end = self.last_end;
        let Some(mut open) = self.open.take() else { return };
        open.start = open.start.min(start.max(last_end.min(open.start)));
        self.read(books, &mut open, &part, (start, end), joins);
        open.end = open.end.max(end);
        self.open = Some(open);
    }

    /// Whether a record belongs to the exchange that goes on.
    fn belongs(&self, open: &Open, part: &Part<'_>, (start, end): (u64, u64)) -> bool {
        let follows = start <= open.end.saturating_add(self.within);
        let is_announced = start <= open.announced.saturating_add(self.within);
        if !follows && !is_announced {
            return false;
        }
        match part {
            // It overlaps, or is the part that comes next.
            Part::Unknown(_) if start < open.end => {
                // What goes on longer than a PPDU that is known is another one, which it collided with.
                open.is_anonymous || end <= open.end
            }
            Part::Unknown(_) => open.phase != Phase::Response,
            Part::Rts(_) => false,
            Part::Cts(_) => open.phase == Phase::Protection && follows,
            Part::Ack(frame) | Part::BlockAck(frame) => {
                open.phase != Phase::Response && open.from.is_none_or(|from| from == frame.receiver)
            }
            Part::Data(_, _, frames) => {
                let first = &frames[0];
                // Behind RTS and a CTS that was not heard; later it is another attempt.
                let latest = open.end + 2 * self.sifs + self.cts + self.within;
                open.phase == Phase::Protection
                    && start <= latest
                    && open.from.is_none_or(|from| Some(from) == first.transmitter)
            }
        }
    }

    /// Another exchange begins at `start`. Returns whether it is one of the same transmit opportunity.
    fn finish(&mut self, books: &mut Books, start: u64) -> bool {
        let Some(open) = &mut self.open else { return false };
        let until = open.end.max(open.announced);
        let follows = start >= until.saturating_sub(self.within / 4)
            && start <= until.saturating_add(self.within);
        if start < open.announced && !follows {
            // Somebody else sends while it should go on: it did not. RTS without CTS keeps the air for as
            // long as a CTS would have taken.
            let cut = match open.phase {
                Phase::Protection => open.end + self.sifs + self.cts,
                _ => open.announced,
            };
            open.announced = cut.min(start).max(open.end);
        }
        let was_whole = open.phase != Phase::Protection;
        self.close(books);
        follows && was_whole
    }

    /// Takes a record into the exchange.
    fn read(
        &mut self,
        books: &mut Books,
        open: &mut Open,
        part: &Part<'_>,
        (start, end): (u64, u64),
        joins: bool,
    ) {
        let mut announce = |frame: &Frame| {
            let remaining = nanos(frame.remaining).min(MAX_AIR);
            open.announced = open.announced.max(end.saturating_add(remaining));
        };
        match part {
            Part::Unknown(vector) => {
                let is_response = joins && open.phase == Phase::Data && start >= open.end;
                if is_response {
                    open.phase = Phase::Response;
                } else if open.flow.is_none() {
                    let unread = vector.map(|vector| Unread { vector: *vector, start, end });
                    open.unread = open.unread.or(unread);
                }
                if open.phase == Phase::Protection {
                    open.phase = Phase::Data;
                }
            }
            Part::Rts(frame) => {
                announce(frame);
                open.phase = Phase::Protection;
                self.parties(books, open, frame.transmitter, Some(frame.receiver));
            }
            Part::Cts(frame) => {
                announce(frame);
                open.phase = Phase::Protection;
                if !joins {
                    open.missing = self.room(start).min(self.rts + self.sifs);
                    self.parties(books, open, Some(frame.receiver), None);
                }
            }
            Part::Ack(frame) => {
                announce(frame);
                self.answered(books, open, frame, None, start, joins);
            }
            Part::BlockAck(frame) => {
                announce(frame);
                self.answered(books, open, frame, frame.transmitter, start, joins);
            }
            Part::Data(vector, is_aggregate, frames) => {
                frames.iter().take(1).for_each(&mut announce);
                self.sent(books, open, vector, *is_aggregate, frames, (start, end), joins);
            }
        }
    }

    /// The free air in front of `start`.
    fn room(&self, start: u64) -> u64 {
        start.saturating_sub(self.last_end)
    }

    /// Who takes part, and so whose exchange it is.
    fn parties(&self, books: &Books, open: &mut Open, from: Option<Address>, to: Option<Address>) {
        open.is_anonymous = false;
        open.from = open.from.or(from);
        open.to = open.to.or(to);
        let end = |address: &Address| !address.is_group() && !books.is_access_point(*address);
        if let (Some(from), Some(to)) = (open.from, open.to) {
            open.station = open.station.or([from, to].into_iter().find(end));
        } else if let Some(known) = open.from.filter(end) {
            open.station = open.station.or(Some(known));
        }
    }

    /// A response came: of the exchange, or of frames that were not heard.
    fn answered(
        &mut self,
        books: &mut Books,
        open: &mut Open,
        frame: &Frame,
        by: Option<Address>,
        start: u64,
        joins: bool,
    ) {
        let answers = joins && open.phase == Phase::Data;
        open.phase = Phase::Response;
        let unread = open.unread.filter(|_| answers);
        if answers && !open.is_anonymous && unread.is_none() {
            // Of what was heard. What did not come is sent again.
            if let Some(block) = frame.block_ack.filter(|_| !open.numbers.is_empty()) {
                let came = open.numbers.iter().filter(|number| acknowledges(&block, **number));
                open.payload *= came.count() as f64 / open.numbers.len() as f64;
            }
            return;
        }
        // RTS told who, though an ACK does not.
        let by = by.or(if joins { open.to } else { None });
        self.parties(books, open, Some(frame.receiver), by);
        if let (Some(unread), Some(by), Some(block)) = (unread, by, frame.block_ack) {
            let parties = (open.station, open.is_foreign);
            let told = unread.told(books, parties, (frame.receiver, by, frame.tid), &block);
            if let Some(told) = told {
                open.flow = Some(told.key);
                (open.mpdus, open.data, open.payload) = (told.mpdus, told.data, told.payload);
                open.phy_nanos = told.airtime;
                open.phy_bits = told.airtime / 1e9 * unread.vector.rate().as_f64();
            }
            return;
        }
        let latest = books.flows.latest(frame.receiver, by);
        let Some((key, flow)) = latest.and_then(|key| Some((key, books.flows.get(key)?))) else {
            return;
        };
        let (mut mpdus, mut before) = (flow.mpdus, 0.0);
        match (frame.block_ack, by) {
            (Some(block), Some(_)) => {
                let Some(highest) = highest(&block) else { return };
                let ahead = flow
                    .expected
                    .map(|expected| (highest + 1).wrapping_sub(expected) & 0xfff)
                    .filter(|&ahead| ahead < 2_048);
                let fresh = ahead.map_or(flow.fresh, |n| f64::from(n).min(block.count().into()));
                // What it acknowledges beyond its own bitmap came in exchanges before.
                before = ahead.map_or(0.0, |n| f64::from(n) - fresh);
                mpdus = fresh * flow.mpdus / flow.fresh.max(1.0);
                flow.on_acknowledged(highest);
            }
            _ => mpdus = mpdus.max(1.0),
        }
        let data = flow.data_of(mpdus);
        let (bytes, is_down) = (flow.bytes, flow.is_down);
        let missing = (flow.preamble + data) as u64 + self.sifs;
        let (station, is_foreign) = (flow.station, flow.is_foreign);
        if by.is_some() {
            open.flow = Some(key);
            open.station = station.or(open.station);
            open.is_foreign = is_foreign;
            open.mpdus = mpdus;
            open.data = data;
            open.payload = mpdus * books.payload(bytes, is_down);
            if let Some(station) = station
                && bytes > f64::from(books.options().big)
                && books.counts_station(is_foreign)
            {
                books.stations.big(station, open.end.max(start), false);
            }
        } else {
            // An ACK does not say whose: sequence numbers will.
            books.orphan(frame.receiver, 1.0, open.end.max(start));
            open.station = None;
        }
        if !joins {
            open.missing = open.missing.max(self.room(start).min(missing));
        }
        if before > 0.0 {
            let cost = nanos(contention(&self.timing, &open.access)) as f64;
            let before = Missed { mpdus: before, ..Missed::default() };
            infer(books, key, before, open.start.saturating_sub(open.missing), cost);
        }
    }

    /// Data, management, or anything else that wants a response.
    #[expect(clippy::too_many_arguments, reason = "one record, as it was heard")]
    fn sent(
        &mut self,
        books: &mut Books,
        open: &mut Open,
        vector: &Vector,
        is_aggregate: bool,
        frames: &[Frame],
        (start, end): (u64, u64),
        joins: bool,
    ) {
        let first = &frames[0];
        if let Some(bssid) = first.bssid {
            books.learn_access_point(bssid);
        }
        open.phase = Phase::Data;
        open.is_foreign |= books.is_foreign(first.bssid);
        open.access = category_of(first);
        let (from, to) = (first.transmitter, first.receiver);
        let station = if first.is_down { Some(to).filter(|to| !to.is_group()) } else { from };
        let is_data = matches!(first.kind, FrameKind::QosData | FrameKind::Data);
        if matches!(first.kind, FrameKind::Beacon) {
            open.station = None;
            self.parties_of_nobody(open, from);
            return;
        }
        self.parties(books, open, from, Some(to));
        open.station = station.or(open.station);
        let Some(from) = from.filter(|_| is_data) else { return };

        let airtime = end - start;
        let preamble = nanos(vector.preamble()).min(airtime);
        let data = (airtime - preamble) as f64;
        let count = frames.len() as f64;
        let bytes = frames.iter().map(|frame| f64::from(frame.bytes)).sum::<f64>() / count;
        let ppdu = Ppdu {
            mpdus: if is_aggregate { fitting(vector, airtime, bytes).max(count) } else { 1.0 },
            bytes,
            data,
            preamble: preamble as f64,
            // VHT and HE have nothing but aggregates, if need be of one.
            aggregate: is_aggregate || matches!(vector.format, Format::Vht | Format::He),
        };
        let big = f64::from(books.options().big);
        let has_big = frames.iter().any(|frame| f64::from(frame.bytes) > big);
        let payload = frames.iter().map(|f| books.payload(f.bytes.into(), f.is_down)).sum::<f64>();
        let is_foreign = open.is_foreign;
        let key = (from, to, first.tid);
        let Some(flow) = books.flows.get_or_new(key, end, &ppdu) else { return };
        flow.station = station;
        flow.is_down = first.is_down;
        flow.is_foreign = is_foreign;
        let missed = flow.on_ppdu(frames, &ppdu);
        // RTS and CTS that this flow always has, and neither of which was heard.
        let protection = self.rts + self.cts + 2 * self.sifs;
        let contending = nanos(self.timing.aifs(&open.access));
        let fits = start.saturating_sub(self.last_end) >= protection + contending;
        if !joins && !open.continues && flow.protection > 0.5 && fits {
            open.missing = protection;
        }
        flow.on_protection(joins);
        if let Some(station) = station
            && has_big
            && books.counts_station(is_foreign)
        {
            books.stations.big(station, end, true);
        }
        let is_payload_way = books.payload(1e4, first.is_down) > 0.0;
        let in_phy = if has_big && is_payload_way { airtime as f64 } else { 0.0 };
        open.flow = Some(key);
        open.mpdus = ppdu.mpdus;
        open.data = data;
        if payload > 0.0 {
            open.payload += payload;
            open.numbers.extend(frames.iter().map(|frame| frame.sequence));
        }
        open.phy_nanos += in_phy;
        open.phy_bits += in_phy / 1e9 * vector.rate().as_f64();
        let cost = nanos(contention(&self.timing, &open.access)) as f64;
        infer(books, key, missed, open.start, cost);
    }

    fn parties_of_nobody(&self, open: &mut Open, from: Option<Address>) {
        open.is_anonymous = false;
        open.from = from;
    }
}
