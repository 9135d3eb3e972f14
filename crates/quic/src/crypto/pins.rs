//! Public keys that peers are known by.

use std::collections::BTreeSet;

use parking_lot::RwLock;
use rustls::pki_types::CertificateDer;
use rustls::server::ParsedCertificate;

/// DER in front of the 32 bytes of an Ed25519 key in a SubjectPublicKeyInfo (RFC 8410, section 4).
const ED25519: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// A public key: the SubjectPublicKeyInfo of a certificate in DER (RFC 5280, section 4.1.2.7).
///
/// A certificate that is made again with the same key has the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PublicKey(Vec<u8>);

impl PublicKey {
    /// The key of a certificate in DER; `None` if it is none.
    pub fn of_certificate(certificate: &[u8]) -> Option<Self> {
        let certificate = CertificateDer::from(certificate);
        let parsed = ParsedCertificate::try_from(&certificate).ok()?;
        Some(Self(parsed.subject_public_key_info().to_vec()))
    }

    /// The Ed25519 key of these bytes (RFC 8032, section 5.1.5).
    pub fn ed25519(key: &[u8; 32]) -> Self {
        Self([&ED25519[..], key].concat())
    }

    /// The bytes of an Ed25519 key; `None` if it is of another kind.
    pub fn as_ed25519(&self) -> Option<&[u8; 32]> {
        self.0.strip_prefix(&ED25519)?.try_into().ok()
    }
}

/// The public keys of the peers that an endpoint talks to. They may change while it runs: that
/// counts for handshakes that begin afterwards.
#[derive(Debug, Default)]
pub struct PinnedKeys(RwLock<BTreeSet<PublicKey>>);

impl PinnedKeys {
    /// These.
    pub fn new(keys: impl IntoIterator<Item = PublicKey>) -> Self {
        Self(RwLock::new(keys.into_iter().collect()))
    }

    /// From now on these.
    pub fn replace(&self, keys: impl IntoIterator<Item = PublicKey>) {
        *self.0.write() = keys.into_iter().collect();
    }

    /// True if `key` is one of the pinned keys.
    pub fn contains(&self, key: &PublicKey) -> bool {
        self.0.read().contains(key)
    }
}
