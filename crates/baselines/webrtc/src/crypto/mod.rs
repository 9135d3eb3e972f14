//! What str0m asks of a cryptographic backend.
//!
//! Both ends of a call are made in one process ([`crate::pair`]), so there is nothing to agree on:
//! the keys come from the seed, and the handshake is one without packets. What is left is what is
//! seen on the wire: AEAD_AES_128_GCM (RFC 7714) with its tag of 16 bytes, or nothing in its place,
//! and HMAC-SHA1 in STUN.

mod ciphers;
mod handshake;
mod hashes;
mod unused;

use std::sync::Arc;

use airlane_base::Seed;
use str0m::config::{CryptoProvider, DtlsCert};

use self::ciphers::Srtp;
use self::handshake::Agreed;
use self::hashes::Hashes;

/// Protection of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protection {
    /// Not at all: the sizes are those of [`Protection::Sealed`], and nothing is verified. It is
    /// for emulated networks only.
    #[default]
    Null,
    /// AEAD_AES_128_GCM, with keys from the seed. It guards against damage and strays; it is no
    /// secret from anyone who knows the seed.
    Sealed,
}

impl Protection {
    pub(crate) fn provider(self) -> Arc<CryptoProvider> {
        Arc::new(CryptoProvider {
            srtp_provider: match self {
                Self::Null => &Srtp::Null,
                Self::Sealed => &Srtp::Sealed,
            },
            sha1_hmac_provider: &Hashes,
            sha1_provider: &Hashes,
            sha256_provider: &Hashes,
            dtls_provider: &Agreed,
        })
    }
}

/// The keys that both ends are given: str0m hands a certificate to whatever does its handshake, and
/// ours carries them in it.
pub(crate) fn keys(seed: Seed) -> DtlsCert {
    let mut private_key = seed.split("first half").bytes().to_vec();
    private_key.extend_from_slice(&seed.split("second half").bytes());
    DtlsCert { certificate: b"none".to_vec(), private_key }
}
