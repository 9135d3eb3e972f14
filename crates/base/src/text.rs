//! Text of files that people and programs made: what its bytes are, whatever an editor put in front of it.

use std::borrow::Cow;

/// The text of a file in UTF-8, with a byte-order mark or without, or in UTF-16 with one (RFC 3629, section
/// 6; Unicode, section 23.8). The mark is left out.
///
/// # Errors
/// The line, from 1, on which there are bytes that are no text.
pub fn decode(bytes: &[u8]) -> Result<Cow<'_, str>, usize> {
    let utf16 = |order: fn([u8; 2]) -> u16| {
        let units = bytes[2..].chunks(2).map(|pair| match *pair {
            [a, b] => order([a, b]),
            // Half a character: one that is none, so that it is found.
            _ => 0xd800,
        });
        let mut text = String::with_capacity(bytes.len() / 2);
        for character in char::decode_utf16(units) {
            match character {
                Ok(character) => text.push(character),
                Err(_) => return Err(1 + text.matches('\n').count()),
            }
        }
        Ok(Cow::Owned(text))
    };
    match bytes {
        [0xff, 0xfe, ..] => utf16(u16::from_le_bytes),
        [0xfe, 0xff, ..] => utf16(u16::from_be_bytes),
        _ => {
            let plain = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
            std::str::from_utf8(plain).map(Cow::Borrowed).map_err(|error| {
                1 + plain[..error.valid_up_to()].iter().filter(|b| **b == b'\n').count()
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_left_out_and_what_is_no_text_names_its_line() {
        assert_eq!(decode(b"a\nb").as_deref(), Ok("a\nb"));
        assert_eq!(decode(b"\xef\xbb\xbfa\nb").as_deref(), Ok("a\nb"));
        let wide = |order: fn(u16) -> [u8; 2], mark: [u8; 2]| {
            let units = "a\n\u{434}\u{1f600}".encode_utf16().flat_map(order);
            mark.into_iter().chain(units).collect::<Vec<u8>>()
        };
        for bytes in [wide(u16::to_le_bytes, [0xff, 0xfe]), wide(u16::to_be_bytes, [0xfe, 0xff])] {
            assert_eq!(decode(&bytes).as_deref(), Ok("a\n\u{434}\u{1f600}"));
            assert_eq!(decode(&bytes[..bytes.len() - 1]), Err(2));
        }
        assert_eq!(decode(b"\xef\xbb\xbfa\n\xff"), Err(2));
        assert_eq!(decode(b""), Ok(Cow::Borrowed("")));
    }
}
