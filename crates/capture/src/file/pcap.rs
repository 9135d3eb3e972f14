//! The format pcap (<https://www.ietf.org/archive/id/draft-ietf-opsawg-pcap-05.html>), with micro- and
//! nanoseconds, in both orders of bytes.

use std::io::Read;

use super::buffer::{Buffer, Order};
use super::{DAMAGED, FileCounts, LinkType, MAX_RECORD, Record};
use crate::error::CaptureError;

const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;

pub(super) struct Pcap<R> {
    buffer: Buffer<R>,
    order: Order,
    /// Nanoseconds of the unit of fractions of a second.
    unit: u64,
    link: LinkType,
    pub(super) counts: FileCounts,
}

impl<R: Read> Pcap<R> {
    /// Reads the header of the file.
    pub(super) fn new(mut buffer: Buffer<R>, magic: [u8; 4]) -> Result<Self, CaptureError> {
        let (order, unit) = match magic {
            [0xd4, 0xc3, 0xb2, 0xa1] => (Order::Little, 1_000),
            [0xa1, 0xb2, 0xc3, 0xd4] => (Order::Big, 1_000),
            [0x4d, 0x3c, 0xb2, 0xa1] => (Order::Little, 1),
            [0xa1, 0xb2, 0x3c, 0x4d] => (Order::Big, 1),
            [a, b, c, d] => {
                let found = format!("it begins with {a:02x} {b:02x} {c:02x} {d:02x}");
                return Err(CaptureError::NotACapture { found });
            }
        };
        if !buffer.fill(FILE_HEADER).map_err(CaptureError::io("read"))? {
            let found = "the header of the file is cut short".to_owned();
            return Err(CaptureError::NotACapture { found });
        }
        // The upper half tells of the frame check sequence: bit 26 that it is told, bits 28 to 31 its
        // length in units of 16 bits.
        let link = order.u32(buffer.take(FILE_HEADER), 20);
        let has_fcs = link & (1 << 26) != 0 && link >> 28 != 0;
        let link = LinkType::of(link & 0xffff, has_fcs)?;
        Ok(Self { buffer, order, unit, link, counts: FileCounts::default() })
    }

    pub(super) fn read(&mut self) -> Result<Option<Record<'_>>, CaptureError> {
        let failed = CaptureError::io;
        loop {
            if self.counts.is_cut || self.buffer.is_at_end().map_err(failed("read"))? {
                return Ok(None);
            }
            if !self.buffer.fill(RECORD_HEADER).map_err(failed("read"))? {
                self.counts.is_cut = true;
                return Ok(None);
            }
            let header = self.buffer.take(RECORD_HEADER);
            let [seconds, fraction, len, original] =
                [0, 4, 8, 12].map(|at| self.order.u32(header, at));
            let size = len as usize;
            if size > MAX_RECORD {
                let is_damaged = u64::from(len) > DAMAGED;
                if is_damaged || !self.buffer.skip(u64::from(len)).map_err(failed("read"))? {
                    self.counts.is_cut = true;
                    return Ok(None);
                }
                self.counts.records += 1;
                self.counts.malformed += 1;
                continue;
            }
            if !self.buffer.fill(size).map_err(failed("read"))? {
                self.counts.is_cut = true;
                return Ok(None);
            }
            self.counts.records += 1;
            return Ok(Some(Record {
                nanos: Some(u64::from(seconds) * 1_000_000_000 + u64::from(fraction) * self.unit),
                link: self.link,
                interface: 0,
                bytes: self.buffer.take(size),
                original: original.max(len),
            }));
        }
    }
}
