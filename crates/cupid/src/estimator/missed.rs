//! Frames that were missed, as sequence numbers tell.

use super::books::{Books, Entry};
use super::flows::{Key, Missed};
use super::nanos;

/// Enters MPDUs of a flow that nothing was heard of before `until` but that numbers tell; contending for an
/// exchange of them costs `contending` nanoseconds.
pub(super) fn infer(books: &mut Books, key: Key, missed: Missed, until: u64, contending: f64) {
    let (total, anonymous) = (books.total, books.anonymous);
    let memory = nanos(books.options().memory);
    let Some(flow) = books.flows.get(key) else { return };
    // Those whose exchanges were announced are charged already.
    let promised = std::mem::take(&mut flow.promised);
    // The aggregate that failed was all that is sent again.
    let attempt = flow.exchange - flow.usual.data + flow.data_of(missed.repeated) + contending;
    let failed = if missed.failed > 0.0 { attempt.max(0.0) } else { 0.0 };
    let came = (missed.mpdus - missed.failed - promised).max(0.0);
    let (from, fresh) = (flow.last_end, flow.fresh.max(1.0));
    if came + failed <= 0.0
        || flow.exchange <= 0.0
        || from == 0
        || from >= until
        || until - from > memory
    {
        return;
    }
    let each = (flow.exchange + contending) / fresh;
    let (bytes, is_down) = (flow.usual.bytes, flow.is_down);
    let (station, is_foreign) = (flow.station, flow.is_foreign);
    let (charged, anonymous) = (total - flow.total, anonymous - flow.anonymous);
    // Responses told of some already, and what was heard without being made out may be more of them.
    let matched = books.match_acks(key.0, came);
    let wanted = (came - matched) * each + failed;
    let unnamed = wanted.min(anonymous.max(0.0));
    let free = ((until - from) as f64 - charged).max(0.0);
    let new = (wanted - unnamed).min(free);
    let payload = books.payload(bytes, is_down) * came / (came * each + failed);
    let entry = |nanos: f64| Entry {
        from,
        to: until,
        charge: nanos,
        packed: nanos,
        airtime: nanos,
        inferred: nanos,
        station,
        is_foreign,
        payload: nanos * payload,
        ..Entry::default()
    };
    if new > 0.0 {
        books.enter(&entry(new));
    }
    let known = matched * each + unnamed;
    if known > 0.0 {
        books.attribute(&entry(known));
    }
}
