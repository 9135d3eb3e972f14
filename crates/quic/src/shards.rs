//! Several endpoints at one address, each with a socket and a task of its own, so that a server uses all
//! cores.
//!
//! The system gives what comes from one address and port to always the same socket, and so to the endpoint
//! that has the connection. Where it does not, since the client has moved or its port has changed, the
//! connection id says whose it is: its first byte is that of the endpoint, modulo their number. Only servers'
//! ids are so short; those that clients choose for their first packets have 8 bytes or more (RFC 9000,
//! section 7.2), and stay where they come.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use airlane_runtime::Received;
use bytes::BytesMut;
use noq_proto::{ConnectionId, ConnectionIdGenerator, RandomConnectionIdGenerator};
use parking_lot::Mutex;

use crate::run_queue::RunQueue;

/// Bytes of a server's connection ids: enough to tell any number of connections apart that a
/// server can have, and each byte travels in every packet to it.
pub(crate) const SERVER_ID_BYTES: usize = 4;

/// Endpoints at one address at most: their number must be told from one byte.
pub(crate) const MAX_SHARDS: usize = 64;

/// Datagrams that wait for an endpoint to which others handed them: more are dropped, as a full socket
/// drops them.
const MAX_WAITING: usize = 1024;

/// One of several endpoints at an address.
#[derive(Clone)]
pub(crate) struct Shard {
    index: usize,
    inlets: Arc<[Inlet]>,
    /// Handshakes under way at all of them.
    handshakes: Arc<AtomicUsize>,
}

/// Datagrams for an endpoint that the others at its address have received.
#[derive(Default)]
struct Inlet {
    waiting: Mutex<VecDeque<Received>>,
    /// Wakes its driver.
    run_queue: OnceLock<Arc<RunQueue>>,
}

impl fmt::Debug for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Shard({} of {})", self.index, self.inlets.len())
    }
}

impl Shard {
    /// All of an address.
    pub(crate) fn all(count: usize) -> Vec<Self> {
        let inlets: Arc<[Inlet]> = (0..count).map(|_| Inlet::default()).collect();
        let handshakes = Arc::new(AtomicUsize::new(0));
        let shard = |index| Self { index, inlets: inlets.clone(), handshakes: handshakes.clone() };
        (0..count).map(shard).collect()
    }

    /// Counts the handshakes under way at all endpoints of the address.
    pub(crate) fn handshakes(&self) -> Arc<AtomicUsize> {
        self.handshakes.clone()
    }

    /// The driver of the endpoint looks here when its run queue wakes it.
    pub(crate) fn attend(&self, run_queue: &Arc<RunQueue>) {
        let _ = self.inlets[self.index].run_queue.set(run_queue.clone());
    }

    /// Hands a datagram that is another's to it; what is for this one comes back.
    pub(crate) fn sort(&self, mut received: Received) -> Option<Received> {
        let owner = server_id(&received.payload).map(|first| first as usize % self.inlets.len());
        let Some(owner) = owner.filter(|owner| *owner != self.index) else { return Some(received) };
        let inlet = &self.inlets[owner];
        {
            let mut waiting = inlet.waiting.lock();
            if waiting.len() < MAX_WAITING {
                if received.joined {
                    // It would hold on to all that came with it.
                    received.payload = BytesMut::from(&received.payload[..]);
                    received.joined = false;
                }
                waiting.push_back(received);
            }
        }
        if let Some(run_queue) = inlet.run_queue.get() {
            run_queue.notify();
        }
        None
    }

    /// The next datagram that another received for this one.
    pub(crate) fn take(&self) -> Option<Received> {
        self.inlets[self.index].waiting.lock().pop_front()
    }

    /// Makes ids of the connections of this endpoint.
    pub(crate) fn ids(&self) -> Box<dyn ConnectionIdGenerator> {
        let (index, count) = (self.index as u8, self.inlets.len() as u8);
        Box::new(ShardIds {
            random: RandomConnectionIdGenerator::new(SERVER_ID_BYTES),
            index,
            count,
        })
    }
}

/// Ids whose first byte is the endpoint's, modulo their number.
#[derive(Debug)]
struct ShardIds {
    random: RandomConnectionIdGenerator,
    index: u8,
    count: u8,
}

impl ConnectionIdGenerator for ShardIds {
    fn generate_cid(&mut self) -> ConnectionId {
        let random = self.random.generate_cid();
        let mut bytes: Vec<u8> = random.to_vec();
        // The highest multiples that a byte holds with all indices.
        let multiples = u8::MAX / self.count;
        bytes[0] = bytes[0] % multiples * self.count + self.index;
        ConnectionId::new(&bytes)
    }

    fn cid_len(&self) -> usize {
        SERVER_ID_BYTES
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

/// The first byte of the id that a datagram is sent to, if it is one of a server (RFC 8999, sections 5.1 and
/// 5.2).
fn server_id(datagram: &[u8]) -> Option<u8> {
    /// The two highest bits of a packet with a short header (RFC 9000, section 17.3.1). Without the
    /// second it is no packet of QUIC, and may be of another protocol.
    const SHORT_HEADER: u8 = 0x40;
    match datagram {
        [first, id @ ..] if first & 0xc0 == SHORT_HEADER => {
            id.get(..SERVER_ID_BYTES).map(|id| id[0])
        }
        [_, _, _, _, _, length, id @ ..] if usize::from(*length) == SERVER_ID_BYTES => {
            id.first().copied()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use airlane_base::{Ecn, Time};

    use super::*;

    fn received(payload: &[u8]) -> Received {
        let (src, dst_ip) = (([10, 0, 0, 2], 1).into(), [10, 0, 0, 1].into());
        let (at, ecn, payload) = (Time::ZERO, Ecn::NotEct, BytesMut::from(payload));
        Received { src, dst_ip, at, ecn, dscp: None, payload, joined: true }
    }

    #[test]
    fn ids_lead_to_their_endpoints() {
        for count in [2, 3, 7, MAX_SHARDS] {
            let shards = Shard::all(count);
            for shard in &shards {
                let mut ids = shard.ids();
                for _ in 0..200 {
                    let id = ids.generate_cid();
                    assert_eq!(id.len(), ids.cid_len());
                    let short = [&[0x40][..], &id, &[1, 2]].concat();
                    let long = [&[0xe0, 0, 0, 0, 1, 4][..], &id, &[8, 1]].concat();
                    for datagram in [short, long] {
                        let elsewhere = &shards[(shard.index + 1) % count];
                        assert!(elsewhere.sort(received(&datagram)).is_none());
                        assert_eq!(shard.take().unwrap().payload, datagram);
                        assert!(shard.sort(received(&datagram)).is_some());
                    }
                }
            }
        }
    }

    #[test]
    fn first_packets_and_what_is_no_packet_stay_where_they_come() {
        let shards = Shard::all(2);
        let first = [&[0xc0, 0, 0, 0, 1, 8][..], &[1; 8], &[0, 0]].concat();
        let aside = [4, 1, 2, 3, 4, 5];
        for datagram in [&first[..], &[], &[0x40], &[0x40, 1, 2, 3], &[0xc0, 0, 0, 0, 1, 4], &aside]
        {
            for shard in &shards {
                assert!(shard.sort(received(datagram)).is_some());
            }
        }
    }

    #[test]
    fn what_waits_is_bounded() {
        let shards = Shard::all(2);
        for _ in 0..2 * MAX_WAITING {
            shards[0].sort(received(&[0x40, 1, 2, 3, 4, 5]));
        }
        assert_eq!(std::iter::from_fn(|| shards[1].take()).count(), MAX_WAITING);
    }
}
