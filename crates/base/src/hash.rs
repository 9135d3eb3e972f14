//! A small, stable hash: the same on every platform and in every build.

/// The two halves of a product, in one: mixes two numbers well where a stranger does not know what each
/// was XORed with before.
#[inline]
pub const fn folded(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    product as u64 ^ (product >> 64) as u64
}

/// FNV-1a, 64 bit.
///
/// It identifies outcomes (the packet hash) and names (seeds). It is not meant to resist anyone.
#[derive(Clone, Copy, Debug)]
pub struct Fnv64(u64);

impl Fnv64 {
    /// The empty hash.
    pub const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// Adds bytes.
    pub fn write(&mut self, bytes: &[u8]) {
        for &b in bytes {
            self.0 = (self.0 ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    /// Adds one integer as eight little-endian bytes.
    pub fn write_u64(&mut self, v: u64) {
        self.write(&v.to_le_bytes());
    }

    /// Adds a record of integers in a single round: for streams of millions of them, where the
    /// avalanche of eight rounds each is not worth its time. Order counts; the products with odd
    /// constants do not wait for each other.
    #[inline]
    pub fn write_record<const N: usize>(&mut self, words: [u64; N]) {
        let mut factor = 0x9e37_79b9_7f4a_7c15_u64;
        let mut sum = 0_u64;
        for word in words {
            sum = sum.wrapping_add(word.wrapping_mul(factor)).rotate_left(23);
            factor = factor.wrapping_mul(0xd134_2543_de82_ef95);
        }
        self.0 = (self.0 ^ sum).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }

    /// The hash of what was written.
    pub const fn finish(&self) -> u64 {
        self.0
    }
}

impl Default for Fnv64 {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_published_vectors() {
        let of = |s: &str| {
            let mut h = Fnv64::new();
            h.write(s.as_bytes());
            h.finish()
        };
        assert_eq!(of(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(of("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(of("foobar"), 0x8594_4171_f739_67e8);
    }
}
