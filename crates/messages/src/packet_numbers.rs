//! Numbers of the packets that are sent. Some are left out, so that a peer that acknowledges packets
//! without having received them acknowledges one of those sooner or later (RFC 9000, section 21.4).

use std::collections::VecDeque;

use crate::random::UnpredictableNumbers;
use crate::wire::Ack;

/// Packets before the first number that may be left out.
const FIRST: u64 = 16;
/// The first number that is left out is one of 2^5 behind [`FIRST`]; each further one is 2^k to
/// 2^(k+1) behind the one before, of which k rises by one up to the maximum.
const MIN_EXPONENT: u32 = 5;
const MAX_EXPONENT: u32 = 12;
/// Numbers left out that are remembered. Acknowledgements of older packets change nothing.
const MAX_REMEMBERED: usize = 64;

/// An acknowledgement of a packet that was never sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnsentAcknowledged;

/// The packet numbers of one direction.
#[derive(Debug)]
pub(crate) struct PacketNumbers {
    next: u64,
    /// The number that is left out next.
    skipped_next: u64,
    exponent: u32,
    /// Numbers that were left out, rising.
    skipped: VecDeque<u64>,
}

impl PacketNumbers {
    pub(crate) fn new(random: &mut UnpredictableNumbers) -> Self {
        let skipped_next = FIRST + random.next() % (1 << MIN_EXPONENT);
        Self { next: 0, skipped_next, exponent: MIN_EXPONENT, skipped: VecDeque::new() }
    }

    /// The number of the packet that is sent now.
    pub(crate) fn take(&mut self, random: &mut UnpredictableNumbers) -> u64 {
        if self.next == self.skipped_next {
            self.skip(random);
        }
        let number = self.next;
        self.next += 1;
        number
    }

    fn skip(&mut self, random: &mut UnpredictableNumbers) {
        if self.skipped.len() == MAX_REMEMBERED {
            self.skipped.pop_front();
        }
        self.skipped.push_back(self.next);
        self.exponent = (self.exponent + 1).min(MAX_EXPONENT);
        let span = 1 << self.exponent;
        self.skipped_next = self.next + span + random.next() % span;
        self.next += 1;
    }

    /// Checks that all packets of an acknowledgement were sent.
    pub(crate) fn check(&self, ack: &Ack) -> Result<(), UnsentAcknowledged> {
        let newest = ack.ranges.first().map_or(0, |&(_, newest)| newest);
        let is_unsent = newest >= self.next
            || ack.ranges.iter().any(|&(first, last)| {
                let at = self.skipped.partition_point(|number| *number < first);
                self.skipped.get(at).is_some_and(|number| *number <= last)
            });
        if is_unsent { Err(UnsentAcknowledged) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(secret: u8, packets: usize) -> (PacketNumbers, Vec<u64>) {
        let mut random = UnpredictableNumbers::new(&[secret; 32]);
        let mut numbers = PacketNumbers::new(&mut random);
        let sent = (0..packets).map(|_| numbers.take(&mut random)).collect();
        (numbers, sent)
    }

    fn check(numbers: &PacketNumbers, ranges: &[(u64, u64)]) -> Result<(), UnsentAcknowledged> {
        numbers.check(&Ack { ranges: ranges.to_vec(), ..Ack::default() })
    }

    #[test]
    fn what_was_sent_may_be_acknowledged_and_nothing_else() {
        let (numbers, sent) = sent(1, 20_000);
        assert!(sent.is_sorted_by(|a, b| a < b) && sent[0] == 0);
        for &number in &sent {
            assert_eq!(check(&numbers, &[(number, number)]), Ok(()));
        }
        let newest = sent[sent.len() - 1];
        let missing: Vec<u64> = (0..newest).filter(|n| sent.binary_search(n).is_err()).collect();
        assert!(missing.len() >= 8, "{missing:?}");
        assert!(missing[0] < 48 && missing.windows(2).all(|w| w[1] - w[0] <= 8192), "{missing:?}");
        for &number in &missing {
            assert!(check(&numbers, &[(number, number)]).is_err());
            assert!(check(&numbers, &[(newest, newest), (number - 1, number + 1)]).is_err());
        }
        for beyond in [newest + 1, newest + 2, 1 << 40, u64::MAX] {
            assert!(check(&numbers, &[(newest, beyond)]).is_err());
        }
    }

    #[test]
    fn other_secrets_leave_out_other_numbers() {
        let skipped = |secret| sent(secret, 20_000).0.skipped;
        assert_eq!(skipped(1), skipped(1));
        assert_ne!(skipped(1), skipped(2));
    }
}
