//! The tables of transfers.

use std::time::Duration;

use super::{Transfer, TransferEnd, Transfers};
use crate::scenario::{DURATION, Frame, NONE, RTT, Reader, control, plain, start};

pub(super) fn tables(r: &mut Reader<'_>, frame: &Frame) -> Transfers {
    let mut number = 0;
    Transfers(r.list("bulk", "Transfers of data.", |r| {
        number += 1;
        transfer(r, number, frame.duration)
    }))
}

fn transfer(r: &mut Reader<'_>, number: usize, duration: Duration) -> Transfer {
    let name = r.name_or_none("name", "\"bulk\" and its number from 1", "Name of rows.");
    let control = control(r, None, "the scheme's, with its weight");
    let start = start(r, duration, "0").unwrap_or_default();
    let stop = r.time_or_none("stop_s", DURATION, "the end of the run", "When it stops.");
    let bytes = r.count_or_none("bytes", (1, 1 << 50), NONE, "It stops after so many bytes.");
    if stop.is_some() && bytes.is_some() {
        r.fail("bytes", "found beside stop_s", "expected one of them");
    }
    if let Some(stop) = stop.filter(|stop| *stop <= start) {
        let found = format!("found {}", plain(stop.as_secs_f64()));
        r.fail("stop_s", found, "expected a time after start_s");
    }
    Transfer {
        name: name.unwrap_or_else(|| format!("bulk{number}")),
        control,
        start,
        until: match (stop, bytes) {
            (Some(stop), _) => TransferEnd::At(stop),
            (None, Some(bytes)) => TransferEnd::Bytes(bytes),
            (None, None) => TransferEnd::Run,
        },
        rtt: r.time_or_none("rtt_s", RTT, "`link.rtt_s`", "Round trip of propagation."),
        count: r.count("count", (1, 10_000), 1, "How many of the same kind.") as usize,
    }
}
