//! Secret of HMAC-SHA-256 (RFC 2104) in a file, for what a daemon signs and then recognises.

use std::fmt;
use std::path::Path;

use airlane_base::InputError;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use ring::hmac;

use crate::secret_file;

/// Bytes that a key has at least, and at most.
const MIN_BYTES: usize = 32;
const MAX_BYTES: u64 = 4096;

/// Secret that signs messages. It is never shown.
#[derive(Clone)]
pub struct HmacKey(hmac::Key);

impl fmt::Debug for HmacKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HmacKey(..)")
    }
}

impl HmacKey {
    /// Key of these bytes.
    pub fn new(bytes: &[u8]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, bytes))
    }

    /// Reads a key: all bytes of a file that its owner alone may read.
    ///
    /// # Errors
    /// If the file cannot be read, may be read by others, or is shorter than 32 bytes.
    pub fn read(file: &Path) -> Result<Self, InputError> {
        let bytes = secret_file::read(file, MAX_BYTES)?;
        if bytes.len() < MIN_BYTES {
            let found = format!("a key of {} bytes", bytes.len());
            let expected =
                format!("expected {MIN_BYTES} at least, such as of `openssl rand {MIN_BYTES}`");
            return Err(InputError::new(found, expected).at_file(file));
        }
        Ok(Self::new(&bytes))
    }

    /// Signature of a message in base64url (RFC 4648, section 5).
    pub fn sign(&self, message: &str) -> String {
        BASE64.encode(hmac::sign(&self.0, message.as_bytes()))
    }

    /// True if it is the signature of the message. How much of it is right does not show in the time that this takes.
    pub fn is_signature(&self, message: &str, signature: &str) -> bool {
        let signature = BASE64.decode(signature);
        signature.is_ok_and(|bytes| hmac::verify(&self.0, message.as_bytes(), &bytes).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_of_one_message_and_key() {
        let key = HmacKey::new(&[1; 32]);
        let signature = key.sign("a");
        assert!(key.is_signature("a", &signature));
        assert!(!key.is_signature("b", &signature) && !key.is_signature("a", ""));
        assert!(!key.is_signature("a", &signature[1..]) && !key.is_signature("a", "%"));
        assert!(!HmacKey::new(&[2; 32]).is_signature("a", &signature));
    }

    #[cfg(unix)]
    #[test]
    fn keys_are_long_and_their_owners_alone() {
        use std::os::unix::fs::PermissionsExt;
        let around = tempfile::tempdir().unwrap();
        let file = around.path().join("key");
        let write = |bytes: usize, mode| {
            std::fs::write(&file, vec![7; bytes]).unwrap();
            std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
            HmacKey::read(&file)
        };
        assert!(write(32, 0o600).is_ok() && write(4096, 0o400).is_ok());
        for (bytes, mode, said) in [
            (31, 0o600, "a key of 31 bytes; expected 32"),
            (32, 0o640, "chmod 600"),
            (5000, 0o600, "more than 4096 bytes"),
        ] {
            let e = write(bytes, mode).unwrap_err().to_string();
            assert!(e.contains(said), "{e}");
        }
    }
}
