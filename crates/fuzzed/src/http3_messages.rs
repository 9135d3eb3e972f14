//! Requests and responses of HTTP/3 (RFC 9114, section 4.1).

use airlane_quic::{Malformed, MessageKind, MessageReader};

/// Checks the reader of a request's stream, in either direction: read byte by byte it is the same
/// as in one piece.
///
/// The input's first byte says in which direction.
pub fn http3_messages(data: &[u8]) {
    let [which, bytes @ ..] = data else { return };
    let kind = if which & 1 == 0 { MessageKind::Request } else { MessageKind::Response };
    let whole = read(kind, bytes, bytes.len().max(1));
    assert_eq!(read(kind, bytes, 1), whole);
    let mut answer = MessageReader::new(MessageKind::Response);
    answer.on_request_sent(bytes);
    let _ = answer.read(bytes);
}

fn read(kind: MessageKind, bytes: &[u8], piece: usize) -> Result<(), Malformed> {
    let mut reader = MessageReader::new(kind);
    for piece in bytes.chunks(piece) {
        reader.read(piece)?;
    }
    reader.end()
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    // By indexes of the static table: GET https /, with the authority `x` as a literal; 200.
    let get = [1, 8, 0, 0, 0xd1, 0xd7, 0xc1, 0x50, 1, b'x'];
    let ok = [1, 3, 0, 0, 0xd9];
    // Trailers: a length of 3 by a name from the table, and a value in Huffman's code.
    let length = [1, 5, 0, 0, 0x54, 1, b'3'];
    let huffman = [1, 7, 0, 0, 0x21, b'x', 0x82, 0x64, 0x02];
    let body = [0, 3, b'a', b'b', b'c'];
    let reserved = [0x21, 2, 1, 2];
    vec![
        [&[0][..], &get].concat(),
        [&[0][..], &get, &body, &reserved, &length].concat(),
        [&[1][..], &ok, &body, &length].concat(),
        [&[1][..], &ok, &body, &huffman].concat(),
    ]
}
