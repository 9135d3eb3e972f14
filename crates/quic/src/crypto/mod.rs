//! The ciphers: real TLS, and one that only takes the room.

mod identity;
mod keys;
mod null;
mod pins;
mod seal;
mod security;
mod tls;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use noq_proto::crypto;

pub use identity::{Certificates, Identity};
pub(crate) use keys::{SeededIds, TokenKey};
pub use pins::{PinnedKeys, PublicKey};
pub(crate) use seal::{Seal, SealedClient, SealedServer};
pub use security::Security;
pub use tls::{Tls, Trust};

use crate::error::QuicError;

/// Protection of packets.
#[derive(Clone)]
pub enum Cipher {
    /// Not at all, yet with the sizes of the real thing: a handshake of the same flights, 16
    /// bytes of tag on every packet. Tools see frames in clear. For the laboratory only.
    Null,
    /// TLS 1.3 (RFC 9001).
    Tls(Arc<Tls>),
}

impl Cipher {
    /// TLS with an Ed25519 certificate that is the same in every world, trusted by every client.
    /// For the laboratory only: its key is known to anyone.
    ///
    /// # Errors
    /// If the certificate cannot be made.
    pub fn lab_tls() -> Result<Self, QuicError> {
        let identity = Identity::from_seed(airlane_base::Seed(0), &["lab.airlane"])?;
        let trust = Trust::Exactly(identity.certificate().to_vec());
        Ok(Self::Tls(Arc::new(Tls { identity: Some(identity.shown()?), trust })))
    }

    /// A client's side, with these application protocols. Secrets are appended to `keylog`.
    pub(crate) fn client(
        &self,
        alpn: &[Vec<u8>],
        keylog: Option<&Path>,
    ) -> Result<Arc<dyn crypto::ClientConfig>, QuicError> {
        Ok(match self {
            Self::Null => Arc::new(null::NullConfig::new(alpn.to_vec())),
            Self::Tls(tls) => tls.client(alpn, keylog)?,
        })
    }

    /// A server's side, likewise.
    pub(crate) fn server(
        &self,
        alpn: &[Vec<u8>],
        keylog: Option<&Path>,
    ) -> Result<Arc<dyn crypto::ServerConfig>, QuicError> {
        Ok(match self {
            Self::Null => Arc::new(null::NullConfig::new(alpn.to_vec())),
            Self::Tls(tls) => tls.server(alpn, keylog)?,
        })
    }
}

impl fmt::Debug for Cipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Null => "null",
            Self::Tls(_) => "tls",
        })
    }
}

/// A secret from the operating system.
pub(crate) fn system_secret() -> Result<[u8; 32], QuicError> {
    let mut secret = [0; 32];
    ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut secret)
        .map_err(|_| QuicError::Tls("the system has no randomness".to_owned()))?;
    Ok(secret)
}

#[cfg(test)]
mod tests {
    use noq_proto::transport_parameters::TransportParameters;

    use super::*;

    /// Lengths of what the two sides write in turn until the handshake is over.
    fn flights(cipher: &Cipher) -> Vec<usize> {
        let alpn = [b"h3".to_vec(), b"airlane/1".to_vec()];
        let v1 = 1;
        let params = TransportParameters::read(noq_proto::Side::Server, &mut &[][..]).unwrap();
        let client = cipher.client(&alpn, None).unwrap().start_session(v1, "lab.airlane", &params);
        let server = cipher.server(&alpn, None).unwrap().start_session(v1, &params);
        let mut sides = [client.unwrap(), server];
        let mut lengths = Vec::new();
        for turn in 0..6 {
            // A call writes what one set of keys protects.
            let mut keys = true;
            while keys {
                let mut flight = Vec::new();
                keys = sides[turn % 2].write_handshake(&mut flight).is_some();
                if !flight.is_empty() {
                    sides[(turn + 1) % 2].read_handshake(&flight).unwrap();
                    lengths.push(flight.len());
                }
            }
        }
        assert!(sides.iter().all(|s| !s.is_handshaking()), "{cipher:?}: {lengths:?}");
        lengths
    }

    #[test]
    fn handshake_messages_have_the_same_lengths_under_both_ciphers() {
        let (null, tls) = (flights(&Cipher::Null), flights(&Cipher::lab_tls().unwrap()));
        // Both hellos, the server's flight and the client's end.
        assert!(null.len() == 4 && null[0] > 150, "{null:?}");
        assert_eq!(null, tls);
    }
}
