//! The MAC header of 802.11 (802.11-2020, 9.2 to 9.3).

use std::time::Duration;

use airlane_wifi::{Address, BlockAck, Frame, FrameKind};

use crate::bytes::{le16, le64};

/// Error in a MAC header that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadHeader {
    /// A header that is cut short.
    #[error("cut short")]
    Short,
    /// A version that nobody has defined.
    #[error("version {0}; expected 0")]
    Version(u8),
}

/// A MAC header, and what its first byte said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The frame that it is of.
    pub frame: Frame,
    /// Type (0 management, 1 control, 2 data, 3 extension) times 16, plus the subtype.
    pub code: u8,
    /// Bytes of the header.
    pub len: usize,
}

const RETRY: u8 = 0x08;

impl Header {
    /// Reads the header of an MPDU of so many bytes, frame check sequence included.
    ///
    /// Whether a control frame goes to a station or to an access point it does not say: `is_down` is
    /// false then.
    ///
    /// # Errors
    /// If it is cut short, or not of 802.11.
    pub fn parse(bytes: &[u8], mpdu: u32) -> Result<Self, BadHeader> {
        let [control, flags, ..] = *bytes else { return Err(BadHeader::Short) };
        if control & 3 != 0 {
            return Err(BadHeader::Version(control & 3));
        }
        let kind = (control >> 2) & 3;
        let subtype = control >> 4;
        let duration = le16(bytes, 2).ok_or(BadHeader::Short)?;
        // With the highest bit set it is no duration (802.11-2020, table 9-10).
        let remaining = if duration < 0x8000 { u64::from(duration) } else { 0 };
        let mut frame = Frame::new(FrameKind::Other, address(bytes, 4)?, None, mpdu);
        frame.is_retry = flags & RETRY != 0;
        frame.remaining = Duration::from_micros(remaining);
        let len = match kind {
            0 => management(&mut frame, bytes, subtype)?,
            1 => control_frame(&mut frame, bytes, subtype)?,
            2 => data(&mut frame, bytes, subtype, flags)?,
            _ => 10,
        };
        Ok(Self { frame, code: (kind << 4) | subtype, len })
    }
}

fn address(bytes: &[u8], at: usize) -> Result<Address, BadHeader> {
    let six = bytes.get(at..).and_then(|rest| rest.first_chunk());
    six.map(|six| Address(*six)).ok_or(BadHeader::Short)
}

fn sequence(bytes: &[u8]) -> Result<u16, BadHeader> {
    le16(bytes, 22).map(|s| s >> 4).ok_or(BadHeader::Short)
}

fn management(frame: &mut Frame, bytes: &[u8], subtype: u8) -> Result<usize, BadHeader> {
    frame.kind = if subtype == 8 { FrameKind::Beacon } else { FrameKind::Management };
    frame.transmitter = Some(address(bytes, 10)?);
    frame.bssid = Some(address(bytes, 16)?);
    frame.is_down = frame.transmitter == frame.bssid;
    frame.sequence = sequence(bytes)?;
    Ok(24)
}

fn control_frame(frame: &mut Frame, bytes: &[u8], subtype: u8) -> Result<usize, BadHeader> {
    // Those that name their sender: trigger, report poll, announcement, BAR, BA, PS-Poll, RTS. (CF-End
    // names the access point, whoever sends it.)
    if matches!(subtype, 2 | 4 | 5 | 8..=11) {
        frame.transmitter = Some(address(bytes, 10)?);
    }
    frame.kind = match subtype {
        8 => FrameKind::BlockAckRequest,
        9 => FrameKind::BlockAck,
        10 => FrameKind::PowerSavePoll,
        11 => FrameKind::Rts,
        12 => FrameKind::Cts,
        13 => FrameKind::Ack,
        _ => FrameKind::Other,
    };
    if matches!(frame.kind, FrameKind::BlockAckRequest | FrameKind::BlockAck) {
        // The traffic identifier is in the upper four bits of the control field.
        frame.tid = le16(bytes, 16).map_or(0, |control| (control >> 12) as u8);
    }
    if frame.kind == FrameKind::BlockAck {
        frame.block_ack = block_ack(bytes);
    }
    if frame.kind == FrameKind::PowerSavePoll {
        // An identifier stands in the place of the duration.
        frame.remaining = Duration::ZERO;
    }
    Ok(if frame.transmitter.is_some() { 16 } else { 10 })
}

/// The bitmap of a compressed block acknowledgement (9.3.1.8.2); `None` of other variants, and of one
/// that was cut short.
fn block_ack(bytes: &[u8]) -> Option<BlockAck> {
    const COMPRESSED: u16 = 2;
    if (le16(bytes, 16)? >> 1) & 0x0f != COMPRESSED {
        return None;
    }
    let start = le16(bytes, 18)?;
    // Where fragments do not count, bits 1 and 2 of the fragment number tell the bitmap's length.
    let words = match (start >> 1) & 7 {
        0 => 1,
        2 => 4,
        _ => return None,
    };
    let mut came = [0; 4];
    for (index, word) in came.iter_mut().enumerate().take(words) {
        *word = le64(bytes, 20 + 8 * index)?;
    }
    Some(BlockAck { start: start >> 4, came })
}

fn data(frame: &mut Frame, bytes: &[u8], subtype: u8, flags: u8) -> Result<usize, BadHeader> {
    let (is_qos, is_null) = (subtype & 8 != 0, subtype & 4 != 0);
    frame.kind = match (is_null, is_qos) {
        (true, _) => FrameKind::Null,
        (_, true) => FrameKind::QosData,
        _ => FrameKind::Data,
    };
    let transmitter = address(bytes, 10)?;
    let third = address(bytes, 16)?;
    frame.transmitter = Some(transmitter);
    frame.sequence = sequence(bytes)?;
    // ToDS and FromDS (table 9-30).
    let (bssid, is_down, mut len) = match flags & 3 {
        0 => (Some(third), false, 24),
        1 => (Some(frame.receiver), false, 24),
        2 => (Some(transmitter), true, 24),
        _ => (None, false, 30),
    };
    (frame.bssid, frame.is_down) = (bssid, is_down);
    if is_qos {
        frame.tid = (le16(bytes, len).ok_or(BadHeader::Short)? & 0x0f) as u8;
        len += 2;
    }
    if bytes.len() < len {
        return Err(BadHeader::Short);
    }
    Ok(len)
}
