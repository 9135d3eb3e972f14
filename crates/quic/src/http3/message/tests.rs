use proptest::prelude::*;

use super::*;

/// A literal string of at most 126 bytes, with the prefix of its first byte.
fn string(first: u8, prefix: u32, text: &[u8]) -> Vec<u8> {
    let mask = (1_usize << prefix) - 1;
    let mut bytes = if text.len() < mask {
        vec![first | text.len() as u8]
    } else {
        vec![first | mask as u8, (text.len() - mask) as u8]
    };
    bytes.extend_from_slice(text);
    bytes
}

/// A HEADERS frame with these fields as literals.
fn headers(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut section = vec![0, 0];
    for (name, value) in fields {
        section.extend(string(0x20, 3, name.as_bytes()));
        section.extend(string(0, 7, value.as_bytes()));
    }
    frame(1, &section)
}

fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    let length = 0x4000 | payload.len() as u16;
    [&[kind][..], &length.to_be_bytes(), payload].concat()
}

fn read(kind: MessageKind, stream: &[u8], piece: usize) -> Result<(), Malformed> {
    let mut reader = MessageReader::new(kind);
    for piece in stream.chunks(piece) {
        reader.read(piece)?;
    }
    reader.end()
}

/// Reads a stream in pieces of several sizes, which make no difference.
fn verdict(kind: MessageKind, stream: &[u8]) -> Result<(), Malformed> {
    let whole = read(kind, stream, stream.len().max(1));
    for piece in [1, 2, 7] {
        assert_eq!(read(kind, stream, piece), whole, "in pieces of {piece}");
    }
    whole
}

const GET: [(&str, &str); 4] =
    [(":method", "GET"), (":scheme", "https"), (":authority", "localhost"), (":path", "/a")];

fn request(fields: &[(&str, &str)]) -> Result<(), Malformed> {
    verdict(MessageKind::Request, &headers(fields))
}

fn get_with(fields: &[(&str, &str)]) -> Result<(), Malformed> {
    request(&[&GET, fields].concat())
}

#[test]
fn well_formed_requests_pass() {
    assert_eq!(get_with(&[]), Ok(()));
    assert_eq!(get_with(&[("range", "bytes=0-1"), ("te", "trailers"), ("x", "a\tb")]), Ok(()));
    assert_eq!(get_with(&[("content-length", "0")]), Ok(()));
    assert_eq!(get_with(&[("host", "localhost")]), Ok(()));
    let with_host = [GET[0], GET[1], GET[3], ("host", "localhost")];
    assert_eq!(request(&with_host), Ok(()));
    let all = [(":method", "OPTIONS"), GET[1], GET[2], (":path", "*")];
    assert_eq!(request(&all), Ok(()));
    assert_eq!(request(&[(":method", "CONNECT"), (":authority", "a:1")]), Ok(()));
    // From the static table: `:method GET`, `:scheme https`, `:path /`, then the authority.
    let section = [0, 0, 0xc0 | 17, 0xc0 | 23, 0xc1, 0x50, 1, b'x'];
    assert_eq!(verdict(MessageKind::Request, &frame(1, &section)), Ok(()));
}

#[test]
fn malformed_requests_are_found() {
    use Malformed::*;
    for (field, fault) in [
        (("connection", "close"), ConnectionSpecific),
        (("keep-alive", "5"), ConnectionSpecific),
        (("proxy-connection", "x"), ConnectionSpecific),
        (("transfer-encoding", "chunked"), ConnectionSpecific),
        (("upgrade", "h2c"), ConnectionSpecific),
        (("te", "gzip"), ConnectionSpecific),
        (("te", "trailers, gzip"), ConnectionSpecific),
        ((":path", "/x"), DuplicatePseudo),
        ((":status", "200"), UnknownPseudo),
        ((":protocol", "websocket"), UnknownPseudo),
        ((":foo", "x"), UnknownPseudo),
        (("Range", "bytes=0-1"), Name),
        (("a b", "x"), Name),
        (("", "x"), Name),
        (("x", "a\r\nb"), Value),
        (("x", "a\0"), Value),
        (("host", "other"), Host),
        (("content-length", "five"), LengthValue),
        (("content-length", ""), LengthValue),
        (("content-length", "+5"), LengthValue),
        (("content-length", "5, 6"), LengthValue),
        (("content-length", "5"), LengthMismatch),
    ] {
        assert_eq!(get_with(&[field]), Err(fault), "{field:?}");
    }
    assert_eq!(get_with(&[("x", "y"), (":path", "/x")]), Err(PseudoOrder));
    assert_eq!(get_with(&[("host", "localhost"), ("host", "localhost")]), Err(Host));
    let twice = [("content-length", "5"), ("content-length", "7")];
    assert_eq!(get_with(&twice), Err(LengthValue));
    for missing in 0..GET.len() {
        let mut fields = GET.to_vec();
        let (name, _) = fields.remove(missing);
        let fault = if name == ":authority" { Host } else { PseudoSet };
        assert_eq!(request(&fields), Err(fault), "{name}");
    }
    for (i, value) in [(3, ""), (3, "a"), (3, "*"), (2, ""), (2, "user@localhost"), (0, "")] {
        let mut fields = GET;
        fields[i].1 = value;
        assert_eq!(request(&fields), Err(PseudoValue), "{:?}", fields[i]);
    }
    let connect = [(":method", "CONNECT"), GET[1], GET[2], GET[3]];
    assert_eq!(request(&connect), Err(PseudoSet));
}

#[test]
fn content_is_as_long_as_was_announced() {
    let post = |length: &str, frames: &[Vec<u8>]| {
        let head = [&[(":method", "POST")], &GET[1..], &[("content-length", length)]].concat();
        verdict(MessageKind::Request, &[&[headers(&head)], frames].concat().concat())
    };
    let (five, none) = (frame(0, b"12345"), frame(0, b""));
    let reserved = frame(0x21, b"grease");
    let short = Err(Malformed::LengthMismatch);
    assert_eq!(post("5", std::slice::from_ref(&five)), Ok(()));
    assert_eq!(post("5, 5", std::slice::from_ref(&five)), Ok(()));
    assert_eq!(post("10", &[five.clone(), reserved, none, five.clone()]), Ok(()));
    assert_eq!(post("4", std::slice::from_ref(&five)), short);
    assert_eq!(post("6", std::slice::from_ref(&five)), short);
    // With trailers behind it.
    assert_eq!(post("5", &[five.clone(), headers(&[("x", "y")])]), Ok(()));
    assert_eq!(post("5", &[five.clone(), headers(&[("content-length", "5")])]), Ok(()));
    assert_eq!(post("5", &[five.clone(), headers(&[("content-length", "6")])]), short);
    assert_eq!(post("6", &[five.clone(), headers(&[("x", "y")])]), short);
    let pseudo = Err(Malformed::UnknownPseudo);
    assert_eq!(post("5", &[five.clone(), headers(&[(":path", "/")])]), pseudo);
    let connection = Err(Malformed::ConnectionSpecific);
    assert_eq!(post("5", &[five, headers(&[("connection", "close")])]), connection);
}

#[test]
fn answers_are_held_to_the_same() {
    let answer = |fields: &[(&str, &str)], content: &[u8]| {
        let stream = [headers(fields), frame(0, content)].concat();
        verdict(MessageKind::Response, &stream)
    };
    use Malformed::*;
    let ok = (":status", "200");
    assert_eq!(answer(&[ok, ("content-length", "2")], b"ab"), Ok(()));
    assert_eq!(answer(&[ok], b"ab"), Ok(()));
    for (fields, fault) in [
        (&[ok, ("content-length", "3")][..], LengthMismatch),
        (&[ok, ("connection", "close")], ConnectionSpecific),
        (&[ok, ok], DuplicatePseudo),
        (&[ok, (":path", "/")], UnknownPseudo),
        (&[("x", "y"), ok], PseudoOrder),
        (&[ok, ("X", "y")], Name),
        (&[("x", "y")], PseudoSet),
        (&[(":status", "20")], PseudoValue),
        (&[(":status", "101")], PseudoValue),
        (&[(":status", "304")], Content),
        (&[(":status", "204")], Content),
    ] {
        assert_eq!(answer(fields, b"ab"), Err(fault), "{fields:?}");
    }
    assert_eq!(answer(&[(":status", "304"), ("content-length", "9")], b""), Ok(()));
    // Interim responses have no end of their own.
    let early = headers(&[(":status", "103"), ("link", "x")]);
    let stream = [early, headers(&[ok, ("content-length", "1")]), frame(0, b"a")].concat();
    assert_eq!(verdict(MessageKind::Response, &stream), Ok(()));
}

#[test]
fn an_answer_to_head_has_no_content_whatever_length_it_tells() {
    let mut reader = MessageReader::new(MessageKind::Response);
    let head = [&[(":method", "HEAD")], &GET[1..]].concat();
    reader.on_request_sent(&headers(&head));
    let answer = headers(&[(":status", "200"), ("content-length", "9")]);
    assert_eq!((reader.read(&answer), reader.end()), (Ok(()), Ok(())));
    assert_eq!(reader.read(&frame(0, b"x")), Err(Malformed::Content));
}

proptest! {
    #[test]
    fn no_stream_breaks_it_and_pieces_make_no_difference(
        stream in prop::collection::vec(any::<u8>(), 0..200),
        piece in 1_usize..20,
    ) {
        for kind in [MessageKind::Request, MessageKind::Response] {
            prop_assert_eq!(
                read(kind, &stream, piece).is_err(),
                read(kind, &stream, 200).is_err()
            );
        }
    }
}
