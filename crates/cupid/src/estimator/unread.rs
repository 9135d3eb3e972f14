//! PPDUs of which the PHY header alone was decoded.
//!
//! Far from the access point the fast frames to those near it are not decoded. But their headers say how large
//! they are, and the block acknowledgements, which are slow, to whom they went and how many they were.

use std::time::Duration;

use airlane_wifi::{BlockAck, Vector};

use super::books::Books;
use super::exchange::Tally;
use super::flows::{Key, PpduSize, fitting};
use super::nanos;

/// A PPDU of which the PHY header alone was decoded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unread {
    pub vector: Vector,
    pub airtime: Duration,
    /// Time at which it ended.
    pub end: u64,
}

impl Unread {
    /// Takes in that a block acknowledgement acknowledged it, which says that it was of the flow `key`.
    /// Nothing is known of it if no frame came, or there are too many flows.
    pub fn acknowledged(&self, books: &mut Books, tally: &mut Tally, key: Key, block: &BlockAck) {
        let Some(highest) = block.highest() else { return };
        let came = f64::from(block.count());
        let key = books.flows.latest(key.0, Some(key.1)).unwrap_or(key);
        let known = books.flows.get(key).filter(|flow| flow.expected.is_some());
        // Without a frame of it that was decoded, as many as came are all that there were.
        let (mpdus, bytes) = match known.map(|flow| flow.usual.bytes) {
            Some(bytes) => (fitting(&self.vector, self.airtime, bytes).max(came), bytes),
            None => (came, f64::from(self.vector.max_bytes(self.airtime)) / came),
        };
        let size = PpduSize::new(&self.vector, self.airtime, mpdus, bytes, came > 1.0);
        let is_down = books.is_access_point(key.0);
        let (station, is_foreign) = (tally.entry.station, tally.entry.is_foreign);
        let Some(flow) = books.flows.get_or_new(key, self.end, &size) else { return };
        (flow.station, flow.is_down, flow.is_foreign) = (station, is_down, is_foreign);
        flow.on_size(&size);
        flow.on_acknowledged(highest);
        if bytes > f64::from(books.options().big) {
            books.big(station, is_foreign, self.end, true);
        }
        tally.flow = Some(key);
        (tally.mpdus, tally.data) = (mpdus, size.data);
        tally.entry.payload = came * books.payload(bytes, is_down);
        tally.entry.phy_nanos =
            if tally.entry.payload > 0.0 { nanos(self.airtime) as f64 } else { 0.0 };
        tally.entry.phy_bits = tally.entry.phy_nanos / 1e9 * self.vector.rate().as_f64();
    }
}
