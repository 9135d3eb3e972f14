//! PDU Set marks as Octopus reads them: `docs/design/pdu-sets.md` has the rules.

use std::time::Duration;

use airlane_base::folded;
use airlane_octopus::{Header, MAX_PRIORITY, MAX_SLACK_MS, Marking};
use airlane_pdu_set::{PduSetImportance, PduSetMark, marked_packet};

/// Bits of a message's number above those of a PDU Set's: so shifted, both wrap at the same time, and serial
/// arithmetic of the one is that of the other.
const SEQUENCE_SHIFT: u32 = 22;
/// Importance numbers to a priority, and the first of them.
const IMPORTANCES_PER_PRIORITY: u8 = 3;
const FIRST_IMPORTANCE: u8 = 2;

/// Number of a packet's stream, and its place in a message, by its mark in the extension of this identifier; `None`
/// of packets without one. A mark has no slack: it is the queue's.
pub(super) fn message(flow: u64, payload: &[u8], id: u8, slack: Duration) -> Option<(u64, Header)> {
    let packet = marked_packet(payload, id)?;
    let mut header = header(&packet.mark);
    header.marking.slack_ms = slack.as_millis().min(MAX_SLACK_MS.into()) as u16;
    // SSRCs of 32 bits do not fit into the stream numbers of Octopus: each is a flow of its own.
    Some((folded(flow, u64::from(packet.ssrc) | 1 << 32), header))
}

fn header(mark: &PduSetMark) -> Header {
    Header {
        stream: 0,
        message: u32::from(mark.set_sequence) << SEQUENCE_SHIFT,
        marking: marking(mark.importance),
        first: mark.pdu_sequence == 0,
        last: mark.ends_set,
    }
}

/// Marking of a PDU Set: it drops older ones that matter less, and of those that matter as much key frames and frames
/// that none depends on. One of unknown importance neither drops nor is dropped.
fn marking(importance: PduSetImportance) -> Marking {
    let priority = match importance {
        PduSetImportance::UNKNOWN => return Marking::default(),
        PduSetImportance::HIGHEST => 1,
        PduSetImportance::LOWEST => MAX_PRIORITY,
        between => 2 + (between.number() - FIRST_IMPORTANCE) / IMPORTANCES_PER_PRIORITY,
    };
    let drops_equals = priority == 1 || priority == MAX_PRIORITY;
    let threshold = if drops_equals { priority } else { priority + 1 };
    Marking { priority, drops: Some(threshold), ..Marking::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_matters_less_is_dropped_for_what_matters_more() {
        let of = |number: u8| marking(PduSetImportance::new(number).unwrap());
        assert_eq!(of(0), Marking::default());
        for number in 1..=15 {
            for newer in 1..=15 {
                let (old, new) = (of(number), of(newer));
                let is_dropped = new.drops.is_some_and(|threshold| threshold <= old.priority);
                let is_less = new.priority < old.priority;
                let are_equal = new.priority == old.priority && matches!(newer, 1 | 15);
                assert_eq!(is_dropped, is_less || are_equal, "{number} for {newer}");
            }
        }
        // The lowest temporal layer, and those above it.
        assert_eq!([1, 2, 5, 8, 11, 15].map(|number| of(number).priority), [1, 2, 3, 4, 5, 7]);
    }

    #[test]
    fn numbers_wrap_as_those_of_messages_do() {
        let of = |set_sequence| header(&PduSetMark { set_sequence, ..PduSetMark::default() });
        for (older, newer) in [(0, 1), (1023, 0), (1000, 300), (511, 1022)] {
            assert!(airlane_octopus::is_older(of(older).message, of(newer).message));
        }
    }
}
