//! Layers of a frame.

/// A set of layers of one frame, of up to 32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LayerSet(u32);

impl LayerSet {
    /// Layers of a frame at most.
    pub const MAX: u8 = 32;
    /// No layer.
    pub const NONE: Self = Self(0);
    /// Every layer that there may be.
    pub const ALL: Self = Self(u32::MAX);

    /// The lowest `count` layers.
    pub fn lowest(count: u8) -> Self {
        Self(((1_u64 << count.min(Self::MAX)) - 1) as u32)
    }

    /// Adds a layer.
    ///
    /// # Panics
    /// If there cannot be so many.
    pub fn add(&mut self, layer: u8) {
        assert!(layer < Self::MAX, "a layer beyond the last");
        self.0 |= 1 << layer;
    }

    /// True if a layer is in it.
    pub fn has(self, layer: usize) -> bool {
        layer < usize::from(Self::MAX) && self.0 & (1 << layer) != 0
    }

    /// Number of layers in it.
    pub fn count(self) -> u8 {
        self.0.count_ones() as u8
    }

    /// The layers of both.
    pub fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The layers from the lowest on, as far as none is missing.
    pub fn without_gaps(self) -> Self {
        Self::lowest(self.0.trailing_ones() as u8)
    }
}
