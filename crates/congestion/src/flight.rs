//! What every controller has to know of the packets in flight: the highest number sent, rounds
//! and how much of the window was in use.

use crate::controller::Sent;

/// Numbers and rounds of one connection's packets.
///
/// A round ends when the first packet sent after its start is acknowledged.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Flight {
    largest_sent: Option<u64>,
    /// The round ends with the acknowledgement of this packet or a later one.
    round_end: u64,
    /// Most bytes in flight in this round and in the one before.
    peak: u64,
    last_peak: u64,
}

impl Flight {
    /// A packet left. Returns whether nothing was in flight before it.
    pub fn on_sent(&mut self, sent: &Sent) -> bool {
        self.largest_sent = Some(self.largest_sent.map_or(sent.pn, |l| l.max(sent.pn)));
        self.peak = self.peak.max(sent.in_flight);
        sent.in_flight <= sent.bytes
    }

    /// A packet was acknowledged. Returns whether a new round starts with it.
    pub fn on_ack(&mut self, pn: u64) -> bool {
        if pn < self.round_end {
            return false;
        }
        self.round_end = self.recovery_point().max(pn).saturating_add(1);
        self.last_peak = self.peak;
        self.peak = 0;
        true
    }

    /// Highest packet number sent: a loss up to it belongs to an event that starts now.
    pub fn recovery_point(&self) -> u64 {
        self.largest_sent.unwrap_or(0)
    }

    /// True if anything was sent yet.
    pub fn started(&self) -> bool {
        self.largest_sent.is_some()
    }

    /// Most bytes in flight during this round or the last.
    pub fn max_in_flight(&self) -> u64 {
        self.peak.max(self.last_peak)
    }

    /// Most bytes in flight during the last round.
    pub fn last_max_in_flight(&self) -> u64 {
        self.last_peak
    }

    /// True if at least half of `window` bytes was in flight during this round or the last: a
    /// window that is not used is not tested, and must not grow (RFC 9002, section 7.8). Half, as
    /// acknowledgements that come in batches and a pacer keep the flight below the window.
    pub fn uses(&self, window: u64) -> bool {
        self.max_in_flight().saturating_mul(2) >= window
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airlane_base::Time;

    fn sent(pn: u64, in_flight: u64) -> Sent {
        Sent { now: Time::ZERO, pn, bytes: 1, in_flight }
    }

    #[test]
    fn a_round_ends_when_a_packet_sent_after_its_start_is_acknowledged() {
        let mut f = Flight::default();
        assert!(f.on_sent(&sent(0, 1)));
        assert!(!f.on_sent(&sent(1, 2)));
        assert!(f.on_ack(0));
        assert!(!f.on_ack(1));
        f.on_sent(&sent(2, 1));
        assert!(f.on_ack(2));
    }

    #[test]
    fn use_of_the_window_is_remembered_for_one_more_round() {
        let mut f = Flight::default();
        for pn in 0..10 {
            f.on_sent(&sent(pn, pn + 1));
        }
        assert!(f.uses(20) && !f.uses(21));
        f.on_ack(0);
        f.on_sent(&sent(10, 1));
        assert!(f.uses(20));
        f.on_ack(10);
        assert!(!f.uses(20));
    }
}
