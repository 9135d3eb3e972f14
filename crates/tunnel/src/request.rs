//! What a stream of a tunnel is for: the first thing that the serving end hears of it.

use std::fmt;

use bytes::{BufMut, Bytes, BytesMut};

/// Bytes of a host's name at most.
const MAX_HOST_BYTES: usize = 255;

const CONNECT: u8 = 1;
const DATAGRAMS: u8 = 2;

/// A host by name or address, and a port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    /// The name, or the address as text.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

impl Target {
    /// A target, if the host may be one: up to 255 printable ASCII bytes.
    pub fn new(host: &str, port: u16) -> Option<Self> {
        let is_sound = (1..=MAX_HOST_BYTES).contains(&host.len())
            && host.bytes().all(|b| b.is_ascii_graphic());
        is_sound.then(|| Self { host: host.to_owned(), port })
    }

    /// Reads `HOST:PORT`, with IPv6 addresses in brackets.
    pub fn parse(text: &str) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        let is_bracketed = host.starts_with('[') && host.ends_with(']');
        let host = if is_bracketed { &host[1..host.len() - 1] } else { host };
        let port = port.parse().ok().filter(|port| *port != 0)?;
        (is_bracketed == host.contains(':')).then(|| Self::new(host, port))?
    }

    /// Appends port and host: their length is known from what they are in.
    pub(crate) fn encode(&self, out: &mut BytesMut) {
        out.put_u16(self.port);
        out.put_slice(self.host.as_bytes());
    }

    pub(crate) fn decode(from: &[u8]) -> Option<Self> {
        let (port, host) = from.split_first_chunk::<2>()?;
        Self::new(std::str::from_utf8(host).ok()?, u16::from_be_bytes(*port))
    }
}

/// Purpose of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TunnelRequest {
    /// A TCP connection to a target.
    Connect(Target),
    /// UDP datagrams to any targets.
    Datagrams,
}

impl TunnelRequest {
    /// As bytes.
    pub fn encode(&self) -> Bytes {
        let mut out = BytesMut::new();
        match self {
            Self::Connect(target) => {
                out.put_u8(CONNECT);
                target.encode(&mut out);
            }
            Self::Datagrams => out.put_u8(DATAGRAMS),
        }
        out.freeze()
    }

    /// Reads what [`Self::encode`] wrote; `None` if it is anything else.
    pub fn decode(from: &[u8]) -> Option<Self> {
        match from.split_first()? {
            (&CONNECT, target) => Some(Self::Connect(Target::decode(target)?)),
            (&DATAGRAMS, []) => Some(Self::Datagrams),
            _ => None,
        }
    }
}

/// The serving end's answer, the first byte of a stream: the reply field of SOCKS5 (RFC 1928,
/// section 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// It is connected.
    Done = 0,
    /// Something failed at the server.
    Failed = 1,
    /// The server's rules do not allow it.
    NotAllowed = 2,
    /// The network cannot be reached.
    NoNetwork = 3,
    /// The host cannot be reached, or its name is not known.
    NoHost = 4,
    /// The host refused.
    Refused = 5,
    /// It took too long.
    TimedOut = 6,
    /// The request is of a kind that is not known.
    UnknownCommand = 7,
    /// The address is of a kind that is not known.
    UnknownAddress = 8,
}

impl Reply {
    /// The reply of this code; what is not known is a failure.
    pub fn of(code: u8) -> Self {
        let all = [
            Self::Done,
            Self::NotAllowed,
            Self::NoNetwork,
            Self::NoHost,
            Self::Refused,
            Self::TimedOut,
            Self::UnknownCommand,
            Self::UnknownAddress,
        ];
        all.into_iter().find(|reply| *reply as u8 == code).unwrap_or(Self::Failed)
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Done => "connected",
            Self::Failed => "the server failed",
            Self::NotAllowed => "the server's rules do not allow it",
            Self::NoNetwork => "the server cannot reach that network",
            Self::NoHost => "the server cannot reach that host, or does not know its name",
            Self::Refused => "the host refused",
            Self::TimedOut => "the host did not answer in time",
            Self::UnknownCommand => "the server does not know what is asked for",
            Self::UnknownAddress => "the server knows no such addresses",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_come_back_as_they_were() {
        let target = Target::parse("example.org:443").unwrap();
        for request in [TunnelRequest::Connect(target), TunnelRequest::Datagrams] {
            let bytes = request.encode();
            assert_eq!(TunnelRequest::decode(&bytes), Some(request));
        }
        for bad in
            [&b""[..], b"\x00", b"\x01", b"\x01\x00\x50", b"\x01\x00\x50a b", b"\x02x", b"\x03"]
        {
            assert_eq!(TunnelRequest::decode(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn targets_are_read_as_people_write_them() {
        let read =
            |text: &str| Target::parse(text).map(|t| (t.host.clone(), t.port, t.to_string()));
        for (text, host) in [("a.b:1", "a.b"), ("10.0.0.1:65535", "10.0.0.1"), ("[::1]:80", "::1")]
        {
            let (found, _, again) = read(text).unwrap();
            assert_eq!((&*found, &*again), (host, text));
        }
        for bad in ["", "a", "a:", ":80", "a:0", "a:65536", "::1:80", "[a]:80", "a b:80", "[::1:80"]
        {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
