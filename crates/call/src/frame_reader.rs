//! Reading of a frame from its stream.

use airlane_quic::RecvStream;
use bytes::Bytes;

use crate::error::CallError;
use crate::wire::HEADER_BYTES;

/// Reads the header of a frame, and what came with it of the payload.
pub(crate) async fn read_header(
    stream: &mut RecvStream,
) -> Result<([u8; HEADER_BYTES], Option<Bytes>), CallError> {
    let mut header = [0; HEADER_BYTES];
    let mut filled = 0;
    loop {
        let Some(mut piece) = stream.read_chunk(usize::MAX).await? else {
            return Err(CallError::Protocol("a frame without a whole header"));
        };
        let taken = piece.len().min(HEADER_BYTES - filled);
        header[filled..filled + taken].copy_from_slice(&piece.split_to(taken));
        filled += taken;
        if filled == HEADER_BYTES {
            return Ok((header, (!piece.is_empty()).then_some(piece)));
        }
    }
}

/// Reads the payload of a frame to its end.
pub(crate) async fn read_payload(
    stream: &mut RecvStream,
    first: Option<Bytes>,
    payload_bytes: u32,
) -> Result<Vec<Bytes>, CallError> {
    let mut left = payload_bytes as usize;
    let mut pieces = Vec::new();
    let mut next = first;
    loop {
        let piece = match next.take() {
            Some(piece) => piece,
            None => match stream.read_chunk(usize::MAX).await? {
                Some(piece) => piece,
                None if left == 0 => return Ok(pieces),
                None => return Err(CallError::Protocol("a frame shorter than its header says")),
            },
        };
        if piece.len() > left {
            return Err(CallError::Protocol("a frame longer than its header says"));
        }
        left -= piece.len();
        pieces.push(piece);
    }
}
