//! Tokens of sessions: what a player shows to go on with its session on another connection, and to
//! read it.
//!
//! A token is the number of the session and its signature (HMAC-SHA-256, RFC 2104), so that nothing has
//! to be kept of it, and numbers that are guessed are of no use.

use std::fmt;

use ring::hmac;

/// Bytes of the signature that a token has: 2^128 guesses.
const SIGNATURE_BYTES: usize = 16;

/// Makes tokens, and reads them.
pub(super) struct Tokens(hmac::Key);

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens").finish_non_exhaustive()
    }
}

impl Tokens {
    pub(super) fn new(secret: &[u8; 32]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, secret))
    }

    /// The token of a session.
    pub(super) fn token(&self, session: u64) -> String {
        let signature = hmac::sign(&self.0, &session.to_be_bytes());
        let hex = |b: &u8| format!("{b:02x}");
        let signature: String = signature.as_ref()[..SIGNATURE_BYTES].iter().map(hex).collect();
        format!("{session:x}.{signature}")
    }

    /// The session of a token; `None` if it is forged.
    pub(super) fn session(&self, token: &str) -> Option<u64> {
        let (session, _) = token.split_once('.')?;
        let session = u64::from_str_radix(session, 16).ok()?;
        // In a time that does not tell how much of it is right.
        let due = self.token(session);
        (due.len() == token.len()
            && due.bytes().zip(token.bytes()).fold(0, |wrong, (a, b)| wrong | (a ^ b)) == 0)
            .then_some(session)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_name_their_sessions_and_cannot_be_made_up() {
        let (tokens, others) = (Tokens::new(&[1; 32]), Tokens::new(&[2; 32]));
        for session in [0, 1, 255, u64::MAX] {
            let token = tokens.token(session);
            assert_eq!(tokens.session(&token), Some(session));
            assert_eq!(others.session(&token), None);
            let (_, signature) = token.split_once('.').unwrap();
            for forged in [
                format!("{:x}.{signature}", session ^ 1),
                format!("0{session:x}.{signature}"),
                format!("+{session:x}.{signature}"),
                format!("{token}0"),
                token[..token.len() - 1].to_owned(),
                String::new(),
                ".".to_owned(),
            ] {
                assert_eq!(tokens.session(&forged), None, "{forged}");
            }
        }
    }
}
