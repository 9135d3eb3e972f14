//! How an endpoint protects its packets and where its secrets come from, decided together.

use std::fmt;
use std::sync::Arc;

use airlane_base::Seed;

use super::{Cipher, Tls, system_secret};
use crate::error::QuicError;

/// Protection of packets, and source of connection ids, keys and tokens.
///
/// [`TransportConfig::laboratory`] and [`TransportConfig::network`] make it, and nothing else does:
/// whoever faces a network has TLS and secrets of the operating system.
///
/// ```compile_fail
/// use airlane_quic::{Cipher, Security};
/// let security = Security::laboratory(Cipher::Null); // private
/// ```
///
/// [`TransportConfig::laboratory`]: crate::TransportConfig::laboratory
/// [`TransportConfig::network`]: crate::TransportConfig::network
#[derive(Clone)]
pub struct Security(Kind);

#[derive(Clone)]
enum Kind {
    /// Secrets from the runtime's seed: repeatable, and known to anybody who knows the seed.
    Laboratory(Cipher),
    /// Secrets from the operating system.
    Network(Arc<Tls>),
}

impl Security {
    pub(crate) fn laboratory(cipher: Cipher) -> Self {
        Self(Kind::Laboratory(cipher))
    }

    pub(crate) fn network(tls: Tls) -> Self {
        Self(Kind::Network(Arc::new(tls)))
    }

    /// Cipher that protects packets.
    pub(crate) fn cipher(&self) -> Cipher {
        match &self.0 {
            Kind::Laboratory(cipher) => cipher.clone(),
            Kind::Network(tls) => Cipher::Tls(tls.clone()),
        }
    }

    /// True if all that is drawn repeats with the runtime's seed.
    pub(crate) fn repeats(&self) -> bool {
        matches!(self.0, Kind::Laboratory(_))
    }

    /// A secret called `name`; `seed` is the endpoint's.
    ///
    /// # Errors
    /// If the system has no randomness.
    pub(crate) fn secret(&self, seed: Seed, name: &str) -> Result<[u8; 32], QuicError> {
        if self.repeats() { Ok(seed.split(name).bytes()) } else { system_secret() }
    }
}

impl fmt::Debug for Security {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Laboratory(cipher) => f.debug_tuple("Laboratory").field(cipher).finish(),
            Kind::Network(_) => f.write_str("Network"),
        }
    }
}
