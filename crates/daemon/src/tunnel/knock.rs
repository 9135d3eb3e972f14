//! The knock: what a client shows first, so that a server need not say a word to strangers.
//!
//! It is a message of fixed length that only a holder of the key can make, that is good for a few
//! minutes, and that a server takes once.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use ring::hmac;

/// Bytes of a nonce.
pub(super) const NONCE_BYTES: usize = 16;
/// Bytes of a knock: nonce, channel, time, authentication code.
pub(super) const KNOCK_BYTES: usize = NONCE_BYTES + 1 + 8 + 32;
/// How far the clocks of both ends may be apart, milliseconds.
const SKEW_MS: u64 = 120_000;
/// Knocks that are remembered at most. Only holders of the key can make one.
const REMEMBERED: usize = 1 << 16;

/// A random number that no two lines share.
pub(super) type Nonce = [u8; NONCE_BYTES];

/// What a knock is authenticated with.
#[derive(Clone)]
pub(super) struct KnockKey(hmac::Key);

/// What a knock says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Knock {
    /// The line that the connection belongs to.
    pub(super) nonce: Nonce,
    /// Which of its connections it is.
    pub(super) channel: u8,
    /// When it was made, milliseconds since 1970.
    pub(super) time_ms: u64,
}

/// Why a knock is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refused {
    #[error("a stranger: it does not know the key")]
    Stranger,
    #[error(
        "a knock of another time: the clocks of both ends are more than two minutes apart, or it was recorded"
    )]
    OtherTime,
    #[error("a knock that came before")]
    Replayed,
    #[error("more knocks than are remembered")]
    Full,
}

impl KnockKey {
    pub(super) fn new(secret: &[u8; 32]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, secret))
    }

    /// The knock as bytes.
    pub(super) fn seal(&self, knock: &Knock) -> [u8; KNOCK_BYTES] {
        let mut out = [0; KNOCK_BYTES];
        let (said, code) = out.split_at_mut(KNOCK_BYTES - 32);
        said.copy_from_slice(
            &[&knock.nonce[..], &[knock.channel], &knock.time_ms.to_be_bytes()].concat(),
        );
        code.copy_from_slice(hmac::sign(&self.0, said).as_ref());
        out
    }

    fn open(&self, bytes: &[u8]) -> Option<Knock> {
        let (said, code) = bytes.split_at_checked(KNOCK_BYTES - 32)?;
        hmac::verify(&self.0, said, code).ok()?;
        let (nonce, rest) = said.split_first_chunk::<NONCE_BYTES>()?;
        let (channel, time) = rest.split_first()?;
        let time_ms = u64::from_be_bytes(time.try_into().ok()?);
        Some(Knock { nonce: *nonce, channel: *channel, time_ms })
    }
}

/// The server's side: which knocks are taken.
pub(super) struct Door {
    key: KnockKey,
    /// Knocks that were taken and are still good, by their time.
    taken: Mutex<BTreeSet<(u64, Nonce, u8)>>,
}

impl Door {
    pub(super) fn new(key: KnockKey) -> Self {
        Self { key, taken: Mutex::default() }
    }

    /// Takes a knock at `now_ms`, milliseconds since 1970.
    pub(super) fn take(&self, bytes: &[u8], now_ms: u64) -> Result<Knock, Refused> {
        let knock = self.key.open(bytes).ok_or(Refused::Stranger)?;
        if knock.time_ms.abs_diff(now_ms) > SKEW_MS {
            return Err(Refused::OtherTime);
        }
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let good_from = now_ms.saturating_sub(SKEW_MS);
        while taken.first().is_some_and(|(time_ms, ..)| *time_ms < good_from) {
            taken.pop_first();
        }
        if taken.len() >= REMEMBERED {
            return Err(Refused::Full);
        }
        match taken.insert((knock.time_ms, knock.nonce, knock.channel)) {
            true => Ok(knock),
            false => Err(Refused::Replayed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_800_000_000_000;

    fn key(byte: u8) -> KnockKey {
        KnockKey::new(&[byte; 32])
    }

    #[test]
    fn a_knock_is_taken_once_and_in_time_from_who_has_the_key() {
        let knock = Knock { nonce: [7; 16], channel: 1, time_ms: NOW };
        let bytes = key(1).seal(&knock);
        let door = Door::new(key(1));
        assert_eq!(door.take(&key(2).seal(&knock), NOW), Err(Refused::Stranger));
        assert_eq!(door.take(&bytes, NOW + SKEW_MS + 1), Err(Refused::OtherTime));
        assert_eq!(door.take(&bytes, NOW - SKEW_MS - 1), Err(Refused::OtherTime));
        assert_eq!(door.take(&bytes, NOW + SKEW_MS), Ok(knock));
        assert_eq!(door.take(&bytes, NOW + SKEW_MS), Err(Refused::Replayed));
        let other = Knock { channel: 0, ..knock };
        assert_eq!(door.take(&key(1).seal(&other), NOW), Ok(other));
    }

    #[test]
    fn any_change_makes_a_stranger() {
        let good = key(1).seal(&Knock { nonce: [7; 16], channel: 0, time_ms: NOW });
        let door = Door::new(key(1));
        for at in 0..KNOCK_BYTES {
            let mut bad = good;
            bad[at] ^= 1;
            assert_eq!(door.take(&bad, NOW), Err(Refused::Stranger), "byte {at}");
        }
        for length in [0, 10, KNOCK_BYTES - 1] {
            assert_eq!(door.take(&good[..length], NOW), Err(Refused::Stranger));
        }
        assert!(door.take(&good, NOW).is_ok());
    }

    #[test]
    fn what_is_remembered_is_bounded_by_time() {
        let door = Door::new(key(1));
        for i in 0..1000_u64 {
            let time_ms = NOW + i * 1000;
            let knock = Knock { nonce: [0; 16], channel: 0, time_ms };
            door.take(&key(1).seal(&knock), time_ms).unwrap();
        }
        let kept = door.taken.lock().unwrap().len() as u64;
        assert!(kept <= SKEW_MS / 1000 + 1, "{kept}");
    }

    #[test]
    fn a_knock_is_as_the_document_has_it() {
        let text = include_str!("../../../../docs/wire/tunnel.md");
        let vector = text.lines().find_map(|line| line.strip_prefix("Knock: `")).unwrap();
        let digits: String = vector.chars().filter(char::is_ascii_hexdigit).collect();
        let knock = Knock { nonce: std::array::from_fn(|i| i as u8), channel: 1, time_ms: NOW };
        let hex: String = key(1).seal(&knock).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, digits);
    }
}
