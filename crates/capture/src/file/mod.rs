//! Files of captured packets, record by record, in bounded memory.
//!
//! Written here because the crates that read pcap refuse what captures of 802.11 usually are: records
//! whose packet was longer than the snapshot length (`tcpdump -s 128`).

mod buffer;
mod pcap;
mod pcapng;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use self::buffer::Buffer;
use self::pcap::Pcap;
use self::pcapng::Pcapng;
use crate::error::CaptureError;

/// The longest record that is read; longer ones are skipped. (802.11's longest PPDU payload that is
/// captured as one record is an MPDU of 11454 bytes.)
pub(crate) const MAX_RECORD: usize = 1 << 18;

/// A record that claims to be longer than this says that the file is damaged.
const DAMAGED: u64 = 1 << 26;

/// Link type: the header that packets of a capture begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkType {
    /// 802.11 behind a radiotap header: link type 127.
    Radiotap,
    /// 802.11 alone: link type 105.
    Ieee80211 {
        /// True if packets end in their frame check sequence.
        has_fcs: bool,
    },
}

impl LinkType {
    /// The link type of a number (<https://www.tcpdump.org/linktypes.html>).
    ///
    /// # Errors
    /// If it is not of 802.11, or 802.11 behind another header; with what it is in words.
    pub fn of(number: u32, has_fcs: bool) -> Result<Self, CaptureError> {
        match number {
            127 => Ok(Self::Radiotap),
            105 => Ok(Self::Ieee80211 { has_fcs }),
            _ => Err(Self::refusal(number)),
        }
    }

    /// Error for packets of a link type that is not read.
    pub(crate) fn refusal(number: u32) -> CaptureError {
        CaptureError::LinkType { found: Self::name(number) }
    }

    /// A link type that is not read, in words.
    pub fn name(number: u32) -> String {
        let name = match number {
            119 => "802.11 behind Prism headers, which say too little of rates",
            163 => "802.11 behind AVS headers",
            192 => "packets behind PPI headers",
            0 => "BSD loopback packets",
            1 => "Ethernet packets; a capture in monitor mode has 802.11 frames",
            12 | 14 | 101 => "IP packets",
            113 | 276 => "packets of Linux's \"any\" interface",
            187 | 201 | 251 | 254..=256 | 272 => "Bluetooth packets",
            189 | 220 | 249 => "USB packets",
            195 | 215 | 230 | 283 => "802.15.4 packets",
            228 | 229 => "IP packets",
            _ => "something else",
        };
        format!("link type {number}: {name}")
    }
}

/// One record of a file.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Time of capture, nanoseconds since 1970 by the capturing machine's clock; `None` where the
    /// file does not say.
    pub nanos: Option<u64>,
    /// Its link type.
    pub link: LinkType,
    /// Interface of the capture: 0 where there is one. Sections of a file number theirs on.
    pub interface: u32,
    /// Bytes that were captured of it.
    pub bytes: &'a [u8],
    /// Length that it had, link header included: at least that of `bytes`.
    pub original: u32,
}

/// Counts of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileCounts {
    /// Records read or skipped.
    pub records: u64,
    /// Records that the file's format does not allow, skipped.
    pub malformed: u64,
    /// Records of interfaces that are not 802.11, skipped.
    pub foreign: u64,
    /// The link type of the first of these interfaces.
    pub foreign_link: Option<u32>,
    /// True if the file ends in the middle of a record, or is damaged from some place on.
    pub is_cut: bool,
}

/// The records of a capture.
pub struct Records<R> {
    format: Format<R>,
}

enum Format<R> {
    Empty,
    Pcap(Pcap<R>),
    Pcapng(Pcapng<R>),
}

impl Records<Box<dyn Read>> {
    /// Opens a file, gzipped or not.
    ///
    /// # Errors
    /// If it cannot be read, is no capture, or has packets of something else than 802.11.
    pub fn open(path: &Path) -> Result<Self, CaptureError> {
        let file = File::open(path).map_err(CaptureError::io("open the file"))?;
        Self::unzipped(file)
    }

    /// Reads a capture, gzipped or not.
    ///
    /// # Errors
    /// As [`Records::open`].
    pub fn unzipped(mut source: impl Read + 'static) -> Result<Self, CaptureError> {
        let mut start = Vec::new();
        source.by_ref().take(2).read_to_end(&mut start).map_err(CaptureError::io("read"))?;
        let is_gzip = start == [0x1f, 0x8b];
        let whole = io::Cursor::new(start).chain(source);
        Records::new(if is_gzip {
            Box::new(MultiGzDecoder::new(io::BufReader::with_capacity(1 << 16, whole)))
        } else {
            Box::new(whole)
        })
    }
}

impl<R: Read> Records<R> {
    /// Reads a capture that is not zipped.
    ///
    /// # Errors
    /// If it cannot be read, is no capture, or has packets of something else than 802.11.
    pub fn new(source: R) -> Result<Self, CaptureError> {
        let mut buffer = Buffer::new(source);
        if !buffer.fill(4).map_err(CaptureError::io("read"))? {
            let start = buffer.peek();
            if start.is_empty() {
                return Ok(Self { format: Format::Empty });
            }
            return Err(CaptureError::NotACapture { found: format!("{} bytes", start.len()) });
        }
        let magic = [0, 1, 2, 3].map(|i| buffer.peek()[i]);
        let format = if magic == pcapng::MAGIC {
            Format::Pcapng(Pcapng::new(buffer))
        } else {
            Format::Pcap(Pcap::new(buffer, magic)?)
        };
        Ok(Self { format })
    }

    /// The next record; `None` at the end.
    ///
    /// # Errors
    /// If the disk refuses, or, at the end, if none of the interfaces were of 802.11.
    pub fn read(&mut self) -> Result<Option<Record<'_>>, CaptureError> {
        match &mut self.format {
            Format::Empty => Ok(None),
            Format::Pcap(pcap) => pcap.read(),
            Format::Pcapng(pcapng) => pcapng.read(),
        }
    }

    /// Counts of the file, as far as it was read.
    pub fn counts(&self) -> FileCounts {
        match &self.format {
            Format::Empty => FileCounts::default(),
            Format::Pcap(pcap) => pcap.counts,
            Format::Pcapng(pcapng) => pcapng.counts,
        }
    }
}
