//! Captured packets: radiotap header and MAC header.

use airlane_wifi::mac;

use crate::file::{LinkType, Record};
use crate::header::Header;
use crate::radiotap::Radiotap;

/// A captured packet: a frame, or that there was one.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// Time of capture, nanoseconds by the capturing machine's clock.
    pub nanos: Option<u64>,
    /// Interface of the capture.
    pub interface: u32,
    /// Its radiotap header.
    pub tap: Radiotap,
    /// Its MAC header; `None` where there is no frame, or a damaged one without a sound header. What is
    /// damaged may say anything.
    pub header: Option<Header>,
    /// Bytes of the MPDU, frame check sequence included; 0 where there is no frame.
    pub mpdu: u32,
}

/// Error in a packet that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPacket {
    /// Its radiotap header.
    #[error("radiotap header: {0}")]
    Radiotap(#[from] crate::radiotap::BadRadiotap),
    /// Its MAC header, although the frame came undamaged.
    #[error("MAC header: {0}")]
    Header(#[from] crate::header::BadHeader),
}

impl Packet {
    /// Reads a record of a file.
    ///
    /// # Errors
    /// If one of its headers is malformed.
    pub fn parse(record: &Record<'_>) -> Result<Self, BadPacket> {
        let tap = match record.link {
            LinkType::Radiotap => Radiotap::parse(record.bytes)?,
            LinkType::Ieee80211 { has_fcs } => Radiotap { has_fcs, ..Radiotap::default() },
        };
        let body = record.bytes.get(tap.len..).unwrap_or_default();
        let on_air = record.original.saturating_sub(tap.len as u32);
        let (nanos, interface) = (record.nanos, record.interface);
        if tap.is_zero_length {
            return Ok(Self { nanos, interface, tap, header: None, mpdu: 0 });
        }
        let mut mpdu = on_air.saturating_add(if tap.has_fcs { 0 } else { mac::FCS });
        let header = match Header::parse(body, mpdu) {
            Ok(mut header) => {
                if tap.is_padded
                    && !header.len.is_multiple_of(4)
                    && on_air as usize > header.len + 2
                {
                    mpdu -= 2;
                    header.frame.bytes = mpdu;
                }
                Some(header)
            }
            Err(_) if tap.is_damaged => None,
            Err(bad) => return Err(bad.into()),
        };
        Ok(Self { nanos, interface, tap, header, mpdu })
    }
}
