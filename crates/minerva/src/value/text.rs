//! Bytes as text for a header or a query: base64url without padding (RFC 4648, section 5).

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The text of `bytes`.
pub(super) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let word =
            group.iter().enumerate().fold(0_u32, |w, (i, b)| w | u32::from(*b) << (16 - 8 * i));
        for i in 0..=group.len() {
            text.push(char::from(ALPHABET[(word >> (18 - 6 * i) & 63) as usize]));
        }
    }
    text
}

/// The bytes of `text`, `None` if it is not what [`encode`] writes: another character, an
/// impossible length, or bits behind the last byte.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 2);
    for group in text.as_bytes().chunks(4) {
        let mut word = 0_u32;
        for (i, c) in group.iter().enumerate() {
            let six = match c {
                b'A'..=b'Z' => c - b'A',
                b'a'..=b'z' => c - b'a' + 26,
                b'0'..=b'9' => c - b'0' + 52,
                b'-' => 62,
                b'_' => 63,
                _ => return None,
            };
            word |= u32::from(six) << (18 - 6 * i);
        }
        let held = group.len().checked_sub(1).filter(|n| *n > 0)?;
        let [_, all @ ..] = word.to_be_bytes();
        if all[held..].iter().any(|b| *b != 0) {
            return None;
        }
        bytes.extend_from_slice(&all[..held]);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vectors_of_the_rfc() {
        let cases = [
            ("", ""),
            ("f", "Zg"),
            ("fo", "Zm8"),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg"),
            ("fooba", "Zm9vYmE"),
            ("foobar", "Zm9vYmFy"),
        ];
        for (bytes, text) in cases {
            assert_eq!(encode(bytes.as_bytes()), text);
            assert_eq!(decode(text).unwrap(), bytes.as_bytes());
        }
        assert_eq!(encode(&[0xfb, 0xff]), "-_8");
        for wrong in ["Z", "Zg==", "Zh", "Zm9", "Z g", "Zm+v", "é"] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
    }
}
