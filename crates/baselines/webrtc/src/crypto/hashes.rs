//! The hashes, of ring.

use ring::{digest, hmac};
use str0m::crypto::{Sha1HmacProvider, Sha1Provider, Sha256Provider};

/// All of them.
#[derive(Debug)]
pub(super) struct Hashes;

/// A digest's bytes. ring's digests have the length of their algorithm.
fn whole<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut out = [0; N];
    for (to, from) in out.iter_mut().zip(bytes) {
        *to = *from;
    }
    out
}

impl Sha1HmacProvider for Hashes {
    fn sha1_hmac(&self, key: &[u8], payloads: &[&[u8]]) -> [u8; 20] {
        let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, key);
        let mut context = hmac::Context::with_key(&key);
        for payload in payloads {
            context.update(payload);
        }
        whole(context.sign().as_ref())
    }
}

impl Sha1Provider for Hashes {
    fn sha1(&self, data: &[u8]) -> [u8; 20] {
        whole(digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, data).as_ref())
    }
}

impl Sha256Provider for Hashes {
    fn sha256(&self, data: &[u8]) -> [u8; 32] {
        whole(digest::digest(&digest::SHA256, data).as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_match_published_vectors() {
        // RFC 2202, case 2.
        let mac = Hashes.sha1_hmac(b"Jefe", &[b"what do ya want ", b"for nothing?"]);
        assert_eq!(mac[..4], [0xef, 0xfc, 0xdf, 0x6a]);
        // FIPS 180-4 examples.
        assert_eq!(Hashes.sha1(b"abc")[..4], [0xa9, 0x99, 0x3e, 0x36]);
        assert_eq!(Hashes.sha256(b"abc")[..4], [0xba, 0x78, 0x16, 0xbf]);
    }
}
