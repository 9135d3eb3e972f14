//! Names of titles: letters and digits of any script, as they become parts of paths and URLs.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Bytes of a name at most: file systems take 255, of which endings need some.
const MAX_BYTES: usize = 200;

/// Rule for names, for messages.
pub const EXPECTED: &str = "letters and digits of any script, '.', '_' and '-', at most 200 bytes: it becomes part of URLs and paths";

/// True if a title may have this name.
pub fn is_name(text: &str) -> bool {
    let is_sound = !text.is_empty() && text.len() <= MAX_BYTES && text.chars().all(is_plain);
    is_sound && text != "." && text != ".."
}

/// A text as a name: what no name has becomes `_`.
pub fn named(text: &str) -> String {
    let mut name = String::new();
    for character in text.chars().map(|c| if is_plain(c) { c } else { '_' }) {
        if name.len() + character.len_utf8() > MAX_BYTES {
            break;
        }
        name.push(character);
    }
    if is_name(&name) { name } else { "title".to_owned() }
}

/// A name as a part of a URL's path (RFC 3986, section 2.1); slashes stay.
pub fn in_url(name: &str) -> Cow<'_, str> {
    let is_unreserved = |b: u8| b.is_ascii_alphanumeric() || b"._-~/".contains(&b);
    if name.bytes().all(is_unreserved) {
        return Cow::Borrowed(name);
    }
    let mut out = String::with_capacity(3 * name.len());
    for byte in name.bytes() {
        match is_unreserved(byte) {
            true => out.push(char::from(byte)),
            false => write!(out, "%{byte:02X}").expect("a String takes it"),
        }
    }
    Cow::Owned(out)
}

/// Letters, digits and marks of any script; no blanks, no controls, nothing that is not seen.
fn is_plain(c: char) -> bool {
    let is_unseen = matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff0}'..='\u{ffff}'
        | '\u{e000}'..='\u{f8ff}' | '\u{e0000}'..='\u{10ffff}');
    match c.is_ascii() {
        true => c.is_ascii_alphanumeric() || "._-".contains(c),
        false => !c.is_control() && !c.is_whitespace() && !is_unseen,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_any_script_are_kept_and_what_is_no_name_is_not() {
        for name in ["a.b_c-1", "дом", "кот", "映画", "फ़िल्म", "Übung", "สวัสดี", "..."]
        {
            assert!(is_name(name) && named(name) == name, "{name}");
        }
        let long = "я".repeat(150);
        let hidden = "a\u{202e}b";
        for none in
            ["", ".", "..", "a/b", "a b", "a\nb", "a\\b", "a:b", "a\u{3000}b", hidden, &long]
        {
            assert!(!is_name(none) && is_name(&named(none)), "{none}");
        }
        assert_eq!(named("my film"), "my_film");
        assert_eq!(named(".."), "title");
        assert_eq!(in_url("a/b-1"), "a/b-1");
        assert_eq!(in_url("дом"), "%D0%B4%D0%BE%D0%BC");
    }
}
