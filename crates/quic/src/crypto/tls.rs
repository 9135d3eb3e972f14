//! Real TLS 1.3 by rustls and ring.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use airlane_base::Seed;
use noq_proto::crypto;
use noq_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use parking_lot::Mutex;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, PKCS_ED25519};
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, CipherSuite, ClientConfig, DigitallySignedStruct, Error, KeyLog,
    RootCertStore, ServerConfig, SignatureScheme,
};

use crate::config::TransportConfig;
use crate::error::QuicError;

/// What an endpoint shows and whom it trusts.
#[derive(Debug)]
pub struct Tls {
    /// What servers show. Clients need none.
    pub identity: Option<Identity>,
    /// Which servers clients talk to.
    pub trust: Trust,
}

/// Which servers a client talks to.
#[derive(Clone, Debug)]
pub enum Trust {
    /// Those whose chain leads to one of these certificates (DER), with the right name.
    Roots(Vec<Vec<u8>>),
    /// Those that show exactly this certificate (DER), whatever its name and dates.
    Exactly(Vec<u8>),
    /// Any: no protection against an active attacker. For development.
    Anyone,
}

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
}

fn tls_error(e: impl fmt::Display) -> QuicError {
    QuicError::Tls(e.to_string())
}

/// ring's algorithms with AES-128-GCM first: it is as good here and a quarter faster than the
/// AES-256-GCM that rustls prefers.
fn provider() -> Arc<CryptoProvider> {
    let mut provider = ring::default_provider();
    provider.cipher_suites.sort_by_key(|s| s.suite() != CipherSuite::TLS13_AES_128_GCM_SHA256);
    Arc::new(provider)
}

impl Tls {
    pub(super) fn client(
        &self,
        config: &TransportConfig,
    ) -> Result<Arc<dyn crypto::ClientConfig>, QuicError> {
        let provider = provider();
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(tls_error)?;
        let mut tls = match &self.trust {
            Trust::Roots(roots) => {
                let mut store = RootCertStore::empty();
                for root in roots {
                    store.add(CertificateDer::from(root.clone())).map_err(tls_error)?;
                }
                builder.with_root_certificates(store).with_no_client_auth()
            }
            Trust::Exactly(_) | Trust::Anyone => {
                let exactly = match &self.trust {
                    Trust::Exactly(certificate) => Some(certificate.clone()),
                    _ => None,
                };
                let verifier = Arc::new(Pinned { exactly, provider });
                builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
            }
        };
        tls.alpn_protocols = config.alpn.clone();
        // A resumed handshake is a shorter one: with tickets the second connection of a world
        // would differ from the first.
        tls.resumption = Resumption::disabled();
        if let Some(path) = &config.keylog {
            tls.key_log = Arc::new(KeyLogFile::open(path)?);
        }
        Ok(Arc::new(QuicClientConfig::try_from(tls).map_err(tls_error)?))
    }

    pub(super) fn server(
        &self,
        config: &TransportConfig,
    ) -> Result<Arc<dyn crypto::ServerConfig>, QuicError> {
        let identity = self
            .identity
            .as_ref()
            .ok_or_else(|| QuicError::Tls("a server needs a certificate".to_owned()))?;
        let mut tls = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(tls_error)?
            .with_no_client_auth()
            .with_single_cert(identity.chain.clone(), identity.key.clone_key())
            .map_err(tls_error)?;
        tls.alpn_protocols = config.alpn.clone();
        tls.send_tls13_tickets = 0;
        if let Some(path) = &config.keylog {
            tls.key_log = Arc::new(KeyLogFile::open(path)?);
        }
        Ok(Arc::new(QuicServerConfig::try_from(tls).map_err(tls_error)?))
    }
}

/// Accepts one certificate or any, and always checks that the server holds its key.
#[derive(Debug)]
struct Pinned {
    exactly: Option<Vec<u8>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match &self.exactly {
            Some(expected) if expected.as_slice() != end_entity.as_ref() => {
                Err(CertificateError::ApplicationVerificationFailure.into())
            }
            _ => Ok(ServerCertVerified::assertion()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Appends secrets as lines `LABEL client_random secret`, in hexadecimal.
#[derive(Debug)]
struct KeyLogFile(Mutex<File>);

impl KeyLogFile {
    fn open(path: &Path) -> Result<Self, QuicError> {
        let file = OpenOptions::new().create(true).append(true).open(path);
        file.map(|f| Self(Mutex::new(f))).map_err(|e| QuicError::io(path, e))
    }
}

impl KeyLog for KeyLogFile {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
        let line = format!("{label} {} {}\n", hex(client_random), hex(secret));
        // One write per line, so that the lines of several processes do not mix.
        if let Err(e) = self.0.lock().write_all(line.as_bytes()) {
            tracing::warn!("cannot write the key log: {e}");
        }
    }
}
