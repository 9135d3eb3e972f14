//! A cipher that protects nothing and takes the room of one that does.
//!
//! Handshake messages are framed as TLS frames them (RFC 8446, section 4: type, 24-bit length) and
//! padded to the lengths that rustls produces with X25519 and one Ed25519 certificate, so that the
//! flights have the real sizes.

use std::any::Any;

use bytes::BytesMut;
use noq_proto::crypto::{
    self, CryptoError, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, Session,
    UnsupportedVersion,
};
use noq_proto::transport_parameters::TransportParameters;
use noq_proto::{ConnectError, ConnectionId, PathId, Side, TransportError, TransportErrorCode};

/// Length of the seal (AES-GCM and ChaCha20-Poly1305 alike).
const TAG_BYTES: usize = 16;
/// Contents of the null cipher's tag: packets of another cipher are not taken for ours.
const TAG: [u8; TAG_BYTES] = *b"airlane-no-seal!";

/// Bytes of a real ClientHello besides server name, protocols and transport parameters.
const CLIENT_HELLO_BYTES: usize = 172;
/// Bytes of a real ServerHello.
const SERVER_HELLO_BYTES: usize = 90;
/// Bytes from EncryptedExtensions to Finished besides protocol and transport parameters.
const SERVER_FLIGHT_BYTES: usize = 399;
/// Bytes of a real Finished (SHA-256).
const FINISHED_BYTES: usize = 36;

/// Bytes of a message's type and length.
const FRAMING_BYTES: usize = 4;

const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;
const SERVER_FLIGHT: u8 = 8;
const FINISHED: u8 = 20;

/// TLS alert `decode_error`.
const DECODE_ERROR: u8 = 50;
/// TLS alert `no_application_protocol`.
const NO_APPLICATION_PROTOCOL: u8 = 120;

/// The configuration of either side.
pub(crate) struct NullConfig {
    alpn: Vec<Vec<u8>>,
}

impl NullConfig {
    pub(crate) fn new(alpn: Vec<Vec<u8>>) -> Self {
        Self { alpn }
    }

    fn session(&self, side: Side, params: &TransportParameters, name: String) -> NullSession {
        let mut ours = Vec::new();
        params.write(&mut ours);
        NullSession {
            side,
            step: 0,
            received: Vec::new(),
            expected: Some(if side.is_client() { SERVER_HELLO } else { CLIENT_HELLO }),
            alpn: self.alpn.clone(),
            params: ours,
            peer_params: None,
            server_name: name,
            protocol: None,
        }
    }
}

impl crypto::ClientConfig for NullConfig {
    fn start_session(
        &self,
        _version: u32,
        server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        Ok(Box::new(self.session(Side::Client, params, server_name.to_owned())))
    }
}

impl crypto::ServerConfig for NullConfig {
    fn initial_keys(&self, _: u32, _: ConnectionId) -> Result<Keys, UnsupportedVersion> {
        Ok(keys())
    }

    fn retry_tag(&self, _version: u32, _orig_dst_cid: ConnectionId, _packet: &[u8]) -> [u8; 16] {
        TAG
    }

    fn start_session(&self, _version: u32, params: &TransportParameters) -> Box<dyn Session> {
        Box::new(self.session(Side::Server, params, String::new()))
    }
}

struct NullSession {
    side: Side,
    /// Flights written so far.
    step: u8,
    /// Bytes of messages not read yet.
    received: Vec<u8>,
    /// The message that comes next; none after the last.
    expected: Option<u8>,
    alpn: Vec<Vec<u8>>,
    /// Our transport parameters, encoded.
    params: Vec<u8>,
    peer_params: Option<Vec<u8>>,
    /// Whom a client asks for.
    server_name: String,
    /// The protocol that a server chose.
    protocol: Option<Vec<u8>>,
}

impl NullSession {
    /// Acts on a whole message of the handshake.
    fn read_message(&mut self, kind: u8, body: &[u8]) -> Result<(), TransportError> {
        if Some(kind) != self.expected {
            return Err(alert(DECODE_ERROR, "handshake message out of order"));
        }
        match kind {
            SERVER_HELLO => self.expected = Some(SERVER_FLIGHT),
            FINISHED => self.expected = None,
            CLIENT_HELLO => {
                let mut fields = Fields(body);
                let (_name, offer) = (fields.next()?, fields.next()?);
                let mut offer = Fields(offer);
                let mut offered = Vec::new();
                while !offer.0.is_empty() {
                    offered.push(offer.next()?);
                }
                let common = self.alpn.iter().find(|p| offered.contains(&p.as_slice()));
                self.protocol = Some(common.cloned().ok_or_else(|| {
                    alert(NO_APPLICATION_PROTOCOL, "no application protocol in common")
                })?);
                self.peer_params = Some(fields.next()?.to_vec());
                self.expected = Some(FINISHED);
            }
            _ => {
                let mut fields = Fields(body);
                let _protocol = fields.next()?;
                self.peer_params = Some(fields.next()?.to_vec());
                self.expected = None;
            }
        }
        Ok(())
    }

    fn client_hello(&self) -> Vec<u8> {
        let mut offer = Vec::new();
        for protocol in &self.alpn {
            put_field(&mut offer, protocol);
        }
        let mut body = Vec::new();
        put_field(&mut body, self.server_name.as_bytes());
        put_field(&mut body, &offer);
        put_field(&mut body, &self.params);
        body
    }

    fn server_flight(&self) -> Vec<u8> {
        let mut body = Vec::new();
        put_field(&mut body, self.protocol.as_deref().unwrap_or_default());
        put_field(&mut body, &self.params);
        body
    }
}

impl Session for NullSession {
    fn initial_keys(&self, _dst_cid: ConnectionId, _side: Side) -> Keys {
        keys()
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        None
    }

    fn early_data_accepted(&self) -> Option<bool> {
        self.side.is_client().then_some(false)
    }

    fn is_handshaking(&self) -> bool {
        self.expected.is_some()
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        // Real servers go on with tickets and the like: what comes after the handshake changes
        // nothing.
        if self.expected.is_none() {
            return Ok(false);
        }
        self.received.extend_from_slice(buf);
        while self.expected.is_some()
            && let [kind, a, b, c, rest @ ..] = self.received.as_slice()
        {
            let (kind, len) = (*kind, u32::from_be_bytes([0, *a, *b, *c]) as usize);
            if rest.len() < len {
                break;
            }
            let body = rest[..len].to_vec();
            self.read_message(kind, &body)?;
            self.received.drain(..FRAMING_BYTES + len);
        }
        if self.expected.is_none() {
            self.received = Vec::new();
        }
        // Nobody asks for handshake data.
        Ok(false)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        let Some(params) = &self.peer_params else { return Ok(None) };
        Ok(Some(TransportParameters::read(self.side, &mut params.as_slice())?))
    }

    /// Hands out Handshake keys and 1-RTT keys in two calls, as noq expects: it counts what one
    /// call writes to the space that was highest before.
    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        let give = match (self.side, self.step, self.expected) {
            (Side::Client, 0, _) => {
                let body = self.client_hello();
                put_message(buf, CLIENT_HELLO, &body, CLIENT_HELLO_BYTES + body.len());
                false
            }
            (Side::Client, 1, Some(SERVER_FLIGHT) | None) => true,
            (Side::Client, 2, None) => {
                put_message(buf, FINISHED, &[], FINISHED_BYTES);
                true
            }
            (Side::Server, 0, Some(FINISHED)) => {
                put_message(buf, SERVER_HELLO, &[], SERVER_HELLO_BYTES);
                true
            }
            (Side::Server, 1, _) => {
                let body = self.server_flight();
                put_message(buf, SERVER_FLIGHT, &body, SERVER_FLIGHT_BYTES + body.len());
                true
            }
            _ => return None,
        };
        self.step += 1;
        give.then(keys)
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        Some(KeyPair { local: Box::new(NullKey), remote: Box::new(NullKey) })
    }

    fn is_valid_retry(&self, _: ConnectionId, _header: &[u8], payload: &[u8]) -> bool {
        payload.ends_with(&TAG)
    }

    fn export_keying_material(
        &self,
        _output: &mut [u8],
        _label: &[u8],
        _context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        Err(ExportKeyingMaterialError)
    }
}

fn alert(code: u8, reason: &str) -> TransportError {
    TransportError::new(TransportErrorCode::crypto(code), reason.to_owned())
}

/// Fields of a body, each with a 16-bit length before it. What follows the last is padding.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn next(&mut self) -> Result<&'a [u8], TransportError> {
        let short = || alert(DECODE_ERROR, "handshake message too short");
        let (len, rest) = self.0.split_first_chunk().ok_or_else(short)?;
        let (field, rest) =
            rest.split_at_checked(u16::from_be_bytes(*len).into()).ok_or_else(short)?;
        self.0 = rest;
        Ok(field)
    }
}

fn put_field(out: &mut Vec<u8>, field: &[u8]) {
    let len = u16::try_from(field.len()).expect("handshake fields are short");
    out.extend_from_slice(&len.to_be_bytes());
    out.extend_from_slice(field);
}

/// Writes a message that is `total` bytes long with its framing, or as long as its body needs.
fn put_message(out: &mut Vec<u8>, kind: u8, body: &[u8], total: usize) {
    let padding = total.saturating_sub(FRAMING_BYTES + body.len());
    let len = u32::try_from(body.len() + padding).expect("handshake messages are short");
    out.push(kind);
    out.extend_from_slice(&len.to_be_bytes()[1..]);
    out.extend_from_slice(body);
    out.resize(out.len() + padding, 0);
}

fn keys() -> Keys {
    Keys {
        header: KeyPair { local: Box::new(NullKey), remote: Box::new(NullKey) },
        packet: KeyPair { local: Box::new(NullKey), remote: Box::new(NullKey) },
    }
}

struct NullKey;

impl HeaderKey for NullKey {
    fn decrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}
    fn encrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}

    /// As with real header protection, so that short packets are padded alike.
    fn sample_size(&self) -> usize {
        16
    }
}

impl PacketKey for NullKey {
    fn encrypt(&self, _path_id: PathId, _packet: u64, buf: &mut [u8], _header_len: usize) {
        if let Some(tag) = buf.last_chunk_mut() {
            *tag = TAG;
        }
    }

    fn decrypt(
        &self,
        _path_id: PathId,
        _packet: u64,
        _header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        if !payload.ends_with(&TAG) {
            return Err(CryptoError);
        }
        payload.truncate(payload.len() - TAG_BYTES);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        TAG_BYTES
    }

    fn confidentiality_limit(&self) -> u64 {
        u64::MAX
    }

    fn integrity_limit(&self) -> u64 {
        u64::MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crypto::{ClientConfig, ServerConfig};

    /// A client and a server whose handshake is done.
    fn connected() -> [Box<dyn Session>; 2] {
        let config = NullConfig::new(vec![b"h3".to_vec()]);
        let params = TransportParameters::read(Side::Server, &mut &[][..]).unwrap();
        let client = ClientConfig::start_session(&config, 1, "lab.airlane", &params).unwrap();
        let mut sides = [client, ServerConfig::start_session(&config, 1, &params)];
        for turn in 0..4 {
            let mut keys = true;
            while keys {
                let mut flight = Vec::new();
                keys = sides[turn % 2].write_handshake(&mut flight).is_some();
                sides[(turn + 1) % 2].read_handshake(&flight).unwrap();
            }
        }
        sides
    }

    #[test]
    fn messages_after_the_handshake_change_nothing() {
        for mut side in connected() {
            assert!(!side.is_handshaking());
            let before = format!("{:?}", side.transport_parameters().unwrap());
            // Of no kind that there is, of each that there is, and one whose end never comes.
            for kind in [0, CLIENT_HELLO, SERVER_HELLO, SERVER_FLIGHT, FINISHED, 4] {
                let mut body = Vec::new();
                put_field(&mut body, b"another protocol");
                // max_idle_timeout = 5 (RFC 9000, section 18.2).
                put_field(&mut body, &[1, 1, 5]);
                let mut message = Vec::new();
                put_message(&mut message, kind, &body, 0);
                message.extend_from_slice(&[kind, 0xff, 0xff, 0xff]);
                assert!(!side.read_handshake(&message).unwrap(), "message {kind}");
            }
            assert!(!side.is_handshaking());
            assert_eq!(format!("{:?}", side.transport_parameters().unwrap()), before);
        }
    }
}
