//! Messages from packets: frames that do not build on each other, each handed on once it is whole.

use std::collections::BTreeMap;

use crate::assembly::{MAX_PACKETS, REACH};
use crate::delivered::Delivered;
use crate::packet::Descriptor;
use crate::partial_frame::{PartialFrame, Piece};

/// Messages that have begun to come, of [`MAX_PACKETS`] packets together.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    partial: BTreeMap<u32, PartialFrame>,
    packets: usize,
    /// Number of the newest packet.
    newest: u64,
}

impl Messages {
    /// Takes a packet, and returns the message that it completes.
    pub(crate) fn push(&mut self, piece: &Piece) -> Option<Delivered> {
        let (descriptor, data) = Descriptor::decode(&piece.payload)?;
        self.newest = self.newest.max(piece.sequence);
        self.forget_lost();
        let message = self.partial.entry(descriptor.number);
        let message = message.or_insert_with(|| PartialFrame::new(descriptor.key, piece.at));
        if !message.push(piece, &descriptor, data) {
            return None;
        }
        self.packets += 1;
        if !message.is_complete() {
            return None;
        }
        let delivered = message.deliver(descriptor.number, piece.at);
        self.remove(descriptor.number);
        Some(delivered)
    }

    fn remove(&mut self, number: u32) {
        if let Some(message) = self.partial.remove(&number) {
            self.packets -= message.packets();
        }
    }

    /// Forgets messages whose missing packets str0m asks for no more, and the oldest where too many packets wait.
    fn forget_lost(&mut self) {
        while let Some((number, message)) = self.partial.first_key_value()
            && (self.packets >= MAX_PACKETS || message.newest() + REACH < self.newest)
        {
            self.remove(*number);
        }
    }
}

#[cfg(test)]
mod tests {
    use airlane_base::Time;

    use super::*;
    use crate::packet::payloads;

    /// Packets of messages of three packets each.
    fn packets(messages: u32) -> Vec<Piece> {
        let mut packets = Vec::new();
        for number in 0..messages {
            let all: Vec<_> = payloads(number, false, Time::ZERO, &[number as u8; 3_300]).collect();
            for (i, payload) in all.iter().enumerate() {
                packets.push(Piece {
                    sequence: 100 + packets.len() as u64,
                    last: i + 1 == all.len(),
                    payload: payload.clone().into(),
                    at: Time::ZERO,
                });
            }
        }
        packets
    }

    fn delivered<'a>(messages: &mut Messages, of: impl Iterator<Item = &'a Piece>) -> Vec<u32> {
        of.filter_map(|piece| messages.push(piece)).map(|message| message.number).collect()
    }

    #[test]
    fn a_message_waits_for_no_other_one() {
        let packets = packets(4);
        let mut messages = Messages::default();
        let without = packets.iter().filter(|piece| piece.sequence != 101);
        assert_eq!(delivered(&mut messages, without), [1, 2, 3]);
        // A repetition comes within reach.
        let late = messages.push(&packets[1]).unwrap();
        assert_eq!((late.number, &late.data[..]), (0, &[0; 3_300][..]));
        assert_eq!((messages.packets, messages.partial.len()), (0, 0));
    }

    #[test]
    fn what_is_lost_for_good_is_forgotten() {
        let packets = packets(50);
        let mut messages = Messages::default();
        let without = packets.iter().filter(|piece| piece.sequence != 101);
        assert_eq!(delivered(&mut messages, without).len(), 49);
        assert_eq!((messages.packets, messages.partial.len()), (0, 0));
    }

    #[test]
    fn a_sender_that_completes_nothing_fills_no_memory() {
        let mut messages = Messages::default();
        let payloads: Vec<_> = payloads(0, false, Time::ZERO, &[7; 3_300]).collect();
        for sequence in 0..10_000_u64 {
            let payload = payloads[1].clone().into();
            messages.push(&Piece { sequence, last: false, payload, at: Time::ZERO });
            assert!(messages.packets <= MAX_PACKETS);
        }
    }
}
