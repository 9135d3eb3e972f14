//! The terms of a stream: what its ends agree on before they begin.

use airlane_fbdt::wire::{MAX_SEGMENT_BYTES, MAX_SEGMENTS};
use bytes::{Buf, BufMut, BytesMut};

use crate::error::MultipathError;

/// Length of encoded terms, bytes.
pub(crate) const TERMS_BYTES: usize = 1 + 4 + 4 + 8;
/// Memory of a stream, bytes: smaller windows cost more than they hold.
const MIN_MEMORY: u64 = 64 << 10;
/// Length of a window, bytes.
const MAX_WINDOW_BYTES: u32 = 64 << 20;

/// The frames of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// FBDT's (`docs/reference/wire/fbdt.md`).
    Fbdt = 1,
    /// MPTCP's meta level (`docs/design/mptcp.md`).
    Mptcp = 2,
}

/// The frames and the sizes of a stream, which both ends agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The frames.
    pub protocol: Protocol,
    /// Payload of a segment, bytes.
    pub segment_bytes: u32,
    /// Length of an FBDT window, bytes.
    pub window_bytes: u32,
    /// Memory of each end in each direction, bytes.
    pub receive_memory: u64,
}

impl Terms {
    /// Appends them: [`TERMS_BYTES`].
    pub(crate) fn encode(&self, out: &mut BytesMut) {
        out.put_u8(self.protocol as u8);
        out.put_u32(self.segment_bytes);
        out.put_u32(self.window_bytes);
        out.put_u64(self.receive_memory);
    }

    /// Takes what [`Self::encode`] appended off `from`.
    ///
    /// # Errors
    /// If they are cut short, of another protocol, or have sizes that nothing works with.
    pub(crate) fn decode(from: &mut &[u8]) -> Result<Self, MultipathError> {
        if from.len() < TERMS_BYTES {
            return Err(MultipathError::Protocol("terms that are cut short"));
        }
        let protocol = match from.get_u8() {
            1 => Protocol::Fbdt,
            2 => Protocol::Mptcp,
            _ => return Err(MultipathError::Protocol("terms for frames of another kind")),
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

    #[test]
    fn terms_that_nothing_works_with_are_refused() {
        let good = Terms {
            protocol: Protocol::Fbdt,
            segment_bytes: 4096,
            window_bytes: 1 << 20,
            receive_memory: 6 << 20,
        };
        let decoded = |terms: Terms| {
            let mut bytes = BytesMut::new();
            terms.encode(&mut bytes);
            Terms::decode(&mut &bytes[..])
        };
        assert_eq!(decoded(good).unwrap(), good);
        for bad in [
            Terms { segment_bytes: 0, ..good },
            Terms { segment_bytes: 255, ..good },
            Terms { segment_bytes: u32::MAX, ..good },
            Terms { window_bytes: 4095, ..good },
            Terms { window_bytes: u32::MAX, ..good },
            Terms { segment_bytes: 256, window_bytes: 32 << 20, ..good },
            Terms { receive_memory: 1_000_000, ..good },
        ] {
            assert!(decoded(bad).is_err(), "{bad:?}");
        }
        let mut bytes = BytesMut::new();
        good.encode(&mut bytes);
        for cut in 0..bytes.len() {
            assert!(Terms::decode(&mut &bytes[..cut]).is_err(), "{cut} bytes");
        }
        bytes[0] = 3;
        assert!(Terms::decode(&mut &bytes[..]).is_err());
    }
}
