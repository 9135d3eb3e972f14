//! What a client does with what comes: which tiles are there by the deadline of their GoP.

use std::collections::VecDeque;
use std::time::Duration;

use airlane_base::Time;

use super::error::TilesError;
use super::wire::{Begin, FromServer, Part, Report};
use airlane_base::Pattern;

/// GoPs that may come before the one that is due next is over. The server starts each when the one
/// before is due there, and on its way it may be faster than the session's first message was.
const OPEN: usize = 2;

/// A GoP that was shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownGop {
    /// For each tile the level that was there by the deadline; `None` if it was missing.
    pub levels: Vec<Option<u8>>,
    /// Tiles of which something came, but not all in time.
    pub late: Vec<bool>,
    /// Bytes of parts, of any GoP, that came while the stream was busy with this one.
    pub bytes: u64,
    /// Time for which the stream was busy with this GoP.
    pub busy: Duration,
}

/// The client of a session, without its stream and its clock.
///
/// A driver hands over what comes with [`on_message`](Self::on_message), calls
/// [`on_time`](Self::on_time) before that and at [`next_deadline`](Self::next_deadline) until it
/// returns nothing, and sends the reports to the server.
#[derive(Clone, Debug)]
pub struct Viewer {
    title: String,
    begin: Begin,
    tiles: usize,
    /// Time of the session's first message: GoP 0 starts.
    since: Time,
    /// Those that can still arrive in time, from the one that is due next.
    open: VecDeque<Open>,
    /// The GoP that is due next.
    next: u32,
    /// The tile of which a part came last.
    partial: Option<Partial>,
    /// Bytes of parts that came so far, and those of them that a GoP was said to have.
    bytes: u64,
    told: u64,
}

/// A GoP that comes.
#[derive(Clone, Debug)]
struct Open {
    levels: Vec<Option<u8>>,
    begun: Vec<bool>,
    /// Time at which its end came, and bytes that had come by then.
    ended: Option<(Time, u64)>,
}

impl Open {
    fn new(tiles: usize) -> Self {
        Self { levels: vec![None; tiles], begun: vec![false; tiles], ended: None }
    }
}

/// A tile of which a part is there.
#[derive(Clone, Debug)]
struct Partial {
    gop: u32,
    tile: u16,
    level: u8,
    tile_bytes: u32,
    received: u32,
    body: Pattern,
}

impl Viewer {
    /// A session with the title of this name that began `now`.
    pub fn new(title: impl Into<String>, begin: Begin, now: Time) -> Self {
        let tiles = usize::from(begin.columns) * usize::from(begin.rows);
        Self {
            title: title.into(),
            begin,
            tiles,
            since: now,
            open: VecDeque::from([Open::new(tiles)]),
            next: 0,
            partial: None,
            bytes: 0,
            told: 0,
        }
    }

    /// Time at which the next GoP is shown; `None` after the last.
    pub fn next_deadline(&self) -> Option<Time> {
        (self.next < self.begin.gops).then(|| self.since + self.begin.gop * (self.next + 1))
    }

    /// Shows the next GoP if its deadline has come, and says what the server is to know of it.
    pub fn on_time(&mut self, now: Time) -> Option<(ShownGop, Report)> {
        let deadline = self.next_deadline().filter(|at| *at <= now)?;
        let start = self.since + self.begin.gop * self.next;
        let of = self.open.pop_front().unwrap_or_else(|| Open::new(self.tiles));
        if self.open.is_empty() {
            self.open.push_back(Open::new(self.tiles));
        }
        // What came since its end belongs to the next one.
        let (at, upto) = of.ended.unwrap_or((deadline, self.bytes));
        let (busy, bytes) = (at.max(start) - start, upto.max(self.told) - self.told);
        self.told += bytes;
        let busy = busy.max(Duration::from_millis(1));
        let gop = self.next;
        self.next += 1;
        let late = of.begun.iter().zip(&of.levels).map(|(begun, level)| *begun && level.is_none());
        let arrived = of.levels.iter().map(Option::is_some).collect();
        let report = Report { gop, busy, bytes, arrived };
        Some((ShownGop { late: late.collect(), levels: of.levels, bytes, busy }, report))
    }

    /// A message came. Deadlines up to now have been dealt with.
    ///
    /// # Errors
    /// If it does not fit those before it or the session, or has wrong bytes.
    pub fn on_message(&mut self, now: Time, message: FromServer) -> Result<(), TilesError> {
        match message {
            FromServer::Part(part) => self.on_part(&part),
            FromServer::GopEnd(gop) => {
                let bytes = self.bytes;
                if let Some(open) = self.open(gop)? {
                    if open.ended.is_some() {
                        return Err(TilesError::Protocol("two ends of a GoP"));
                    }
                    open.ended = Some((now, bytes));
                }
                Ok(())
            }
        }
    }

    /// The GoP of this number, if it can still be in time.
    fn open(&mut self, gop: u32) -> Result<Option<&mut Open>, TilesError> {
        if gop >= self.begin.gops {
            return Err(TilesError::Protocol("a GoP behind the last"));
        }
        let Some(ahead) = gop.checked_sub(self.next) else { return Ok(None) };
        let ahead = ahead as usize;
        if ahead >= OPEN {
            return Err(TilesError::Protocol("a GoP long before its time"));
        }
        while self.open.len() <= ahead {
            self.open.push_back(Open::new(self.tiles));
        }
        Ok(self.open.get_mut(ahead))
    }

    fn on_part(&mut self, part: &Part) -> Result<(), TilesError> {
        let tile = usize::from(part.tile);
        if tile >= self.tiles {
            return Err(TilesError::Protocol("a tile that the tiling does not have"));
        }
        let mut partial = match self.partial.take() {
            Some(partial) if part.offset > 0 => partial,
            _ if part.offset > 0 => {
                return Err(TilesError::Protocol("a tile without its beginning"));
            }
            _ => Partial {
                gop: part.gop,
                tile: part.tile,
                level: part.level,
                tile_bytes: part.tile_bytes,
                received: 0,
                body: body(&self.title, (part.gop, part.tile, part.level), part.tile_bytes.into()),
            },
        };
        let same = (partial.gop, partial.tile, partial.level, partial.tile_bytes);
        if same != (part.gop, part.tile, part.level, part.tile_bytes)
            || partial.received != part.offset
        {
            return Err(TilesError::Protocol("a part that does not follow the one before"));
        }
        if !partial.body.matches(part.offset.into(), &part.payload) {
            return Err(TilesError::Protocol("wrong bytes of a tile"));
        }
        // At most what is left of the tile, which fits.
        partial.received += part.payload.len() as u32;
        self.bytes += part.payload.len() as u64;
        let is_whole = partial.received == partial.tile_bytes;
        if let Some(open) = self.open(part.gop)? {
            if open.ended.is_some() || open.levels[tile].is_some() {
                return Err(TilesError::Protocol("a tile twice, or after the end of its GoP"));
            }
            open.begun[tile] = true;
            if is_whole {
                open.levels[tile] = Some(part.level);
            }
        }
        self.partial = (!is_whole).then_some(partial);
        Ok(())
    }
}

/// The bytes of a tile: GoP, tile and level.
pub(super) fn body(title: &str, (gop, tile, level): (u32, u16, u8), bytes: u64) -> Pattern {
    Pattern::new(&format!("{title}/{gop}/{tile}/{level}"), bytes)
}
