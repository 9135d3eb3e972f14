//! What stands at the beginning of a path: who it belongs to, and what both ends agree on.

use airlane_fbdt::wire::{MAX_SEGMENT_BYTES, MAX_SEGMENTS};
use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::error::MultipathError;
use super::{Scheme, Settings};

/// The first bytes of a control stream, before the version.
const MAGIC: &[u8; 4] = b"ALMP";
/// The version of the format.
const VERSION: u8 = 1;
/// Bytes of a hello.
pub(super) const HELLO_BYTES: usize = 4 + 1 + 16 + 1 + TERMS_BYTES;
/// Bytes of what the ends agree on.
pub(super) const TERMS_BYTES: usize = 1 + 4 + 4 + 8;
/// Bytes of the answer.
pub(super) const WELCOME_BYTES: usize = 4 + 1 + 8 + 8;
/// Memory of a stream at least: smaller windows cost more than they hold.
const MIN_MEMORY: u64 = 64 << 10;
/// Bytes of a window at most.
const MAX_WINDOW_BYTES: u32 = 64 << 20;

/// A stream's number, which only its two ends know.
pub type StreamId = [u8; 16];

/// What a stream's frames are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// FBDT's (`docs/wire/fbdt.md`).
    Fbdt = 1,
    /// MPTCP's meta level (`docs/mptcp.md`).
    Mptcp = 2,
}

/// What the ends of a stream agree on before they begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// What frames are.
    pub protocol: Protocol,
    /// Bytes of a segment at most.
    pub segment_bytes: u32,
    /// Bytes of an FBDT window at most.
    pub window_bytes: u32,
    /// Bytes of the stream that the receiving end holds at most.
    pub receive_memory: u64,
}

impl Terms {
    /// What an end with these settings asks for.
    pub fn of(settings: &Settings) -> Self {
        let Settings { segment_bytes, window_bytes, receive_memory, .. } = *settings;
        let protocol = match settings.scheme {
            Scheme::Fbdt(_) => Protocol::Fbdt,
            Scheme::Mptcp(_) => Protocol::Mptcp,
        };
        Self { protocol, segment_bytes, window_bytes, receive_memory }
    }

    /// Appends them: [`TERMS_BYTES`].
    pub(super) fn encode(&self, out: &mut BytesMut) {
        out.put_u8(self.protocol as u8);
        out.put_u32(self.segment_bytes);
        out.put_u32(self.window_bytes);
        out.put_u64(self.receive_memory);
    }

    /// Takes what [`Self::encode`] appended off `from`.
    pub(super) fn decode(from: &mut &[u8]) -> Result<Self, MultipathError> {
        if from.len() < TERMS_BYTES {
            return Err(MultipathError::Protocol("terms that are cut short"));
        }
        let protocol = match from.get_u8() {
            1 => Protocol::Fbdt,
            2 => Protocol::Mptcp,
            _ => return Err(MultipathError::Protocol("a hello for frames of another kind")),
        };
        let terms = Self {
            protocol,
            segment_bytes: from.get_u32(),
            window_bytes: from.get_u32(),
            receive_memory: from.get_u64(),
        };
        check(&terms)?;
        Ok(terms)
    }
}

/// The first message on a control stream, from the end that has the radios.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The stream that the path belongs to.
    pub stream: StreamId,
    /// The path's number at the end that sends this.
    pub path: u8,
    /// What it wants.
    pub terms: Terms,
}

impl Hello {
    /// As bytes.
    pub fn encode(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(HELLO_BYTES);
        out.put_slice(MAGIC);
        out.put_u8(VERSION);
        out.put_slice(&self.stream);
        out.put_u8(self.path);
        self.terms.encode(&mut out);
        out.freeze()
    }

    /// Reads what [`Self::encode`] wrote.
    ///
    /// # Errors
    /// If it is of another protocol or version, or has sizes that nothing works with.
    pub fn decode(mut from: &[u8]) -> Result<Self, MultipathError> {
        if from.len() != HELLO_BYTES {
            return Err(MultipathError::Protocol("a hello of another length"));
        }
        version(&mut from)?;
        let mut stream = StreamId::default();
        from.copy_to_slice(&mut stream);
        let path = from.get_u8();
        Ok(Self { stream, path, terms: Terms::decode(&mut from)? })
    }
}

/// What both ends of a stream have agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Agreed {
    /// Which of the streams that ever had this id it is: a random number of the end that accepts.
    /// One that was started again knows its streams no more, and would begin another.
    pub(super) incarnation: u64,
    /// The terms, with the smaller of both ends' memories.
    pub(super) terms: Terms,
}

impl Agreed {
    /// The answer to a hello.
    pub(super) fn encode(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(WELCOME_BYTES);
        out.put_slice(MAGIC);
        out.put_u8(VERSION);
        out.put_u64(self.incarnation);
        out.put_u64(self.terms.receive_memory);
        out.freeze()
    }

    /// Reads the answer to a hello that wanted `wanted`.
    pub(super) fn decode(mut from: &[u8], wanted: Terms) -> Result<Self, MultipathError> {
        version(&mut from)?;
        let incarnation = from.get_u64();
        let terms = Terms { receive_memory: from.get_u64(), ..wanted };
        check(&terms)?;
        if terms.receive_memory > wanted.receive_memory {
            return Err(MultipathError::Protocol("a welcome with more memory than there is"));
        }
        Ok(Self { incarnation, terms })
    }
}

fn version(from: &mut &[u8]) -> Result<(), MultipathError> {
    let (magic, rest) = from.split_at(MAGIC.len());
    if magic != MAGIC {
        return Err(MultipathError::Protocol("a first message of another protocol"));
    }
    *from = rest;
    if from.get_u8() != VERSION {
        return Err(MultipathError::Protocol("a first message of another version"));
    }
    Ok(())
}

fn check(terms: &Terms) -> Result<(), MultipathError> {
    let Terms { segment_bytes, window_bytes, receive_memory, .. } = *terms;
    if !(256..=MAX_SEGMENT_BYTES).contains(&segment_bytes) {
        return Err(MultipathError::Protocol("segments of no size that works"));
    }
    let fits = window_bytes.div_ceil(segment_bytes) <= MAX_SEGMENTS;
    if !(segment_bytes..=MAX_WINDOW_BYTES).contains(&window_bytes) || !fits {
        return Err(MultipathError::Protocol("windows of no size that works"));
    }
    if receive_memory < MIN_MEMORY.max(window_bytes.into()) {
        return Err(MultipathError::Protocol("memory that holds no window"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello() -> Hello {
        let stream = std::array::from_fn(|i| i as u8);
        Hello { stream, path: 1, terms: Terms::of(&Settings::default()) }
    }

    #[test]
    fn a_hello_is_as_the_document_has_it() {
        let text = include_str!("../../../../docs/wire/multipath.md");
        let vector = text.lines().rev().find_map(|line| line.strip_prefix('`')).unwrap();
        let digits: String = vector.chars().filter(char::is_ascii_hexdigit).collect();
        let hex: String = hello().encode().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, digits);
        assert_eq!(Hello::decode(&hello().encode()).unwrap(), hello());
    }

    #[test]
    fn what_is_no_hello_is_refused() {
        let good = hello().encode();
        for cut in 0..good.len() {
            assert!(Hello::decode(&good[..cut]).is_err(), "{cut} bytes");
        }
        let with = |terms: Terms| Hello { terms, ..hello() }.encode();
        let sizes = hello().terms;
        for bad in [
            Terms { segment_bytes: 0, ..sizes },
            Terms { segment_bytes: 255, ..sizes },
            Terms { segment_bytes: u32::MAX, ..sizes },
            Terms { window_bytes: 4095, ..sizes },
            Terms { window_bytes: u32::MAX, ..sizes },
            Terms { segment_bytes: 256, window_bytes: 32 << 20, ..sizes },
            Terms { receive_memory: 1_000_000, ..sizes },
        ] {
            assert!(Hello::decode(&with(bad)).is_err(), "{bad:?}");
        }
        let mut other = good.to_vec();
        other[0] = b'B';
        assert!(Hello::decode(&other).is_err());
        let mut kind = good.to_vec();
        kind[22] = 3;
        assert!(Hello::decode(&kind).is_err());
        let mut newer = good.to_vec();
        newer[4] = VERSION + 1;
        assert!(Hello::decode(&newer).is_err());
    }

    #[test]
    fn an_answer_gives_no_more_memory_than_there_is() {
        let wanted = hello().terms;
        let given = |receive_memory| {
            let terms = Terms { receive_memory, ..wanted };
            let agreed = Agreed { incarnation: 7, terms };
            Agreed::decode(&agreed.encode(), wanted).map(|decoded| assert_eq!(decoded, agreed))
        };
        assert!(given(2 << 20).is_ok() && given(6 << 20).is_ok());
        assert!(given(7 << 20).is_err());
        assert!(given(1000).is_err());
    }
}
