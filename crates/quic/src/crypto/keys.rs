//! Keys and connection ids from a seed, where noq would ask the operating system.

use std::time::Duration;

use airlane_base::{Rng, Seed};
use noq_proto::crypto::{CryptoError, HandshakeTokenKey};
use noq_proto::{ConnectionId, ConnectionIdGenerator};
use rand::RngExt;
use ring::{aead, hmac};

/// Seals address validation tokens. Each token gets an AES-256-GCM key of its own, derived from
/// its nonce, so that the fixed nonce of the cipher is never used twice with one key.
pub(crate) struct TokenKey(hmac::Key);

impl TokenKey {
    pub(crate) fn new(secret: &[u8; 32]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, secret))
    }

    fn key(&self, token_nonce: u128) -> Result<aead::LessSafeKey, CryptoError> {
        let bytes = hmac::sign(&self.0, &token_nonce.to_le_bytes());
        let key = aead::UnboundKey::new(&aead::AES_256_GCM, bytes.as_ref());
        key.map(aead::LessSafeKey::new).map_err(|_| CryptoError)
    }

    fn nonce() -> aead::Nonce {
        aead::Nonce::assume_unique_for_key([0; 12])
    }
}

impl HandshakeTokenKey for TokenKey {
    fn seal(&self, token_nonce: u128, data: &mut Vec<u8>) -> Result<(), CryptoError> {
        let key = self.key(token_nonce)?;
        key.seal_in_place_append_tag(Self::nonce(), aead::Aad::empty(), data)
            .map_err(|_| CryptoError)
    }

    fn open<'a>(&self, token_nonce: u128, data: &'a mut [u8]) -> Result<&'a [u8], CryptoError> {
        let key = self.key(token_nonce)?;
        let plain = key.open_in_place(Self::nonce(), aead::Aad::empty(), data);
        plain.map(|p| &*p).map_err(|_| CryptoError)
    }
}

/// Connection ids from a seed.
pub(crate) struct SeededIds {
    rng: Rng,
    bytes: usize,
}

impl SeededIds {
    /// Ids of `bytes` bytes, at most 8; of none, the address tells the connection.
    pub(crate) fn new(seed: Seed, bytes: usize) -> Self {
        Self { rng: seed.rng(), bytes: bytes.min(8) }
    }
}

impl ConnectionIdGenerator for SeededIds {
    fn generate_cid(&mut self) -> ConnectionId {
        ConnectionId::new(&self.rng.random::<[u8; 8]>()[..self.bytes])
    }

    fn cid_len(&self) -> usize {
        self.bytes
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_opens_with_its_own_nonce_only() {
        let key = TokenKey::new(&[7; 32]);
        let mut token = b"address".to_vec();
        key.seal(1, &mut token).unwrap();
        assert_ne!(&token[..7], b"address");
        assert_eq!(key.open(1, &mut token.clone()).unwrap(), b"address");
        assert!(key.open(2, &mut token.clone()).is_err());
        token[0] ^= 1;
        assert!(key.open(1, &mut token).is_err());
    }

    #[test]
    fn ids_repeat_with_the_seed() {
        let ids = |seed| {
            let mut ids = SeededIds::new(Seed(seed), 4);
            (ids.generate_cid(), ids.generate_cid())
        };
        assert_eq!(ids(1), ids(1));
        assert_ne!(ids(1), ids(2));
        assert_ne!(ids(1).0, ids(1).1);
    }
}
