//! From records of a capture to what was heard.

use std::collections::{BTreeMap, BTreeSet};

use airlane_wifi::{Address, FrameKind};

use crate::clock::Clock;
use crate::file::Record;
use crate::join::{Joiner, Sorter};
use crate::packet::{BadPacket, Packet};
use crate::transmission::Transmission;

/// What a capture consisted of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Frames that came undamaged, by [code](crate::Header::code).
    pub frames: [u64; 64],
    /// Frames that came damaged: air, but no station.
    pub damaged: u64,
    /// Records without a frame.
    pub without_frame: u64,
    /// Records whose radiotap header is malformed, skipped.
    pub bad_radiotap: u64,
    /// Undamaged frames whose MAC header is malformed, skipped.
    pub bad_header: u64,
    /// Frames that do not say at which rate they were sent.
    pub without_rate: u64,
    /// Times at which the receiver's clock was behind what it had been.
    pub steps_back: u64,
    /// Jumps of a clock: time goes on by another then, or from where it was.
    pub jumps: u64,
    /// Transmissions at which a receiver's clock stood still, read zero or ran at a wrong speed: their time
    /// is the machine's.
    pub clock_unusable: u64,
    /// Packets by the middle of their channel, MHz.
    pub channels: BTreeMap<u16, u64>,
}

impl Counts {
    /// Undamaged frames of all kinds.
    pub fn undamaged(&self) -> u64 {
        self.frames.iter().sum()
    }
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            frames: [0; 64],
            damaged: 0,
            without_frame: 0,
            bad_radiotap: 0,
            bad_header: 0,
            without_rate: 0,
            steps_back: 0,
            jumps: 0,
            clock_unusable: 0,
            channels: BTreeMap::new(),
        }
    }
}

/// Channels are told apart up to this number.
const MAX_CHANNELS: usize = 128;
/// Access points are remembered up to this number.
const MAX_ACCESS_POINTS: usize = 4_096;

/// Makes transmissions of records: frames of one PPDU joined, in the order of their ends.
///
/// Push records, pop what was heard; at the end [`Decoder::finish`] and pop the rest.
#[derive(Debug, Default)]
pub struct Decoder {
    clock: Clock,
    joiner: Joiner,
    sorter: Sorter,
    access_points: BTreeSet<Address>,
    counts: Counts,
}

impl Decoder {
    /// Takes a record. Malformed ones are counted, skipped, and the reason returned.
    ///
    /// # Errors
    /// Why it was skipped.
    pub fn push(&mut self, record: &Record<'_>) -> Result<(), BadPacket> {
        let packet = Packet::parse(record).inspect_err(|bad| match bad {
            BadPacket::Radiotap(_) => self.counts.bad_radiotap += 1,
            BadPacket::Header(_) => self.counts.bad_header += 1,
        })?;
        self.packet(packet);
        Ok(())
    }

    fn packet(&mut self, mut packet: Packet) {
        let tap = &packet.tap;
        if tap.is_zero_length {
            self.counts.without_frame += 1;
        } else if tap.is_damaged {
            self.counts.damaged += 1;
        } else if let Some(header) = &packet.header {
            self.counts.frames[usize::from(header.code & 63)] += 1;
        }
        if let Some(channel) = tap.channel_mhz {
            let channels = &mut self.counts.channels;
            if channels.len() < MAX_CHANNELS || channels.contains_key(&channel) {
                *channels.entry(channel).or_default() += 1;
            }
        }
        self.counts.without_rate += u64::from(tap.vector.is_none() && !tap.is_zero_length);
        if tap.own.is_none() && !tap.is_damaged {
            self.directions(&mut packet);
        }
        let (joiner, sorter) = (&mut self.joiner, &mut self.sorter);
        joiner.push(&packet, &mut self.clock, |transmission| sorter.push(transmission));
        let clock = &self.clock;
        (self.counts.steps_back, self.counts.jumps) = (clock.steps_back, clock.jumps);
        self.counts.clock_unusable = clock.unusable;
    }

    /// Learns who the access points are, and of control frames who they go to.
    fn directions(&mut self, packet: &mut Packet) {
        let Some(header) = &mut packet.header else { return };
        let frame = &mut header.frame;
        match (frame.kind, frame.bssid) {
            (FrameKind::Beacon, Some(bssid)) => self.know(bssid),
            (FrameKind::QosData | FrameKind::Data | FrameKind::Null, Some(bssid))
                if frame.is_down || bssid == frame.receiver =>
            {
                self.know(bssid);
            }
            (_, Some(_)) => {}
            (_, None) => {
                // An RTS says by the group bit of its transmitter that it names a bandwidth (802.11-2020,
                // 9.3.1.2).
                if header.code >> 4 == 1 {
                    frame.transmitter = frame.transmitter.map(individual);
                }
                frame.is_down = match frame.transmitter {
                    Some(transmitter) => self.access_points.contains(&transmitter),
                    None => {
                        !self.access_points.is_empty()
                            && !self.access_points.contains(&frame.receiver)
                    }
                };
            }
        }
    }

    fn know(&mut self, access_point: Address) {
        if !access_point.is_group() && self.access_points.len() < MAX_ACCESS_POINTS {
            self.access_points.insert(access_point);
        }
    }

    /// What was heard next, if it is complete.
    pub fn pop(&mut self) -> Option<Transmission> {
        self.sorter.pop()
    }

    /// Nothing follows for now: what waits for more is complete.
    pub fn finish(&mut self) {
        let sorter = &mut self.sorter;
        self.joiner.flush(&mut self.clock, |transmission| sorter.push(transmission));
        sorter.finish();
    }

    /// What the capture consisted of so far.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }
}

/// The address without its group bit.
fn individual(mut address: Address) -> Address {
    address.0[0] &= !1;
    address
}
