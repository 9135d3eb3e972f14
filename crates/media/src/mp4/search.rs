//! Where in a file its index is, if nothing says so.

use crate::byte_range::ByteRange;

use super::boxes::header;

/// The result of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexSearch {
    /// The `sidx` box is there.
    Found(ByteRange),
    /// The next box begins there, beyond the bytes that were looked at.
    Beyond(u64),
    /// The media begin, or something that is no MP4.
    Nothing,
}

/// Looks for the `sidx` box before the media in a file. `bytes` are some of its bytes from `offset`
/// on, where a box begins.
pub fn find_index(bytes: &[u8], offset: u64) -> IndexSearch {
    let mut at = offset;
    loop {
        let rest = usize::try_from(at - offset).ok().and_then(|skip| bytes.get(skip..));
        let Some(rest) = rest else { return IndexSearch::Beyond(at) };
        let head = match header(rest) {
            Ok(Some(head)) => head,
            Ok(None) => return IndexSearch::Beyond(at),
            Err(_) => return IndexSearch::Nothing,
        };
        let Some(length) = head.bytes else { return IndexSearch::Nothing };
        match &head.kind {
            b"sidx" => return IndexSearch::Found(ByteRange { offset: at, length }),
            b"ftyp" | b"styp" | b"moov" | b"free" | b"skip" | b"uuid" | b"pssh" | b"prft"
            | b"emsg" | b"meta" | b"pdin" => {}
            _ => return IndexSearch::Nothing,
        }
        match at.checked_add(length).filter(|end| *end < 1 << 63) {
            Some(end) => at = end,
            None => return IndexSearch::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn boxed(kind: &[u8; 4], body: usize) -> Vec<u8> {
        let mut out = (8 + body as u32).to_be_bytes().to_vec();
        out.extend(kind);
        out.resize(8 + body, 0);
        out
    }

    #[test]
    fn the_index_is_found_before_the_media() {
        let file = [boxed(b"ftyp", 20), boxed(b"moov", 800), boxed(b"sidx", 60)].concat();
        let found = IndexSearch::Found(ByteRange { offset: 836, length: 68 });
        assert_eq!(find_index(&file, 0), found);
        assert_eq!(find_index(&file[..840], 0), IndexSearch::Beyond(836));
        assert_eq!(find_index(&file[..100], 0), IndexSearch::Beyond(836));
        assert_eq!(find_index(&file[836..], 836), found);
        let media = [boxed(b"ftyp", 20), boxed(b"moof", 8), boxed(b"sidx", 60)].concat();
        assert_eq!(find_index(&media, 0), IndexSearch::Nothing);
        assert_eq!(find_index(b"\x1a\x45\xdf\xa3 a film in WebM", 0), IndexSearch::Nothing);
        assert_eq!(find_index(b"", 7), IndexSearch::Beyond(7));
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..40), at: u32) {
            find_index(&bytes, u64::from(at));
        }
    }
}
