//! Answers of servers.

use airlane_quic::Body;
use bytes::{Buf, Bytes};
use http::{HeaderMap, Response, StatusCode, header};
use http_body_util::BodyExt;
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use tokio::sync::OwnedMutexGuard;

/// Sender of requests of an HTTP/1.1 connection.
pub(super) type Sender1 = http1::SendRequest<Empty<Bytes>>;

/// An answer: its head, and its body as it comes.
#[derive(Debug)]
pub struct Answer {
    head: Response<()>,
    body: AnswerBody,
    /// The part of the body that was asked for, of a server that sends all of it.
    slice: Option<Slice>,
}

#[derive(Debug)]
pub(super) enum AnswerBody {
    Http3(Box<Body>),
    Tcp(Incoming),
    Http1 {
        incoming: Incoming,
        /// The connection is free again when this is dropped.
        _busy: OwnedMutexGuard<Sender1>,
    },
}

impl Answer {
    pub(super) fn new(head: Response<()>, body: AnswerBody) -> Self {
        Self { head, body, slice: None }
    }

    /// The same with some bytes of its body alone, first and last.
    pub(super) fn sliced(self, (first, last): (u64, u64)) -> Self {
        let left = last.saturating_sub(first).saturating_add(1);
        Self { slice: Some(Slice { skip: first, left }), ..self }
    }

    /// Its status.
    pub fn status(&self) -> StatusCode {
        self.head.status()
    }

    /// Its header fields.
    pub fn headers(&self) -> &HeaderMap {
        self.head.headers()
    }

    /// Bytes of the body, if its head says how many, that are still to come.
    pub fn length(&self) -> Option<u64> {
        let said = || self.headers().get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok();
        self.slice.as_ref().map(|s| s.left).or_else(said)
    }

    /// The next piece of its body; `None` after the last.
    pub(super) async fn data(&mut self) -> Result<Option<Bytes>, String> {
        loop {
            if self.slice.as_ref().is_some_and(|s| s.left == 0) {
                return Ok(None);
            }
            let Some(piece) = self.body.data().await? else { return Ok(None) };
            let Some(slice) = &mut self.slice else { return Ok(Some(piece)) };
            let piece = slice.of(piece);
            if !piece.is_empty() {
                return Ok(Some(piece));
            }
        }
    }
}

impl AnswerBody {
    async fn data(&mut self) -> Result<Option<Bytes>, String> {
        let incoming = match self {
            Self::Http3(body) => return body.data().await.map_err(|e| e.to_string()),
            Self::Tcp(incoming) | Self::Http1 { incoming, .. } => incoming,
        };
        while let Some(frame) = incoming.frame().await {
            if let Ok(data) = frame.map_err(|e| e.to_string())?.into_data() {
                return Ok(Some(data));
            }
        }
        Ok(None)
    }
}

/// Some bytes out of a longer body.
#[derive(Clone, Copy, Debug)]
struct Slice {
    /// Bytes before them that are still to come.
    skip: u64,
    /// Bytes of them that are still to come.
    left: u64,
}

impl Slice {
    /// Part of the next piece of the body that belongs to the slice.
    fn of(&mut self, mut piece: Bytes) -> Bytes {
        let here = |bytes: u64, piece: &Bytes| {
            usize::try_from(bytes).unwrap_or(usize::MAX).min(piece.len())
        };
        let skipped = here(self.skip, &piece);
        piece.advance(skipped);
        self.skip -= skipped as u64;
        piece.truncate(here(self.left, &piece));
        self.left -= piece.len() as u64;
        piece
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// However the body is cut into pieces, the slice is the same.
        #[test]
        fn a_slice_does_not_depend_on_pieces(
            bytes in prop::collection::vec(any::<u8>(), 0..60),
            piece in 1..20_usize, skip in 0..70_u64, left in 0..70_u64,
        ) {
            let mut slice = Slice { skip, left };
            let pieces = bytes.chunks(piece).map(Bytes::copy_from_slice);
            let found: Vec<u8> = pieces.flat_map(|p| slice.of(p)).collect();
            let expected: Vec<u8> =
                bytes.iter().copied().skip(skip as usize).take(left as usize).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
