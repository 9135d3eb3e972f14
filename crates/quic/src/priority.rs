//! Priorities of requests (RFC 9218): how a client asks that its responses be ordered.

/// A priority (RFC 9218, section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Priority {
    /// From 0, the most urgent, to 7.
    pub urgency: u8,
    /// True if the response is of use piece by piece: it then shares with others of its urgency, which
    /// otherwise go one after another.
    pub incremental: bool,
}

impl Default for Priority {
    fn default() -> Self {
        Self { urgency: 3, incremental: false }
    }
}

impl Priority {
    /// Reads the value of a Priority field: a dictionary of structured fields (RFC 9651, section
    /// 3.2), of which `u` and `i` count. What is malformed is as if it were not there (RFC 9218,
    /// section 5).
    pub fn parse(value: &[u8]) -> Self {
        let mut priority = Self::default();
        let Ok(text) = std::str::from_utf8(value) else { return priority };
        // No member of meaning holds a comma or a semicolon; strings of others may, whose parts are then
        // members without meaning at worst.
        for member in text.split(',') {
            let bare = member.split(';').next().unwrap_or_default().trim_matches([' ', '\t']);
            match bare.split_once('=') {
                Some(("u", urgency)) if matches!(urgency.as_bytes(), [b'0'..=b'7']) => {
                    priority.urgency = urgency.as_bytes()[0] - b'0';
                }
                Some(("i", "?1")) => priority.incremental = true,
                Some(("i", "?0")) => priority.incremental = false,
                None if bare == "i" => priority.incremental = true,
                _ => {}
            }
        }
        priority
    }

    /// Key that orders streams of one group: lower goes first. `number` is that of the stream, `bytes`
    /// what it was given so far.
    pub(crate) fn rank(self, number: u64, bytes: u64) -> (u8, bool, u64) {
        (self.urgency, self.incremental, if self.incremental { bytes } else { number })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_as_the_rfc_says() {
        let of = |urgency, incremental| Priority { urgency, incremental };
        for (text, priority) in [
            ("", of(3, false)),
            ("u=5, i", of(5, true)),
            ("i=?1,u=0", of(0, true)),
            ("u=1;x=2 , i=?0", of(1, false)),
            ("u=3, u=7", of(7, false)),
            ("foo=\"bar\", u=2, baz", of(2, false)),
            ("u=8", of(3, false)),
            ("u=-1, i=1", of(3, false)),
            ("u=10,U=1", of(3, false)),
            ("i=?2", of(3, false)),
            ("\u{e4}=1, u=1", of(1, false)),
        ] {
            assert_eq!(Priority::parse(text.as_bytes()), priority, "{text}");
        }
        assert_eq!(Priority::parse(&[0xff, b'u', b'=', b'1']), Priority::default());
    }
}
