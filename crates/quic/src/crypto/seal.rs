//! Telling 1-RTT packets from others, that a client has received what was sent to it, that the peer waits for an
//! acknowledgement, and how many marks it reports.
//!
//! noq reports packets to the congestion controller by number alone, and on its first path Initial,
//! Handshake and 1-RTT packets are numbered separately from zero. The one place that knows the
//! space and the number at once is the key that seals the packet, just before the controller hears
//! of it: so the keys are wrapped, and leave a note. They also read the ECN counts of acknowledgements, of which noq
//! passes on only that there are more.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use airlane_congestion::EcnCounts;
use bytes::BytesMut;
use noq_proto::crypto::{
    ClientConfig, CryptoError, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey,
    ServerConfig, Session, UnsupportedVersion,
};
use noq_proto::transport_parameters::TransportParameters;
use noq_proto::{ConnectError, ConnectionId, PathId, Side, TransportError};

/// The notes that keys leave.
#[derive(Debug)]
pub(crate) struct Seal {
    /// Number plus one of the packet sealed last if it is a 1-RTT packet, else zero.
    last: AtomicU64,
    /// A Handshake packet of the peer was opened.
    has_opened_handshake: AtomicBool,
    /// A 1-RTT packet of the peer that asks for an acknowledgement was opened since this was looked at.
    asks_for_ack: AtomicBool,
    /// ECN counts of the acknowledgement that was opened last: [`UNREAD`] once they were taken, [`ABSENT`] if it had
    /// none.
    ect1: AtomicU64,
    ce: AtomicU64,
}

/// Stands for counts that are not there: more than an integer of QUIC holds.
const UNREAD: u64 = u64::MAX;
const ABSENT: u64 = u64::MAX - 1;

impl Default for Seal {
    fn default() -> Self {
        Self {
            last: AtomicU64::new(0),
            has_opened_handshake: AtomicBool::new(false),
            asks_for_ack: AtomicBool::new(false),
            ect1: AtomicU64::new(UNREAD),
            ce: AtomicU64::new(UNREAD),
        }
    }
}

impl Seal {
    /// True if the packet sealed last is the 1-RTT packet of this number.
    pub(crate) fn is_last_sealed(&self, pn: u64) -> bool {
        self.last.load(Ordering::Relaxed) == pn + 1
    }

    /// True if a Handshake packet of the peer was opened: a client that sends one has received what was
    /// sent to its address (RFC 9000, section 8.1).
    pub(crate) fn has_opened_handshake(&self) -> bool {
        self.has_opened_handshake.load(Ordering::Relaxed)
    }

    /// True if a 1-RTT packet of the peer that asks for an acknowledgement was opened since the last call.
    pub(crate) fn take_asks_for_ack(&self) -> bool {
        self.asks_for_ack.load(Ordering::Relaxed)
            && self.asks_for_ack.swap(false, Ordering::Relaxed)
    }

    /// ECN counts of the acknowledgement that was opened last, if they were not taken yet; `Some(None)` if it has
    /// none. An acknowledgement that follows other frames is not read: the next one holds its counts too.
    pub(crate) fn take_ecn_counts(&self) -> Option<Option<EcnCounts>> {
        match self.ect1.swap(UNREAD, Ordering::Relaxed) {
            UNREAD => None,
            ABSENT => Some(None),
            ect1 => Some(Some(EcnCounts { ect1, ce: self.ce.load(Ordering::Relaxed) })),
        }
    }

    fn note_ecn_counts(&self, counts: Option<EcnCounts>) {
        let ect1 = counts.map_or(ABSENT, |counts| counts.ect1);
        self.ect1.store(ect1, Ordering::Relaxed);
        if let Some(EcnCounts { ce, .. }) = counts {
            self.ce.store(ce, Ordering::Relaxed);
        }
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
    fn wrap(&self, key: Box<dyn PacketKey>, packets: Packets) -> Box<dyn PacketKey> {
        Box::new(SealedKey { inner: key, seal: self.seal.clone(), packets })
    }

    fn wrap_pair(
        &self,
        pair: KeyPair<Box<dyn PacketKey>>,
        packets: Packets,
    ) -> KeyPair<Box<dyn PacketKey>> {
        KeyPair { local: self.wrap(pair.local, packets), remote: self.wrap(pair.remote, packets) }
    }
}

impl Session for SealedSession {
    fn initial_keys(&self, dst_cid: ConnectionId, side: Side) -> Keys {
        let keys = self.inner.initial_keys(dst_cid, side);
        Keys { header: keys.header, packet: self.wrap_pair(keys.packet, Packets::Initial) }
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
        let packets = match self.keys_given {
            1 => Packets::Handshake,
            2 => Packets::OneRtt,
            _ => Packets::Initial,
        };
        let packet = self.wrap_pair(keys.packet, packets);
        Some(Keys { header: keys.header, packet })
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        let pair = self.inner.next_1rtt_keys()?;
        Some(self.wrap_pair(pair, Packets::OneRtt))
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

/// Packets that a key protects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Packets {
    Initial,
    Handshake,
    OneRtt,
}

struct SealedKey {
    inner: Box<dyn PacketKey>,
    seal: Arc<Seal>,
    packets: Packets,
}

impl PacketKey for SealedKey {
    fn encrypt(&self, path_id: PathId, packet: u64, buf: &mut [u8], header_len: usize) {
        self.inner.encrypt(path_id, packet, buf, header_len);
        self.seal.note(self.packets == Packets::OneRtt, packet);
    }

    fn decrypt(
        &self,
        path_id: PathId,
        packet: u64,
        header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        self.inner.decrypt(path_id, packet, header, payload)?;
        match self.packets {
            Packets::Initial => {}
            Packets::Handshake => self.seal.has_opened_handshake.store(true, Ordering::Relaxed),
            Packets::OneRtt => {
                if asks_for_ack(payload, |counts| self.seal.note_ecn_counts(counts)) {
                    self.seal.asks_for_ack.store(true, Ordering::Relaxed);
                }
            }
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

/// True if the frames of a packet ask for an acknowledgement: all but PADDING, ACK and CONNECTION_CLOSE do
/// (RFC 9000, section 1.2). What is malformed does. The ECN counts of the acknowledgements before are passed on.
fn asks_for_ack(mut frames: &[u8], mut acked: impl FnMut(Option<EcnCounts>)) -> bool {
    while let Some((kind, rest)) = frames.split_first() {
        match kind {
            0x00 => frames = rest,
            0x02 | 0x03 => match read_ack(rest, *kind == 0x03) {
                Some((counts, rest)) => {
                    acked(counts);
                    frames = rest;
                }
                None => return true,
            },
            0x1c | 0x1d => return false,
            _ => return true,
        }
    }
    false
}

/// The ECN counts of an ACK frame (RFC 9000, section 19.3) of which the type was read, and the frames that follow;
/// `None` if it is cut off.
fn read_ack(frame: &[u8], has_ecn: bool) -> Option<(Option<EcnCounts>, &[u8])> {
    let (_largest, rest) = varint(frame)?;
    let (_delay, rest) = varint(rest)?;
    let (ranges, rest) = varint(rest)?;
    // The first range, then a gap and a length for each other one.
    let integers = ranges.checked_mul(2)?.checked_add(1)?;
    let mut rest = rest;
    for _ in 0..integers {
        (_, rest) = varint(rest)?;
    }
    if !has_ecn {
        return Some((None, rest));
    }
    let (_ect0, rest) = varint(rest)?;
    let (ect1, rest) = varint(rest)?;
    let (ce, rest) = varint(rest)?;
    Some((Some(EcnCounts { ect1, ce }), rest))
}

/// A variable-length integer (RFC 9000, section 16) and what follows it.
fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let first = *bytes.first()?;
    let length = 1_usize << (first >> 6);
    let (integer, rest) = bytes.split_at_checked(length)?;
    let value = integer.iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
    Some((value & (u64::MAX >> (64 - 8 * length + 2)), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asks(frames: &[u8]) -> bool {
        asks_for_ack(frames, |_| {})
    }

    #[test]
    fn acknowledgements_and_padding_ask_for_none() {
        // Largest 5, delay 3, one range beside the first; with two bytes for the largest; with ECN counts.
        let ack = [0x02, 5, 3, 1, 0, 1, 1];
        let ecn = [0x03, 0x40, 0x05, 3, 0, 0, 1, 2, 3];
        for frames in [&ack[..], &ecn, &[0, 0, 0], &[0x1c, 1, 2], &[]] {
            assert!(!asks(frames), "{frames:?}");
            assert!(!asks(&[frames, &[0, 0]].concat()) || frames.first() == Some(&0x1c));
            assert!(asks(&[&[0x01], frames].concat()), "a PING before {frames:?}");
        }
        assert!(asks(&[&ack[..], &[0x08, 1, 2]].concat()));
        assert!(asks(&ecn[..4]), "cut off");
        // As many ranges as there can be.
        assert!(asks(&[0x02, 5, 3, 0xff, 255, 255, 255, 255, 255, 255, 255, 0]));
    }

    #[test]
    fn counts_are_those_of_the_last_acknowledgement_and_are_taken_once() {
        let seal = Seal::default();
        assert_eq!(seal.take_ecn_counts(), None);
        let ecn = [0x03, 5, 3, 0, 0, 7, 0x40, 0x41, 9];
        assert!(!asks_for_ack(&ecn, |counts| seal.note_ecn_counts(counts)));
        assert_eq!(seal.take_ecn_counts(), Some(Some(EcnCounts { ect1: 65, ce: 9 })));
        assert_eq!(seal.take_ecn_counts(), None);
        let both = [&ecn[..], &[0x02, 6, 3, 0, 0]].concat();
        assert!(!asks_for_ack(&both, |counts| seal.note_ecn_counts(counts)));
        assert_eq!(seal.take_ecn_counts(), Some(None));
    }

    #[test]
    fn integers_have_four_lengths() {
        assert_eq!(varint(&[37, 9]), Some((37, &[9][..])));
        assert_eq!(varint(&[0x7b, 0xbd]), Some((15_293, &[][..])));
        assert_eq!(varint(&[0x9d, 0x7f, 0x3e, 0x7d]), Some((494_878_333, &[][..])));
        let eight = [0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c];
        assert_eq!(varint(&eight), Some((151_288_809_941_952_652, &[][..])));
        assert_eq!(varint(&eight[..7]), None);
    }
}
