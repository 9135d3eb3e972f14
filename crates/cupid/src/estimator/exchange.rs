//! Exchanges as they go on: whose they are, and what of them was not heard.

use airlane_base::Time;
use airlane_wifi::{
    Access, Address, Exchanges, Frame, FrameExchange, FrameKind, Part, PartKind, Precision, Role,
    Timing, Vector, What, contention, mac,
};

use super::association::ByDuration;
use super::books::{Books, Entry};
use super::flows::{Key, Missed, PpduSize};
use super::missed::infer;
use super::nanos;
use super::unread::Unread;

/// Puts transmissions together to exchanges, and enters these into the books.
#[derive(Clone, Debug)]
pub(super) struct Joiner {
    exchanges: Exchanges<ByDuration>,
    meter: Meter,
}

/// Measures the exchange that goes on.
#[derive(Clone, Debug)]
pub(super) struct Meter {
    pub(super) timing: Timing,
    pub(super) association: ByDuration,
    /// Nanoseconds of SIFS, and of RTS, CTS and ACK at 24 Mbit/s, the usual rate of control frames.
    pub(super) sifs: u64,
    rts: u64,
    pub(super) cts: u64,
    pub(super) ack: u64,
    pub(super) tally: Tally,
    /// End of the last exchange that went into the books.
    pub(super) last_end: u64,
}

/// The exchange that goes on, as it will be charged.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    /// Beginning and end of what was heard.
    pub(super) start: u64,
    pub(super) end: u64,
    /// It follows another within SIFS: nobody contended for it.
    pub(super) is_continuation: bool,
    access: Option<Access>,
    /// Nanoseconds in front of it that were not heard.
    pub(super) missing: u64,
    pub(super) flow: Option<Key>,
    /// The PPDU, if its PHY header alone was decoded.
    unread: Option<Unread>,
    /// MPDUs of the PPDU, and nanoseconds of their data.
    pub(super) mpdus: f64,
    pub(super) data: f64,
    /// Sequence numbers of the frames that have its payload.
    numbers: Vec<u16>,
    /// Its entry in the books as far as it is known: whose it is, payload, PHY rate.
    pub(super) entry: Entry,
}

impl Joiner {
    pub fn new(timing: Timing) -> Self {
        let control = |bytes| nanos(Vector::ofdm(4).duration(bytes));
        let association = ByDuration::new(&timing);
        let meter = Meter {
            timing,
            association,
            sifs: nanos(timing.sifs),
            rts: control(mac::RTS),
            cts: control(mac::CTS),
            ack: control(mac::ACK),
            tally: Tally::default(),
            last_end: 0,
        };
        Self { exchanges: Exchanges::new(association), meter }
    }

    /// Enters into the books what is over at `now`.
    pub fn settle(&mut self, books: &mut Books, now: u64) {
        let now = Time::from_nanos(now);
        let Self { exchanges, meter } = self;
        if exchanges.latest().is_some_and(|open| meter.association.is_over(open, now)) {
            for over in exchanges.finish() {
                meter.close(books, &over, over.announced);
            }
        }
    }

    pub fn hear(&mut self, books: &mut Books, start: u64, end: u64, what: &What) {
        let (begin, until) = (Time::from_nanos(start), Time::from_nanos(end));
        let part = Part::new(begin, until, Precision::Exact, what);
        let Self { exchanges, meter } = self;
        let placement = exchanges.push(&part);
        let role = placement.role;
        let is_continuation =
            placement.before.is_some_and(|over| meter.close_before(books, &over, begin));
        let Some(exchange) = exchanges.latest() else { return };
        if role.is_none() {
            meter.tally = Tally { start, end, is_continuation, ..Tally::default() };
        }
        let tally = &mut meter.tally;
        tally.start = tally.start.min(start.max(meter.last_end.min(tally.start)));
        meter.read(books, exchange, &part, role);
        meter.tally.end = meter.tally.end.max(end);
    }
}

impl Tally {
    /// Access category; best effort as long as none is known.
    pub(super) fn access(&self) -> Access {
        self.access.unwrap_or(Access::BEST_EFFORT)
    }
}

impl Meter {
    /// Takes in a part of an exchange; without a role it begins the exchange.
    fn read(
        &mut self,
        books: &mut Books,
        exchange: &FrameExchange,
        part: &Part<'_>,
        role: Option<Role>,
    ) {
        match part.kind {
            PartKind::Unread => {
                if role != Some(Role::Response) && self.tally.flow.is_none() {
                    let (airtime, end) = (part.duration(), part.end.as_nanos());
                    let unread = part.vector.map(|vector| Unread { vector, airtime, end });
                    self.tally.unread = self.tally.unread.or(unread);
                }
            }
            PartKind::Cts(_) if role.is_some() => {}
            PartKind::Rts(_) | PartKind::Cts(_) => {
                if exchange.rts.is_none() {
                    self.tally.missing = self.room().min(self.rts + self.sifs);
                }
                self.attribute(books, exchange);
            }
            PartKind::Response(frame) => self.answered(books, exchange, frame),
            PartKind::Ppdu { frames, .. } => self.sent(books, exchange, frames),
        }
    }

    /// Free air in front of the exchange, nanoseconds.
    fn room(&self) -> u64 {
        self.tally.start.saturating_sub(self.last_end)
    }

    /// Cost of contending as the exchange did, nanoseconds.
    fn contention(&self) -> f64 {
        nanos(contention(&self.timing, &self.tally.access())) as f64
    }

    /// Finds out whose exchange it is, by who takes part.
    fn attribute(&mut self, books: &Books, exchange: &FrameExchange) {
        let is_station = |a: &Address| !a.is_group() && !books.is_access_point(*a);
        let found = match (exchange.sender, exchange.receiver) {
            (Some(from), Some(to)) => [from, to].into_iter().find(is_station),
            (from, _) => from.filter(is_station),
        };
        self.tally.entry.station = self.tally.entry.station.or(found);
    }

    /// Takes in a response: of the exchange, or of frames that were not heard.
    fn answered(&mut self, books: &mut Books, exchange: &FrameExchange, frame: &Frame) {
        let unread = self.tally.unread.filter(|_| exchange.ppdu.is_some());
        let is_read =
            exchange.is_protected() || exchange.ppdu.as_ref().is_some_and(|p| p.first.is_some());
        if exchange.ppdu.is_some() && is_read && unread.is_none() {
            // Of what was heard. What did not come is sent again.
            let numbers = &self.tally.numbers;
            if let Some(block) = frame.block_ack.filter(|_| !numbers.is_empty()) {
                let came = numbers.iter().filter(|number| block.acknowledges(**number));
                self.tally.entry.payload *= came.count() as f64 / numbers.len() as f64;
            }
            return;
        }
        self.attribute(books, exchange);
        // RTS told who, though an ACK does not.
        let by = frame.transmitter.or(exchange.receiver);
        match (unread, by, frame.block_ack) {
            (Some(unread), Some(by), Some(block)) => {
                let key = (frame.receiver, by, frame.tid);
                unread.acknowledged(books, &mut self.tally, key, &block);
            }
            _ => self.unheard(books, exchange, frame),
        }
    }

    /// Takes in a response to frames that were not heard.
    fn unheard(&mut self, books: &mut Books, exchange: &FrameExchange, frame: &Frame) {
        let by = frame.transmitter.or(exchange.receiver);
        let latest = books.flows.latest(frame.receiver, by);
        let Some((key, flow)) = latest.and_then(|key| Some((key, books.flows.get(key)?))) else {
            return;
        };
        let (mut mpdus, mut before) = (flow.usual.mpdus.max(1.0), 0.0);
        if let (Some(block), Some(_)) = (frame.block_ack, by) {
            let Some(highest) = block.highest() else { return };
            let ahead = flow
                .expected
                .map(|expected| (highest + 1).wrapping_sub(expected) & 0xfff)
                .filter(|&ahead| ahead < 2_048);
            let fresh = ahead.map_or(flow.fresh, |n| f64::from(n).min(block.count().into()));
            // What it acknowledges beyond its own bitmap came in exchanges before.
            before = ahead.map_or(0.0, |n| f64::from(n) - fresh);
            mpdus = fresh * flow.usual.mpdus / flow.fresh.max(1.0);
            flow.on_acknowledged(highest);
        }
        let data = flow.data_of(mpdus);
        let (bytes, is_down) = (flow.usual.bytes, flow.is_down);
        let missing = (flow.usual.preamble + data) as u64 + self.sifs;
        let (station, is_foreign) = (flow.station, flow.is_foreign);
        let begin = exchange.response.as_ref().map_or(0, |response| response.begin.as_nanos());
        let at = self.tally.end.max(begin);
        let room = self.room();
        let tally = &mut self.tally;
        if by.is_some() {
            tally.flow = Some(key);
            tally.entry.station = station.or(tally.entry.station);
            tally.entry.is_foreign = is_foreign;
            (tally.mpdus, tally.data) = (mpdus, data);
            tally.entry.payload = mpdus * books.payload(bytes, is_down);
            if bytes > f64::from(books.options().big) {
                books.big(station, is_foreign, at, false);
            }
        } else {
            // An ACK does not say whose: sequence numbers will.
            books.unmatched_ack(frame.receiver, at);
            tally.entry.station = None;
        }
        if !exchange.is_protected() && exchange.ppdu.is_none() {
            tally.missing = tally.missing.max(room.min(missing));
        }
        if before > 0.0 {
            let before = Missed { mpdus: before, ..Missed::default() };
            let until = self.tally.start.saturating_sub(self.tally.missing);
            infer(books, key, before, until, self.contention());
        }
    }

    /// Takes in data, management, or anything else that wants a response.
    fn sent(&mut self, books: &mut Books, exchange: &FrameExchange, frames: &[Frame]) {
        let first = &frames[0];
        if let Some(bssid) = first.bssid {
            books.learn_access_point(bssid);
        }
        let is_managed = matches!(first.kind, FrameKind::Beacon | FrameKind::Management);
        if is_managed || first.kind.is_data() {
            self.tally.access = Some(first.access());
        }
        self.tally.entry.is_foreign |= books.is_foreign(first.bssid);
        if first.kind == FrameKind::Beacon {
            self.tally.entry.station = None;
            return;
        }
        self.attribute(books, exchange);
        let to = first.receiver;
        let station =
            if first.is_down { Some(to).filter(|to| !to.is_group()) } else { first.transmitter };
        self.tally.entry.station = station.or(self.tally.entry.station);
        if first.kind.is_data() {
            self.data(books, exchange, frames, station);
        }
    }

    /// Takes in data from or to a station.
    fn data(
        &mut self,
        books: &mut Books,
        exchange: &FrameExchange,
        frames: &[Frame],
        station: Option<Address>,
    ) {
        let first = &frames[0];
        let (Some(from), Some(ppdu)) = (first.transmitter, &exchange.ppdu) else { return };
        let Some(vector) = ppdu.vector else { return };
        let key = (from, first.receiver, first.tid);
        let begin = ppdu.begin.as_nanos();
        let end = begin + nanos(ppdu.duration);
        let size = PpduSize::of(ppdu, &vector);
        let has_big = ppdu.max_bytes > books.options().big;
        let payload = frames.iter().map(|f| books.payload(f.bytes.into(), f.is_down)).sum::<f64>();
        let (contending, is_foreign) = (self.contention(), self.tally.entry.is_foreign);
        let is_protected = exchange.is_protected();
        let Some(flow) = books.flows.get_or_new(key, end, &size) else { return };
        (flow.station, flow.is_down, flow.is_foreign) = (station, first.is_down, is_foreign);
        let missed = flow.on_ppdu(frames, &size);
        // RTS and CTS that this flow always has, and neither of which was heard.
        let protection = self.rts + self.cts + 2 * self.sifs;
        let free = protection + nanos(self.timing.aifs(&self.tally.access()));
        let fits = begin.saturating_sub(self.last_end) >= free;
        if !is_protected && !self.tally.is_continuation && flow.protection > 0.5 && fits {
            self.tally.missing = protection;
        }
        flow.on_protection(is_protected);
        if has_big {
            books.big(station, is_foreign, end, true);
        }
        let is_payload_way = books.payload(1e4, first.is_down) > 0.0;
        let in_phy = if has_big && is_payload_way { (end - begin) as f64 } else { 0.0 };
        let tally = &mut self.tally;
        tally.flow = Some(key);
        (tally.mpdus, tally.data) = (size.mpdus, size.data);
        if payload > 0.0 {
            tally.entry.payload += payload;
            tally.numbers.extend(frames.iter().map(|frame| frame.sequence));
        }
        tally.entry.phy_nanos += in_phy;
        tally.entry.phy_bits += in_phy / 1e9 * vector.rate().as_f64();
        infer(books, key, missed, tally.start, contending);
    }
}
