//! The key of a tunnel's serving end, and what comes from it.
//!
//! It stays with the serving end. Clients have keys of their own ([`super::client_key`]). It may be
//! copied to clients too, as it had to be once: then each of them can pose as the serving end, and
//! all are one client to it.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use airlane_base::InputError;
use airlane_multipath::PeerId;
use airlane_quic::{Identity, QuicError, Tls, Trust};
use ring::signature::KeyPair;
use ring::{hkdf, rand, signature};

use super::auth_token::{MaskKey, TokenKey};
use airlane_host::secret_file;

/// Bytes of a key.
pub(crate) const BYTES: usize = 32;
/// A key file is no longer than that.
pub(crate) const FILE_BYTES: u64 = 4096;
/// Label of a key file, before the key in hexadecimal.
const LABEL: &str = "airlane-tunnel-key-1 ";
/// The name that the ends' certificates have.
pub(crate) const NAME: &str = "tunnel.airlane";

const EXPECTED: &str = "expected one line that `airlane tunnel key FILE` wrote";

/// A serving end's key. It is never shown.
#[derive(Clone)]
pub struct Key([u8; BYTES]);

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(..)")
    }
}

impl Key {
    /// A new key from the operating system's randomness.
    ///
    /// # Errors
    /// If the system has none.
    pub fn generate() -> Result<Self, InputError> {
        Ok(Self(random()?))
    }

    /// Writes it into a new file that its owner alone may read.
    ///
    /// # Errors
    /// If there is such a file already, or it cannot be written.
    pub fn write(&self, file: &Path) -> Result<(), InputError> {
        write_new(file, &format!("{LABEL}{}\n", to_hex(&self.0)))
    }

    /// Reads it from a file.
    ///
    /// # Errors
    /// If the file cannot be read, holds no key, or may be read by others than its owner.
    pub fn read(file: &Path) -> Result<Self, InputError> {
        let text = String::from_utf8(secret_file::read(file, FILE_BYTES)?);
        text.map_err(|_| no_key()).and_then(|text| Self::parse(&text)).map_err(|e| e.at_file(file))
    }

    /// Reads it from the text of a file.
    pub(crate) fn parse(text: &str) -> Result<Self, InputError> {
        if super::client_key::is_one(text) {
            let expected = "expected the serving end's own, which `airlane tunnel key FILE` wrote";
            return Err(InputError::new("this is a client's key", expected));
        }
        let digits = text.trim_end().strip_prefix(LABEL).ok_or_else(no_key)?;
        let key = from_hex(digits).ok_or_else(|| InputError::new("a broken key", EXPECTED))?;
        Ok(Self(key))
    }

    /// Key that is derived from it for `purpose` (RFC 5869 with SHA-256).
    fn derive(&self, purpose: &str) -> [u8; BYTES] {
        let salt = hkdf::Salt::new(hkdf::HKDF_SHA256, b"airlane tunnel 1");
        let extracted = salt.extract(&self.0);
        let mut derived = [0; BYTES];
        let info = [purpose.as_bytes()];
        // It fails for more than 255 blocks only.
        if let Ok(okm) = extracted.expand(&info, hkdf::HKDF_SHA256) {
            let _ = okm.fill(&mut derived);
        }
        derived
    }

    /// The secret part of the serving end's identity.
    pub(crate) fn server_identity(&self) -> [u8; BYTES] {
        self.derive("server identity")
    }

    /// The secret part of the identity of clients that have this key.
    pub(crate) fn shared_identity(&self) -> [u8; BYTES] {
        self.derive("client identity")
    }

    /// Key that authenticates first packets of clients that have this key.
    pub(crate) fn shared_token_key(&self) -> TokenKey {
        TokenKey::new(&self.derive("knock"))
    }

    /// Key that authenticates first packets of a client with a key of its own.
    pub(crate) fn client_token_key(&self, client: PeerId) -> [u8; BYTES] {
        self.derive(&format!("knock of client {}", to_hex(&client)))
    }

    /// Mask that hides which client a first packet is of.
    pub(crate) fn mask(&self) -> [u8; BYTES] {
        self.derive("mask of clients")
    }

    /// The same, to be used.
    pub(crate) fn mask_key(&self) -> MaskKey {
        MaskKey::new(&self.mask())
    }

    /// A name for files that belong to this key: nothing can be learnt of it from there.
    pub(crate) fn file_name(&self) -> String {
        to_hex(&self.derive("name of files")[..8])
    }

    /// TLS identity that a server shows; it asks for clients of `trust`.
    pub(crate) fn server_tls(&self, trust: Trust) -> Result<Tls, QuicError> {
        tls(&self.server_identity(), trust)
    }
}

/// TLS configuration of an end with this identity.
pub(crate) fn tls(identity: &[u8; BYTES], trust: Trust) -> Result<Tls, QuicError> {
    Ok(Tls { identity: Some(Identity::from_secret(identity, &[NAME])?.shown()?), trust })
}

/// The public key of an identity.
///
/// # Errors
/// Never: any 32 bytes are an Ed25519 key.
pub(crate) fn public(identity: &[u8; BYTES]) -> Result<PeerId, InputError> {
    let pair = signature::Ed25519KeyPair::from_seed_unchecked(identity);
    let key = pair.ok().and_then(|pair| pair.public_key().as_ref().try_into().ok());
    key.ok_or_else(no_key)
}

/// Writes a secret into a new file that its owner alone may read.
pub(crate) fn write_new(file: &Path, text: &str) -> Result<(), InputError> {
    let failed = |e: std::io::Error| match e.kind() {
        std::io::ErrorKind::AlreadyExists => {
            InputError::new("it is there already", "choose another name, or remove it first")
                .at_file(file)
        }
        _ => InputError::io(file, "write the key", &e),
    };
    let mut open = create_new(file).map_err(failed)?;
    open.write_all(text.as_bytes()).and_then(|()| open.sync_all()).map_err(failed)
}

fn create_new(file: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file)
}

fn no_key() -> InputError {
    InputError::new("this is no key of a tunnel", EXPECTED)
}

/// Random bytes of the operating system.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], InputError> {
    let mut bytes = [0; N];
    rand::SecureRandom::fill(&rand::SystemRandom::new(), &mut bytes)
        .map_err(|_| InputError::new("the system has no randomness", ""))?;
    Ok(bytes)
}

pub(crate) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn from_hex(digits: &str) -> Option<[u8; BYTES]> {
    if digits.len() != 2 * BYTES || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let mut bytes = [0; BYTES];
    for (byte, at) in bytes.iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(&digits[at..at + 2], 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_key_comes_back_from_its_file_which_is_its_owners_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key");
        let key = Key::generate().unwrap();
        key.write(&file).unwrap();
        assert_eq!(Key::read(&file).unwrap().0, key.0);
        let again = Key::generate().unwrap().write(&file).unwrap_err().to_string();
        assert!(again.contains("it is there already"), "{again}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::{MetadataExt, PermissionsExt};
            assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
            fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
            let open = Key::read(&file).unwrap_err().to_string();
            assert!(open.contains("chmod 600"), "{open}");
        }
    }

    #[test]
    fn what_is_no_key_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        for text in ["", "airlane-tunnel-key-1 ", "airlane-tunnel-key-1 00", &"0".repeat(64)] {
            let file = folder.path().join("key");
            let _ = fs::remove_file(&file);
            write_new(&file, text).unwrap();
            let said = Key::read(&file).unwrap_err().to_string();
            assert!(said.contains(EXPECTED), "{said}");
        }
    }

    #[test]
    fn what_is_derived_is_the_same_for_the_same_key_and_purpose_only() {
        let (one, other) = (Key([1; 32]), Key([2; 32]));
        assert_eq!(one.derive("a"), one.derive("a"));
        assert_ne!(one.derive("a"), one.derive("b"));
        assert_ne!(one.derive("a"), other.derive("a"));
        assert_ne!(one.client_token_key([1; 32]), one.client_token_key([2; 32]));
    }

    #[test]
    fn the_public_key_is_that_of_the_certificate() {
        let identity = Identity::from_secret(&[7; 32], &[NAME]).unwrap();
        let shown = airlane_quic::PublicKey::of_certificate(identity.certificate()).unwrap();
        assert_eq!(shown.as_ed25519(), Some(&public(&[7; 32]).unwrap()));
    }
}
