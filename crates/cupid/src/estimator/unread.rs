//! PPDUs of which the PHY header alone was made out.
//!
//! Far from the access point the fast frames to those near it are not made out. But their headers say how
//! large they are, and the block acknowledgements, which are slow, to whom they went and how many they were.

use std::time::Duration;

use airlane_wifi::{Address, BlockAck, Format, Vector};

use super::books::Books;
use super::flows::{Key, Ppdu};
use super::nanos;
use super::part::{fitting, highest};

/// Such a PPDU: its header, and from when to when it was.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unread {
    pub vector: Vector,
    pub start: u64,
    pub end: u64,
}

/// What it was, once it was acknowledged.
pub(super) struct Told {
    pub key: Key,
    pub mpdus: f64,
    /// Nanoseconds of its data.
    pub data: f64,
    /// Bits of payload that count.
    pub payload: f64,
    /// Nanoseconds of the PPDU, if it has such payload.
    pub airtime: f64,
}

impl Unread {
    /// It was acknowledged by a block acknowledgement, which says that it was of the flow `key`, to or from
    /// `station`. `None` if nothing came, or there are too many flows.
    pub fn told(
        &self,
        books: &mut Books,
        (station, is_foreign): (Option<Address>, bool),
        key: Key,
        block: &BlockAck,
    ) -> Option<Told> {
        let highest = highest(block)?;
        let airtime = self.end.saturating_sub(self.start);
        let preamble = nanos(self.vector.preamble()).min(airtime);
        let data = (airtime - preamble) as f64;
        let came = f64::from(block.count());
        let key = books.flows.latest(key.0, Some(key.1)).unwrap_or(key);
        let known = books.flows.get(key).filter(|flow| flow.expected.is_some());
        // Without a frame of it that was made out, as many as came are all that there were.
        let (mpdus, bytes) = match known.map(|flow| flow.bytes) {
            Some(bytes) => (fitting(&self.vector, airtime, bytes).max(came), bytes),
            None => {
                let all = self.vector.max_bytes(Duration::from_nanos(airtime));
                (came, f64::from(all) / came)
            }
        };
        let aggregate = came > 1.0 || matches!(self.vector.format, Format::Vht | Format::He);
        let ppdu = Ppdu { mpdus, bytes, data, preamble: preamble as f64, aggregate };
        let is_down = books.is_access_point(key.0);
        let is_big = bytes > f64::from(books.options().big);
        let flow = books.flows.get_or_new(key, self.end, &ppdu)?;
        (flow.station, flow.is_down, flow.is_foreign) = (station, is_down, is_foreign);
        flow.on_size(&ppdu);
        flow.on_acknowledged(highest);
        if let Some(station) = station.filter(|_| is_big && books.counts_station(is_foreign)) {
            books.stations.big(station, self.end, true);
        }
        let payload = came * books.payload(bytes, is_down);
        let airtime = if payload > 0.0 { airtime as f64 } else { 0.0 };
        Some(Told { key, mpdus, data, payload, airtime })
    }
}
