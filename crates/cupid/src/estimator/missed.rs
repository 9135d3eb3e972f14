//! What sequence numbers tell of frames that were missed.

use super::books::{Books, Entry};
use super::flows::Key;
use super::nanos;

/// Enters `missed` MPDUs of a flow that nothing was heard of before `until` but that numbers tell;
/// contending for an exchange of them costs `contending` nanoseconds.
pub(super) fn infer(books: &mut Books, key: Key, missed: f64, until: u64, contending: f64) {
    let (total, anonymous) = (books.total, books.anonymous);
    let memory = nanos(books.options().memory);
    let Some(flow) = books.flows.get(key) else { return };
    // Those whose exchanges were announced are charged already.
    let promised = std::mem::take(&mut flow.promised);
    let missed = missed - promised;
    let (from, fresh) = (flow.last_end, flow.fresh.max(1.0));
    if missed <= 0.0 || flow.bare <= 0.0 || from == 0 || from >= until || until - from > memory {
        return;
    }
    let each = (flow.bare + contending) / fresh;
    let (bytes, repeats, is_down) = (flow.bytes, flow.mpdus / fresh, flow.is_down);
    let (station, is_foreign) = (flow.station, flow.is_foreign);
    let (charged, anonymous) = (total - flow.charged, anonymous - flow.anonymous);
    // Responses told of some already, and what was heard without being made out may be more of them.
    let adopted = books.adopt(key.0, missed);
    let wanted = (missed - adopted) * each;
    let unnamed = wanted.min(anonymous.max(0.0));
    let free = ((until - from) as f64 - charged).max(0.0);
    let new = (wanted - unnamed).min(free);
    let payload = books.payload(bytes, is_down) * repeats / each;
    let entry = |nanos: f64| Entry {
        from,
        to: until,
        charged: nanos,
        packed: nanos,
        bare: nanos,
        inferred: nanos,
        station,
        is_foreign,
        payload: nanos * payload,
        ..Entry::default()
    };
    if new > 0.0 {
        books.enter(&entry(new));
    }
    let known = adopted * each + unnamed;
    if known > 0.0 {
        books.attribute(&entry(known));
    }
}
