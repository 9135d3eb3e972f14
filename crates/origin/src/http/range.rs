//! Byte ranges of requests (RFC 9110, section 14).

#[derive(Debug, PartialEq, Eq)]
pub(super) enum ByteRange {
    /// Not understood, or several ranges: the whole is a right answer (RFC 9110, section 14.2).
    Ignored,
    Part(std::ops::Range<u64>),
    Unsatisfiable,
}

/// One range of a `Range` field (RFC 9110, section 14.1.2) on a body of `len` bytes.
pub(super) fn byte_range(field: &str, len: u64) -> ByteRange {
    let Some((first, last)) = field.strip_prefix("bytes=").and_then(|r| r.trim().split_once('-'))
    else {
        return ByteRange::Ignored;
    };
    let number = |s: &str| s.bytes().all(|b| b.is_ascii_digit()).then(|| s.parse::<u64>().ok());
    match (first, last) {
        ("", suffix) => match number(suffix).flatten() {
            Some(0) => ByteRange::Unsatisfiable,
            // All of nothing: no Content-Range could say so.
            Some(_) if len == 0 => ByteRange::Ignored,
            Some(n) => ByteRange::Part(len.saturating_sub(n)..len),
            None => ByteRange::Ignored,
        },
        (first, last) => {
            let (Some(Some(first)), Some(last)) = (number(first), number(last)) else {
                return ByteRange::Ignored;
            };
            // An empty end parses as nothing: up to the last byte.
            let last = if field.ends_with('-') { Some(u64::MAX) } else { last };
            match last {
                Some(last) if last < first => ByteRange::Ignored,
                _ if first >= len => ByteRange::Unsatisfiable,
                Some(last) => ByteRange::Part(first..last.saturating_add(1).min(len)),
                None => ByteRange::Ignored,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_rfc_9110() {
        let part = |r| ByteRange::Part(r);
        for (field, want) in [
            ("bytes=0-499", part(0..500)),
            ("bytes=500-", part(500..1000)),
            ("bytes=-300", part(700..1000)),
            ("bytes=-3000", part(0..1000)),
            ("bytes=990-2000", part(990..1000)),
            ("bytes=1000-", ByteRange::Unsatisfiable),
            ("bytes=-0", ByteRange::Unsatisfiable),
            ("bytes=5-4", ByteRange::Ignored),
            ("bytes=0-1,5-6", ByteRange::Ignored),
            ("bytes=x-1", ByteRange::Ignored),
            ("lines=0-1", ByteRange::Ignored),
            ("bytes=99999999999999999999-", ByteRange::Ignored),
        ] {
            assert_eq!(byte_range(field, 1000), want, "{field}");
        }
        assert_eq!(byte_range("bytes=-5", 0), ByteRange::Ignored, "an empty object has no part");
        assert_eq!(byte_range("bytes=0-", 0), ByteRange::Unsatisfiable);
    }
}
