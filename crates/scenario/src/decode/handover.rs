//! Keys of the handovers of a link.

use super::super::bounds::range;
use super::super::reader::{NONE, Reader};
use crate::words;
use airlane_net::link::Handover;

/// State of what waits at the old cell.
#[derive(Clone, Copy, Default, PartialEq)]
enum QueueWord {
    #[default]
    Lost,
    Forwarded,
}

words! {
    QueueWord: "lost" => Self::Lost, "forwarded" => Self::Forwarded;
}

/// The table of handovers.
pub(super) fn handover(r: &mut Reader<'_>) -> Option<Handover> {
    const DOC: &str = "Handovers of the hosts from cell to cell: one in each interval, at a time that is drawn, during \
                       which this way carries nothing. Both ways pause together where they have the same pauses.";
    let handover = r.table("handover", NONE, DOC, |r| {
        let interval =
            r.time("interval_s", range(1.0, 1e4, "20"), 20.0, "Interval in which there is one handover.");
        let pause = range(0.0, 1.0, "0.05");
        let min_pause = r.time("min_pause_s", pause, 0.05, "Minimum pause; pauses are drawn uniformly.");
        let max_pause = r.time("max_pause_s", pause, 0.3, "Maximum pause.");
        let doc = "Packets that wait at the end of a pause: lost with those that waited when it began, or \
                   forwarded to the new cell.";
        let queue = r.word("queue", QueueWord::default(), doc);
        if max_pause < min_pause && !r.is_listing() {
            let found = format!("found {}", max_pause.as_secs_f64());
            r.fail("max_pause_s", found, "expected at least `min_pause_s`");
        }
        let forwards = queue == QueueWord::Forwarded;
        Handover { interval, min_pause: min_pause.min(max_pause), max_pause, forwards }
    });
    handover.filter(|_| !r.is_listing())
}
