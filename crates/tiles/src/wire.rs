//! The messages of a session on its stream, version 1 (`docs/reference/wire/tiles.md`).

use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// The first bytes of each direction, before the version.
const MAGIC: &[u8; 4] = b"AL36";
/// The version of the format.
const VERSION: u8 = 1;
/// Bytes of a tile in a part at most: what is begun is sent to its end, so a part is short.
pub const MAX_PART_BYTES: u16 = 4096;
/// Bytes of a tile at most.
pub const MAX_TILE_BYTES: u32 = 16 << 20;
/// Tiles of a GoP at most: 64 columns and rows.
pub const MAX_TILES: u16 = 4096;
/// GoPs of a session at most.
pub const MAX_GOPS: u32 = 100_000;
/// Duration of a GoP at least.
pub const MIN_GOP: Duration = Duration::from_millis(100);
/// Sides of a tiling at most.
const MAX_SIDE: u8 = 64;
/// Bytes of a part before its payload.
const PART_HEAD: usize = 18;
/// Bytes of a report before its bits.
const REPORT_HEAD: usize = 19;

/// Request of the client: its first message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The name of a title, 1 to 255 bytes.
    pub title: String,
    /// Number of GoPs of the title, 1 to [`MAX_GOPS`]; after its last the title begins again.
    pub gops: u32,
}

/// First message of the server, at the moment that the first GoP starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begin {
    /// Columns of tiles, 1 to 64.
    pub columns: u8,
    /// Rows of tiles, 1 to 64.
    pub rows: u8,
    /// Duration of a GoP: whole milliseconds.
    pub gop: Duration,
    /// Number of GoPs that follow.
    pub gops: u32,
}

/// A part of a tile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The GoP, from 0.
    pub gop: u32,
    /// The tile in raster order, from 0.
    pub tile: u16,
    /// The level.
    pub level: u8,
    /// Bytes of the whole tile.
    pub tile_bytes: u32,
    /// Offset of the part within its tile, bytes.
    pub offset: u32,
    /// The bytes, 1 to [`MAX_PART_BYTES`].
    pub payload: Bytes,
}

/// Report of a client on a GoP when it shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The GoP.
    pub gop: u32,
    /// Time for which the stream was busy with the GoP: until its end came, a whole GoP duration if
    /// it did not.
    pub busy: Duration,
    /// Bytes of parts, of any GoP, that came in that time.
    pub bytes: u64,
    /// For each tile whether it came in time.
    pub arrived: Vec<bool>,
}

/// A message from the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FromServer {
    /// A part of a tile.
    Part(Part),
    /// Nothing more of this GoP comes.
    GopEnd(u32),
}

/// Error in bytes that are no message of this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The first bytes are not those of this protocol and version.
    #[error("found a first message of another protocol or version")]
    Version,
    /// A message of another type.
    #[error("found a message of type {0}")]
    Type(u8),
    /// A number is out of range.
    #[error("found {0} out of range")]
    Range(&'static str),
}

impl Request {
    /// Appends it. The name is cut to 255 bytes.
    pub fn encode(&self, out: &mut BytesMut) {
        let name = self.title.as_bytes();
        let name = &name[..name.len().min(255)];
        out.put_slice(MAGIC);
        out.put_u8(VERSION);
        out.put_u32(self.gops);
        out.put_u8(name.len() as u8);
        out.put_slice(name);
    }

    /// Takes it off; `None` if not all of it is there.
    ///
    /// # Errors
    /// If it is of another protocol or version, or has no name or no GoPs.
    pub fn decode(from: &mut BytesMut) -> Result<Option<Self>, WireError> {
        let Some(head) = from.first_chunk::<10>() else { return Ok(None) };
        let mut head = &head[..];
        version(&mut head)?;
        let gops = in_range(head.get_u32(), 1..=MAX_GOPS, "a number of GoPs")?;
        let len = usize::from(in_range(head.get_u8(), 1..=255, "the length of a title's name")?);
        if from.len() < 10 + len {
            return Ok(None);
        }
        from.advance(10);
        let title = String::from_utf8(from.split_to(len).to_vec());
        let title = title.map_err(|_| WireError::Range("a title's name that is no UTF-8"))?;
        Ok(Some(Self { title, gops }))
    }
}

impl Begin {
    /// Appends the answer to a request; `None`: there is no such title.
    pub fn encode(answer: Option<&Self>, out: &mut BytesMut) {
        out.put_slice(MAGIC);
        out.put_u8(VERSION);
        let Some(begin) = answer else { return out.put_u8(1) };
        out.put_u8(0);
        out.put_u8(begin.columns);
        out.put_u8(begin.rows);
        out.put_u32(begin.gop.as_millis() as u32);
        out.put_u32(begin.gops);
    }

    /// Takes the answer off; `None` if not all of it is there, `Some(None)` if there is no such
    /// title.
    ///
    /// # Errors
    /// If it is of another protocol or version, or a number is out of range.
    pub fn decode(from: &mut BytesMut) -> Result<Option<Option<Self>>, WireError> {
        let Some(head) = from.first_chunk::<6>() else { return Ok(None) };
        let mut head = &head[..];
        version(&mut head)?;
        if in_range(head.get_u8(), 0..=1, "an answer")? == 1 {
            from.advance(6);
            return Ok(Some(None));
        }
        let Some(all) = from.first_chunk::<16>() else { return Ok(None) };
        let mut rest = &all[6..];
        let columns = in_range(rest.get_u8(), 1..=MAX_SIDE, "a number of columns")?;
        let rows = in_range(rest.get_u8(), 1..=MAX_SIDE, "a number of rows")?;
        let least = MIN_GOP.as_millis() as u32;
        let gop = in_range(rest.get_u32(), least..=60_000, "the duration of a GoP")?;
        let gops = in_range(rest.get_u32(), 1..=MAX_GOPS, "a number of GoPs")?;
        from.advance(16);
        Ok(Some(Some(Self { columns, rows, gop: Duration::from_millis(gop.into()), gops })))
    }
}

impl FromServer {
    /// Appends it.
    pub fn encode(&self, out: &mut BytesMut) {
        match self {
            Self::Part(part) => {
                out.reserve(PART_HEAD + part.payload.len());
                out.put_u8(1);
                out.put_u32(part.gop);
                out.put_u16(part.tile);
                out.put_u8(part.level);
                out.put_u32(part.tile_bytes);
                out.put_u32(part.offset);
                out.put_u16(part.payload.len() as u16);
                out.put_slice(&part.payload);
            }
            Self::GopEnd(gop) => {
                out.put_u8(2);
                out.put_u32(*gop);
            }
        }
    }

    /// Takes the first message off; `None` if not all of it is there.
    ///
    /// # Errors
    /// If it is of another type, or a number is out of range.
    pub fn decode(from: &mut BytesMut) -> Result<Option<Self>, WireError> {
        match from.first() {
            None => Ok(None),
            Some(1) => {
                let Some(head) = from.first_chunk::<PART_HEAD>() else { return Ok(None) };
                let mut head = &head[1..];
                let gop = in_range(head.get_u32(), 0..=MAX_GOPS - 1, "the number of a GoP")?;
                let tile = in_range(head.get_u16(), 0..=MAX_TILES - 1, "the number of a tile")?;
                let level = head.get_u8();
                let tile_bytes = in_range(head.get_u32(), 1..=MAX_TILE_BYTES, "a tile's size")?;
                let offset = in_range(head.get_u32(), 0..=tile_bytes - 1, "a part's place")?;
                let most = u32::from(MAX_PART_BYTES).min(tile_bytes - offset);
                let len = in_range(u32::from(head.get_u16()), 1..=most, "a part's length")?;
                if from.len() < PART_HEAD + len as usize {
                    return Ok(None);
                }
                from.advance(PART_HEAD);
                let payload = from.split_to(len as usize).freeze();
                Ok(Some(Self::Part(Part { gop, tile, level, tile_bytes, offset, payload })))
            }
            Some(2) => {
                let Some(all) = from.first_chunk::<5>() else { return Ok(None) };
                let gop = (&all[1..]).get_u32();
                let gop = in_range(gop, 0..=MAX_GOPS - 1, "the number of a GoP")?;
                from.advance(5);
                Ok(Some(Self::GopEnd(gop)))
            }
            Some(other) => Err(WireError::Type(*other)),
        }
    }
}

impl Report {
    /// Appends it. Times above 4294 s are told as that.
    pub fn encode(&self, out: &mut BytesMut) {
        out.put_u8(3);
        out.put_u32(self.gop);
        out.put_u32(u32::try_from(self.busy.as_micros()).unwrap_or(u32::MAX));
        out.put_u64(self.bytes);
        out.put_u16(self.arrived.len() as u16);
        for eight in self.arrived.chunks(8) {
            let bits = eight.iter().enumerate().map(|(i, came)| u8::from(*came) << (7 - i));
            out.put_u8(bits.sum());
        }
    }

    /// Takes the first report off; `None` if not all of it is there.
    ///
    /// # Errors
    /// If it is another message, or a number is out of range.
    pub fn decode(from: &mut BytesMut) -> Result<Option<Self>, WireError> {
        if let Some(other) = from.first().filter(|first| **first != 3) {
            return Err(WireError::Type(*other));
        }
        let Some(head) = from.first_chunk::<REPORT_HEAD>() else { return Ok(None) };
        let mut head = &head[1..];
        let gop = in_range(head.get_u32(), 0..=MAX_GOPS - 1, "the number of a GoP")?;
        let busy = in_range(head.get_u32(), 1..=60_000_000, "a busy time")?;
        let bytes = in_range(head.get_u64(), 0..=1 << 40, "a number of bytes")?;
        let tiles = usize::from(in_range(head.get_u16(), 1..=MAX_TILES, "a number of tiles")?);
        let len = tiles.div_ceil(8);
        if from.len() < REPORT_HEAD + len {
            return Ok(None);
        }
        from.advance(REPORT_HEAD);
        let bits = from.split_to(len);
        let arrived = (0..tiles).map(|i| bits[i / 8] & (0x80 >> (i % 8)) != 0).collect();
        Ok(Some(Self { gop, busy: Duration::from_micros(busy.into()), bytes, arrived }))
    }
}

fn version(from: &mut &[u8]) -> Result<(), WireError> {
    let is_ours = from.starts_with(MAGIC) && from[MAGIC.len()] == VERSION;
    if !is_ours {
        return Err(WireError::Version);
    }
    from.advance(MAGIC.len() + 1);
    Ok(())
}

fn in_range<T: PartialOrd + Copy>(
    value: T,
    range: std::ops::RangeInclusive<T>,
    what: &'static str,
) -> Result<T, WireError> {
    if range.contains(&value) { Ok(value) } else { Err(WireError::Range(what)) }
}
