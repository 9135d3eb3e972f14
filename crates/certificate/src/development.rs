//! The certificate for development: self-signed with an ECDSA P-256 key, good for 13 days, as
//! browsers ask of certificates that they are told to trust by hash (WebTransport's
//! `serverCertificateHashes`: at most 14). It is kept in the user's data folder, so that a browser
//! that was told of it goes on trusting it.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use airlane_base::InputError;
use airlane_quic::Identity;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as STANDARD;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, PKCS_ECDSA_P256_SHA256};
use ring::digest;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::CertificateError;
use airlane_host::secret_file;

/// Lifetime of a development certificate, in days.
const DAYS: u64 = 13;
/// It is made anew when fewer days are left.
const RENEW_DAYS: u64 = 3;
const DAY_S: u64 = 86_400;
/// The file that it is kept in, with its key.
const FILE: &str = "development.pem";
/// Such a file is no longer than that.
const FILE_BYTES: u64 = 1 << 20;

/// A certificate for development, as its user has to know it.
#[derive(Clone, Debug)]
pub struct Development {
    /// File in which it is kept; `None`: it is made anew by each process.
    pub file: Option<PathBuf>,
    /// SHA-256 of its public key (SubjectPublicKeyInfo), in base64: what Chromium's flag
    /// `--ignore-certificate-errors-spki-list` takes.
    pub spki_sha256: String,
    /// SHA-256 of the certificate, in hexadecimal: what WebTransport's `serverCertificateHashes`
    /// and `openssl x509 -fingerprint` name.
    pub sha256: String,
    /// Until when it is good, seconds since 1970.
    pub until_s: u64,
}

impl Development {
    /// True if the certificate is to be replaced.
    pub(super) fn is_due(&self, now_s: u64) -> bool {
        is_due(self.until_s, now_s)
    }
}

fn is_due(until_s: u64, now_s: u64) -> bool {
    until_s <= now_s.saturating_add(RENEW_DAYS * DAY_S)
}

/// The development certificate for these names and addresses: the one that is kept in `folder`, if
/// it is for them, will be good for a while after `now_s`, seconds since 1970, and nobody else could
/// read its key; else a new one. Without a folder it is a new one that is kept nowhere.
///
/// # Errors
/// If the folder cannot be written, or is another user's.
pub fn development(
    folder: Option<&Path>,
    names: &[String],
    now_s: u64,
) -> Result<(Identity, Development), CertificateError> {
    let broken = || InputError::new("a certificate was made that cannot be read", "").into();
    let Some(folder) = folder else {
        return of_text(&make(names, now_s)?, None).ok_or_else(broken);
    };
    secret_file::make_folder(folder)?;
    let file = folder.join(FILE);
    let kept = secret_file::kept(&file, FILE_BYTES).and_then(|bytes| String::from_utf8(bytes).ok());
    let kept = kept.filter(|text| fits(text, names, now_s));
    if let Some(found) = kept.and_then(|text| of_text(&text, Some(&file))) {
        return Ok(found);
    }
    let text = make(names, now_s)?;
    secret_file::write(folder, FILE, text.as_bytes())?;
    of_text(&text, Some(&file)).ok_or_else(broken)
}

/// The line in front of the PEM blocks: for whom it is, and until when.
fn header(names: &[String], until_s: u64) -> String {
    format!("Airlane development certificate, good until {until_s}, for {}", names.join(" "))
}

/// Until when the certificate of a file is good.
fn until(text: &str) -> Option<u64> {
    text.lines().next()?.split("good until ").nth(1)?.split(',').next()?.parse().ok()
}

/// True if the kept certificate is for these names and good for a while.
fn fits(text: &str, names: &[String], now_s: u64) -> bool {
    let Some(until_s) = until(text) else { return false };
    !is_due(until_s, now_s)
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

/// Certificate in a file's text.
fn of_text(text: &str, file: Option<&Path>) -> Option<(Identity, Development)> {
    let certificate = CertificateDer::from_pem_slice(text.as_bytes()).ok()?;
    let key = PrivateKeyDer::from_pem_slice(text.as_bytes()).ok()?;
    let key = KeyPair::try_from(&key).ok()?;
    let spki = rcgen::PublicKeyData::subject_public_key_info(&key);
    let spki_sha256 = STANDARD.encode(digest::digest(&digest::SHA256, &spki));
    let hash = digest::digest(&digest::SHA256, &certificate);
    let sha256 = hash.as_ref().iter().map(|b| format!("{b:02x}")).collect();
    let identity = Identity::from_der(vec![certificate.to_vec()], key.serialize_der()).ok()?;
    let (file, until_s) = (file.map(Path::to_owned), until(text)?);
    Some((identity, Development { file, spki_sha256, sha256, until_s }))
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
    use std::fs;

    use super::*;

    #[test]
    fn a_development_certificate_is_kept_while_it_is_good() {
        let around = tempfile::tempdir().unwrap();
        let folder = around.path().join("made");
        let development = |names, now_s| development(Some(&folder), names, now_s).unwrap().1;
        let names = names("box", &["10.0.0.1".parse().unwrap()]);
        let now = 1_800_000_000;
        let first = development(&names, now);
        let again = development(&names, now + 9 * DAY_S);
        assert_eq!(first.sha256, again.sha256);
        let late = development(&names, now + 11 * DAY_S);
        assert_ne!(first.sha256, late.sha256, "two days are too few");
        let other = development(&names[..2], now + 11 * DAY_S);
        assert_ne!(late.spki_sha256, other.spki_sha256, "other names");
        fs::write(folder.join(FILE), "nonsense").unwrap();
        let last = development(&names, now);
        assert_eq!(last.file, Some(folder.join(FILE)));
    }

    #[test]
    fn without_a_folder_it_is_kept_nowhere() {
        let made = || development(None, &["localhost".to_owned()], 0).unwrap().1;
        let first = made();
        assert_eq!(first.file, None);
        assert_ne!(first.sha256, made().sha256);
    }

    #[cfg(unix)]
    #[test]
    fn a_key_that_others_could_read_is_not_used() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        let around = tempfile::tempdir().unwrap();
        let folder = around.path().join("data");
        let development = || development(Some(&folder), &["localhost".to_owned()], 0);
        let mode = |file: &Path| fs::metadata(file).unwrap().mode() & 0o777;
        let open = |file: &Path, mode| {
            fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
        };
        let file = folder.join(FILE);
        let first = development().unwrap().1;
        assert_eq!((mode(&folder), mode(&file)), (0o700, 0o600));
        open(&folder, 0o755);
        let second = development().unwrap().1;
        assert_eq!((mode(&folder), second.sha256 == first.sha256), (0o700, true));
        open(&file, 0o644);
        let third = development().unwrap().1;
        assert_eq!((mode(&file), third.sha256 == first.sha256), (0o600, false));
        fs::remove_dir_all(&folder).unwrap();
        fs::write(&folder, "a file").unwrap();
        let refused = development().unwrap_err().to_string();
        assert!(refused.ends_with("this is no folder; expected a folder"), "{refused}");
    }
}
