//! Bitrates of a source's layers.

use std::time::Duration;

use airlane_base::{Rate, Time};

use crate::layer::{LayerIndex, MAX_LAYERS, MAX_SPATIAL_LAYERS};
use crate::layer_table::{LayerStep, LayerTable};

/// Part of the window that is forgotten at once.
const BUCKET: Duration = Duration::from_millis(100);

/// Number of buckets in the window of a second.
const BUCKETS: usize = 10;

/// Time over which bitrates are taken.
pub const METER_WINDOW: Duration = Duration::from_secs(1);

/// Bytes of an RTP header without extensions (RFC 3550, section 5.1), which count with each payload.
pub const RTP_HEADER_BYTES: usize = 12;

/// Bytes of a bucket by layer.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// Bytes of the layer's own frames.
    own: [u64; MAX_LAYERS],
    /// Bytes that a receiver of the layer gets.
    cumulative: [u64; MAX_LAYERS],
}

impl Bucket {
    const EMPTY: Self = Self { own: [0; MAX_LAYERS], cumulative: [0; MAX_LAYERS] };
}

/// A meter of the bitrates of a source's layers over the last second.
#[derive(Debug)]
pub struct LayerMeter {
    buckets: [Bucket; BUCKETS],
    /// Number of the newest bucket, counted from the start of time.
    newest: u64,
    /// Arrival of the first packet after a pause of a window.
    begin: Option<Time>,
    last_seen: [Option<Time>; MAX_SPATIAL_LAYERS],
}

/// Bytes of a packet and the layers that it belongs to.
#[derive(Clone, Copy, Debug)]
pub struct MeteredPacket {
    /// Layer of the packet's frame.
    pub layer: LayerIndex,
    /// Layers whose receivers get the packet, by [`LayerIndex::place`], the lowest bit the first.
    pub receivers: u16,
    /// Bytes of payload and of header.
    pub bytes: usize,
}

impl Default for LayerMeter {
    fn default() -> Self {
        let last_seen = [None; MAX_SPATIAL_LAYERS];
        Self { buckets: [Bucket::EMPTY; BUCKETS], newest: 0, begin: None, last_seen }
    }
}

impl LayerMeter {
    /// Counts a packet that arrived.
    pub fn add(&mut self, packet: MeteredPacket, arrived: Time) {
        self.advance(arrived);
        if self.begin.is_none() {
            self.begin = Some(arrived);
        }
        self.announce(packet.layer.spatial, arrived);
        let bucket = &mut self.buckets[(self.newest % BUCKETS as u64) as usize];
        let bytes = packet.bytes as u64;
        bucket.own[packet.layer.place()] += bytes;
        for (place, counter) in bucket.cumulative.iter_mut().enumerate() {
            if packet.receivers >> place & 1 == 1 {
                *counter += bytes;
            }
        }
    }

    /// Notes that the source sends a spatial layer, as its descriptors say.
    pub fn announce(&mut self, spatial: u8, now: Time) {
        if let Some(seen) = self.last_seen.get_mut(usize::from(spatial)) {
            *seen = Some(seen.map_or(now, |before| before.max(now)));
        }
    }

    /// Spatial layers that were sent or announced in the last window, the lowest bit the first.
    pub fn spatial_layers(&self, now: Time) -> u8 {
        let is_seen = |seen: &Option<Time>| seen.is_some_and(|at| now.since(at) < METER_WINDOW);
        let bits = self.last_seen.iter().enumerate().filter(|(_, seen)| is_seen(seen));
        bits.fold(0, |mask, (layer, _)| mask | 1 << layer)
    }

    /// Highest temporal layer with frames in the window.
    pub fn max_temporal(&self) -> u8 {
        let layers = LayerIndex::all().filter(|layer| self.sum(|b| b.own[layer.place()]) > 0);
        layers.map(|layer| layer.temporal).max().unwrap_or(0)
    }

    /// Layers of which packets came in the last window, with the bitrates that their receivers get.
    pub fn table(&mut self, now: Time) -> LayerTable {
        self.advance(now);
        let elapsed = self.begin.map_or(METER_WINDOW, |begin| now.since(begin));
        // The newest bucket is not full: the window begins a part of a bucket later than a second ago.
        let partial = Duration::from_nanos(now.as_nanos() % BUCKET.as_nanos() as u64);
        let window = elapsed.clamp(BUCKET, METER_WINDOW - BUCKET + partial);
        let layers = LayerIndex::all().filter(|layer| self.sum(|b| b.own[layer.place()]) > 0);
        let steps = layers.map(|layer| {
            let bytes = self.sum(|bucket| bucket.cumulative[layer.place()]);
            LayerStep { layer, rate: Rate::of(bytes, window) }
        });
        LayerTable::new(steps.collect())
    }

    fn sum(&self, of: impl Fn(&Bucket) -> u64) -> u64 {
        self.buckets.iter().map(of).sum()
    }

    fn advance(&mut self, now: Time) {
        let bucket = now.as_nanos() / BUCKET.as_nanos() as u64;
        let steps = bucket.saturating_sub(self.newest);
        if steps >= BUCKETS as u64 {
            self.begin = None;
        }
        for step in 1..=steps.min(BUCKETS as u64) {
            self.buckets[((self.newest + step) % BUCKETS as u64) as usize] = Bucket::EMPTY;
        }
        self.newest = self.newest.max(bucket);
    }
}
