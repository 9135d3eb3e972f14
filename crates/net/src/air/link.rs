//! What waits at one radio for another, in one category.

use std::cell::Cell;
use std::collections::VecDeque;

use airlane_base::{Packet, Time};
use airlane_wifi::{Vector, mac};

use super::config::RateControl;
use super::ids::{ContenderId, RadioId, StationPort};
use super::minstrel::Minstrel;
use super::reorder::Reorder;
use super::window::{Mpdu, Window};
use crate::node::{Dequeued, Dropped, Queue};

/// Packets from a radio to another.
pub(super) struct Link {
    /// Contender that sends its packets.
    pub(super) contender: ContenderId,
    /// The radio that it leads to.
    pub(super) to: RadioId,
    /// The port whose packets these are.
    pub(super) port: StationPort,
    pub(super) rate_control: RateControl,
    /// State of Minstrel, where that chooses its rates.
    pub(super) minstrel: Option<Minstrel>,
    /// The ideal rate at an SNR: that asked for last.
    pub(super) ideal: Cell<Option<(f64, Vector)>>,
    queue: Box<dyn Queue>,
    /// It has handed packets to hardware: those wait here, and with what has a number they hold so many
    /// descriptors.
    handed: Option<VecDeque<Box<Packet>>>,
    handed_bytes: u64,
    held: usize,
    /// CoDel knows that it is slow.
    is_slow: bool,
    /// Packet that was taken out of the queue and did not fit any more.
    next: Option<Box<Packet>>,
    pub(super) window: Window,
    pub(super) reorder: Reorder,
    /// Time at which a gap of it is looked at next.
    pub(super) gap_watched_until: Option<Time>,
}

/// Backlog of a link: packets that have no number yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Backlog {
    /// Packets waiting.
    pub(super) packets: usize,
    /// IP bytes waiting.
    pub(super) bytes: u64,
}

impl Link {
    pub(super) fn new(
        contender: ContenderId,
        (to, port): (RadioId, StationPort),
        rate_control: RateControl,
        queue: Box<dyn Queue>,
        window: usize,
    ) -> Self {
        let window = Window::new(window);
        Self {
            contender,
            to,
            port,
            rate_control,
            minstrel: None,
            ideal: Cell::new(None),
            queue,
            handed: None,
            handed_bytes: 0,
            held: 0,
            is_slow: false,
            next: None,
            window,
            reorder: Reorder::default(),
            gap_watched_until: None,
        }
    }

    /// True if there is anything to send.
    pub(super) fn has_traffic(&self) -> bool {
        self.next.is_some()
            || !self.window.is_empty()
            || !self.queue.is_empty()
            || self.handed.as_ref().is_some_and(|handed| !handed.is_empty())
    }

    /// Packets that wait and have no number yet.
    pub(super) fn backlog(&self) -> Backlog {
        let next = self.next.as_ref().map_or(0, |packet| packet.ip_bytes());
        Backlog {
            packets: self.queue.len()
                + self.handed.as_ref().map_or(0, VecDeque::len)
                + usize::from(self.next.is_some()),
            bytes: self.queue.bytes() + self.handed_bytes + u64::from(next),
        }
    }

    /// Hardware has descriptors for its packets from now on.
    pub(super) fn use_descriptors(&mut self) {
        self.handed.get_or_insert_default();
    }

    /// A packet is handed to the hardware.
    pub(super) fn hand(&mut self, packet: Box<Packet>) {
        self.handed_bytes += u64::from(packet.ip_bytes());
        self.handed.get_or_insert_default().push_back(packet);
        self.held += 1;
    }

    /// Hands packets of the queue to the hardware, until it holds so many.
    pub(super) fn hand_over(&mut self, now: Time, most: usize, drops: &mut Vec<Dropped>) {
        while self.held < most
            && let Dequeued::Packet(packet) = self.queue.dequeue(now, drops)
        {
            self.hand(packet);
        }
    }

    /// So many descriptors are free again.
    pub(super) fn release(&mut self, packets: usize) {
        self.held -= packets;
    }

    /// Sets whether frames go slowly from now on.
    pub(super) fn set_slow(&mut self, is_slow: bool) {
        if std::mem::replace(&mut self.is_slow, is_slow) != is_slow {
            self.queue.set_slow(is_slow);
        }
    }

    pub(super) fn enqueue(&mut self, now: Time, packet: Box<Packet>, drops: &mut Vec<Dropped>) {
        self.queue.enqueue(now, packet, drops);
    }

    /// The next packets for one frame: one, or as many as fit an A-MSDU of so many bytes. `None` if none
    /// waits, or if the frame would be longer than `most` bytes in an aggregate.
    pub(super) fn next_mpdu(
        &mut self,
        now: Time,
        (most, max_amsdu): (u32, u32),
        is_encrypted: bool,
        drops: &mut Vec<Dropped>,
    ) -> Option<Mpdu> {
        let first = self.take(now, drops)?;
        let bytes = mac::mpdu(first.ip_bytes(), is_encrypted);
        if mac::in_aggregate(bytes) > most {
            self.next = Some(first);
            return None;
        }
        // As in an A-MSDU: each with its own header.
        let mut msdu = mac::in_amsdu(first.ip_bytes());
        let mut packets = vec![first];
        let fits = |msdu: u32, packet: &Packet| {
            let with = msdu + mac::in_amsdu(packet.ip_bytes());
            with <= max_amsdu && mac::in_aggregate(with + mac::mpdu(0, is_encrypted)) <= most
        };
        while msdu < max_amsdu
            && let Some(packet) = self.take_if(now, drops, |packet| fits(msdu, packet))
        {
            msdu += mac::in_amsdu(packet.ip_bytes());
            packets.push(packet);
        }
        let bytes =
            if packets.len() > 1 { msdu + mac::mpdu(0, is_encrypted) - mac::SNAP } else { bytes };
        Some(Mpdu { count: packets.len(), packets, bytes, tries: 0 })
    }

    /// Takes out all that waits, numbered or not.
    pub(super) fn drain(
        &mut self,
        now: Time,
        packets: &mut Vec<Box<Packet>>,
        drops: &mut Vec<Dropped>,
    ) {
        let numbers: Vec<u64> = self.window.outstanding().map(|(number, _)| number).collect();
        for number in numbers {
            packets.extend(self.window.take(number).into_iter().flat_map(|mpdu| mpdu.packets));
        }
        while let Some(packet) = self.take(now, drops) {
            packets.push(packet);
        }
    }

    fn take(&mut self, now: Time, drops: &mut Vec<Dropped>) -> Option<Box<Packet>> {
        if self.next.is_some() {
            return self.next.take();
        }
        if let Some(handed) = &mut self.handed {
            let packet = handed.pop_front()?;
            self.handed_bytes -= u64::from(packet.ip_bytes());
            return Some(packet);
        }
        match self.queue.dequeue(now, drops) {
            Dequeued::Packet(packet) => Some(packet),
            // Nothing that holds packets back stands in front of a radio.
            Dequeued::Empty | Dequeued::NotBefore(_) => None,
        }
    }

    fn take_if(
        &mut self,
        now: Time,
        drops: &mut Vec<Dropped>,
        fits: impl FnOnce(&Packet) -> bool,
    ) -> Option<Box<Packet>> {
        let packet = self.take(now, drops)?;
        if fits(&packet) {
            return Some(packet);
        }
        self.next = Some(packet);
        None
    }
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Link")
            .field("to", &self.to)
            .field("port", &self.port)
            .field("queue", &self.queue.name())
            .finish_non_exhaustive()
    }
}
