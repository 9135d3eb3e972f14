//! Subflows of two connections each: finds the one that belongs to another.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::{BufMut, Bytes, BytesMut};
use parking_lot::Mutex;

use crate::error::MultipathError;
use crate::subflow::channel::{Channel, Channels};

/// The second connection of a subflow has come by then.
const NO_SUBFLOW_TIMEOUT: Duration = Duration::from_secs(5);

/// A random number that no two subflows share: both connections of a subflow name it.
pub type SubflowNonce = [u8; 16];

/// Whom a connection is from: the public key that the peer has proved to hold, or zeros where peers
/// are not told apart.
pub type PeerId = [u8; 32];

/// Channel of a subflow that a connection carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelKind {
    /// Data that must not wait.
    LowLatency,
    /// Everything else.
    Bulk,
}

impl ChannelKind {
    /// As on the wire.
    pub fn number(self) -> u8 {
        match self {
            Self::LowLatency => 0,
            Self::Bulk => 1,
        }
    }

    /// Reads what [`Self::number`] wrote.
    ///
    /// # Errors
    /// If it is another number.
    pub fn of(number: u8) -> Result<Self, MultipathError> {
        match number {
            0 => Ok(Self::LowLatency),
            1 => Ok(Self::Bulk),
            _ => Err(MultipathError::Protocol("a connection for a channel that no subflow has")),
        }
    }
}

/// Bytes of a pairing.
pub(crate) const PAIRING_BYTES: usize = size_of::<SubflowNonce>() + 1;

/// First message of a connection over QUIC: the subflow that it is of, and its kind.
pub(crate) fn pairing(nonce: SubflowNonce, kind: ChannelKind) -> Bytes {
    let mut out = BytesMut::with_capacity(PAIRING_BYTES);
    out.put_slice(&nonce);
    out.put_u8(kind.number());
    out.freeze()
}

/// Reads what [`pairing`] wrote.
pub(crate) fn paired(
    from: &[u8; PAIRING_BYTES],
) -> Result<(SubflowNonce, ChannelKind), MultipathError> {
    let [nonce @ .., kind] = *from;
    Ok((nonce, ChannelKind::of(kind)?))
}

/// One of a subflow's two connections.
pub struct SubflowConnection {
    /// Whom it is from.
    pub peer: PeerId,
    /// The subflow that it is of.
    pub nonce: SubflowNonce,
    /// Channel that the connection is to carry.
    pub kind: ChannelKind,
    /// Its ends.
    pub channel: Channel,
    /// Dropped, it closes the connection.
    pub guard: Box<dyn Any + Send>,
}

impl std::fmt::Debug for SubflowConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SubflowConnection").field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl Channels {
    /// A subflow of these two connections; `None` if both would carry the same, or are from two peers.
    pub fn of(one: SubflowConnection, other: SubflowConnection) -> Option<Self> {
        if one.peer != other.peer {
            return None;
        }
        let (low_latency, bulk) = match (one.kind, other.kind) {
            (ChannelKind::LowLatency, ChannelKind::Bulk) => (one, other),
            (ChannelKind::Bulk, ChannelKind::LowLatency) => (other, one),
            _ => return None,
        };
        let guard = Box::new((low_latency.guard, bulk.guard));
        Some(Self {
            peer: low_latency.peer,
            low_latency: low_latency.channel,
            bulk: bulk.channel,
            guard,
        })
    }
}

/// Connections that wait for the other one of their subflow, each for 5 s at most.
pub struct PendingConnections {
    runtime: RuntimeHandle,
    /// By peer and subflow.
    waiting: Mutex<BTreeMap<(PeerId, SubflowNonce), SubflowConnection>>,
}

impl std::fmt::Debug for PendingConnections {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PendingConnections").finish_non_exhaustive()
    }
}

impl PendingConnections {
    /// Nothing waits.
    pub fn new(runtime: RuntimeHandle) -> Arc<Self> {
        Arc::new(Self { runtime, waiting: Mutex::default() })
    }

    /// Takes a connection, and returns the subflow if it is the second one of it. Nothing here limits
    /// how many wait: the listener does, by how many it lets in.
    pub fn join(self: &Arc<Self>, connection: SubflowConnection) -> Option<Channels> {
        let subflow = (connection.peer, connection.nonce);
        let mut waiting = self.waiting.lock();
        if let Some(first) = waiting.remove(&subflow) {
            return Channels::of(first, connection);
        }
        waiting.insert(subflow, connection);
        drop(waiting);
        let (pending, timeout) = (Arc::downgrade(self), self.runtime.sleep(NO_SUBFLOW_TIMEOUT));
        self.runtime.spawn("half a subflow", async move {
            timeout.await;
            if let Some(pending) = pending.upgrade() {
                pending.waiting.lock().remove(&subflow);
            }
        });
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairings_are_as_the_document_has_them() {
        let text = include_str!("../../../../docs/reference/wire/multipath.md");
        let vector = text.lines().find_map(|line| line.strip_prefix("Pairing: `")).unwrap();
        let vector: String = vector.chars().filter(char::is_ascii_hexdigit).collect();
        let nonce = std::array::from_fn(|i| i as u8);
        let bytes = pairing(nonce, ChannelKind::Bulk);
        let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(hex, vector);
        let mut whole: [u8; PAIRING_BYTES] = bytes[..].try_into().unwrap();
        assert_eq!(paired(&whole).unwrap(), (nonce, ChannelKind::Bulk));
        whole[16] = 2;
        assert!(paired(&whole).is_err());
    }
}
