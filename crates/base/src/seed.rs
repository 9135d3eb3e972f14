//! One seed, split by name, feeds everything.

use rand::SeedableRng;
use serde::{Deserialize, Serialize};

use crate::hash::Fnv64;

/// The generator that every part of Airlane draws from.
pub type Rng = rand_pcg::Pcg64;

/// A seed that can be split by name.
///
/// Splitting depends on the names alone, never on the order of calls, so that a new consumer
/// does not shift what the others draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seed(pub u64);

impl Seed {
    /// The seed of the part called `name`.
    #[must_use]
    pub fn split(self, name: &str) -> Self {
        let mut h = Fnv64::new();
        h.write_u64(self.0);
        h.write(name.as_bytes());
        Self(mix(h.finish()))
    }

    /// The seed of the `index`-th of several equal parts.
    #[must_use]
    pub fn index(self, index: u64) -> Self {
        let mut h = Fnv64::new();
        h.write_u64(self.0);
        h.write_u64(index);
        Self(mix(h.finish()))
    }

    /// A generator that starts at this seed.
    pub fn rng(self) -> Rng {
        Rng::seed_from_u64(self.0)
    }

    /// 32 bytes for whoever wants a key instead of a generator.
    pub fn bytes(self) -> [u8; 32] {
        let mut out = [0; 32];
        for (i, chunk) in out.chunks_mut(8).enumerate() {
            chunk.copy_from_slice(&self.index(i as u64).0.to_le_bytes());
        }
        out
    }
}

/// The finaliser of splitmix64: FNV alone leaves the high bits poorly mixed.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;

    #[test]
    fn splits_depend_on_names_only() {
        let s = Seed(7);
        assert_eq!(s.split("a"), s.split("a"));
        assert_ne!(s.split("a"), s.split("b"));
        assert_ne!(s.split("a").split("b"), s.split("b").split("a"));
        assert_ne!(s.index(0), s.index(1));
        let (mut a, mut b) = (s.rng(), s.rng());
        assert_eq!(a.random::<u64>(), b.random::<u64>());
    }
}
