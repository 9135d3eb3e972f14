//! Certificates: those that an operator gives, one for development, and those that clients trust.

mod development;
mod error;
mod served;
mod trust;

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use airlane_base::InputError;
use airlane_quic::Identity;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

pub use self::development::{Development, development, names};
pub use self::error::CertificateError;
pub use self::served::{Refresh, ServedCertificates};
pub use self::trust::trust;
use airlane_host::date;

const CERTIFICATES_EXPECTED: &str =
    "expected PEM (-----BEGIN CERTIFICATE-----), the server's own certificate first";
const KEY_EXPECTED: &str = "expected the certificate's private key in PEM (-----BEGIN PRIVATE \
                            KEY-----), such as certbot's privkey.pem";
const DECRYPTED_EXPECTED: &str = "expected one without a passphrase, which `openssl pkey -in \
                                  ENCRYPTED -out PLAIN` makes";

/// A chain of certificates, the server's own first, and its private key, in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateFiles {
    /// The chain.
    pub chain: PathBuf,
    /// The key.
    pub key: PathBuf,
}

impl CertificateFiles {
    /// Reads both.
    ///
    /// # Errors
    /// If a file cannot be read, holds nothing of the kind, or the key is of no use or that of
    /// another certificate: with its name and what to do.
    pub fn load(&self) -> Result<Identity, CertificateError> {
        let Self { chain, key } = self;
        let certificates =
            fs::read(chain).map_err(|e| InputError::io(chain, "read the certificates", &e))?;
        let secret = fs::read(key).map_err(|e| InputError::io(key, "read the private key", &e))?;
        Ok(self.parse(&certificates, &secret)?)
    }

    /// True if reading the files once more gives what is there then: pipes, say, would be waited
    /// for.
    fn can_be_read_again(&self) -> bool {
        let is_pipe = |file: &Path| fs::metadata(file).is_ok_and(|about| !about.is_file());
        !is_pipe(&self.chain) && !is_pipe(&self.key)
    }

    /// Identity in these texts of the two files.
    fn parse(&self, certificates: &[u8], secret: &[u8]) -> Result<Identity, InputError> {
        let Self { chain, key } = self;
        let wrong = |file: &Path, found: &str, expected: &str| {
            InputError::new(found, expected).at_file(file)
        };
        let certificates: Vec<_> = CertificateDer::pem_slice_iter(certificates)
            .collect::<Result<_, _>>()
            .map_err(|_| wrong(chain, "a broken certificate", CERTIFICATES_EXPECTED))?;
        if certificates.is_empty() {
            return Err(wrong(chain, "no certificate in it", CERTIFICATES_EXPECTED));
        }
        let der = PrivateKeyDer::from_pem_slice(secret).map_err(|e| {
            let is_encrypted = String::from_utf8_lossy(secret).contains("ENCRYPTED");
            let found = match e {
                _ if is_encrypted => "the private key is encrypted",
                pem::Error::NoItemsFound => "no private key in it",
                _ => "a broken private key",
            };
            wrong(key, found, if is_encrypted { DECRYPTED_EXPECTED } else { KEY_EXPECTED })
        })?;
        let certificates = certificates.iter().map(|c| c.to_vec()).collect();
        let identity = Identity::from_der(certificates, der.secret_der().to_vec())
            .map_err(|e| wrong(key, &e.to_string(), KEY_EXPECTED))?;
        identity.verify().map_err(|e| {
            let found = format!("the private key is of no use: {e}");
            let expected = format!("expected that of the first certificate in {}", chain.display());
            wrong(key, &found, &expected)
        })?;
        Ok(identity)
    }
}

/// Identity of a daemon that listens at `addresses`: the chain and key that it was given, or
/// the certificate for development in `folder`, with what its user has to know.
///
/// # Errors
/// If a file cannot be read or is of no use, or the folder cannot be written.
pub fn identity(
    given: Option<&CertificateFiles>,
    folder: Option<&Path>,
    addresses: &[IpAddr],
) -> Result<(Identity, Option<Development>), CertificateError> {
    if let Some(files) = given {
        return Ok((files.load()?, None));
    }
    let (identity, made) = development(folder, &own_names(addresses), date::now_s())?;
    Ok((identity, Some(made)))
}

/// The names that this machine's development certificate is for.
fn own_names(addresses: &[IpAddr]) -> Vec<String> {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    names(&host, addresses)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_certificate_or_key_is_named_with_what_to_do() {
        let around = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let file = around.path().join(name);
            fs::write(&file, text).unwrap();
            file
        };
        let folder = around.path().join("data");
        development(Some(&folder), &["localhost".to_owned()], 1_800_000_000).unwrap();
        let made = fs::read_to_string(folder.join("development.pem")).unwrap();
        let both = file("both.pem", &made);
        let (certificate, key) = made.split_at(made.find("-----BEGIN PRIVATE").unwrap());
        let (certificate, key) = (file("certificate.pem", certificate), file("key.pem", key));
        let load = |chain: &Path, key: &Path| {
            CertificateFiles { chain: chain.to_owned(), key: key.to_owned() }.load()
        };
        assert!(load(&certificate, &key).is_ok() && load(&both, &both).is_ok());
        let absent = around.path().join("absent.pem");
        let broken = file("broken.pem", "-----BEGIN PRIVATE KEY-----\nAAAA\n");
        let sealed =
            "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
        let sealed = file("sealed.pem", sealed);
        for (chain, secret, of, found) in [
            (&absent, &key, &absent, "cannot read the certificates: "),
            (&key, &key, &key, "no certificate in it; expected PEM (-----BEGIN CERTIFICATE-----)"),
            (&certificate, &absent, &absent, "cannot read the private key: "),
            (&certificate, &certificate, &certificate, "no private key in it; expected the cert"),
            (&certificate, &broken, &broken, "a broken private key; expected the certificate's"),
            (&certificate, &sealed, &sealed, "the private key is encrypted; expected one without"),
        ] {
            let said = load(chain, secret).unwrap_err().to_string();
            assert!(said.starts_with(&format!("{}: {found}", of.display())), "{said}");
        }
    }
}
