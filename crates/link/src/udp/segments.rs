//! Single datagrams out of what the kernel hands over joined, and runs of datagrams that it takes
//! joined.

use crate::engine::Delivery;

/// The datagrams of a buffer that the kernel filled with `bytes`, each of `stride` bytes but the
/// last, which may be shorter. An empty buffer is one empty datagram.
pub fn datagrams(bytes: &[u8], stride: usize) -> impl Iterator<Item = &[u8]> {
    let empty = bytes.is_empty().then_some(bytes);
    empty.into_iter().chain(bytes.chunks(stride.max(1)))
}

/// Deliveries that can leave in one call: same way, same client, same DSCP and ECN field, same size
/// but for a shorter last one.
#[derive(Debug)]
pub struct Run {
    deliveries: Vec<Delivery>,
    bytes: usize,
    /// The last was shorter: nothing may follow.
    closed: bool,
    most: usize,
}

/// A run stays below what a datagram over IPv4 can hold.
const MAX_BYTES: usize = 65_000;
/// Maximum payload of a segment, which fits into an Ethernet frame over IPv6: larger ones go
/// alone, so that one that is too large for a network costs none but itself.
const MAX_SEGMENT: usize = 1_452;

impl Run {
    /// An empty run of at most `most` datagrams.
    pub fn new(most: usize) -> Self {
        Self { deliveries: Vec::new(), bytes: 0, closed: false, most }
    }

    /// Adds a delivery if it can leave with those before; else gives it back.
    ///
    /// # Errors
    /// The delivery, if the run has to leave first.
    pub fn push(&mut self, delivery: Delivery) -> Result<(), Delivery> {
        let size = delivery.packet.payload.len();
        if let Some(first) = self.deliveries.first() {
            let segment = first.packet.payload.len();
            let fits = !self.closed
                && self.deliveries.len() < self.most
                && (first.direction, first.tag, first.packet.traffic_class())
                    == (delivery.direction, delivery.tag, delivery.packet.traffic_class())
                && (1..=segment.min(MAX_SEGMENT)).contains(&size)
                && segment <= MAX_SEGMENT
                && self.bytes + size <= MAX_BYTES;
            if !fits {
                return Err(delivery);
            }
            self.closed = size < segment;
        }
        self.bytes += size;
        self.deliveries.push(delivery);
        Ok(())
    }

    /// Deliveries of the run, in the order of leaving.
    pub fn deliveries(&self) -> &[Delivery] {
        &self.deliveries
    }

    /// Empties it.
    pub fn drain(&mut self) -> std::vec::Drain<'_, Delivery> {
        self.bytes = 0;
        self.closed = false;
        self.deliveries.drain(..)
    }
}
