//! What both ends say on a stream of the connection to open a path
//! (`docs/reference/wire/messages.md`).

use airlane_quic::RecvStream;
use bytes::{Bytes, BytesMut};

use super::OpenError;

/// The first bytes, before the version.
const MAGIC: &[u8; 4] = b"ALMS";
const VERSION: u8 = 1;
/// Bytes in front of the body.
const FIXED_BYTES: usize = 9;
/// Bytes of a body at most.
const MAX_BODY_BYTES: usize = 64 << 10;

/// The number by which an end knows the session, and what the application says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hello {
    pub(super) id: u32,
    pub(super) body: Bytes,
}

impl Hello {
    pub(super) fn encode(&self) -> Result<Bytes, OpenError> {
        if self.body.len() > MAX_BODY_BYTES {
            return Err(OpenError::Hello("a body of more than 64 KiB"));
        }
        let mut out = BytesMut::with_capacity(FIXED_BYTES + self.body.len());
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&[VERSION]);
        out.extend_from_slice(&self.id.to_be_bytes());
        out.extend_from_slice(&self.body);
        Ok(out.freeze())
    }

    fn decode(bytes: &[u8]) -> Result<Self, OpenError> {
        let rest = bytes.strip_prefix(MAGIC).ok_or(OpenError::Hello("not a hello"))?;
        let rest = match rest {
            [VERSION, rest @ ..] => rest,
            _ => return Err(OpenError::Hello("a hello of another version")),
        };
        let (id, body) =
            rest.split_first_chunk().ok_or(OpenError::Hello("a hello that is cut short"))?;
        Ok(Self { id: u32::from_be_bytes(*id), body: Bytes::copy_from_slice(body) })
    }

    /// Reads the stream to its end.
    pub(super) async fn read(from: &mut RecvStream) -> Result<Self, OpenError> {
        let bytes = from.read_to_end(FIXED_BYTES + MAX_BODY_BYTES).await?;
        Self::decode(&bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hellos_are_read_as_written_and_others_refused() {
        let hello = Hello { id: 0x01_02_03_04, body: Bytes::from_static(b"what") };
        let bytes = hello.encode().unwrap();
        assert_eq!(&bytes[..], b"ALMS\x01\x01\x02\x03\x04what");
        assert_eq!(Hello::decode(&bytes).unwrap(), hello);
        for wrong in [&bytes[..8], b"", b"ALMT\x01\0\0\0\0", b"ALMS\x02\0\0\0\0"] {
            assert!(Hello::decode(wrong).is_err(), "{wrong:?}");
        }
        let long = Hello { id: 0, body: vec![0; MAX_BODY_BYTES + 1].into() };
        assert!(long.encode().is_err());
    }
}
