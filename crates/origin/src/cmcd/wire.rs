//! The text forms of CMCD: lists of keys, quoted strings, inner lists, percent-encoding.

/// At most `max` bytes of `text`, cut at a character.
pub(super) fn clip(text: &str, max: usize) -> &str {
    let mut end = text.len().min(max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The items of a list, whose commas do not count within quotes.
pub(super) fn split_outside_quotes(text: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    let mut escaped = false;
    text.split(move |c| {
        if escaped {
            escaped = false;
            return false;
        }
        match c {
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ => {}
        }
        c == ',' && !quoted
    })
}

/// A string in quotes.
pub(super) fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
    out
}

/// Text between quotes; `None` without them.
pub(super) fn unquote(text: &str) -> Option<String> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    let mut out = String::new();
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        out.push(if c == '\\' { chars.next()? } else { c });
    }
    Some(out)
}

/// The text behind percent signs and, as forms have it, plus signs; percent signs that lead nowhere
/// stand for themselves.
pub(super) fn percent_decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        let hex = bytes
            .get(i + 1..i + 3)
            .and_then(|h| std::str::from_utf8(h).ok())
            .filter(|_| bytes[i] == b'%')
            .and_then(|h| u8::from_str_radix(h, 16).ok());
        match hex {
            Some(b) => {
                out.push(b);
                i += 3;
            }
            None => {
                // Players that build queries as forms write a space so; a plus sign is %2B in all.
                out.push(if bytes[i] == b'+' { b' ' } else { bytes[i] });
                i += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// A number, which in version 2 may stand in an inner list of one per type of object:
/// `(4000;v 128;a)`. That of the picture counts, or else the first.
pub(super) fn number(value: &str) -> Option<f64> {
    let finite = |text: &str| text.trim().parse::<f64>().ok().filter(|n| n.is_finite());
    let Some(inner) = value.strip_prefix('(') else { return finite(value) };
    let inner = inner.strip_suffix(')')?;
    let mut items = inner.split_ascii_whitespace().map(|item| {
        let mut parts = item.split(';');
        (parts.next().unwrap_or_default(), parts.any(|t| matches!(t.trim(), "v" | "av")))
    });
    let first = items.clone().next();
    let (text, _) = items.find(|(_, picture)| *picture).or(first)?;
    finite(text)
}
