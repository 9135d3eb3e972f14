//! The control stream: messages with a length in front of each.

use airlane_quic::{RecvStream, SendStream};
use bytes::BytesMut;

use crate::error::CallError;
use crate::wire::WireError;

/// The next message of a stream; `None` at its end. `buffer` has what came beyond the last message.
pub(crate) async fn next_message<T>(
    from: &mut RecvStream,
    buffer: &mut BytesMut,
    decode: impl Fn(&mut BytesMut) -> Result<Option<T>, WireError>,
) -> Result<Option<T>, CallError> {
    loop {
        if let Some(message) = decode(buffer)? {
            return Ok(Some(message));
        }
        match from.read_chunk(usize::MAX).await? {
            Some(piece) => buffer.extend_from_slice(&piece),
            None => return Ok(None),
        }
    }
}

/// Writes a message.
pub(crate) async fn write_message(
    to: &mut SendStream,
    encode: impl FnOnce(&mut BytesMut),
) -> Result<(), CallError> {
    let mut bytes = BytesMut::new();
    encode(&mut bytes);
    Ok(to.write_all(bytes.freeze()).await?)
}
