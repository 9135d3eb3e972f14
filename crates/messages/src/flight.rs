//! Packets in flight: which have arrived, which are lost, and which a queue dropped on purpose.
//!
//! A queue that drops as its application said drops whole messages that may be dropped, from their
//! first packet on. So a gap that begins at such a message's first packet, with nothing of the message
//! acknowledged, is taken for intended. A queue that overflows may leave the same gap: the header does
//! not tell these apart, and then the controller does not hear of a loss.

use std::collections::VecDeque;

use airlane_base::Time;

use crate::rtt::RttEstimate;
use crate::wire::Ack;

/// Packets acknowledged with a higher number for a packet to count as lost (RFC 9002, section
/// 6.1.1).
const PACKET_THRESHOLD: u64 = 3;

/// A packet with a fragment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SentPacket {
    pub(crate) pn: u64,
    pub(crate) at: Time,
    pub(crate) stream: u16,
    pub(crate) message: u32,
    /// It is its message's first.
    pub(crate) first: bool,
    /// Its message may be dropped by a queue.
    pub(crate) droppable: bool,
    /// Bytes of UDP payload.
    pub(crate) bytes: u16,
    /// It was acknowledged.
    acked: bool,
}

impl SentPacket {
    pub(crate) fn new(
        pn: u64,
        at: Time,
        message: (u16, u32),
        first: bool,
        droppable: bool,
    ) -> Self {
        let (stream, message) = message;
        Self { pn, at, stream, message, first, droppable, bytes: 0, acked: false }
    }

    pub(crate) fn of_bytes(self, bytes: u16) -> Self {
        Self { bytes, ..self }
    }

    fn key(&self) -> (u16, u32) {
        (self.stream, self.message)
    }
}

/// Reason for which a packet is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// A queue dropped it on purpose, as far as can be told.
    Dropped,
    /// It was lost.
    Lost,
}

/// The packets in flight.
#[derive(Debug, Default)]
pub(crate) struct Flight {
    /// In the order of their numbers. Those at the front are neither acknowledged nor lost yet.
    packets: VecDeque<SentPacket>,
    /// The newest packet that was acknowledged.
    newest_acked: Option<u64>,
    /// The message of the gap that is being told, and whether it counts as dropped on purpose.
    gap: Option<((u16, u32), bool)>,
    /// Time at which the oldest packet in flight counts as lost, if nothing else happens.
    loss_at: Option<Time>,
    last_sent: Option<Time>,
}

/// A round-trip sample.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewestAcked {
    pub(crate) sent_at: Time,
    pub(crate) delay_us: u32,
}

impl Flight {
    pub(crate) fn newest_acked(&self) -> Option<u64> {
        self.newest_acked
    }

    pub(crate) fn loss_at(&self) -> Option<Time> {
        self.loss_at
    }

    /// Time at which the newest packet left, while any is in flight.
    pub(crate) fn last_sent(&self) -> Option<Time> {
        self.last_sent.filter(|_| !self.packets.is_empty())
    }

    /// Forgets what is in flight: it went elsewhere, and says nothing of the path.
    pub(crate) fn abandon(&mut self) {
        self.packets.clear();
        (self.gap, self.loss_at) = (None, None);
    }

    pub(crate) fn sent(&mut self, packet: SentPacket) {
        self.last_sent = Some(packet.at);
        self.packets.push_back(packet);
    }

    /// Marks what an acknowledgement covers and passes the numbers on, oldest first. The sample of
    /// its newest packet, if that was not known to have arrived.
    pub(crate) fn acknowledge(
        &mut self,
        ack: &Ack,
        mut acked: impl FnMut(&SentPacket),
    ) -> Option<NewestAcked> {
        let newest = ack.ranges.first()?.1;
        let mut sample = None;
        for &(first, last) in ack.ranges.iter().rev() {
            let from = self.packets.partition_point(|p| p.pn < first);
            for packet in self.packets.range_mut(from..).take_while(|p| p.pn <= last) {
                if std::mem::replace(&mut packet.acked, true) {
                    continue;
                }
                acked(packet);
                if packet.pn == newest {
                    let sent_at = packet.at;
                    sample = Some(NewestAcked { sent_at, delay_us: ack.delay_us });
                }
                self.newest_acked = self.newest_acked.max(Some(packet.pn));
            }
        }
        sample
    }

    /// Declares lost what is (RFC 9002, section 6.1), and passes it on, oldest first.
    pub(crate) fn detect(
        &mut self,
        now: Time,
        rtt: &RttEstimate,
        mut lost: impl FnMut(&SentPacket, Fate),
    ) {
        self.loss_at = None;
        let Some(newest) = self.newest_acked else { return };
        let delay = rtt.loss_delay();
        while let Some(&oldest) = self.packets.front() {
            if oldest.acked {
                self.packets.pop_front();
                continue;
            }
            if oldest.pn > newest {
                return;
            }
            let is_late = oldest.at + delay <= now;
            if oldest.pn + PACKET_THRESHOLD > newest && !is_late {
                self.loss_at = Some(oldest.at + delay);
                return;
            }
            let fate = self.fate(&oldest);
            self.packets.pop_front();
            lost(&oldest, fate);
        }
    }

    /// Reason for which a packet is missing, which is the oldest in flight.
    fn fate(&mut self, packet: &SentPacket) -> Fate {
        let key = packet.key();
        let goes_on = self.gap.filter(|(message, _)| *message == key).map(|(_, intended)| intended);
        let intended = goes_on.unwrap_or_else(|| {
            let rest = self.packets.iter().take_while(|p| p.key() == key);
            packet.droppable && packet.first && !rest.clone().any(|p| p.acked)
        });
        self.gap = Some((key, intended));
        if intended { Fate::Dropped } else { Fate::Lost }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn flight(packets: &[(u32, bool, bool)]) -> Flight {
        let mut flight = Flight::default();
        for (pn, &(message, first, droppable)) in packets.iter().enumerate() {
            let at = Time::from_millis(pn as u64);
            flight.sent(SentPacket::new(pn as u64, at, (1, message), first, droppable));
        }
        flight
    }

    fn told(flight: &mut Flight, now: Time, ranges: &[(u64, u64)]) -> Vec<(u64, Option<Fate>)> {
        let mut rtt = RttEstimate::default();
        rtt.add(Duration::from_millis(20), Duration::ZERO);
        let mut told = Vec::new();
        let ack = Ack { ranges: ranges.to_vec(), ..Ack::default() };
        flight.acknowledge(&ack, |packet| told.push((packet.pn, None)));
        flight.detect(now, &rtt, |packet, fate| told.push((packet.pn, Some(fate))));
        told
    }

    #[test]
    fn a_whole_message_that_is_missing_was_dropped_and_a_part_of_one_was_lost() {
        // Messages of three packets: one arrives, one is dropped, one loses its middle.
        let packets: Vec<_> = (0..12).map(|i| (i / 3, i % 3 == 0, true)).collect();
        let mut flight = flight(&packets);
        let told = told(&mut flight, Time::from_millis(20), &[(8, 11), (6, 6), (0, 2)]);
        let fates: Vec<_> = told.into_iter().filter(|(_, fate)| fate.is_some()).collect();
        assert_eq!(
            fates,
            [
                (3, Some(Fate::Dropped)),
                (4, Some(Fate::Dropped)),
                (5, Some(Fate::Dropped)),
                (7, Some(Fate::Lost))
            ]
        );
        assert!(flight.packets.is_empty());
    }

    #[test]
    fn what_no_queue_may_drop_was_lost() {
        let mut flight = flight(&[
            (0, true, false),
            (0, false, false),
            (1, true, true),
            (1, false, true),
            (2, true, true),
        ]);
        assert_eq!(
            told(&mut flight, Time::from_millis(5), &[(4, 4)]),
            [(4, None), (0, Some(Fate::Lost)), (1, Some(Fate::Lost))]
        );
        // The others are not late yet.
        let at = flight.loss_at().unwrap();
        assert_eq!(told(&mut flight, at, &[(4, 4)]), [(2, Some(Fate::Dropped))]);
        let at = flight.loss_at().unwrap();
        assert_eq!(told(&mut flight, at, &[(4, 4)]), [(3, Some(Fate::Dropped))]);
        assert!(flight.packets.is_empty() && flight.loss_at().is_none());
    }

    #[test]
    fn a_first_packet_alone_that_is_missing_was_lost() {
        let mut flight =
            flight(&[(0, true, true), (0, false, true), (0, false, true), (0, false, true)]);
        let told = told(&mut flight, Time::from_millis(5), &[(1, 3)]);
        assert_eq!(told.last(), Some(&(0, Some(Fate::Lost))));
    }
}
