//! The format pcap (<https://www.ietf.org/archive/id/draft-ietf-opsawg-pcap-05.html>), with micro- and
//! nanoseconds, in both orders of bytes; and the one of Kuznetzov's patches (0xa1b2cd34), whose records have
//! eight bytes more: interface, protocol and kind of packet.

use std::io::Read;

use super::buffer::{Buffer, Order};
use super::{DAMAGED, FileCounts, LinkType, MAX_RECORD, Record};
use crate::error::CaptureError;

const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;
const MODIFIED_RECORD_HEADER: usize = 24;

pub(super) struct Pcap<R> {
    buffer: Buffer<R>,
    order: Order,
    /// Nanoseconds of the unit of fractions of a second.
    unit: u64,
    /// Bytes in front of each packet.
    record_header: usize,
    link: LinkType,
    pub(super) counts: FileCounts,
}

impl<R: Read> Pcap<R> {
    /// Reads the header of the file.
    pub(super) fn new(mut buffer: Buffer<R>, magic: [u8; 4]) -> Result<Self, CaptureError> {
        let (order, unit, record_header) = match magic {
            [0xd4, 0xc3, 0xb2, 0xa1] => (Order::Little, 1_000, RECORD_HEADER),
            [0xa1, 0xb2, 0xc3, 0xd4] => (Order::Big, 1_000, RECORD_HEADER),
            [0x4d, 0x3c, 0xb2, 0xa1] => (Order::Little, 1, RECORD_HEADER),
            [0xa1, 0xb2, 0x3c, 0x4d] => (Order::Big, 1, RECORD_HEADER),
            [0x34, 0xcd, 0xb2, 0xa1] => (Order::Little, 1_000, MODIFIED_RECORD_HEADER),
            [0xa1, 0xb2, 0xcd, 0x34] => (Order::Big, 1_000, MODIFIED_RECORD_HEADER),
            magic => return Err(CaptureError::NotACapture { found: kind_of(magic) }),
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
        Ok(Self { buffer, order, unit, record_header, link, counts: FileCounts::default() })
    }

    pub(super) fn read(&mut self) -> Result<Option<Record<'_>>, CaptureError> {
        let failed = CaptureError::io;
        loop {
            if self.counts.is_cut || self.buffer.is_at_end().map_err(failed("read"))? {
                return Ok(None);
            }
            if !self.buffer.fill(self.record_header).map_err(failed("read"))? {
                self.counts.is_cut = true;
                return Ok(None);
            }
            let header = self.buffer.take(self.record_header);
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

/// Format of a file that begins with these bytes.
fn kind_of(magic: [u8; 4]) -> String {
    let name = match magic {
        [0x28, 0xb5, 0x2f, 0xfd] => "compressed by zstd; unpack it: zstd -d",
        [0xfd, b'7', b'z', b'X'] => "compressed by xz; unpack it: xz -d",
        [b'B', b'Z', b'h', _] => "compressed by bzip2; unpack it: bzip2 -d",
        [0x04, 0x22, 0x4d, 0x18] => "compressed by lz4; unpack it: lz4 -d",
        [b'P', b'K', ..] => "a zip archive; unpack it",
        [b's', b'n', b'o', b'o'] => "a capture of snoop; convert it: editcap -F pcap",
        [a, b, c, d] => return format!("it begins with {a:02x} {b:02x} {c:02x} {d:02x}"),
    };
    format!("it is {name}")
}
