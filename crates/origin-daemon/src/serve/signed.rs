//! Signed addresses: files that only who was given a link may fetch, until it expires.
//!
//! A segment of the path, `/film/~EXPIRY.SIGNATURE/manifest.mpd`, allows everything below the
//! folder in front of it (`/film/`) until `EXPIRY`, in seconds since 1970. The signature is
//! HMAC-SHA-256 (RFC 2104) over that folder and the expiry, in base64url (RFC 4648, section 5).
//!
//! It is a segment and no argument of the query, since players find the chunks of a title by
//! addresses that are relative to its manifest: these keep the segments in front of them and lose
//! the query (RFC 3986, section 5.2). So a signed title plays in any player, and its manifest stays
//! as it is.

use std::borrow::Cow;
use std::path::Path;

use airlane_base::InputError;
use airlane_host::HmacKey;

use crate::files;

/// Prefix of all that is signed: a key that also signs other things signs nothing alike.
const LABEL: &str = "airlane signed address 1";

/// Secret that signs addresses.
#[derive(Clone, Debug)]
pub struct SignKey(HmacKey);

/// The address is not signed, its signature is wrong, or it has expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no valid signature")]
pub struct NotSigned;

impl SignKey {
    /// Reads the key: all bytes of a file that its owner alone may read.
    ///
    /// # Errors
    /// If the file cannot be read, may be read by others, or is shorter than 32 bytes.
    pub fn read(file: &Path) -> Result<Self, InputError> {
        HmacKey::read(file).map(Self)
    }

    /// The path of a URL with a signature that allows everything in its folder, which is the path up
    /// to its last slash, until `until_s`, seconds since 1970.
    ///
    /// # Errors
    /// If nothing could be served at the path.
    pub fn sign(&self, path: &str, until_s: u64) -> Result<String, InputError> {
        let end = path.rfind('/').map_or(0, |slash| slash + 1);
        let (folder, file) = path.split_at(end);
        let token = files::name_of(path).and_then(|_| self.token(folder, until_s));
        let token = token.ok_or_else(|| {
            InputError::new(
                format!("nothing can be served at {path:?}"),
                "expected the path of a URL, such as /film/ or /film/manifest.mpd",
            )
        })?;
        Ok(format!("{folder}{token}/{file}"))
    }

    /// The segment that allows everything below a folder.
    pub(super) fn token(&self, folder: &str, until_s: u64) -> Option<String> {
        Some(format!("~{until_s}.{}", self.0.sign(&message(folder, until_s)?)))
    }

    /// The path without the first signature in it.
    ///
    /// # Errors
    /// If it has none that is right and good after `now_s`, seconds since 1970.
    pub(super) fn verify(&self, path: &str, now_s: u64) -> Result<String, NotSigned> {
        let begin = path.find("/~").ok_or(NotSigned)? + 1;
        let (folder, rest) = path.split_at(begin);
        let (token, rest) = rest.split_once('/').ok_or(NotSigned)?;
        self.allows(token, folder, now_s).then(|| format!("{folder}{rest}")).ok_or(NotSigned)
    }

    /// True if a segment of a path (`token`) allows what is below a folder.
    pub(super) fn allows(&self, token: &str, folder: &str, now_s: u64) -> bool {
        let signed = || {
            let (until, signature) = token.strip_prefix('~')?.split_once('.')?;
            // One way to write it, as there is one signature.
            let until_s: u64 = until.parse().ok().filter(|s: &u64| s.to_string() == until)?;
            self.0.is_signature(&message(folder, until_s)?, signature).then_some(until_s)
        };
        signed().is_some_and(|until_s| now_s < until_s)
    }
}

/// Message that is signed: the same for every way to write the folder.
fn message(folder: &str, until_s: u64) -> Option<String> {
    let folder: Cow<'_, str> = files::percent_decode(folder)?;
    Some(format!("{LABEL}\n{until_s}\n{folder}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(byte: u8) -> SignKey {
        SignKey(HmacKey::new(&[byte; 32]))
    }

    #[test]
    fn a_signature_is_for_its_folder_and_time() {
        let key = key(1);
        let path = key.sign("/a%20film/manifest.mpd", 1000).unwrap();
        let token = path.split('/').nth(2).unwrap().to_owned();
        assert_eq!(path, format!("/a%20film/{token}/manifest.mpd"));
        assert_eq!(key.verify(&path, 999), Ok("/a%20film/manifest.mpd".to_owned()));
        assert_eq!(key.verify(&path, 1000), Err(NotSigned));
        for (allowed, at) in [
            (true, format!("/a%20film/{token}/v0/1.m4s")),
            (true, format!("/a%20fil%6d/{token}/")),
            (false, "/a%20film/manifest.mpd".to_owned()),
            (false, format!("/{token}/a%20film/manifest.mpd")),
            (false, format!("/other/{token}/manifest.mpd")),
            (false, format!("/a%20film/more/{token}/manifest.mpd")),
            (false, format!("/a%20film/{token}")),
            (false, format!("/a%20film/{}/x", token.replacen("~1000", "~2000", 1))),
            (false, format!("/a%20film/{}/x", token.replacen("~1000", "~+1000", 1))),
            (false, format!("/a%20film/{}/x", &token[..token.len() - 1])),
            (false, format!("/a%20film/{token}A/x")),
            (false, format!("/~/{token}/x")),
            (false, "/~.".to_owned()),
            (false, String::new()),
        ] {
            assert_eq!(key.verify(&at, 0).is_ok(), allowed, "{at}");
        }
        assert!(self::key(2).verify(&path, 0).is_err(), "another key");
        let all = key.sign("/", 1000).unwrap();
        assert_eq!(key.verify(&format!("{all}film/x"), 0), Ok("/film/x".to_owned()));
        for wrong in ["", "film/", "/../film/", "/.hidden/x", "/%zz/"] {
            assert!(key.sign(wrong, 1000).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn no_path_is_taken_without_a_signature(path in "(/|~|[0-9]|\\.|%2f|[a-zA-Z_-]){0,60}") {
            let path = format!("/{path}");
            prop_assert!(key(1).verify(&path, 0).is_err());
        }
    }
}
