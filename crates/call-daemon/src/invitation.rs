//! Invitations to rooms: links that a key has signed.
//!
//! A token is `EXPIRY.SIGNATURE`: the time until which it is good, in seconds since 1970, and HMAC-SHA-256 over it and
//! the room's name, in base64url. It comes as the argument `token` of the link, or as a bearer token (RFC 6750,
//! section 2.1), as WHIP and WHEP have it.

use airlane_host::HmacKey;

use crate::names::RoomName;

/// Prefix of all that is signed: a key that also signs other things signs nothing alike.
const LABEL: &str = "airlane room 1";

/// Token that lets its bearer into a room until a time, in seconds since 1970.
pub fn invitation(key: &HmacKey, room: &RoomName, until_s: u64) -> String {
    format!("{until_s}.{}", key.sign(&message(room, until_s)))
}

/// True if a token lets its bearer into a room at a time, in seconds since 1970.
pub(crate) fn is_invited(key: &HmacKey, room: &RoomName, token: &str, now_s: u64) -> bool {
    let Some((until, signature)) = token.split_once('.') else { return false };
    // One way to write it, as there is one signature.
    let until_s = until.parse().ok().filter(|s: &u64| s.to_string() == until);
    until_s.is_some_and(|until_s| {
        now_s < until_s && key.is_signature(&message(room, until_s), signature)
    })
}

fn message(room: &RoomName, until_s: u64) -> String {
    format!("{LABEL}\n{until_s}\n{room}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn room(name: &str) -> RoomName {
        name.parse().unwrap()
    }

    #[test]
    fn an_invitation_is_for_its_room_and_time() {
        let key = HmacKey::new(&[1; 32]);
        let token = invitation(&key, &room("team"), 1000);
        assert!(is_invited(&key, &room("team"), &token, 999));
        assert!(!is_invited(&key, &room("team"), &token, 1000));
        assert!(!is_invited(&key, &room("other"), &token, 0));
        assert!(!is_invited(&HmacKey::new(&[2; 32]), &room("team"), &token, 0));
        for forged in [
            token.replacen("1000", "2000", 1),
            token.replacen("1000", "+1000", 1),
            token.replacen("1000", "01000", 1),
            format!("{token}A"),
            token[..token.len() - 1].to_owned(),
            "1000.".to_owned(),
            ".".to_owned(),
            String::new(),
        ] {
            assert!(!is_invited(&key, &room("team"), &forged, 0), "{forged}");
        }
    }

    proptest! {
        #[test]
        fn no_other_text_is_an_invitation(token in "[0-9]{0,6}[.]?[a-zA-Z0-9_-]{0,50}") {
            prop_assert!(!is_invited(&HmacKey::new(&[1; 32]), &room("team"), &token, 0));
        }
    }
}
