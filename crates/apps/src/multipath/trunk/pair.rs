//! Lines of two connections each: finds the one that belongs to another.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::{BufMut, Bytes, BytesMut};

use super::channel::{Channel, Channels};
use crate::multipath::error::MultipathError;

/// The second connection of a line has come by then.
const PATIENCE: Duration = Duration::from_secs(5);

/// A random number that no two lines share: both connections of a line name it.
pub type LineNonce = [u8; 16];

/// Whom a connection is from: the public key that the peer has proved to hold, or zeros where peers
/// are not told apart.
pub type PeerId = [u8; 32];

/// Which of a line's channels a connection carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// What must not wait.
    Express,
    /// Everything else.
    Bulk,
}

impl Role {
    /// As on the wire.
    pub fn number(self) -> u8 {
        match self {
            Self::Express => 0,
            Self::Bulk => 1,
        }
    }

    /// Reads what [`Self::number`] wrote.
    ///
    /// # Errors
    /// If it is another number.
    pub fn of(number: u8) -> Result<Self, MultipathError> {
        match number {
            0 => Ok(Self::Express),
            1 => Ok(Self::Bulk),
            _ => Err(MultipathError::Protocol("a connection for a channel that no line has")),
        }
    }
}

/// Bytes of a pairing.
pub(super) const PAIRING_BYTES: usize = size_of::<LineNonce>() + 1;

/// What a connection over QUIC says first: the line that it is of, and its role.
pub(super) fn pairing(nonce: LineNonce, role: Role) -> Bytes {
    let mut out = BytesMut::with_capacity(PAIRING_BYTES);
    out.put_slice(&nonce);
    out.put_u8(role.number());
    out.freeze()
}

/// Reads what [`pairing`] wrote.
pub(super) fn paired(from: &[u8; PAIRING_BYTES]) -> Result<(LineNonce, Role), MultipathError> {
    let [nonce @ .., role] = *from;
    Ok((nonce, Role::of(role)?))
}

/// One of a line's two connections.
pub struct Half {
    /// Whom it is from.
    pub peer: PeerId,
    /// The line that it is of.
    pub nonce: LineNonce,
    /// What it is to carry.
    pub role: Role,
    /// Its ends.
    pub channel: Channel,
    /// Dropped, it closes the connection.
    pub guard: Box<dyn Any + Send>,
}

impl std::fmt::Debug for Half {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Half").field("role", &self.role).finish_non_exhaustive()
    }
}

impl Channels {
    /// A line of these two connections; `None` if both would carry the same, or are from two peers.
    pub fn of(one: Half, other: Half) -> Option<Self> {
        if one.peer != other.peer {
            return None;
        }
        let (express, bulk) = match (one.role, other.role) {
            (Role::Express, Role::Bulk) => (one, other),
            (Role::Bulk, Role::Express) => (other, one),
            _ => return None,
        };
        let guard = Box::new((express.guard, bulk.guard));
        Some(Self { peer: express.peer, express: express.channel, bulk: bulk.channel, guard })
    }
}

/// Connections that wait for the other one of their line, each for 5 s at most.
pub struct Pairs {
    runtime: RuntimeHandle,
    /// By peer and line.
    waiting: Mutex<BTreeMap<(PeerId, LineNonce), Half>>,
}

impl std::fmt::Debug for Pairs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pairs").finish_non_exhaustive()
    }
}

impl Pairs {
    /// Nothing waits.
    pub fn new(runtime: RuntimeHandle) -> Arc<Self> {
        Arc::new(Self { runtime, waiting: Mutex::default() })
    }

    /// A connection has come: the line, if it is the second one of it. As many wait as are let in
    /// during the time for which they wait.
    pub fn join(self: &Arc<Self>, half: Half) -> Option<Channels> {
        let line = (half.peer, half.nonce);
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(first) = waiting.remove(&line) {
            return Channels::of(first, half);
        }
        waiting.insert(line, half);
        drop(waiting);
        let (pairs, timeout) = (Arc::downgrade(self), self.runtime.sleep(PATIENCE));
        self.runtime.spawn("half a line", async move {
            timeout.await;
            if let Some(pairs) = pairs.upgrade() {
                pairs.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&line);
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
        let text = include_str!("../../../../../docs/wire/tunnel.md");
        let vector = text.lines().find_map(|line| line.strip_prefix("Pairing: `")).unwrap();
        let vector: String = vector.chars().filter(char::is_ascii_hexdigit).collect();
        let nonce = std::array::from_fn(|i| i as u8);
        let bytes = pairing(nonce, Role::Bulk);
        let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(hex, vector);
        let mut whole: [u8; PAIRING_BYTES] = bytes[..].try_into().unwrap();
        assert_eq!(paired(&whole).unwrap(), (nonce, Role::Bulk));
        whole[16] = 2;
        assert!(paired(&whole).is_err());
    }
}
