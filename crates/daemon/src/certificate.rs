//! Certificates: those that an operator gives, and one for development.
//!
//! A development certificate is self-signed with an ECDSA P-256 key and lives for 13 days, as
//! browsers ask of certificates that they are told to trust by hash (WebTransport's
//! `serverCertificateHashes`: at most 14). It is kept in the user's data folder, so that a browser
//! that was told of it goes on trusting it.

use std::fs;
use std::io::Write;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use airlane_base::InputError;
use airlane_quic::Identity;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as STANDARD;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, PKCS_ECDSA_P256_SHA256};
use ring::digest;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::date;
use crate::error::DaemonError;

/// How long a development certificate is good for.
const DAYS: u64 = 13;
/// It is made anew when fewer days are left.
const RENEW_DAYS: u64 = 3;
const DAY_S: u64 = 86_400;

const CERTIFICATES_EXPECTED: &str =
    "expected PEM (-----BEGIN CERTIFICATE-----), the server's own certificate first";
const KEY_EXPECTED: &str = "expected the certificate's private key in PEM (-----BEGIN PRIVATE \
                            KEY-----), such as certbot's privkey.pem";
const DECRYPTED_EXPECTED: &str = "expected one without a passphrase, which `openssl pkey -in \
                                  ENCRYPTED -out PLAIN` makes";

/// Reads a chain of certificates, the server's own first, and its private key, both in PEM.
///
/// # Errors
/// If a file cannot be read or holds nothing of the kind: with its name and what to do.
pub fn load(chain: &Path, key: &Path) -> Result<Identity, DaemonError> {
    let wrong = |file: &Path, found: &str, expected: &str| {
        DaemonError::from(InputError::new(found, expected).at_file(file))
    };
    let text = fs::read(chain).map_err(|e| InputError::io(chain, "read the certificates", &e))?;
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(&text)
        .collect::<Result<_, _>>()
        .map_err(|_| wrong(chain, "a broken certificate", CERTIFICATES_EXPECTED))?;
    if certificates.is_empty() {
        return Err(wrong(chain, "no certificate in it", CERTIFICATES_EXPECTED));
    }
    let text = fs::read(key).map_err(|e| InputError::io(key, "read the private key", &e))?;
    let secret = PrivateKeyDer::from_pem_slice(&text).map_err(|e| {
        let is_encrypted = String::from_utf8_lossy(&text).contains("ENCRYPTED");
        let found = match e {
            _ if is_encrypted => "the private key is encrypted",
            pem::Error::NoItemsFound => "no private key in it",
            _ => "a broken private key",
        };
        wrong(key, found, if is_encrypted { DECRYPTED_EXPECTED } else { KEY_EXPECTED })
    })?;
    let certificates = certificates.iter().map(|c| c.to_vec()).collect();
    Identity::from_der(certificates, secret.secret_der().to_vec())
        .map_err(|e| wrong(key, &e.to_string(), KEY_EXPECTED))
}

/// A certificate for development, as its user has to know it.
#[derive(Clone, Debug)]
pub struct Development {
    /// Where it is kept.
    pub file: PathBuf,
    /// SHA-256 of its public key (SubjectPublicKeyInfo), in base64: what Chromium's flag
    /// `--ignore-certificate-errors-spki-list` takes.
    pub spki_sha256: String,
    /// SHA-256 of the certificate, in hexadecimal: what WebTransport's `serverCertificateHashes`
    /// and `openssl x509 -fingerprint` name.
    pub sha256: String,
}

/// What a daemon that listens at `addresses` shows: the chain and key that it was given, or the
/// certificate for development in `folder`, with what its user has to know.
///
/// # Errors
/// If a file cannot be read or is of no use, or the folder cannot be written.
pub(crate) fn identity(
    given: Option<&(PathBuf, PathBuf)>,
    folder: &Path,
    addresses: &[IpAddr],
) -> Result<(Identity, Option<Development>), DaemonError> {
    if let Some((chain, key)) = given {
        return Ok((load(chain, key)?, None));
    }
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let (identity, made) = development(folder, &names(&host, addresses), date::now_s())?;
    Ok((identity, Some(made)))
}

/// The development certificate in `folder` for these names and addresses: the one that is kept
/// there, if it is for them and will be good for a while after `now_s`, seconds since 1970; else a
/// new one.
///
/// # Errors
/// If the folder cannot be written.
pub fn development(
    folder: &Path,
    names: &[String],
    now_s: u64,
) -> Result<(Identity, Development), DaemonError> {
    let file = folder.join("development.pem");
    let kept = fs::read_to_string(&file).ok().filter(|text| fits(text, names, now_s));
    if let Some(found) = kept.and_then(|text| of_text(&text, &file)) {
        return Ok(found);
    }
    let text = make(names, now_s)?;
    store(folder, &file, &text)?;
    of_text(&text, &file).ok_or_else(|| {
        InputError::new("a certificate was made that cannot be read", "").at_file(&file).into()
    })
}

/// The line in front of the PEM blocks: for whom it is, and until when.
fn header(names: &[String], until_s: u64) -> String {
    format!("Airlane development certificate, good until {until_s}, for {}", names.join(" "))
}

/// Whether the kept one is for these names and good for a while.
fn fits(text: &str, names: &[String], now_s: u64) -> bool {
    let until = text
        .lines()
        .next()
        .and_then(|line| line.split("good until ").nth(1)?.split(',').next()?.parse::<u64>().ok());
    let Some(until_s) = until else { return false };
    until_s > now_s + RENEW_DAYS * DAY_S
        && until_s <= now_s + DAYS * DAY_S
        && text.lines().next() == Some(header(names, until_s).as_str())
}

/// A new certificate and its key, as the file holds them.
fn make(names: &[String], now_s: u64) -> Result<String, InputError> {
    let failed = |e: rcgen::Error| {
        InputError::new(format!("no certificate can be made for {}: {e}", names.join(", ")), "")
    };
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(failed)?;
    let mut params = CertificateParams::new(names.to_vec()).map_err(failed)?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, "Airlane development");
    // Clocks differ: an hour ago it was good already.
    let from = std::time::UNIX_EPOCH + std::time::Duration::from_secs(now_s.saturating_sub(3600));
    let until_s = now_s + DAYS * DAY_S;
    let until = std::time::UNIX_EPOCH + std::time::Duration::from_secs(until_s);
    (params.not_before, params.not_after) = (from.into(), until.into());
    let certificate = params.self_signed(&key).map_err(failed)?;
    let (certificate, key) = (certificate.pem(), key.serialize_pem());
    Ok(format!("{}\n{certificate}{key}", header(names, until_s)))
}

/// Writes the file so that nobody else can read it, and never half of it.
fn store(folder: &Path, file: &Path, text: &str) -> Result<(), InputError> {
    let failed = |e: std::io::Error| InputError::io(file, "write", &e);
    fs::create_dir_all(folder).map_err(failed)?;
    let half = folder.join(format!("development.pem.{}", std::process::id()));
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&half).and_then(|mut f| {
        f.write_all(text.as_bytes())?;
        f.sync_all()
    });
    written.and_then(|()| fs::rename(&half, file)).map_err(|e| {
        // What is left of it helps nobody.
        let _ = fs::remove_file(&half);
        failed(e)
    })
}

/// What a file's text holds.
fn of_text(text: &str, file: &Path) -> Option<(Identity, Development)> {
    let certificate = CertificateDer::from_pem_slice(text.as_bytes()).ok()?;
    let key = PrivateKeyDer::from_pem_slice(text.as_bytes()).ok()?;
    let key = KeyPair::try_from(&key).ok()?;
    let spki = rcgen::PublicKeyData::subject_public_key_info(&key);
    let spki_sha256 = STANDARD.encode(digest::digest(&digest::SHA256, &spki));
    let hash = digest::digest(&digest::SHA256, &certificate);
    let sha256 = hash.as_ref().iter().map(|b| format!("{b:02x}")).collect();
    let identity = Identity::from_der(vec![certificate.to_vec()], key.serialize_der()).ok()?;
    Some((identity, Development { file: file.to_owned(), spki_sha256, sha256 }))
}

/// The names that a development certificate is for: this machine's, and the addresses listened at.
pub fn names(host: &str, addresses: &[IpAddr]) -> Vec<String> {
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    let host = host.trim().to_ascii_lowercase();
    let is_name = host.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'.');
    if !host.is_empty() && is_name {
        names.push(host);
    }
    let specific = addresses.iter().filter(|a| !a.is_unspecified());
    names.extend(specific.map(ToString::to_string));
    let mut seen = std::collections::BTreeSet::new();
    names.retain(|n| seen.insert(n.clone()));
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_development_certificate_is_kept_while_it_is_good() {
        let around = tempfile::tempdir().unwrap();
        let folder = around.path().join("made");
        let names = names("box", &["10.0.0.1".parse().unwrap()]);
        let now = 1_800_000_000;
        let (_, first) = development(&folder, &names, now).unwrap();
        let (_, again) = development(&folder, &names, now + 9 * DAY_S).unwrap();
        assert_eq!(first.sha256, again.sha256);
        let (_, late) = development(&folder, &names, now + 11 * DAY_S).unwrap();
        assert_ne!(first.sha256, late.sha256, "two days are too few");
        let (_, other) = development(&folder, &names[..2], now + 11 * DAY_S).unwrap();
        assert_ne!(late.spki_sha256, other.spki_sha256, "other names");
        fs::write(folder.join("development.pem"), "nonsense").unwrap();
        development(&folder, &names, now).unwrap();
        #[cfg(unix)]
        {
            let mode = std::os::unix::fs::MetadataExt::mode(
                &fs::metadata(folder.join("development.pem")).unwrap(),
            );
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[test]
    fn what_is_no_certificate_or_key_is_named_with_what_to_do() {
        let around = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let file = around.path().join(name);
            fs::write(&file, text).unwrap();
            file
        };
        let made = make(&["localhost".to_owned()], 1_800_000_000).unwrap();
        let both = file("both.pem", &made);
        let (certificate, key) = made.split_at(made.find("-----BEGIN PRIVATE").unwrap());
        let (certificate, key) = (file("certificate.pem", certificate), file("key.pem", key));
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
