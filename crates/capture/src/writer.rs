//! Writes what a receiver heard as a capture that others read as well: pcap with radiotap, times in
//! nanoseconds. [`Decoder`](crate::Decoder) gives back the same records.

use std::io::Write;
use std::time::Duration;

use airlane_wifi::{Address, Format, Frame, FrameKind, Guard, Heard, Vector, What, Width, mac};

use crate::error::CaptureError;
use crate::own::{self, Level, Own};

/// Writes records into a capture.
pub struct Writer<W: Write> {
    out: W,
    /// True if records carry the note that they read back by.
    has_notes: bool,
    /// Numbers aggregates.
    reference: u32,
    /// The record that is being made.
    record: Vec<u8>,
}

const NANOSECOND_MAGIC: u32 = 0xa1b2_3c4d;
const RADIOTAP: u32 = 127;
const SNAP: u32 = 262_144;

/// Flags of radiotap: the frame ends in its frame check sequence.
const FCS: u8 = 0x10;

impl<W: Write> Writer<W> {
    /// Begins a capture.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn new(out: W) -> Result<Self, CaptureError> {
        Self::begin(out, true)
    }

    /// Begins a capture as other programs write them: records carry what radiotap and 802.11 have, and
    /// no more. What is read back of frames is the same; of the rest, that there was something.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn plain(out: W) -> Result<Self, CaptureError> {
        Self::begin(out, false)
    }

    fn begin(mut out: W, has_notes: bool) -> Result<Self, CaptureError> {
        let mut header = Vec::with_capacity(24);
        header.extend(NANOSECOND_MAGIC.to_le_bytes());
        header.extend(2_u16.to_le_bytes());
        header.extend(4_u16.to_le_bytes());
        header.extend([0; 8]);
        header.extend(SNAP.to_le_bytes());
        header.extend(RADIOTAP.to_le_bytes());
        out.write_all(&header).map_err(CaptureError::io("write"))?;
        Ok(Self { out, has_notes, reference: 0, record: Vec::with_capacity(256) })
    }

    /// Writes one record: a packet per frame, cut behind its MAC header, with the time of its end.
    ///
    /// # Errors
    /// Errors of the disk; [`CaptureError::Unwritable`] if a frame is one that 802.11 does not have.
    pub fn write(&mut self, heard: &Heard) -> Result<(), CaptureError> {
        let nanos = |d: Duration| u64::try_from(d.as_nanos()).unwrap_or(u64::MAX);
        let mut own = Own {
            level: Level::Energy,
            is_aggregate: false,
            is_down: false,
            index: 0,
            count: 1,
            begin: heard.at.as_nanos(),
            duration: nanos(heard.duration),
            remaining: 0,
        };
        match &heard.what {
            What::Energy => self.packet(&own, None, None),
            What::Header(vector) => {
                own.level = Level::Header;
                self.packet(&own, Some(*vector), None)
            }
            What::Frames { frames, .. } if frames.is_empty() => {
                Err(CaptureError::Unwritable("it has frames, but none"))
            }
            What::Frames { vector, is_aggregate, frames } => {
                own.level = Level::Frames;
                own.is_aggregate = *is_aggregate;
                own.count = u16::try_from(frames.len())
                    .map_err(|_| CaptureError::Unwritable("it has too many frames"))?;
                self.reference = self.reference.wrapping_add(1);
                for (index, frame) in frames.iter().enumerate() {
                    own.index = index as u16;
                    own.is_down = frame.is_down;
                    own.remaining = nanos(frame.remaining);
                    self.packet(&own, Some(*vector), Some(frame))?;
                }
                Ok(())
            }
        }
    }

    fn packet(
        &mut self,
        own: &Own,
        vector: Option<Vector>,
        frame: Option<&Frame>,
    ) -> Result<(), CaptureError> {
        if vector.is_some_and(|vector| !vector.is_valid()) {
            return Err(CaptureError::Unwritable("it was sent in a way that the standard has not"));
        }
        self.record.clear();
        self.record.extend([0; 16]);
        let is_empty = frame.is_none();
        radiotap(&mut self.record, own, vector, is_empty, self.reference, self.has_notes);
        let tap = self.record.len() - 16;
        let body = frame.map_or(Ok(0), |frame| {
            header(&mut self.record, frame)?;
            Ok(frame.bytes)
        })?;
        let captured = self.record.len() - 16;
        let original = u32::try_from(tap).unwrap_or(u32::MAX).saturating_add(body);
        if (original as usize) < captured {
            return Err(CaptureError::Unwritable("a frame is shorter than its header"));
        }
        let end = own.begin.saturating_add(own.duration);
        let fields = [
            u32::try_from(end / 1_000_000_000).unwrap_or(u32::MAX),
            (end % 1_000_000_000) as u32,
            captured as u32,
            original,
        ];
        for (at, field) in fields.into_iter().enumerate() {
            self.record[4 * at..4 * at + 4].copy_from_slice(&field.to_le_bytes());
        }
        self.out.write_all(&self.record).map_err(CaptureError::io("write"))
    }

    /// Ends it.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn finish(mut self) -> Result<W, CaptureError> {
        self.out.flush().map_err(CaptureError::io("write"))?;
        Ok(self.out)
    }
}

/// Bits of the word of presence.
mod present {
    pub(super) const FLAGS: u32 = 1 << 1;
    pub(super) const RATE: u32 = 1 << 2;
    pub(super) const MCS: u32 = 1 << 19;
    pub(super) const AMPDU: u32 = 1 << 20;
    pub(super) const VHT: u32 = 1 << 21;
    pub(super) const TIMESTAMP: u32 = 1 << 22;
    pub(super) const HE: u32 = 1 << 23;
    pub(super) const ZERO_LENGTH: u32 = 1 << 26;
    pub(super) const VENDOR: u32 = 1 << 30;
    pub(super) const MORE: u32 = 1 << 31;
}

/// Appends the radiotap header.
fn radiotap(
    out: &mut Vec<u8>,
    own: &Own,
    vector: Option<Vector>,
    is_zero_length: bool,
    reference: u32,
    has_note: bool,
) {
    let start = out.len();
    let align = |out: &mut Vec<u8>, to: usize| {
        let len = (out.len() - start).next_multiple_of(to);
        out.resize(start + len, 0);
    };
    let mut word = present::FLAGS | present::TIMESTAMP;
    if has_note {
        word |= present::VENDOR | present::MORE;
    }
    word |= match vector.map(|v| v.format) {
        None => 0,
        Some(Format::Dsss | Format::Ofdm) => present::RATE,
        Some(Format::Ht) => present::MCS,
        Some(Format::Vht) => present::VHT,
        Some(Format::He) => present::HE,
    };
    if own.is_aggregate {
        word |= present::AMPDU;
    }
    if is_zero_length {
        word |= present::ZERO_LENGTH;
    }
    out.extend([0; 4]);
    out.extend(word.to_le_bytes());
    if has_note {
        // The vendor's word: it has no fields of its own.
        out.extend([0; 4]);
    }
    out.push(FCS);
    // In the order of the bits.
    match vector {
        Some(v) if word & present::RATE != 0 => out.push((v.rate().as_f64() / 5e5).round() as u8),
        Some(v) if word & present::MCS != 0 => out.extend(mcs(&v)),
        _ => {}
    }
    if own.is_aggregate {
        align(out, 4);
        out.extend(reference.to_le_bytes());
        let is_last = own.index + 1 == own.count;
        out.extend(if is_last { 0x0c_u16 } else { 0x04 }.to_le_bytes());
        out.extend([0, 0]);
    }
    match vector {
        Some(v) if word & present::VHT != 0 => {
            align(out, 2);
            out.extend(vht(&v));
        }
        _ => {}
    }
    align(out, 8);
    out.extend(own.begin.to_le_bytes());
    // Accuracy unknown; nanoseconds, read at the preamble.
    out.extend([0, 0, 0x12, 0]);
    match vector {
        Some(v) if word & present::HE != 0 => {
            for field in he(&v) {
                out.extend(field.to_le_bytes());
            }
        }
        _ => {}
    }
    if is_zero_length {
        // With a PHY header the data were not captured; without one there is nothing to be said.
        out.push(if vector.is_some() { 1 } else { 0xff });
    }
    if has_note {
        align(out, 2);
        let (oui, sub) = own::NAMESPACE;
        out.extend(oui);
        out.push(sub);
        out.extend((own::LEN as u16).to_le_bytes());
        own.write(out);
    }
    let len = (out.len() - start) as u16;
    out[start + 2..start + 4].copy_from_slice(&len.to_le_bytes());
}

fn mcs(vector: &Vector) -> [u8; 3] {
    let width = u8::from(vector.width == Width::Mhz40);
    let guard = if vector.guard == Guard::Ns400 { 0x04 } else { 0 };
    // Known: bandwidth, MCS, guard interval.
    [0x07, width | guard, 8 * (vector.streams - 1) + vector.mcs]
}

fn vht(vector: &Vector) -> [u8; 12] {
    let width = match vector.width {
        Width::Mhz20 => 0,
        Width::Mhz40 => 1,
        Width::Mhz80 => 4,
        Width::Mhz160 => 11,
    };
    let guard = if vector.guard == Guard::Ns400 { 0x04 } else { 0 };
    let user = (vector.mcs << 4) | vector.streams;
    // Known: guard interval, bandwidth.
    [0x44, 0, guard, width, user, 0, 0, 0, 0, 0, 0, 0]
}

fn he(vector: &Vector) -> [u16; 6] {
    let width = match vector.width {
        Width::Mhz20 => 0,
        Width::Mhz40 => 1,
        Width::Mhz80 => 2,
        Width::Mhz160 => 3,
    };
    let guard = match vector.guard {
        Guard::Ns1600 => 1,
        Guard::Ns3200 => 2,
        Guard::Ns400 | Guard::Ns800 => 0,
    };
    // Known: MCS, bandwidth; guard interval. One user.
    [
        0x0020 | 0x4000,
        0x0002,
        u16::from(vector.mcs) << 8,
        0,
        width | (guard << 4),
        u16::from(vector.streams),
    ]
}

/// Appends the MAC header.
fn header(out: &mut Vec<u8>, frame: &Frame) -> Result<(), CaptureError> {
    let sent_by = frame.transmitter;
    let need = |address: Option<Address>, what| address.ok_or(CaptureError::Unwritable(what));
    let (kind, subtype): (u8, u8) = match frame.kind {
        FrameKind::Management => (0, 13),
        FrameKind::Beacon => (0, 8),
        // The announcement of sounding; without a transmitter a subtype that nobody has defined.
        FrameKind::Other => (1, if sent_by.is_some() { 5 } else { 1 }),
        FrameKind::BlockAckRequest => (1, 8),
        FrameKind::BlockAck => (1, 9),
        FrameKind::PowerSavePoll => (1, 10),
        FrameKind::Rts => (1, 11),
        FrameKind::Cts => (1, 12),
        FrameKind::Ack => (1, 13),
        FrameKind::Data => (2, 0),
        FrameKind::QosData => (2, 8),
        FrameKind::Null => (2, if frame.tid == 0 { 4 } else { 12 }),
    };
    let ds: u8 = match (kind, frame.bssid) {
        (2, Some(bssid)) if frame.is_down && sent_by == Some(bssid) => 2,
        (2, Some(bssid)) if bssid == frame.receiver => 1,
        (2, None) => 3,
        _ => 0,
    };
    let retry = if frame.is_retry { 0x08 } else { 0 };
    out.extend([(subtype << 4) | (kind << 2), ds | retry]);
    let us = frame.remaining.as_nanos().div_ceil(1_000).min(0x7fff) as u16;
    out.extend(us.to_le_bytes());
    out.extend(frame.receiver.0);
    if kind == 1 {
        return control(out, frame);
    }
    out.extend(need(sent_by, "data or management without a transmitter")?.0);
    let third = match ds {
        3 => frame.receiver,
        _ => need(frame.bssid, "management without a network")?,
    };
    out.extend(third.0);
    out.extend((frame.sequence << 4).to_le_bytes());
    if ds == 3 {
        out.extend(sent_by.unwrap_or_default().0);
    }
    if kind == 2 && subtype & 8 != 0 {
        out.extend([frame.tid & 0x0f, 0]);
    }
    Ok(())
}

/// Appends the rest of a control frame.
fn control(out: &mut Vec<u8>, frame: &Frame) -> Result<(), CaptureError> {
    match (frame.kind, frame.transmitter) {
        (FrameKind::Cts | FrameKind::Ack, Some(_)) => {
            return Err(CaptureError::Unwritable("CTS or ACK with a transmitter"));
        }
        (FrameKind::Cts | FrameKind::Ack | FrameKind::Other, None) => return Ok(()),
        (_, None) => return Err(CaptureError::Unwritable("a control frame without a transmitter")),
        (_, Some(transmitter)) => out.extend(transmitter.0),
    }
    if !matches!(frame.kind, FrameKind::BlockAck | FrameKind::BlockAckRequest) {
        return Ok(());
    }
    // Compressed.
    out.extend((0x0004 | (u16::from(frame.tid) << 12)).to_le_bytes());
    let Some(block_ack) = frame.block_ack else {
        return Ok(());
    };
    // As long as the frame is: its bitmap is of 64 frames or of 256.
    let is_long = frame.bytes >= mac::BLOCK_ACK_256;
    if !is_long && block_ack.came[1..].iter().any(|word| *word != 0) {
        return Err(CaptureError::Unwritable("a block acknowledgement longer than its frame"));
    }
    out.extend(((block_ack.start << 4) | if is_long { 4 } else { 0 }).to_le_bytes());
    for word in &block_ack.came[..if is_long { 4 } else { 1 }] {
        out.extend(word.to_le_bytes());
    }
    Ok(())
}
