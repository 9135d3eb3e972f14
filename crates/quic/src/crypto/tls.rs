//! Real TLS 1.3 by rustls and ring.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use noq_proto::crypto;
use noq_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use parking_lot::Mutex;
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, CipherSuite, ClientConfig, DigitallySignedStruct, DistinguishedName, Error,
    KeyLog, RootCertStore, ServerConfig, SignatureScheme,
};

use super::identity::Certificates;
use super::pins::{PinnedKeys, PublicKey};
use crate::error::QuicError;

/// TLS configuration of an endpoint: the certificates that it shows and the peers that it trusts.
#[derive(Debug)]
pub struct Tls {
    /// Certificates that servers show. Clients need none, but for [`Trust::Mutual`].
    pub identity: Option<Arc<Certificates>>,
    /// Servers that clients talk to.
    pub trust: Trust,
}

/// Servers that a client talks to.
#[derive(Clone, Debug)]
pub enum Trust {
    /// Those whose chain leads to one of these certificates (DER), with the right name.
    Roots(Vec<Vec<u8>>),
    /// Those that show exactly this certificate (DER), whatever its name and dates.
    Exactly(Vec<u8>),
    /// Those that show a certificate with one of these public keys, whatever else is in it. Servers
    /// ask their clients for one, and clients show their [`Tls::identity`]: both ends know each
    /// other.
    Mutual(Arc<PinnedKeys>),
    /// Any: no protection against an active attacker. For development.
    Anyone,
}

pub(super) fn tls_error(e: impl fmt::Display) -> QuicError {
    QuicError::Tls(e.to_string())
}

/// ring's algorithms with AES-128-GCM first: it is as good here and a quarter faster than the
/// AES-256-GCM that rustls prefers.
pub(super) fn provider() -> Arc<CryptoProvider> {
    let mut provider = ring::default_provider();
    provider.cipher_suites.sort_by_key(|s| s.suite() != CipherSuite::TLS13_AES_128_GCM_SHA256);
    Arc::new(provider)
}

impl Trust {
    /// TLS configuration, over TCP or QUIC, of a client of these servers, with these application
    /// protocols.
    ///
    /// # Errors
    /// If a root is no certificate.
    pub fn client_config(&self, alpn: &[Vec<u8>]) -> Result<ClientConfig, QuicError> {
        let provider = provider();
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(tls_error)?;
        let mut tls = match self {
            Self::Roots(roots) => {
                let mut store = RootCertStore::empty();
                for root in roots {
                    store.add(CertificateDer::from(root.clone())).map_err(tls_error)?;
                }
                builder.with_root_certificates(store).with_no_client_auth()
            }
            Self::Exactly(_) | Self::Mutual(_) | Self::Anyone => {
                let verifier = Arc::new(Pinned { accepted: self.accepted(), provider });
                builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
            }
        };
        tls.alpn_protocols = alpn.to_vec();
        // A resumed handshake is a shorter one: with tickets the second connection of a world
        // would differ from the first.
        tls.resumption = Resumption::disabled();
        Ok(tls)
    }
}

impl Trust {
    /// Certificates that [`Pinned`] accepts; those of [`Trust::Roots`] are verified elsewhere.
    fn accepted(&self) -> Accepted {
        match self {
            Self::Exactly(certificate) => Accepted::Certificate(certificate.clone()),
            Self::Mutual(keys) => Accepted::Keys(keys.clone()),
            Self::Roots(_) | Self::Anyone => Accepted::Any,
        }
    }
}

impl Tls {
    /// TLS configuration of a client, over TCP or QUIC, with these application protocols.
    ///
    /// # Errors
    /// If a root is no certificate, or an identity is wanted and there is none.
    pub fn client_config(&self, alpn: &[Vec<u8>]) -> Result<ClientConfig, QuicError> {
        let mut tls = self.trust.client_config(alpn)?;
        if matches!(self.trust, Trust::Mutual(_)) {
            let own = self.identity.clone();
            tls.client_auth_cert_resolver =
                own.ok_or_else(|| QuicError::Tls("a client needs a certificate".to_owned()))?;
        }
        Ok(tls)
    }

    /// TLS configuration of a server, over TCP or QUIC, with these application protocols.
    ///
    /// # Errors
    /// If there is no identity.
    pub fn server_config(&self, alpn: &[Vec<u8>]) -> Result<ServerConfig, QuicError> {
        let identity = self
            .identity
            .as_ref()
            .ok_or_else(|| QuicError::Tls("a server needs a certificate".to_owned()))?;
        let provider = provider();
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(tls_error)?;
        let builder = match &self.trust {
            Trust::Mutual(_) => builder.with_client_cert_verifier(Arc::new(Pinned {
                accepted: self.trust.accepted(),
                provider,
            })),
            _ => builder.with_no_client_auth(),
        };
        let mut tls = builder.with_cert_resolver(identity.clone());
        tls.alpn_protocols = alpn.to_vec();
        tls.send_tls13_tickets = 0;
        Ok(tls)
    }

    pub(super) fn client(
        &self,
        alpn: &[Vec<u8>],
        keylog: Option<&Path>,
    ) -> Result<Arc<dyn crypto::ClientConfig>, QuicError> {
        let mut tls = self.client_config(alpn)?;
        if let Some(path) = keylog {
            tls.key_log = Arc::new(KeyLogFile::open(path)?);
        }
        Ok(Arc::new(QuicClientConfig::try_from(tls).map_err(tls_error)?))
    }

    pub(super) fn server(
        &self,
        alpn: &[Vec<u8>],
        keylog: Option<&Path>,
    ) -> Result<Arc<dyn crypto::ServerConfig>, QuicError> {
        let mut tls = self.server_config(alpn)?;
        if let Some(path) = keylog {
            tls.key_log = Arc::new(KeyLogFile::open(path)?);
        }
        Ok(Arc::new(QuicServerConfig::try_from(tls).map_err(tls_error)?))
    }
}

/// The certificates that [`Pinned`] takes.
#[derive(Debug)]
enum Accepted {
    Any,
    /// This one alone (DER).
    Certificate(Vec<u8>),
    /// Those with one of these keys.
    Keys(Arc<PinnedKeys>),
}

/// Accepts certificates, and always checks that the other end holds the key.
#[derive(Debug)]
struct Pinned {
    accepted: Accepted,
    provider: Arc<CryptoProvider>,
}

impl Pinned {
    fn check(&self, end_entity: &CertificateDer<'_>) -> Result<(), Error> {
        let is_accepted = match &self.accepted {
            Accepted::Any => true,
            Accepted::Certificate(expected) => expected.as_slice() == end_entity.as_ref(),
            Accepted::Keys(keys) => {
                PublicKey::of_certificate(end_entity).is_some_and(|key| keys.contains(&key))
            }
        };
        match is_accepted {
            true => Ok(()),
            false => Err(CertificateError::ApplicationVerificationFailure.into()),
        }
    }
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
        self.check(end_entity).map(|()| ServerCertVerified::assertion())
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

impl ClientCertVerifier for Pinned {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.check(end_entity).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        ServerCertVerifier::verify_tls12_signature(self, message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        ServerCertVerifier::verify_tls13_signature(self, message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        ServerCertVerifier::supported_verify_schemes(self)
    }
}

/// Appends secrets as lines `LABEL client_random secret`, in hexadecimal, to a file that only its
/// owner may read, be it new or there already.
#[derive(Debug)]
struct KeyLogFile(Mutex<File>);

impl KeyLogFile {
    fn open(path: &Path) -> Result<Self, QuicError> {
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        // Whoever reads it reads the connections.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let open = || {
            let file = options.open(path)?;
            close_to_others(&file)?;
            Ok(file)
        };
        open().map(|f| Self(Mutex::new(f))).map_err(|e: io::Error| QuicError::io(path, e))
    }
}

/// Takes everybody else's permissions from a file. Pipes and devices keep theirs.
#[cfg(unix)]
fn close_to_others(file: &File) -> io::Result<()> {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;
    let metadata = file.metadata()?;
    let mode = metadata.permissions().mode();
    if metadata.is_file() && mode & 0o077 != 0 {
        file.set_permissions(Permissions::from_mode(mode & 0o700))?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn close_to_others(_: &File) -> io::Result<()> {
    Ok(())
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
