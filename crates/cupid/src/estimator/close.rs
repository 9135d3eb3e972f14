//! What an exchange that is over is charged, and to whom.

use std::time::Duration;

use airlane_wifi::contention;

use super::books::{Books, Entry};
use super::exchange::{Joiner, Phase};
use super::nanos;

/// An aggregate of this part of what it may take is as large as it may be.
const NEARLY_FULL: f64 = 0.9;

impl Joiner {
    /// The exchange is over.
    pub(super) fn close(&mut self, books: &mut Books) {
        let Some(mut open) = self.open.take() else { return };
        let mut end = open.end.max(open.announced);
        if open.is_anonymous
            && open.phase == Phase::Data
            && open.end - open.start > self.sifs + self.ack
        {
            // An attempt that is not answered keeps the air as long as one that is.
            end += self.sifs + self.ack;
        }
        if open.phase == Phase::Data && open.from == Some(books.options().own) {
            open.payload = 0.0; // Of the own frames every answer is heard.
        }
        let begin = open.start.saturating_sub(open.missing).max(self.last_end).min(end);
        let bare = (end - begin) as f64;
        let contending = match open.continues {
            true => Duration::ZERO,
            false => contention(&self.timing, &open.access),
        };
        let contending = nanos(contending);
        let charged = bare + contending as f64;
        let longest = nanos(books.options().aggregation.longest) as f64;
        let window = f64::from(books.options().aggregation.frames);
        let (mut packed, mut is_full) = (charged, false);
        let big = f64::from(books.options().big);
        let answered = open.flow.and_then(|key| books.flows.fill_of_opposite(key, big));
        if let Some(flow) = open.flow.and_then(|key| books.flows.get(key)) {
            if flow.aggregates && open.mpdus > 0.0 && open.data <= charged {
                let most = (longest / flow.data_of(1.0).max(1.0)).floor().clamp(1.0, window);
                let full = flow.full.max(most).max(open.mpdus);
                let mut fill = open.mpdus / full;
                if flow.bytes > big {
                    is_full = open.mpdus >= NEARLY_FULL * most;
                    flow.on_fill(fill);
                } else {
                    // Acknowledgements of a transport come with each aggregate of data: if those were
                    // full, there would be fewer of these, and not larger ones. What they answer may not
                    // be made out.
                    fill = fill.max(answered.unwrap_or(1.0));
                }
                packed = open.data + (charged - open.data) * fill;
            }
            if open.phy_nanos > 0.0 || open.missing == 0 {
                flow.on_exchange(bare);
            }
        }
        let inferred = (open.missing + (end - open.end.min(end))) as f64;
        books.enter(&Entry {
            from: begin.saturating_sub(contending),
            to: end,
            charged,
            packed,
            full: if is_full { charged } else { 0.0 },
            bare,
            inferred: inferred.min(charged),
            station: open.station,
            is_foreign: open.is_foreign,
            is_anonymous: open.is_anonymous,
            payload: open.payload,
            phy_nanos: open.phy_nanos,
            phy_bits: open.phy_bits,
            exchanges: 1.0,
        });
        self.last_end = self.last_end.max(end);
        let (total, anonymous) = (books.total, books.anonymous);
        // RTS or CTS announced an exchange of which nothing else was heard: it was as usual.
        let usual =
            open.from.filter(|_| open.phase == Phase::Protection && open.announced > open.end);
        if let Some(flow) = usual
            .and_then(|from| books.flows.latest(from, open.to))
            .and_then(|key| books.flows.get(key))
        {
            flow.promised += flow.fresh;
            let (mpdus, bytes, is_down) = (flow.mpdus, flow.bytes, flow.is_down);
            let payload = mpdus * books.payload(bytes, is_down);
            let (from, to) = (begin, end);
            books.attribute(&Entry {
                from,
                to,
                payload,
                station: open.station,
                ..Entry::default()
            });
        }
        if let Some(flow) = open.flow.and_then(|key| books.flows.get(key)) {
            flow.last_end = end;
            flow.charged = total;
            flow.anonymous = anonymous;
        }
    }
}
