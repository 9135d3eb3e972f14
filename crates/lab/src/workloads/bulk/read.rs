//! The tables of transfers.

use super::{ReverseTransfer, SchemeOptions, Transfer, TransferEnd, Transfers, Transport};
use airlane_scenario::{
    CORE_RTT, DURATION, Frame, NONE, RATE, RTT, Reader, at, control, plain, start, words,
};

words! {
    Transport: "quic" => Self::Quic, "datagrams" => Self::Datagrams, "constant" => Self::Constant,
        "sprout" => Self::Sprout, "oracle" => Self::Oracle, "oracle-stale" => Self::OracleStale;
}

/// Reads the keys of a scheme that concern transfers; `None` if it has none.
pub(super) fn of_scheme(r: &mut Reader<'_>) -> Option<SchemeOptions> {
    let doc = "What carries transfers: QUIC, or datagrams that are not sent again: each acknowledged by itself under \
               the scheme's controller, at the constant rate of `limit_bps` (UDP), by Sprout's forecast, or by an \
               oracle that knows what the link will carry, in time or 5 ms late.";
    let transport = r.word_or_none("bulk_transport", "\"quic\"", doc)?;
    Some(SchemeOptions { transport })
}

pub(super) fn tables(r: &mut Reader<'_>, frame: &Frame<'_>) -> Transfers {
    let mut number = 0;
    Transfers(r.list("bulk", "Transfers of data.", |r| {
        number += 1;
        transfer(r, number, frame)
    }))
}

fn transfer(r: &mut Reader<'_>, number: usize, frame: &Frame<'_>) -> Transfer {
    let name = r.name_or_none("name", "\"bulk\" and its number from 1", "Name of rows.");
    let control = control(r, None, "the scheme's, with its weight");
    let start = start(r, frame.duration, "0").unwrap_or_default();
    let stop = r.time_or_none("stop_s", DURATION, "the end of the run", "When it stops.");
    let bytes = r.count_or_none("bytes", (1, 1 << 50), NONE, "It stops after so many bytes.");
    if stop.is_some() && bytes.is_some() {
        r.fail("bytes", "found beside stop_s", "expected one of them");
    }
    let at = at(r, frame.network, usize::MAX);
    if bytes.is_some() && at.len() > 1 {
        let expected = "expected stop_s: over several accesses a transfer is several connections";
        r.fail("bytes", "found beside several accesses", expected);
    }
    let is_upload = r.flag_or_none("upload", "false", "It goes up: from a host on the access.");
    let is_upload = is_upload.unwrap_or(false);
    if is_upload && at.len() > 1 {
        let expected = "expected one access: a transfer over several goes down";
        r.fail("upload", "found beside several accesses", expected);
    }
    let doc = "It goes both ways at once, over a connection each between the same two hosts; `limit_bps` is that of the \
               way down.";
    let both_ways = r.flag_or_none("both_ways", "false", doc).unwrap_or(false);
    if both_ways && (is_upload || at.len() > 1) {
        let found = "found beside `upload` or several accesses";
        r.fail("both_ways", found, "expected one access, and no `upload`");
    }
    if let Some(stop) = stop.filter(|stop| *stop <= start) {
        let found = format!("found {}", plain(stop.as_secs_f64()));
        r.fail("stop_s", found, "expected a time after start_s");
    }
    let doc = "Its application has no more than this to send, from `limit_from_s` on.";
    let limit = r.rate_or_none("limit_bps", RATE, "none", doc);
    let doc = "The same of the way up, of one that goes both ways.";
    let up_limit = r.rate_or_none("up_limit_bps", RATE, "none", doc);
    if up_limit.is_some() && !both_ways {
        r.fail("up_limit_bps", "found without both_ways", "expected both_ways = true beside it");
    }
    let from =
        r.time_or_none("limit_from_s", DURATION, "the start", "From when on `limit_bps` counts.");
    if from.is_some() && limit.or(up_limit).is_none() {
        r.fail("limit_from_s", "found without limit_bps", "expected limit_bps beside it");
    }
    Transfer {
        name: name.unwrap_or_else(|| format!("bulk{number}")),
        control,
        is_upload,
        start,
        until: match (stop, bytes) {
            (Some(stop), _) => TransferEnd::At(stop),
            (None, Some(bytes)) => TransferEnd::Bytes(bytes),
            (None, None) => TransferEnd::Run,
        },
        limit: limit.map(|limit| (from.unwrap_or(start), limit)),
        other_way: both_ways.then(|| ReverseTransfer {
            limit: up_limit.map(|limit| (from.unwrap_or(start), limit)),
        }),
        at,
        rtt: r.time_or_none("rtt_s", RTT, CORE_RTT, "Round trip of propagation in the core."),
        count: r.count("count", (1, 10_000), 1, "How many of the same kind.") as usize,
    }
}
