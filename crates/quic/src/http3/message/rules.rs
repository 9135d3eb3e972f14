//! What a head and trailers of HTTP/3 may say (RFC 9114, sections 4.1.2, 4.2 and 4.3).

use super::section::Line;

/// Error in a message: a stream error of the type H3_MESSAGE_ERROR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// A name is empty, has uppercase letters or what no name may have.
    #[error("a field name that is none")]
    Name,
    /// A value has a control character.
    #[error("a field value with a control character")]
    Value,
    /// A pseudo-header field that is not defined for such a message, or stands in trailers.
    #[error("a pseudo-header field that has no place here")]
    UnknownPseudo,
    /// A pseudo-header field stands behind another field.
    #[error("a pseudo-header field behind other fields")]
    PseudoOrder,
    /// A pseudo-header field came twice.
    #[error("a pseudo-header field that came twice")]
    DuplicatePseudo,
    /// A pseudo-header field is missing, or superfluous for its method.
    #[error("a pseudo-header field too few or too many")]
    PseudoSet,
    /// A pseudo-header field has a value that it cannot have.
    #[error("a pseudo-header field with a wrong value")]
    PseudoValue,
    /// `host` came twice, is missing, or is another than `:authority`.
    #[error("a host that contradicts the authority, or is missing")]
    Host,
    /// A field is about the connection of HTTP/1.1.
    #[error("a field that is about the connection")]
    ConnectionSpecific,
    /// `content-length` is no number, or several that differ.
    #[error("a content length that is none")]
    LengthValue,
    /// The content has another length than `content-length` says.
    #[error("content of another length than was announced")]
    LengthMismatch,
    /// An answer has content that has none by its status or its request.
    #[error("content where there is none")]
    Content,
}

/// Whose messages are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// Requests.
    Request,
    /// Responses.
    Response,
}

/// A head, or trailers, as its lines come.
#[derive(Debug, Default)]
pub(super) struct Section {
    method: Option<Vec<u8>>,
    scheme: Option<Vec<u8>>,
    authority: Option<Vec<u8>>,
    path: Option<Vec<u8>>,
    pub(super) status: Option<u16>,
    host: Option<Vec<u8>>,
    pub(super) length: Option<u64>,
    /// A field that is no pseudo-header field has come.
    has_fields: bool,
}

impl Section {
    /// Takes the next line of a head, or of trailers if `kind` is `None`.
    pub(super) fn take(
        &mut self,
        kind: Option<MessageKind>,
        line: Line<'_>,
    ) -> Result<(), Malformed> {
        let Line::Field { name, value } = line else {
            self.has_fields = true;
            return Ok(());
        };
        if !value.iter().all(|b| *b == b'\t' || (*b >= 0x20 && *b != 0x7f)) {
            return Err(Malformed::Value);
        }
        if name.first() == Some(&b':') {
            return self.take_pseudo(kind.ok_or(Malformed::UnknownPseudo)?, name, value);
        }
        self.has_fields = true;
        if name.is_empty() || !name.iter().all(|b| is_name_byte(*b)) {
            return Err(Malformed::Name);
        }
        match name {
            b"connection" | b"keep-alive" | b"proxy-connection" | b"transfer-encoding"
            | b"upgrade" => Err(Malformed::ConnectionSpecific),
            b"te" if !value.trim_ascii().eq_ignore_ascii_case(b"trailers") => {
                Err(Malformed::ConnectionSpecific)
            }
            b"content-length" => {
                let length = content_length(value).ok_or(Malformed::LengthValue)?;
                match self.length.replace(length) {
                    Some(before) if before != length => Err(Malformed::LengthValue),
                    _ => Ok(()),
                }
            }
            b"host" if kind == Some(MessageKind::Request) => {
                match self.host.replace(value.to_vec()) {
                    Some(_) => Err(Malformed::Host),
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    fn take_pseudo(
        &mut self,
        kind: MessageKind,
        name: &[u8],
        value: &[u8],
    ) -> Result<(), Malformed> {
        if self.has_fields {
            return Err(Malformed::PseudoOrder);
        }
        let of_request = match name {
            b":method" => &mut self.method,
            b":scheme" => &mut self.scheme,
            b":authority" => &mut self.authority,
            b":path" => &mut self.path,
            b":status" if kind == MessageKind::Response => {
                let status = status(value).ok_or(Malformed::PseudoValue)?;
                return match self.status.replace(status) {
                    Some(_) => Err(Malformed::DuplicatePseudo),
                    None => Ok(()),
                };
            }
            _ => return Err(Malformed::UnknownPseudo),
        };
        if kind == MessageKind::Response {
            return Err(Malformed::UnknownPseudo);
        }
        if value.is_empty() {
            return Err(Malformed::PseudoValue);
        }
        match of_request.replace(value.to_vec()) {
            Some(_) => Err(Malformed::DuplicatePseudo),
            None => Ok(()),
        }
    }

    /// Checks that a whole head holds what it must.
    pub(super) fn check_head(&self, kind: MessageKind) -> Result<(), Malformed> {
        match kind {
            MessageKind::Response => match self.status {
                None => Err(Malformed::PseudoSet),
                // RFC 9114, section 4.5: there is no switching of protocols.
                Some(101) => Err(Malformed::PseudoValue),
                Some(_) => Ok(()),
            },
            MessageKind::Request => self.check_request(),
        }
    }

    fn check_request(&self) -> Result<(), Malformed> {
        let method = self.method.as_deref().ok_or(Malformed::PseudoSet)?;
        if method == b"CONNECT" {
            let fits = self.scheme.is_none() && self.path.is_none() && self.authority.is_some();
            if !fits {
                return Err(Malformed::PseudoSet);
            }
        } else {
            let (Some(scheme), Some(path)) = (&self.scheme, &self.path) else {
                return Err(Malformed::PseudoSet);
            };
            let is_path = path[0] == b'/' || (path == b"*" && method == b"OPTIONS");
            let is_http = scheme == b"http" || scheme == b"https";
            // RFC 9114, section 4.3.1: no user information.
            let names_user = self.authority.as_ref().is_some_and(|a| a.contains(&b'@'));
            if is_http && (!is_path || names_user) {
                return Err(Malformed::PseudoValue);
            }
        }
        match (&self.authority, &self.host) {
            (None, None) => Err(Malformed::Host),
            (_, Some(host)) if host.is_empty() => Err(Malformed::Host),
            (Some(authority), Some(host)) if authority != host => Err(Malformed::Host),
            _ => Ok(()),
        }
    }

    /// True for a request whose answer has no content.
    pub(super) fn asks_for_a_head(&self) -> bool {
        self.method.as_deref() == Some(b"HEAD")
    }

    /// True for a request that opens a tunnel, which has no end and no length.
    pub(super) fn opens_a_tunnel(&self) -> bool {
        self.method.as_deref() == Some(b"CONNECT")
    }
}

/// True if a name may have this byte: a token (RFC 9110, section 5.6.2) without uppercase letters.
fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn status(value: &[u8]) -> Option<u16> {
    let is_status = value.len() == 3 && value.iter().all(u8::is_ascii_digit) && value[0] != b'0';
    is_status.then(|| value.iter().fold(0, |n, digit| n * 10 + u16::from(digit - b'0')))
}

/// A length; several must be the same (RFC 9110, section 8.6).
fn content_length(value: &[u8]) -> Option<u64> {
    let mut lengths = value.split(|b| *b == b',').map(|one| {
        let digits = one.trim_ascii();
        let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
        is_number.then(|| str::from_utf8(digits).ok()?.parse::<u64>().ok())?
    });
    let first = lengths.next()??;
    lengths.all(|one| one == Some(first)).then_some(first)
}
