//! Name of the session that a STUN request is for (RFC 8489, section 5; RFC 8445, section 7.2.2).

/// Bytes of the header.
const HEADER_BYTES: usize = 20;
/// Cookie after type and length.
const MAGIC_COOKIE: [u8; 4] = 0x2112_a442_u32.to_be_bytes();
/// Type of the attribute with the name of a user.
const USERNAME: u16 = 0x0006;

/// True if a datagram is of STUN (RFC 7983, section 7).
pub(crate) fn is_stun(datagram: &[u8]) -> bool {
    datagram.first().is_some_and(|first| *first < 4)
}

/// The receiver's part of the user name (`local:remote`) of a STUN message; `None` where there is none. It proves
/// nothing: the message's integrity is checked with that session's password.
pub(crate) fn local_fragment(datagram: &[u8]) -> Option<&str> {
    if datagram.get(4..8)? != MAGIC_COOKIE {
        return None;
    }
    let mut rest = datagram.get(HEADER_BYTES..)?;
    loop {
        let (head, tail) = rest.split_first_chunk::<4>()?;
        let kind = u16::from_be_bytes([head[0], head[1]]);
        let length = usize::from(u16::from_be_bytes([head[2], head[3]]));
        let value = tail.get(..length)?;
        if kind == USERNAME {
            return std::str::from_utf8(value).ok()?.split_once(':').map(|(local, _)| local);
        }
        rest = tail.get(length.next_multiple_of(4)..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(attributes: &[(u16, &[u8])]) -> Vec<u8> {
        let mut bytes = vec![0, 1, 0, 0];
        bytes.extend(MAGIC_COOKIE);
        bytes.extend([7; 12]);
        for (kind, value) in attributes {
            bytes.extend(kind.to_be_bytes());
            bytes.extend((value.len() as u16).to_be_bytes());
            bytes.extend(*value);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        bytes
    }

    #[test]
    fn the_receivers_part_of_the_name_is_found_behind_other_attributes() {
        let found = message(&[(0x8022, b"abc"), (USERNAME, b"here:there")]);
        assert_eq!(local_fragment(&found), Some("here"));
        assert_eq!(local_fragment(&message(&[(0x8022, b"abc")])), None);
        assert_eq!(local_fragment(&message(&[(USERNAME, b"nothing")])), None);
    }

    #[test]
    fn cut_messages_have_no_name() {
        let whole = message(&[(0x8022, b"abc"), (USERNAME, b"here:there")]);
        // The last two bytes are padding.
        for length in 0..whole.len() - 2 {
            assert_eq!(local_fragment(&whole[..length]), None, "{length}");
        }
    }
}
