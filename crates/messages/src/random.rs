//! Random numbers that the peer must not guess.

use std::fmt;

use ring::hmac;

/// Bytes of the secret that numbers are drawn from.
pub const RANDOM_SECRET_BYTES: usize = 32;

/// A generator whose output nobody without its secret predicts: HMAC-SHA256 of a counter.
pub(crate) struct UnpredictableNumbers {
    key: hmac::Key,
    drawn: u64,
}

impl fmt::Debug for UnpredictableNumbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnpredictableNumbers").finish_non_exhaustive()
    }
}

impl UnpredictableNumbers {
    pub(crate) fn new(secret: &[u8; RANDOM_SECRET_BYTES]) -> Self {
        Self { key: hmac::Key::new(hmac::HMAC_SHA256, secret), drawn: 0 }
    }

    /// The next number, uniform over all 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.drawn += 1;
        let tag = hmac::sign(&self.key, &self.drawn.to_be_bytes());
        tag.as_ref().iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}
