//! The charge of an exchange that is over.

use std::time::Duration;

use airlane_base::Time;
use airlane_wifi::{FrameExchange, contention};

use super::books::{Books, Entry};
use super::exchange::Meter;
use super::nanos;

/// An aggregate of this part of what it may take is as large as it may be.
const NEARLY_FULL: f64 = 0.9;

impl Meter {
    /// Enters an exchange that is over into the books, as another began at `next`. Returns whether that is
    /// one of the same TXOP.
    pub(super) fn close_before(
        &mut self,
        books: &mut Books,
        exchange: &FrameExchange,
        next: Time,
    ) -> bool {
        let FrameExchange { end, mut announced, .. } = *exchange;
        let follows = self.association.follows(end.max(announced), next);
        if next < announced && !follows {
            // Somebody else sends while it should go on: it did not. RTS without CTS keeps the air for as
            // long as a CTS would have taken.
            if exchange.is_protection_alone() {
                announced = end + self.timing.sifs + Duration::from_nanos(self.cts);
            }
            announced = announced.min(next).max(end);
        }
        self.close(books, exchange, announced);
        follows && !exchange.is_protection_alone()
    }

    /// Enters an exchange that is over into the books; it was to end at `announced`.
    pub(super) fn close(&mut self, books: &mut Books, exchange: &FrameExchange, announced: Time) {
        let (mut tally, announced) = (std::mem::take(&mut self.tally), announced.as_nanos());
        let is_unanswered = exchange.ppdu.is_some() && exchange.response.is_none();
        let mut end = tally.end.max(announced);
        if exchange.is_anonymous()
            && is_unanswered
            && tally.end - tally.start > self.sifs + self.ack
        {
            // An attempt that is not answered keeps the air as long as one that is.
            end += self.sifs + self.ack;
        }
        if is_unanswered && exchange.sender == Some(books.options().own) {
            tally.entry.payload = 0.0; // Of the own frames every answer is heard.
        }
        let begin = tally.start.saturating_sub(tally.missing).max(self.last_end).min(end);
        let airtime = (end - begin) as f64;
        let contending = match tally.is_continuation {
            true => Duration::ZERO,
            false => contention(&self.timing, &tally.access()),
        };
        let contending = nanos(contending);
        let charge = airtime + contending as f64;
        let max_duration = nanos(books.options().aggregation.max_duration) as f64;
        let window = f64::from(books.options().aggregation.frames);
        let (mut packed, mut is_full, mut is_down) = (charge, false, false);
        let big = f64::from(books.options().big);
        let answered = tally.flow.and_then(|key| books.flows.fill_of_opposite(key, big));
        if let Some(flow) = tally.flow.and_then(|key| books.flows.get(key)) {
            is_down = flow.is_down;
            if flow.aggregates && tally.mpdus > 0.0 && tally.data <= charge {
                let most = (max_duration / flow.data_of(1.0).max(1.0)).floor().clamp(1.0, window);
                let full = flow.full.max(most).max(tally.mpdus);
                let mut fill = tally.mpdus / full;
                if flow.usual.bytes > big {
                    is_full = tally.mpdus >= NEARLY_FULL * most;
                    flow.on_fill(fill);
                } else {
                    // Acknowledgements of a transport come with each aggregate of data: if those were
                    // full, there would be fewer of these, and not larger ones. What they answer may not
                    // be made out.
                    fill = fill.max(answered.unwrap_or(1.0));
                }
                packed = tally.data + (charge - tally.data) * fill;
            }
            if tally.entry.phy_nanos > 0.0 || tally.missing == 0 {
                flow.on_exchange(airtime);
            }
        }
        let inferred = (tally.missing + (end - tally.end.min(end))) as f64;
        books.enter(&Entry {
            from: begin.saturating_sub(contending),
            to: end,
            charge,
            packed,
            full: if is_full { charge } else { 0.0 },
            down: if is_down { charge } else { 0.0 },
            airtime,
            inferred: inferred.min(charge),
            is_anonymous: exchange.is_anonymous(),
            exchanges: 1.0,
            ..tally.entry
        });
        self.last_end = self.last_end.max(end);
        let (total, anonymous) = (books.total, books.anonymous);
        // RTS or CTS announced an exchange of which nothing else was heard: it was as usual.
        let is_usual = exchange.is_protection_alone() && announced > tally.end;
        let usual = exchange.sender.filter(|_| is_usual);
        if let Some(flow) = usual
            .and_then(|from| books.flows.latest(from, exchange.receiver))
            .and_then(|key| books.flows.get(key))
        {
            flow.promised += flow.fresh;
            let (mpdus, bytes, is_down) = (flow.usual.mpdus, flow.usual.bytes, flow.is_down);
            let payload = mpdus * books.payload(bytes, is_down);
            let (from, to, station) = (begin, end, tally.entry.station);
            books.attribute(&Entry { from, to, payload, station, ..Entry::default() });
        }
        if let Some(flow) = tally.flow.and_then(|key| books.flows.get(key)) {
            flow.last_end = end;
            flow.total = total;
            flow.anonymous = anonymous;
        }
    }
}
