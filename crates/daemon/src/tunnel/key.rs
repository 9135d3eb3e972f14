//! The key that both ends of a tunnel hold, and what comes from it.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use airlane_base::InputError;
use airlane_quic::{Identity, QuicError, Tls, Trust};
use ring::{hkdf, rand};

use super::knock::KnockKey;
use crate::private;

/// Bytes of a key.
const BYTES: usize = 32;
/// A key file is no longer than that.
const FILE_BYTES: u64 = 4096;
/// How the line of a key file begins, before the key in hexadecimal.
const LABEL: &str = "airlane-tunnel-key-1 ";
/// The name that the ends' certificates have.
pub(super) const NAME: &str = "tunnel.airlane";

const EXPECTED: &str = "expected one line that `airlane tunnel key FILE` wrote";

/// A key. It is never shown.
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
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut open = options.open(file).map_err(|e| match e.kind() {
            std::io::ErrorKind::AlreadyExists => {
                InputError::new("it is there already", "choose another name, or remove it first")
                    .at_file(file)
            }
            _ => InputError::io(file, "write the key", &e),
        })?;
        let hex: String = self.0.iter().map(|byte| format!("{byte:02x}")).collect();
        let written = writeln!(open, "{LABEL}{hex}").and_then(|()| open.sync_all());
        written.map_err(|e| InputError::io(file, "write the key", &e))
    }

    /// Reads it from a file.
    ///
    /// # Errors
    /// If the file cannot be read, holds no key, or may be read by others than its owner.
    pub fn read(file: &Path) -> Result<Self, InputError> {
        let wrong = |found: &str, expected: &str| InputError::new(found, expected).at_file(file);
        let text = String::from_utf8(private::read(file, FILE_BYTES)?);
        let text = text.map_err(|_| wrong("this is no key of a tunnel", EXPECTED))?;
        let digits = text.trim_end().strip_prefix(LABEL);
        let digits = digits.ok_or_else(|| wrong("this is no key of a tunnel", EXPECTED))?;
        let key = from_hex(digits).ok_or_else(|| wrong("a broken key", EXPECTED))?;
        Ok(Self(key))
    }

    /// What both ends derive from it for `purpose` (RFC 5869 with SHA-256).
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

    /// What a client must show before a server says a word.
    pub(super) fn knock(&self) -> KnockKey {
        KnockKey::new(&self.derive("knock"))
    }

    /// What a server shows, and what it asks of clients.
    pub(super) fn server_tls(&self) -> Result<Tls, QuicError> {
        self.tls("server identity", "client identity")
    }

    /// What a client shows, and what it asks of servers.
    pub(super) fn client_tls(&self) -> Result<Tls, QuicError> {
        self.tls("client identity", "server identity")
    }

    fn tls(&self, own: &str, other: &str) -> Result<Tls, QuicError> {
        let identity = |of| Identity::from_secret(&self.derive(of), &[NAME]);
        let other = identity(other)?.certificate().to_vec();
        Ok(Tls { identity: Some(identity(own)?.shown()?), trust: Trust::Mutual(other) })
    }
}

/// Random bytes of the operating system.
pub(super) fn random<const N: usize>() -> Result<[u8; N], InputError> {
    let mut bytes = [0; N];
    rand::SecureRandom::fill(&rand::SystemRandom::new(), &mut bytes)
        .map_err(|_| InputError::new("the system has no randomness", ""))?;
    Ok(bytes)
}

fn from_hex(digits: &str) -> Option<[u8; BYTES]> {
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
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            options.open(&file).unwrap().write_all(text.as_bytes()).unwrap();
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
        let certificate = |key: &Key| {
            let secret = key.derive("server identity");
            Identity::from_secret(&secret, &[NAME]).unwrap().certificate().to_vec()
        };
        assert_eq!(certificate(&one), certificate(&one));
        assert_ne!(certificate(&one), certificate(&other));
    }
}
