//! SOCKS5 (RFC 1928) without authentication, as far as it is not I/O.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::request::{Reply, Target};

const VERSION: u8 = 5;
const NO_AUTHENTICATION: u8 = 0;
const NO_METHOD: u8 = 0xff;
const IPV4: u8 = 1;
const NAME: u8 = 3;
const IPV6: u8 = 4;

/// Violation of the protocol by a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SocksError {
    /// It does not speak SOCKS5.
    #[error("the client does not speak SOCKS5")]
    Version,
    /// It offers no method of authentication that is known here.
    #[error("the client wants authentication, which there is none of")]
    Method,
    /// It asks for something that is not known here.
    #[error("the client asks for an unknown command")]
    Command,
    /// The address is of an unknown kind, or no name.
    #[error("the client names an address of an unknown kind")]
    Address,
}

impl SocksError {
    /// Answer to the client before the connection is closed.
    pub fn answer(self) -> Option<Bytes> {
        match self {
            Self::Version => None,
            Self::Method => Some(Bytes::from_static(&[VERSION, NO_METHOD])),
            Self::Command => Some(reply(Reply::UnknownCommand, None)),
            Self::Address => Some(reply(Reply::UnknownAddress, None)),
        }
    }
}

/// Request of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// A connection.
    Connect(Target),
    /// To send datagrams.
    Associate,
}

/// The answer to a greeting: no authentication.
pub const GREETED: Bytes = Bytes::from_static(&[VERSION, NO_AUTHENTICATION]);

/// Takes a client's greeting off `from`; false if not all of it is there.
///
/// # Errors
/// If it is none, or offers no method that is known here.
pub fn greeting(from: &mut BytesMut) -> Result<bool, SocksError> {
    if from.first().is_some_and(|version| *version != VERSION) {
        return Err(SocksError::Version);
    }
    let Some(&methods) = from.get(1) else { return Ok(false) };
    let end = 2 + usize::from(methods);
    let Some(offered) = from.get(2..end) else { return Ok(false) };
    if !offered.contains(&NO_AUTHENTICATION) {
        return Err(SocksError::Method);
    }
    from.advance(end);
    Ok(true)
}

/// Takes a client's request off `from`; `None` if not all of it is there.
///
/// # Errors
/// If it is none.
pub fn request(from: &mut BytesMut) -> Result<Option<Command>, SocksError> {
    if from.first().is_some_and(|version| *version != VERSION) {
        return Err(SocksError::Version);
    }
    let Some(&[_, command, _]) = from.first_chunk::<3>() else { return Ok(None) };
    if !matches!(command, 1 | 3) {
        return Err(SocksError::Command);
    }
    let Some((address, length)) = address(&from[3..])? else { return Ok(None) };
    from.advance(3 + length);
    match (command, address) {
        (1, Some(target)) if target.port != 0 => Ok(Some(Command::Connect(target))),
        (1, _) => Err(SocksError::Address),
        // Where its datagrams will come from is not asked: they are told by the connection.
        _ => Ok(Some(Command::Associate)),
    }
}

/// An address with its port, and how many bytes it has; the address is `None` if it is no host's.
type Read = Option<(Option<Target>, usize)>;

fn address(from: &[u8]) -> Result<Read, SocksError> {
    let Some((kind, rest)) = from.split_first() else { return Ok(None) };
    let (host, length) = match *kind {
        IPV4 => match rest.first_chunk::<4>() {
            Some(octets) => (Ipv4Addr::from(*octets).to_string(), 4),
            None => return Ok(None),
        },
        IPV6 => match rest.first_chunk::<16>() {
            Some(octets) => (Ipv6Addr::from(*octets).to_string(), 16),
            None => return Ok(None),
        },
        NAME => {
            let Some(&length) = rest.first() else { return Ok(None) };
            let Some(name) = rest.get(1..1 + usize::from(length)) else { return Ok(None) };
            let name = std::str::from_utf8(name).unwrap_or_default();
            (name.to_owned(), 1 + usize::from(length))
        }
        _ => return Err(SocksError::Address),
    };
    let Some(&[high, low]) = rest.get(length..).and_then(|rest| rest.first_chunk::<2>()) else {
        return Ok(None);
    };
    let port = u16::from_be_bytes([high, low]);
    Ok(Some((Target::new(&host, port), 1 + length + 2)))
}

/// The reply to a request; `bound` is where datagrams are to be sent.
pub fn reply(reply: Reply, bound: Option<SocketAddr>) -> Bytes {
    let bound = bound.unwrap_or(SocketAddr::from(([0, 0, 0, 0], 0)));
    let mut out = BytesMut::with_capacity(22);
    out.put_slice(&[VERSION, reply as u8, 0]);
    put_address(&mut out, bound);
    out.freeze()
}

fn put_address(out: &mut BytesMut, address: SocketAddr) {
    match address {
        SocketAddr::V4(v4) => {
            out.put_u8(IPV4);
            out.put_slice(&v4.ip().octets());
        }
        SocketAddr::V6(v6) => {
            out.put_u8(IPV6);
            out.put_slice(&v6.ip().octets());
        }
    }
    out.put_u16(address.port());
}

/// Reads a datagram of a client (section 7): where to, and what. `None` if it is none, or a part of
/// one: fragments are not put together.
pub fn datagram(from: &[u8]) -> Option<(Target, &[u8])> {
    let rest = from.strip_prefix(&[0, 0, 0])?;
    let (target, length) = address(rest).ok()??;
    Some((target.filter(|target| target.port != 0)?, rest.get(length..)?))
}

/// A datagram for a client, from `source`.
pub fn datagram_from(source: &Target, payload: &[u8]) -> Bytes {
    let mut out = BytesMut::with_capacity(3 + 1 + 1 + source.host.len() + 2 + payload.len());
    out.put_slice(&[0, 0, 0]);
    match source.host.parse() {
        Ok(ip) => put_address(&mut out, SocketAddr::new(ip, source.port)),
        Err(_) => {
            out.put_u8(NAME);
            // A target's host is no longer than that.
            out.put_u8(source.host.len() as u8);
            out.put_slice(source.host.as_bytes());
            out.put_u16(source.port);
        }
    }
    out.put_slice(payload);
    out.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_understood_however_its_bytes_are_cut() {
        let name = b"\x05\x01\x00\x03\x0bexample.org\x01\xbb";
        let v4 = b"\x05\x01\x00\x01\x0a\x00\x00\x01\x00\x50";
        let mut v6 = b"\x05\x01\x00\x04".to_vec();
        v6.extend_from_slice(&Ipv6Addr::LOCALHOST.octets());
        v6.extend_from_slice(&[0, 80]);
        let associate = b"\x05\x03\x00\x01\x00\x00\x00\x00\x00\x00";
        let connect = |text| Command::Connect(Target::parse(text).unwrap());
        for (bytes, expected) in [
            (&name[..], connect("example.org:443")),
            (&v4[..], connect("10.0.0.1:80")),
            (&v6[..], connect("[::1]:80")),
            (&associate[..], Command::Associate),
        ] {
            let all = [b"\x05\x02\x02\x00", bytes, b"more"].concat();
            for cut in 0..all.len() - 4 {
                let mut part = BytesMut::from(&all[..cut]);
                let known = greeting(&mut part).unwrap() && request(&mut part).unwrap().is_some();
                assert!(!known, "{cut}");
            }
            let mut buffer = BytesMut::from(&all[..]);
            assert!(greeting(&mut buffer).unwrap());
            assert_eq!(request(&mut buffer).unwrap(), Some(expected));
            assert_eq!(&buffer[..], b"more");
        }
    }

    #[test]
    fn what_is_no_socks5_is_refused() {
        let greet = |bytes: &[u8]| greeting(&mut BytesMut::from(bytes));
        assert_eq!(greet(b"\x04\x01"), Err(SocksError::Version));
        assert_eq!(greet(b"GET / HTTP/1.1"), Err(SocksError::Version));
        assert_eq!(greet(b"\x05\x00"), Err(SocksError::Method));
        assert_eq!(greet(b"\x05\x01\x02"), Err(SocksError::Method));
        let ask = |bytes: &[u8]| request(&mut BytesMut::from(bytes));
        assert_eq!(ask(b"\x04\x01\x00\x01"), Err(SocksError::Version));
        assert_eq!(ask(b"\x05\x02\x00\x01\x0a\x00\x00\x01\x00\x50"), Err(SocksError::Command));
        assert_eq!(ask(b"\x05\x01\x00\x02\x0a\x00\x00\x01\x00\x50"), Err(SocksError::Address));
        assert_eq!(ask(b"\x05\x01\x00\x01\x0a\x00\x00\x01\x00\x00"), Err(SocksError::Address));
        assert_eq!(ask(b"\x05\x01\x00\x03\x00\x00\x50"), Err(SocksError::Address));
        assert_eq!(ask(b"\x05\x01\x00\x03\x02\xff\xfe\x00\x50"), Err(SocksError::Address));
    }

    #[test]
    fn datagrams_come_back_as_they_were() {
        for text in ["10.0.0.1:53", "[fd00::1]:53", "example.org:53"] {
            let target = Target::parse(text).unwrap();
            let bytes = datagram_from(&target, b"payload");
            assert_eq!(datagram(&bytes), Some((target, &b"payload"[..])));
            for cut in 0..bytes.len() - 7 {
                assert_eq!(datagram(&bytes[..cut]), None);
            }
        }
        assert_eq!(datagram(b"\x00\x00\x01\x01\x0a\x00\x00\x01\x00\x35x"), None, "a fragment");
    }
}
