//! What servers show: certificates with their private keys.

use std::fmt;
use std::sync::Arc;

use airlane_base::Seed;
use parking_lot::RwLock;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, PKCS_ED25519};
use ring::hmac;
use rustls::SignatureScheme;
use rustls::client::{ResolvesClientCert, verify_server_name};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::{ClientHello, ParsedCertificate, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use super::tls::{provider, tls_error};
use crate::error::QuicError;

/// A certificate with its private key.
pub struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("certificates", &self.chain.len()).finish_non_exhaustive()
    }
}

impl Identity {
    /// A chain of DER certificates, the server's own first, and its private key in DER (PKCS #8,
    /// PKCS #1 or SEC 1).
    ///
    /// # Errors
    /// If the key is of no known form.
    pub fn from_der(chain: Vec<Vec<u8>>, key: Vec<u8>) -> Result<Self, QuicError> {
        let key = PrivateKeyDer::try_from(key).map_err(|e| QuicError::Tls(e.to_owned()))?;
        Ok(Self { chain: chain.into_iter().map(CertificateDer::from).collect(), key })
    }

    /// A self-signed Ed25519 certificate whose key is derived from `seed`: the same bytes for the
    /// same arguments. Signatures of other kinds vary in length, and the handshake with them.
    ///
    /// # Errors
    /// If a name is no DNS name.
    pub fn from_seed(seed: Seed, names: &[&str]) -> Result<Self, QuicError> {
        Self::self_signed(&seed.split("certificate").bytes(), names)
    }

    /// A self-signed Ed25519 certificate with a key from the operating system.
    ///
    /// # Errors
    /// If a name is no DNS name, or the system has no randomness.
    pub fn generate(names: &[&str]) -> Result<Self, QuicError> {
        Self::self_signed(&super::system_secret()?, names)
    }

    /// The same with a key that the caller derives from a secret of its own: whoever has that makes
    /// the same certificate.
    ///
    /// # Errors
    /// If a name is no DNS name.
    pub fn from_secret(secret: &[u8; 32], names: &[&str]) -> Result<Self, QuicError> {
        Self::self_signed(secret, names)
    }

    fn self_signed(secret: &[u8; 32], names: &[&str]) -> Result<Self, QuicError> {
        // PKCS #8 version 1 around the 32 bytes of an Ed25519 key (RFC 8410, section 7).
        let mut pkcs8 = vec![
            0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22,
            0x04, 0x20,
        ];
        pkcs8.extend_from_slice(secret);
        let key = PrivateKeyDer::Pkcs8(pkcs8.into());
        let pair = KeyPair::from_der_and_sign_algo(&key, &PKCS_ED25519).map_err(tls_error)?;
        let names: Vec<String> = names.iter().map(|n| (*n).to_owned()).collect();
        let mut params = CertificateParams::new(names).map_err(tls_error)?;
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, "airlane");
        // Never outdated: worlds have no date, and developers no patience.
        params.not_before = rcgen::date_time_ymd(2020, 1, 1);
        params.not_after = rcgen::date_time_ymd(4096, 1, 1);
        let certificate = params.self_signed(&pair).map_err(tls_error)?;
        Ok(Self { chain: vec![certificate.der().clone()], key })
    }

    /// The server's own certificate in DER.
    pub fn certificate(&self) -> &[u8] {
        self.chain.first().map_or(&[], |c| c.as_ref())
    }

    /// A secret for some other use that comes from the private key: the same as long as that is.
    pub fn secret(&self, name: &str) -> [u8; 32] {
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.key.secret_der());
        let mut secret = [0; 32];
        secret.copy_from_slice(hmac::sign(&key, name.as_bytes()).as_ref());
        secret
    }

    /// Certificates of a server that shows this identity alone.
    ///
    /// # Errors
    /// If the key is not that of the certificate, or of a kind that is not known.
    pub fn shown(self) -> Result<Arc<Certificates>, QuicError> {
        Certificates::new(vec![self])
    }

    /// Checks that a server could show this identity.
    ///
    /// # Errors
    /// If the key is not that of the certificate, or of a kind that is not known.
    pub fn verify(&self) -> Result<(), QuicError> {
        CertifiedKey::from_der(self.chain.clone(), self.key.clone_key(), &provider())
            .map(drop)
            .map_err(tls_error)
    }

    fn certified(self) -> Result<Arc<CertifiedKey>, QuicError> {
        let key = CertifiedKey::from_der(self.chain, self.key, &provider()).map_err(tls_error)?;
        Ok(Arc::new(key))
    }
}

/// The certificates that servers show at the moment, over QUIC and over TCP alike.
pub struct Certificates {
    current: RwLock<Shown>,
}

/// One certificate or more.
struct Shown {
    /// For clients that name no server, or one that no certificate is for.
    default: Arc<CertifiedKey>,
    others: Vec<Arc<CertifiedKey>>,
}

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let identities = 1 + self.current.read().others.len();
        f.debug_struct("Certificates").field("identities", &identities).finish()
    }
}

impl Certificates {
    /// Shows these: each client the first one that is for the server that it names (SNI, RFC 6066,
    /// section 3), and the first of all if none is.
    ///
    /// # Errors
    /// If there is none, or a key is not that of its certificate, or of a kind that is not known.
    pub fn new(identities: Vec<Identity>) -> Result<Arc<Self>, QuicError> {
        Ok(Arc::new(Self { current: RwLock::new(Shown::new(identities)?) }))
    }

    /// Shows other identities from now on. Connections that are open stay.
    ///
    /// # Errors
    /// Those of [`new`](Self::new); what was shown before then stays.
    pub fn replace(&self, identities: Vec<Identity>) -> Result<(), QuicError> {
        let shown = Shown::new(identities)?;
        *self.current.write() = shown;
        Ok(())
    }
}

impl Shown {
    fn new(identities: Vec<Identity>) -> Result<Self, QuicError> {
        let mut keys = identities.into_iter().map(Identity::certified);
        let default = keys.next().ok_or_else(|| QuicError::Tls("no certificate".to_owned()))??;
        Ok(Self { default, others: keys.collect::<Result<_, _>>()? })
    }

    /// The certificate for a client that names this server.
    fn choose(&self, server: Option<&str>) -> Arc<CertifiedKey> {
        let name = server.filter(|_| !self.others.is_empty());
        let name = name.and_then(|name| ServerName::try_from(name).ok());
        let found = name.and_then(|name| {
            let mut all = std::iter::once(&self.default).chain(&self.others);
            all.find(|key| is_for(key, &name))
        });
        found.unwrap_or(&self.default).clone()
    }
}

/// True if a client that asks for `server` would accept the certificate for that name.
fn is_for(key: &CertifiedKey, server: &ServerName<'_>) -> bool {
    let certificate = key.end_entity_cert().ok().and_then(|c| ParsedCertificate::try_from(c).ok());
    certificate.is_some_and(|c| verify_server_name(&c, server).is_ok())
}

impl ResolvesClientCert for Certificates {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        Some(self.current.read().default.clone())
    }

    fn has_certs(&self) -> bool {
        true
    }
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current.read().choose(hello.server_name()))
    }
}
