//! Telling 1-RTT packets from others, and that a client has received what was sent to it.
//!
//! noq reports packets to the congestion controller by number alone, and on its first path Initial,
//! Handshake and 1-RTT packets are numbered separately from zero. The one place that knows the
//! space and the number at once is the key that seals the packet, just before the controller hears
//! of it: so the keys are wrapped, and leave a note.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::BytesMut;
use noq_proto::crypto::{
    ClientConfig, CryptoError, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey,
    ServerConfig, Session, UnsupportedVersion,
};
use noq_proto::transport_parameters::TransportParameters;
use noq_proto::{ConnectError, ConnectionId, PathId, Side, TransportError};

/// The notes that keys leave.
#[derive(Debug, Default)]
pub(crate) struct Seal {
    /// Number plus one of the packet sealed last if it is a 1-RTT packet, else zero.
    last: AtomicU64,
    /// A Handshake packet of the peer was opened.
    has_opened_handshake: AtomicBool,
}

impl Seal {
    /// Whether the packet sealed last is the 1-RTT packet of this number.
    pub(crate) fn is_last_sealed(&self, pn: u64) -> bool {
        self.last.load(Ordering::Relaxed) == pn + 1
    }

    /// Whether a Handshake packet of the peer was opened: a client that sends one has received what was
    /// sent to its address (RFC 9000, section 8.1).
    pub(crate) fn has_opened_handshake(&self) -> bool {
        self.has_opened_handshake.load(Ordering::Relaxed)
    }

    fn note(&self, one_rtt: bool, pn: u64) {
        self.last.store(if one_rtt { pn + 1 } else { 0 }, Ordering::Relaxed);
    }
}

/// A client's crypto whose sessions leave notes in `seal`.
pub(crate) struct SealedClient {
    pub(crate) inner: Arc<dyn ClientConfig>,
    pub(crate) seal: Arc<Seal>,
}

impl ClientConfig for SealedClient {
    fn start_session(
        &self,
        version: u32,
        server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        let inner = self.inner.start_session(version, server_name, params)?;
        Ok(Box::new(SealedSession { inner, seal: self.seal.clone(), keys_given: 0 }))
    }
}

/// A server's crypto whose sessions leave notes in `seal`.
pub(crate) struct SealedServer {
    pub(crate) inner: Arc<dyn ServerConfig>,
    pub(crate) seal: Arc<Seal>,
}

impl ServerConfig for SealedServer {
    fn initial_keys(&self, version: u32, cid: ConnectionId) -> Result<Keys, UnsupportedVersion> {
        self.inner.initial_keys(version, cid)
    }

    fn retry_tag(&self, version: u32, orig_dst_cid: ConnectionId, packet: &[u8]) -> [u8; 16] {
        self.inner.retry_tag(version, orig_dst_cid, packet)
    }

    fn start_session(&self, version: u32, params: &TransportParameters) -> Box<dyn Session> {
        let inner = self.inner.start_session(version, params);
        Box::new(SealedSession { inner, seal: self.seal.clone(), keys_given: 0 })
    }
}

struct SealedSession {
    inner: Box<dyn Session>,
    seal: Arc<Seal>,
    /// Key changes so far: the first brings Handshake keys, the second those of 1-RTT.
    keys_given: u8,
}

impl SealedSession {
    fn wrap(&self, key: Box<dyn PacketKey>, one_rtt: bool) -> Box<dyn PacketKey> {
        let (seal, opens_handshake) = (self.seal.clone(), false);
        Box::new(SealedKey { inner: key, seal, one_rtt, opens_handshake })
    }

    fn wrap_pair(
        &self,
        pair: KeyPair<Box<dyn PacketKey>>,
        one_rtt: bool,
    ) -> KeyPair<Box<dyn PacketKey>> {
        KeyPair { local: self.wrap(pair.local, one_rtt), remote: pair.remote }
    }
}

impl Session for SealedSession {
    fn initial_keys(&self, dst_cid: ConnectionId, side: Side) -> Keys {
        let keys = self.inner.initial_keys(dst_cid, side);
        Keys { header: keys.header, packet: self.wrap_pair(keys.packet, false) }
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.inner.handshake_data()
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.inner.peer_identity()
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        self.inner.early_crypto()
    }

    fn early_data_accepted(&self) -> Option<bool> {
        self.inner.early_data_accepted()
    }

    fn is_handshaking(&self) -> bool {
        self.inner.is_handshaking()
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        self.inner.read_handshake(buf)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        self.inner.transport_parameters()
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        let keys = self.inner.write_handshake(buf)?;
        self.keys_given += 1;
        let mut packet = self.wrap_pair(keys.packet, self.keys_given == 2);
        if self.keys_given == 1 {
            let (inner, seal) = (packet.remote, self.seal.clone());
            let key = SealedKey { inner, seal, one_rtt: false, opens_handshake: true };
            packet.remote = Box::new(key);
        }
        Some(Keys { header: keys.header, packet })
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        let pair = self.inner.next_1rtt_keys()?;
        Some(self.wrap_pair(pair, true))
    }

    fn is_valid_retry(&self, orig_dst_cid: ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        self.inner.is_valid_retry(orig_dst_cid, header, payload)
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        self.inner.export_keying_material(output, label, context)
    }
}

struct SealedKey {
    inner: Box<dyn PacketKey>,
    seal: Arc<Seal>,
    one_rtt: bool,
    /// It opens the peer's Handshake packets.
    opens_handshake: bool,
}

impl PacketKey for SealedKey {
    fn encrypt(&self, path_id: PathId, packet: u64, buf: &mut [u8], header_len: usize) {
        self.inner.encrypt(path_id, packet, buf, header_len);
        self.seal.note(self.one_rtt, packet);
    }

    fn decrypt(
        &self,
        path_id: PathId,
        packet: u64,
        header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        self.inner.decrypt(path_id, packet, header, payload)?;
        if self.opens_handshake {
            self.seal.has_opened_handshake.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    fn tag_len(&self) -> usize {
        self.inner.tag_len()
    }

    fn confidentiality_limit(&self) -> u64 {
        self.inner.confidentiality_limit()
    }

    fn integrity_limit(&self) -> u64 {
        self.inner.integrity_limit()
    }
}
