//! First-packet authorisation: the token that a client sends first, so that a server answers nothing to
//! unauthenticated peers.
//!
//! It is a message of fixed length that only a client can make, that is good for a few minutes, and
//! that a server takes once, also if it is started again meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use airlane_multipath::PeerId;
use parking_lot::Mutex;
use ring::{digest, hmac};

use super::admission::Admission;
use super::replay_log::{AcceptedToken, ReplayLog};

/// Bytes of a nonce.
pub(crate) const NONCE_BYTES: usize = 16;
/// Bytes of an authorisation token.
pub(crate) const TOKEN_BYTES: usize = SAID_BYTES + CODE_BYTES;
/// Bytes of nonce, channel and time.
const SAID_BYTES: usize = NONCE_BYTES + 1 + 8;
/// Bytes of the authentication code of who has the serving end's key.
const CODE_BYTES: usize = 32;
/// Bytes of a client's id.
const ID_BYTES: usize = 8;
/// Difference of both ends' clocks, milliseconds.
pub(crate) const MAX_SKEW_MS: u64 = 120_000;
/// Number of tokens of a client that are remembered: those of eight interfaces that connect four times a
/// second with two connections each, for as long as tokens are good.
const MAX_REMEMBERED: usize = 1 << 14;

/// A random number that no two subflows share.
pub(crate) type Nonce = [u8; NONCE_BYTES];

/// A client in an authorisation token: bytes of the digest of its public key.
pub(crate) type ClientId = [u8; ID_BYTES];

/// The id of the client with this public key.
pub(crate) fn client_id(peer: PeerId) -> ClientId {
    let digest = digest::digest(&digest::SHA256, &peer);
    std::array::from_fn(|i| digest.as_ref()[i])
}

/// The key that a token is authenticated with.
#[derive(Clone)]
pub(crate) struct TokenKey(hmac::Key);

/// The key that hides from observers which client a token is of. All clients know it.
#[derive(Clone)]
pub(crate) struct MaskKey(hmac::Key);

/// The content of an authorisation token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AuthToken {
    /// The nonce of the subflow that the connection belongs to.
    pub(crate) nonce: Nonce,
    /// The channel of the connection.
    pub(crate) channel: u8,
    /// The time at which it was made, milliseconds since 1970.
    pub(crate) time_ms: u64,
}

/// The reason for which a token is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TokenError {
    #[error("an unauthenticated peer: it does not know the key, or its key was revoked")]
    Unauthenticated,
    #[error(
        "a first packet of another time: the clocks of both ends are more than two minutes apart, or it was recorded"
    )]
    OtherTime,
    #[error("a first packet that came before")]
    Replayed,
    #[error("a first packet of before this serving end was started")]
    BeforeStart,
}

impl AuthToken {
    fn said(&self) -> [u8; SAID_BYTES] {
        let mut said = [0; SAID_BYTES];
        let (nonce, rest) = said.split_at_mut(NONCE_BYTES);
        nonce.copy_from_slice(&self.nonce);
        rest[0] = self.channel;
        rest[1..].copy_from_slice(&self.time_ms.to_be_bytes());
        said
    }

    fn of(said: &[u8]) -> Option<Self> {
        let (nonce, rest) = said.split_first_chunk::<NONCE_BYTES>()?;
        let (channel, time) = rest.split_first()?;
        let time_ms = u64::from_be_bytes(*time.first_chunk()?);
        Some(Self { nonce: *nonce, channel: *channel, time_ms })
    }
}

impl TokenKey {
    pub(crate) fn new(secret: &[u8; 32]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, secret))
    }

    /// Reads an authorisation token of who has the serving end's key.
    pub(crate) fn open(&self, bytes: &[u8]) -> Option<AuthToken> {
        let (said, code) = bytes.split_at_checked(SAID_BYTES)?;
        hmac::verify(&self.0, said, code).ok()?;
        AuthToken::of(said)
    }

    /// Reads an authorisation token of a client with this key of its own.
    pub(crate) fn open_as(&self, bytes: &[u8]) -> Option<AuthToken> {
        let (said, code) = bytes.split_at_checked(SAID_BYTES + ID_BYTES)?;
        let expected = hmac::sign(&self.0, said);
        let expected = expected.as_ref().get(..CODE_BYTES - ID_BYTES)?;
        // In a time that tells nothing of where they differ.
        let differ = expected.iter().zip(code).fold(0, |differ, (a, b)| differ | (a ^ b));
        (code.len() == expected.len() && std::hint::black_box(differ) == 0).then_some(())?;
        AuthToken::of(said)
    }
}

impl MaskKey {
    pub(crate) fn new(secret: &[u8; 32]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, secret))
    }

    /// Hides the id of a client, or shows a hidden one.
    fn mask(&self, said: &[u8], id: &ClientId) -> ClientId {
        let mask = hmac::sign(&self.0, said);
        std::array::from_fn(|i| id[i] ^ mask.as_ref()[i])
    }

    /// The client that an authorisation token claims to be of.
    pub(crate) fn unmask(&self, bytes: &[u8]) -> Option<ClientId> {
        let (said, rest) = bytes.split_at_checked(SAID_BYTES)?;
        Some(self.mask(said, rest.first_chunk()?))
    }
}

/// The signer of a client's tokens.
#[derive(Clone)]
pub(crate) enum TokenSigner {
    /// With the serving end's own key.
    Shared(TokenKey),
    /// With a key of the client's own.
    Client { id: ClientId, key: TokenKey, mask: MaskKey },
}

impl TokenSigner {
    /// The authorisation token as bytes.
    pub(crate) fn seal(&self, auth_token: &AuthToken) -> [u8; TOKEN_BYTES] {
        let said = auth_token.said();
        let mut out = [0; TOKEN_BYTES];
        out[..SAID_BYTES].copy_from_slice(&said);
        let (key, at) = match self {
            Self::Shared(key) => (key, SAID_BYTES),
            Self::Client { id, key, mask } => {
                let at = SAID_BYTES + ID_BYTES;
                out[SAID_BYTES..at].copy_from_slice(&mask.mask(&said, id));
                (key, at)
            }
        };
        let code = hmac::sign(&key.0, &out[..at]);
        out[at..].copy_from_slice(&code.as_ref()[..TOKEN_BYTES - at]);
        out
    }
}

/// The verifier of tokens at the server, with its replay filter.
pub(crate) struct TokenVerifier {
    admission: Arc<Admission>,
    taken: Mutex<AcceptedTokens>,
}

struct AcceptedTokens {
    /// Those that are still good.
    by_client: BTreeMap<ClientId, ClientTokens>,
    memory: ReplayMemory,
}

/// Tokens of a client that were taken.
#[derive(Default)]
struct ClientTokens {
    /// By their time.
    auth_tokens: BTreeSet<(u64, Nonce, u8)>,
    /// Those of this time and before it are not taken, as some are forgotten.
    refused_until_ms: u64,
}

/// The way in which a server knows of tokens that were accepted before it was started.
pub(crate) enum ReplayMemory {
    /// They are in files.
    Log(ReplayLog),
    /// Not at all: those made before it was started (milliseconds since 1970), or in the same
    /// millisecond, are refused.
    Since(u64),
}

impl ClientTokens {
    /// Remembers a token; returns whether it is new.
    fn insert(&mut self, auth_token: &AcceptedToken, now_ms: u64) -> bool {
        let good_from = now_ms.saturating_sub(MAX_SKEW_MS);
        while self.auth_tokens.first().is_some_and(|(time_ms, ..)| *time_ms < good_from) {
            self.auth_tokens.pop_first();
        }
        let is_new = auth_token.time_ms > self.refused_until_ms
            && self.auth_tokens.insert((auth_token.time_ms, auth_token.nonce, auth_token.channel));
        if self.auth_tokens.len() > MAX_REMEMBERED {
            self.forget_one(now_ms);
        }
        is_new
    }

    /// Forgets the one that is farthest from now, so that who has the right time is let in whatever
    /// others with the same key have sent.
    fn forget_one(&mut self, now_ms: u64) {
        let time = |of: Option<&(u64, Nonce, u8)>| of.map_or(now_ms, |(time_ms, ..)| *time_ms);
        let (first, last) = (time(self.auth_tokens.first()), time(self.auth_tokens.last()));
        if last.saturating_sub(now_ms) > now_ms.saturating_sub(first) {
            self.auth_tokens.pop_last();
        } else {
            self.auth_tokens.pop_first();
            self.refused_until_ms = self.refused_until_ms.max(first);
        }
    }
}

impl AcceptedTokens {
    fn remember(&mut self, auth_token: &AcceptedToken, now_ms: u64) -> bool {
        self.by_client.entry(auth_token.client).or_default().insert(auth_token, now_ms)
    }
}

impl TokenVerifier {
    pub(crate) fn new(admission: Arc<Admission>, memory: ReplayMemory) -> Self {
        Self { admission, taken: Mutex::new(AcceptedTokens { by_client: BTreeMap::new(), memory }) }
    }

    /// Accepts a token at `now_ms`, milliseconds since 1970; returns it with its client.
    pub(crate) fn take(
        &self,
        bytes: &[u8],
        now_ms: u64,
    ) -> Result<(AuthToken, PeerId), TokenError> {
        let (auth_token, peer) =
            self.admission.clients.identify(bytes).ok_or(TokenError::Unauthenticated)?;
        if auth_token.time_ms.abs_diff(now_ms) > MAX_SKEW_MS {
            return Err(TokenError::OtherTime);
        }
        let new = AcceptedToken {
            client: client_id(peer),
            time_ms: auth_token.time_ms,
            nonce: auth_token.nonce,
            channel: auth_token.channel,
        };
        let mut taken = self.taken.lock();
        match &mut taken.memory {
            ReplayMemory::Since(start_ms) if auth_token.time_ms <= *start_ms => {
                return Err(TokenError::BeforeStart);
            }
            ReplayMemory::Since(_) => {}
            // Another serving end with this key may have taken some.
            ReplayMemory::Log(log) => {
                for other in log.news(now_ms) {
                    taken.remember(&other, now_ms);
                }
            }
        }
        if !taken.remember(&new, now_ms) {
            return Err(TokenError::Replayed);
        }
        if let ReplayMemory::Log(log) = &mut taken.memory {
            log.append(&new, now_ms);
        }
        Ok((auth_token, peer))
    }
}

#[cfg(test)]
mod tests;
