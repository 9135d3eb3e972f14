//! The format pcapng (<https://www.ietf.org/archive/id/draft-ietf-opsawg-pcapng-03.html>): sections,
//! interfaces and packets; other blocks are skipped.

use std::io::Read;

use super::buffer::{Buffer, Order};
use super::{DAMAGED, FileCounts, LinkType, MAX_RECORD, Record};
use crate::error::CaptureError;

/// First bytes of a section header, in either order of bytes.
pub(super) const MAGIC: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const OLD_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;

/// Options of interfaces: the unit of time, and seconds to add.
const TS_RESOLUTION: u16 = 9;
const TS_OFFSET: u16 = 14;

/// A section has no more interfaces than this: packets of further ones are skipped.
const MAX_INTERFACES: usize = 256;

pub(super) struct Pcapng<R> {
    buffer: Buffer<R>,
    order: Order,
    interfaces: Vec<Interface>,
    /// Interfaces of the sections before.
    earlier: u32,
    /// True if any interface was of 802.11.
    is_wifi: bool,
    pub(super) counts: FileCounts,
}

#[derive(Clone, Copy)]
struct Interface {
    link: Option<LinkType>,
    snap: u32,
    unit: Unit,
    offset_s: i64,
}

/// Unit of time of an interface.
#[derive(Clone, Copy)]
enum Unit {
    /// A part of a second.
    PerSecond(u128),
    /// Cannot be told.
    Unknown,
}

/// The place of a packet in the body of its block.
struct Packet {
    interface: usize,
    ticks: Option<u64>,
    start: usize,
    len: usize,
    original: u32,
}

impl<R: Read> Pcapng<R> {
    /// Of a file that begins with [`MAGIC`].
    pub(super) fn new(buffer: Buffer<R>) -> Self {
        Self {
            buffer,
            order: Order::Little,
            interfaces: Vec::new(),
            earlier: 0,
            is_wifi: false,
            counts: FileCounts::default(),
        }
    }

    pub(super) fn read(&mut self) -> Result<Option<Record<'_>>, CaptureError> {
        loop {
            let Some((kind, len)) = self.block()? else {
                // An interface of 802.11 may come late: only the end shows that there is none.
                return match self.counts.foreign_link {
                    Some(number) if !self.is_wifi => Err(LinkType::refusal(number)),
                    _ => Ok(None),
                };
            };
            // `len` bytes of body and the length behind it are ready.
            match kind {
                INTERFACE => {
                    let described = interface(&self.buffer.take(len + 4)[..len], self.order);
                    self.know(described);
                }
                ENHANCED_PACKET | OLD_PACKET | SIMPLE_PACKET => {
                    self.counts.records += 1;
                    let body = &self.buffer.peek()[..len];
                    let snap = self.interfaces.first().map_or(0, |i| i.snap);
                    let Some(packet) = packet(kind, body, self.order, snap) else {
                        self.counts.malformed += 1;
                        self.buffer.take(len + 4);
                        continue;
                    };
                    let Some(on) = self.interfaces.get(packet.interface).copied() else {
                        self.counts.malformed += 1;
                        self.buffer.take(len + 4);
                        continue;
                    };
                    let Some(link) = on.link else {
                        self.counts.foreign += 1;
                        self.buffer.take(len + 4);
                        continue;
                    };
                    let body = self.buffer.take(len + 4);
                    return Ok(Some(Record {
                        nanos: packet.ticks.and_then(|ticks| on.nanos(ticks)),
                        link,
                        interface: self.earlier.wrapping_add(packet.interface as u32),
                        bytes: &body[packet.start..packet.start + packet.len],
                        original: packet.original.max(packet.len as u32),
                    }));
                }
                _ => {
                    self.buffer.take(len + 4);
                }
            }
        }
    }

    fn know(&mut self, described: Option<(u32, Interface)>) {
        if self.interfaces.len() >= MAX_INTERFACES {
            return;
        }
        let Some((number, mut interface)) = described else {
            self.counts.malformed += 1;
            // It has its number all the same.
            self.interfaces.push(Interface {
                link: None,
                snap: 0,
                unit: Unit::Unknown,
                offset_s: 0,
            });
            return;
        };
        match LinkType::of(number, false) {
            Ok(link) => {
                interface.link = Some(link);
                self.is_wifi = true;
            }
            Err(_) => {
                self.counts.foreign_link.get_or_insert(number);
            }
        }
        self.interfaces.push(interface);
    }

    /// The next block: its kind and the length of its body, which is ready with the length behind it.
    /// Blocks that are too long are skipped.
    fn block(&mut self) -> Result<Option<(u32, usize)>, CaptureError> {
        let failed = CaptureError::io;
        loop {
            if self.counts.is_cut || self.buffer.is_at_end().map_err(failed("read"))? {
                return Ok(None);
            }
            self.counts.is_cut = true;
            if !self.buffer.fill(8).map_err(failed("read"))? {
                return Ok(None);
            }
            let is_section = self.buffer.peek()[..4] == MAGIC;
            if is_section && !self.section().map_err(failed("read"))? {
                return Ok(None);
            }
            let header = self.buffer.take(8);
            let (kind, len) = (self.order.u32(header, 0), self.order.u32(header, 4));
            if len < 12 || !len.is_multiple_of(4) || u64::from(len) > DAMAGED {
                return Ok(None);
            }
            let body = len as usize - 12;
            if body > MAX_RECORD + 64 {
                if !self.buffer.skip(body as u64 + 4).map_err(failed("read"))? {
                    return Ok(None);
                }
                if matches!(kind, ENHANCED_PACKET | OLD_PACKET | SIMPLE_PACKET) {
                    self.counts.records += 1;
                    self.counts.malformed += 1;
                }
                self.counts.is_cut = false;
                continue;
            }
            if !self.buffer.fill(body + 4).map_err(failed("read"))? {
                return Ok(None);
            }
            self.counts.is_cut = false;
            if kind == SECTION {
                self.buffer.take(body + 4);
                continue;
            }
            return Ok(Some((kind, body)));
        }
    }

    /// A section begins: its order of bytes; its interfaces are counted anew. Whether it is one.
    fn section(&mut self) -> std::io::Result<bool> {
        if !self.buffer.fill(12)? {
            return Ok(false);
        }
        self.order = match self.buffer.peek()[8..12] {
            [0x4d, 0x3c, 0x2b, 0x1a] => Order::Little,
            [0x1a, 0x2b, 0x3c, 0x4d] => Order::Big,
            _ => return Ok(false),
        };
        self.earlier = self.earlier.wrapping_add(self.interfaces.len() as u32);
        self.interfaces.clear();
        Ok(true)
    }
}

impl Interface {
    /// A time in nanoseconds since 1970.
    fn nanos(&self, ticks: u64) -> Option<u64> {
        let Unit::PerSecond(per_second) = self.unit else { return None };
        let nanos = u128::from(ticks) * 1_000_000_000 / per_second;
        let nanos = i128::try_from(nanos).ok()? + i128::from(self.offset_s) * 1_000_000_000;
        u64::try_from(nanos).ok()
    }
}

/// The link type of an interface, and what else is told of it.
fn interface(body: &[u8], order: Order) -> Option<(u32, Interface)> {
    if body.len() < 8 {
        return None;
    }
    let link = u32::from(order.u16(body, 0));
    let snap = order.u32(body, 4);
    let mut interface =
        Interface { link: None, snap, unit: Unit::PerSecond(1_000_000), offset_s: 0 };
    let mut at = 8;
    while at + 4 <= body.len() {
        let (code, len) = (order.u16(body, at), usize::from(order.u16(body, at + 2)));
        let Some(value) = body.get(at + 4..at + 4 + len) else { break };
        match (code, value) {
            (0, _) => break,
            (TS_RESOLUTION, &[unit, ..]) => {
                let base: u128 = if unit & 0x80 != 0 { 2 } else { 10 };
                let per_second = base.checked_pow(u32::from(unit & 0x7f));
                interface.unit = per_second.map_or(Unit::Unknown, Unit::PerSecond);
            }
            (TS_OFFSET, value) if value.len() == 8 => {
                let (a, b) = (order.u32(value, 0), order.u32(value, 4));
                let (low, high) = if order == Order::Little { (a, b) } else { (b, a) };
                interface.offset_s = ((u64::from(high) << 32) | u64::from(low)).cast_signed();
            }
            _ => {}
        }
        at += 4 + len.next_multiple_of(4);
    }
    Some((link, interface))
}

/// The place of a packet in the body of its block.
fn packet(kind: u32, body: &[u8], order: Order, snap: u32) -> Option<Packet> {
    let header = if kind == SIMPLE_PACKET { 4 } else { 20 };
    if body.len() < header {
        return None;
    }
    let room = body.len() - header;
    if kind == SIMPLE_PACKET {
        let original = order.u32(body, 0);
        let most = if snap == 0 { original } else { original.min(snap) };
        let len = room.min(most as usize);
        return Some(Packet { interface: 0, ticks: None, start: header, len, original });
    }
    let interface =
        if kind == OLD_PACKET { u32::from(order.u16(body, 0)) } else { order.u32(body, 0) };
    let ticks = (u64::from(order.u32(body, 4)) << 32) | u64::from(order.u32(body, 8));
    let (len, original) = (order.u32(body, 12) as usize, order.u32(body, 16));
    let interface = interface as usize;
    (len <= room).then_some(Packet { interface, ticks: Some(ticks), start: header, len, original })
}
