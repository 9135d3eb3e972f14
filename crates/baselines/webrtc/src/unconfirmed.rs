//! RTP packets on their way, until the receiver's feedback says that they came.

use std::collections::VecDeque;

/// Packets that are kept without feedback. Older ones are taken for lost.
const MAX_PACKETS: usize = 8_192;

/// RTP packets that were sent, by their transport-wide sequence number (TWCC).
#[derive(Debug, Default)]
pub(crate) struct Unconfirmed {
    /// Number of the oldest packet kept, extended.
    first: u64,
    /// UDP payload of each packet from there on; `None`: it came.
    bytes: VecDeque<Option<u64>>,
}

impl Unconfirmed {
    /// Adds the next packet, whose number ends in `number`.
    pub(crate) fn push(&mut self, number: u16, bytes: u64) {
        if self.bytes.is_empty() {
            self.first = u64::from(number);
        }
        self.bytes.push_back(Some(bytes));
        while self.bytes.len() > MAX_PACKETS || self.bytes.front().is_some_and(Option::is_none) {
            // The last one stays, so that numbers go on from it.
            if self.bytes.len() == 1 {
                break;
            }
            self.bytes.pop_front();
            self.first += 1;
        }
    }

    /// Extended number of the newest packet.
    pub(crate) fn newest(&self) -> u64 {
        (self.first + self.bytes.len() as u64).saturating_sub(1)
    }

    /// Takes note that a packet came: its UDP payload, if it was not known.
    pub(crate) fn confirm(&mut self, number: u64) -> Option<u64> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.bytes.get_mut(index)?.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_packet_counts_once_beyond_the_wrap_of_its_number() {
        let mut unconfirmed = Unconfirmed::default();
        for number in 65_500..65_600_u64 {
            unconfirmed.push(number as u16, number);
        }
        assert_eq!(unconfirmed.newest(), 65_599);
        assert_eq!(unconfirmed.confirm(65_550), Some(65_550));
        assert_eq!(unconfirmed.confirm(65_550), None);
        assert_eq!(unconfirmed.confirm(65_599), Some(65_599));
        assert_eq!((unconfirmed.confirm(65_499), unconfirmed.confirm(65_600)), (None, None));
    }

    #[test]
    fn a_receiver_that_confirms_nothing_fills_no_memory() {
        let mut unconfirmed = Unconfirmed::default();
        for number in 0..100_000_u64 {
            unconfirmed.push(number as u16, 1);
            assert!(unconfirmed.bytes.len() <= MAX_PACKETS);
        }
        assert_eq!((unconfirmed.newest(), unconfirmed.confirm(0)), (99_999, None));
        assert_eq!(unconfirmed.confirm(99_998), Some(1));
    }
}
