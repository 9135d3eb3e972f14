//! TURN server of somebody else, for clients that cannot reach this server: which credentials they get.
//!
//! Credentials are made of a secret that both servers have, and are good for a time: the name of a user is the time
//! until which it is, in seconds since 1970, and its password HMAC-SHA-1 over the name (draft-uberti-behave-turn-rest,
//! section 2.2; `use-auth-secret` of coturn).

use std::path::{Path, PathBuf};
use std::str::FromStr;

use airlane_base::InputError;
use airlane_host::secret_file;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use ring::hmac;
use serde::Serialize;

/// Time for which credentials are good, in seconds.
const LIFETIME_S: u64 = 12 * 3600;
/// Bytes of a secret at most.
const MAX_SECRET_BYTES: u64 = 4096;

/// URI of a TURN server (RFC 7065), such as `turn:turn.example.org:3478?transport=tcp`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct TurnUri(String);

/// A text that is no URI of a TURN server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected the URI of a TURN server, such as turn:turn.example.org:3478 or turns:turn.example.org"
)]
pub struct InvalidTurnUri;

impl FromStr for TurnUri {
    type Err = InvalidTurnUri;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let rest = text.strip_prefix("turn:").or_else(|| text.strip_prefix("turns:"));
        let rest = rest.ok_or(InvalidTurnUri)?;
        let (host, transport) = rest.split_once('?').unwrap_or((rest, "transport=udp"));
        let is_transport = ["transport=udp", "transport=tcp"].contains(&transport);
        let is_host = |c: char| c.is_ascii_alphanumeric() || ".-:[]".contains(c);
        match is_transport && !host.is_empty() && host.chars().all(is_host) {
            true => Ok(Self(text.to_owned())),
            false => Err(InvalidTurnUri),
        }
    }
}

/// Settings of a TURN server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnConfig {
    /// URIs at which clients reach it.
    pub uris: Vec<TurnUri>,
    /// File of the secret that it shares with this server.
    pub secret: PathBuf,
}

/// Server of ICE with credentials, as RTCIceServer has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct IceServer {
    urls: Vec<TurnUri>,
    username: String,
    credential: String,
}

impl IceServer {
    /// Values of the field `Link` that tell a client of WHIP or WHEP (RFC 9725, section 4.6).
    pub(crate) fn links(&self) -> impl Iterator<Item = String> + '_ {
        let Self { urls, username, credential } = self;
        urls.iter().map(move |uri| {
            format!(
                "<{}>; rel=\"ice-server\"; username=\"{username}\"; credential=\"{credential}\"; \
                 credential-type=\"password\"",
                uri.0
            )
        })
    }
}

/// Maker of credentials.
#[derive(Clone)]
pub(crate) struct TurnCredentials {
    uris: Vec<TurnUri>,
    key: hmac::Key,
}

impl TurnCredentials {
    /// Reads the secret: the text of a file that its owner alone may read, without the end of its line.
    ///
    /// # Errors
    /// If the file cannot be read, may be read by others, or is empty.
    pub(crate) fn read(config: &TurnConfig) -> Result<Self, InputError> {
        let bytes = secret_file::read(&config.secret, MAX_SECRET_BYTES)?;
        Self::new(config.uris.clone(), bytes.trim_ascii(), &config.secret)
    }

    fn new(uris: Vec<TurnUri>, secret: &[u8], file: &Path) -> Result<Self, InputError> {
        if secret.is_empty() {
            let expected = "expected the static-auth-secret of the TURN server";
            return Err(InputError::new("an empty secret", expected).at_file(file));
        }
        Ok(Self { uris, key: hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, secret) })
    }

    /// Credentials that are good from now on, in seconds since 1970.
    pub(crate) fn ice_server(&self, now_s: u64) -> IceServer {
        let username = now_s.saturating_add(LIFETIME_S).to_string();
        let credential = BASE64.encode(hmac::sign(&self.key, username.as_bytes()));
        IceServer { urls: self.uris.clone(), username, credential }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_the_time_and_its_signature() {
        let uri: TurnUri = "turn:t.example:3478?transport=tcp".parse().unwrap();
        let turn = TurnCredentials::new(vec![uri], b"north", Path::new("secret")).unwrap();
        let server = turn.ice_server(1_433_895_918 - LIFETIME_S);
        // printf 1433895918 | openssl dgst -binary -sha1 -hmac north | base64
        assert_eq!(server.username, "1433895918");
        assert_eq!(server.credential, "3dkl8uIBelQlraT8v9eCSJTyt+U=");
        let link = server.links().next().unwrap();
        assert!(
            link.starts_with(
                "<turn:t.example:3478?transport=tcp>; rel=\"ice-server\"; username=\"1433895918\""
            ),
            "{link}"
        );
        assert!(TurnCredentials::new(Vec::new(), b"", Path::new("secret")).is_err());
    }

    #[test]
    fn uris_of_turn_servers_are_read() {
        for right in ["turn:a", "turns:a.example:5349", "turn:[2001:db8::1]:3478?transport=udp"] {
            assert!(right.parse::<TurnUri>().is_ok(), "{right}");
        }
        for wrong in
            ["", "turn:", "stun:a", "a:3478", "turn:a?transport=sctp", "turn:a b", "turn:a>;"]
        {
            assert_eq!(wrong.parse::<TurnUri>(), Err(InvalidTurnUri), "{wrong}");
        }
    }
}
