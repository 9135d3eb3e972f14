//! Reports of marks on packets that leave with ECT(1), and the check that path and peer tell them.

/// ECN counts of an acknowledgement (RFC 9000, section 19.3.2): packets that have arrived, from the
/// beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EcnCounts {
    /// With ECT(1).
    pub ect1: u64,
    /// Marked (ECN-CE).
    pub ce: u64,
}

/// The reports of one peer on packets that all left with ECT(1).
///
/// Packets that arrived without a code point say that the path clears it, acknowledgements without
/// counts that the peer does not tell of marks. The sender then stops setting ECT(1) (RFC 9000,
/// section 13.4.2), as it would hear nothing of a queue that marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EcnFeedback {
    acked: u64,
    counts: EcnCounts,
    has_failed: bool,
}

impl EcnFeedback {
    /// Counts packets that were newly acknowledged.
    pub fn acked(&mut self, packets: u64) {
        self.acked += packets;
    }

    /// Takes the ECN counts of an acknowledgement, `None` if it has none, once the packets that it newly acknowledges
    /// were [counted](Self::acked). Returns the number of packets that it newly reports as marked.
    pub fn reported(&mut self, counts: Option<EcnCounts>) -> u64 {
        let Some(counts) = counts.filter(|_| !self.has_failed) else {
            self.has_failed = true;
            return 0;
        };
        // Acknowledgements may overtake each other: what is known stays known.
        let before = self.counts;
        let EcnCounts { ect1, ce } = &mut self.counts;
        (*ect1, *ce) = (counts.ect1.max(before.ect1), counts.ce.max(before.ce));
        // Each packet that was acknowledged has arrived, and is counted somewhere.
        self.has_failed = ect1.saturating_add(*ce) < self.acked;
        *ce - before.ce
    }

    /// True if marks are not reported, or the path clears code points.
    pub fn has_failed(&self) -> bool {
        self.has_failed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(feedback: &mut EcnFeedback, newly_acked: u64, ect1: u64, ce: u64) -> u64 {
        feedback.acked(newly_acked);
        feedback.reported(Some(EcnCounts { ect1, ce }))
    }

    #[test]
    fn marks_are_told_once_in_whatever_order() {
        let mut feedback = EcnFeedback::default();
        assert_eq!(told(&mut feedback, 2, 2, 0), 0);
        assert_eq!(
            told(&mut feedback, 4, 5, 3),
            3,
            "two have arrived that are not acknowledged yet"
        );
        assert_eq!(told(&mut feedback, 0, 3, 2), 0, "one that was overtaken");
        assert_eq!(told(&mut feedback, 2, 5, 4), 1);
        assert!(!feedback.has_failed());
    }

    #[test]
    fn a_path_that_clears_and_a_peer_that_does_not_tell_are_found_out() {
        let mut cleared = EcnFeedback::default();
        told(&mut cleared, 2, 2, 0);
        told(&mut cleared, 2, 3, 0);
        assert!(cleared.has_failed());
        assert_eq!(told(&mut cleared, 1, 9, 9), 0, "nothing of it is believed any more");
        let mut silent = EcnFeedback::default();
        silent.acked(1);
        assert_eq!(silent.reported(None), 0);
        assert!(silent.has_failed());
    }

    #[test]
    fn counts_of_a_liar_do_no_harm() {
        let mut feedback = EcnFeedback::default();
        assert_eq!(told(&mut feedback, 1, u64::MAX, u64::MAX), u64::MAX);
        assert!(!feedback.has_failed());
    }
}
