//! From bytes to text: the encodings that XML documents come in (XML 1.0, appendix F).

use std::borrow::Cow;

use airlane_base::InputError;

use super::xml::shortened;

/// Bytes in which a declaration is looked for.
const DECLARATION_BYTES: usize = 200;

/// The characters that Windows-1252 has at 0x80 to 0x9f, where ISO 8859-1 has controls. What is not
/// assigned stays a control, as browsers have it.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// The text of a document in UTF-8, UTF-16 of either order, US-ASCII, ISO 8859-1 or Windows-1252: by
/// its byte-order mark, else by its declaration, else UTF-8.
///
/// # Errors
/// Another encoding, by its name, and bytes that are none of the encoding.
pub fn decode(bytes: &[u8]) -> Result<Cow<'_, str>, InputError> {
    let expected = "expected a manifest in UTF-8, UTF-16 or ISO 8859-1";
    let wrong = |found: &str| InputError::new(found, expected);
    match bytes {
        [0, 0, 0xfe, 0xff, ..] | [0xff, 0xfe, 0, 0, ..] => return Err(wrong("text in UTF-32")),
        [0xef, 0xbb, 0xbf, rest @ ..] => return utf8(rest),
        [0xff, 0xfe, rest @ ..] => return utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => return utf16(rest, u16::from_be_bytes),
        [b'<', 0, ..] => return utf16(bytes, u16::from_le_bytes),
        [0, b'<', ..] => return utf16(bytes, u16::from_be_bytes),
        _ => {}
    }
    let Some(name) = declared(bytes) else { return utf8(bytes) };
    match name.to_ascii_lowercase().as_str() {
        // A document that says UTF-16 in single bytes has been converted without its declaration.
        "utf-8" | "utf8" | "us-ascii" | "ascii" | "utf-16" => utf8(bytes),
        "iso-8859-1" | "iso8859-1" | "iso_8859-1" | "latin1" | "latin-1" | "l1"
        | "windows-1252" | "cp1252" => Ok(Cow::Owned(bytes.iter().map(|b| western(*b)).collect())),
        _ => Err(wrong(&format!("the encoding {:?}", shortened(&name))).at_line(1)),
    }
}

/// The encoding that the declaration of a document names.
fn declared(bytes: &[u8]) -> Option<String> {
    let head = &bytes[..bytes.len().min(DECLARATION_BYTES)];
    let end = head.windows(2).position(|w| w == b"?>")?;
    let declaration = std::str::from_utf8(&head[..end]).ok()?.trim_start();
    let (_, value) = declaration.strip_prefix("<?xml")?.split_once("encoding")?;
    let value = value.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|c| ['"', '\''].contains(c))?;
    Some(value[1..].split_once(quote)?.0.to_owned())
}

fn utf8(bytes: &[u8]) -> Result<Cow<'_, str>, InputError> {
    std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|e| {
        let line = bytes[..e.valid_up_to()].iter().filter(|b| **b == b'\n').count() + 1;
        let expected = "expected a manifest in UTF-8, or a declaration of its encoding";
        InputError::new("bytes that are no UTF-8", expected).at_line(line)
    })
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<Cow<'_, str>, InputError> {
    let (units, []) = bytes.as_chunks() else {
        return Err(InputError::new("half a character of UTF-16", "expected a whole manifest"));
    };
    let mut text = String::with_capacity(units.len());
    for char in char::decode_utf16(units.iter().map(|u| unit(*u))) {
        text.push(char.map_err(|_| {
            let line = text.matches('\n').count() + 1;
            InputError::new("bytes that are no UTF-16", "expected a manifest").at_line(line)
        })?);
    }
    Ok(Cow::Owned(text))
}

fn western(byte: u8) -> char {
    match byte {
        0x80..=0x9f => WINDOWS_1252[usize::from(byte) - 0x80],
        other => char::from(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(text: &str, bytes: fn(u16) -> [u8; 2], mark: bool) -> Vec<u8> {
        let mark = mark.then_some(0xfeff);
        mark.into_iter().chain(text.encode_utf16()).flat_map(bytes).collect()
    }

    #[test]
    fn marks_and_declarations_are_followed() {
        let text = "<?xml version='1.0' encoding='utf-16'?>\n<MPD a=\"Кот 🎬\"/>";
        for mark in [false, true] {
            for bytes in [u16::to_le_bytes, u16::to_be_bytes] {
                assert_eq!(decode(&encoded(text, bytes, mark)).unwrap(), text);
            }
        }
        let marked = [b"\xef\xbb\xbf", text.as_bytes()].concat();
        assert_eq!(decode(&marked).unwrap(), text);
        let latin =
            b"<?xml version=\"1.0\" encoding = \"ISO-8859-1\" ?><MPD a=\"d\xe9j\xe0 \x80\"/>";
        assert!(decode(latin).unwrap().ends_with("<MPD a=\"déjà €\"/>"));
        assert_eq!(decode(b"").unwrap(), "");
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        for (bytes, message) in [
            (&b"<?xml version=\"1.0\" encoding=\"KOI8-R\"?><MPD/>"[..], "the encoding \"KOI8-R\""),
            (b"<MPD>\n\xe9</MPD>", "line 2: bytes that are no UTF-8"),
            (b"\xff\xfe<\0M", "half a character of UTF-16"),
            (b"\xff\xfe<\0\0\xd8<\0", "line 1: bytes that are no UTF-16"),
            (b"\xff\xfe\0\0<\0\0\0", "text in UTF-32"),
        ] {
            let found = decode(bytes).unwrap_err().to_string();
            assert!(found.contains(message), "{message}\n{found}");
        }
    }

    proptest! {
        #[test]
        fn text_is_read_as_it_was_written(text in "<\\PC{0,30}") {
            for bytes in [u16::to_le_bytes, u16::to_be_bytes] {
                let bytes = encoded(&text, bytes, true);
                prop_assert_eq!(decode(&bytes).unwrap(), text.as_str());
            }
            prop_assert_eq!(decode(text.as_bytes()).unwrap(), text.as_str());
        }

        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = decode(&bytes);
            let _ = decode(&[b"<?xml encoding=\"latin1\"?>", &bytes[..]].concat());
        }
    }
}
